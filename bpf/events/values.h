/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reads what a probe's user asked for (arguments, results, strings), and selects the hits of a
 * tracepoint or a probe that become samples: --filter, as compiled by record/probes/filter.c.
 */
#ifndef BPF_EVENTS_VALUES_H
#define BPF_EVENTS_VALUES_H

#include "bpf/maps.h"
#include "bpf/sample.h"
#include "bpf/settings.h"

static __always_inline __u64 reel_value_register(const struct reel_sampling *s, __u32 number)
{
	number &= REEL_BPF_REGISTERS_MAX - 1;
	return s->sample.registers[number];
}

/* Zero or sign extended from its size. */
static __always_inline __u64 reel_value_extend(__u64 number, __u32 size, bool is_signed)
{
	__u32 unused = size < 8 ? 64 - 8 * size : 0;

	number <<= unused;
	return is_signed ? (__u64)((__s64)number >> unused) : number >> unused;
}

static __always_inline bool reel_value_memory(const struct reel_sampling *s,
					      const volatile struct reel_bpf_value *value,
					      __u64 *number_ret)
{
	__u64 address = value->offset + reel_value_register(s, value->base);
	__u64 word = 0;

	if (value->has_index)
		address += reel_value_register(s, value->index) * value->scale;
	/* No more than its size: the next page may be missing. */
	if (value->size == 8   ? bpf_probe_read_user(&word, 8, (void *)address)
	    : value->size == 4 ? bpf_probe_read_user(&word, 4, (void *)address)
	    : value->size == 2 ? bpf_probe_read_user(&word, 2, (void *)address)
			       : bpf_probe_read_user(&word, 1, (void *)address))
		return false;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word >>= value->size < 8 ? 64 - 8 * value->size : 0;
#endif
	*number_ret = word;
	return true;
}

/* A field of a tracepoint's record, or the address of a string there. */
static __always_inline bool reel_value_field(const struct reel_sampling *s,
					     const volatile struct reel_bpf_value *value,
					     __u64 *number_ret)
{
	__u64 address = s->context + value->offset, word = 0;
	__u32 source = value->source;

	*number_ret = address;
	if (source == REEL_BPF_VALUE_ARRAY)
		return true;
	if (bpf_probe_read_kernel(&word, 8, (void *)address))
		return false;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word >>= value->size < 8 ? 64 - 8 * value->size : 0;
#endif
	if (source == REEL_BPF_VALUE_FIELD)
		*number_ret = word;
	else
		*number_ret = (source == REEL_BPF_VALUE_LOCATION ? s->context : address + 4) +
			      (__u16)word;
	return true;
}

/* The number, or the address of a string; false if it cannot be read. */
static __always_inline bool reel_value_read(const struct reel_sampling *s,
					    const volatile struct reel_bpf_value *value,
					    __u64 *number_ret)
{
	__u32 source = value->source;

	if (source >= REEL_BPF_VALUE_FIELD)
		return reel_value_field(s, value, number_ret);
	/* Another CPU's registers. */
	if (s->sample.flags & REEL_BPF_COMPAT)
		return false;
	if (source == REEL_BPF_VALUE_MEMORY)
		return reel_value_memory(s, value, number_ret);
	*number_ret = source == REEL_BPF_VALUE_REGISTER ? reel_value_register(s, value->base)
							: value->offset;
	return true;
}

static __always_inline bool reel_string_read(const volatile struct reel_bpf_value *value,
					     __u64 address, char to[REEL_BPF_VALUE_SIZE])
{
	/* An array that is full has no NUL. */
	__u32 size = value->source == REEL_BPF_VALUE_ARRAY ? value->size + 1 : REEL_BPF_VALUE_SIZE;

	if (value->kind == REEL_BPF_VALUE_STRING)
		return bpf_probe_read_user_str(to, REEL_BPF_VALUE_SIZE, (void *)address) > 0;
	if (size > REEL_BPF_VALUE_SIZE)
		size = REEL_BPF_VALUE_SIZE;
	return bpf_probe_read_kernel_str(to, size, (void *)address) > 0;
}

/* Stores struct reel_bpf_values after the words of a sample.  Not static: checked once. */
__noinline int reel_values_copy(__u64 slot)
{
	struct reel_sampling *s = reel_sampling(slot);
	__u64 begin, present = 0;
	__u32 event;

	if (!s)
		return 0;
	event = s->sample.event & (REEL_BPF_EVENTS_MAX - 1);
	begin = s->sample.n_kernel_chain + s->sample.n_frame_chain + s->sample.n_user_probes;
	barrier_var(begin);
	if (begin > REEL_CHAINS_WORDS - REEL_BPF_VALUES_WORDS)
		return 0;
	for (__u32 i = 0; i < REEL_BPF_VALUES_MAX; i++) {
		const volatile struct reel_bpf_value *value = &settings.values[event][i];
		__u64 *to = &s->chains[begin + 1 + i * (REEL_BPF_VALUE_SIZE / 8)];
		__u64 number;

		if (value->kind == REEL_BPF_VALUE_NONE || !reel_value_read(s, value, &number))
			continue;
		if (value->kind == REEL_BPF_VALUE_NUMBER) {
			to[0] = reel_value_extend(number, value->size, value->is_signed);
			present |= 1ull << i;
		} else if (reel_string_read(value, number, (char *)to)) {
			present |= 1ull << i;
		}
	}
	s->chains[begin] = present;
	s->sample.n_values = present ? REEL_BPF_VALUES_WORDS : 0;
	return 0;
}

/* A text of 63 bytes against a pattern of 31, whose last * may be tried at each byte. */
#define REEL_GLOB_STEPS 2048

/*
 * Whether the text in s->search matches the comparison's pattern.  Not static: the verifier
 * then checks it once.
 */
__noinline int reel_glob_matches(__u64 slot, __u64 index)
{
	struct reel_sampling *s = reel_sampling(slot);
	const volatile char *pattern, *text;
	struct reel_glob *at;
	__u32 event;

	if (!s || !settings.filters)
		return 0;
	event = s->sample.event & (REEL_BPF_EVENTS_MAX - 1);
	pattern = settings.comparisons[event][index & (REEL_BPF_COMPARISONS_MAX - 1)].pattern;
	text = (const volatile char *)s->search;
	at = &s->glob;
	at->pattern = at->text = at->has_any = 0;
	for (__u32 i = 0; i < REEL_GLOB_STEPS; i++) {
		char wanted = pattern[at->pattern & (REEL_BPF_PATTERN_SIZE - 1)];
		char found = text[at->text & (REEL_BPF_VALUE_SIZE - 1)];

		if (wanted == REEL_BPF_ANY_TEXT) {
			at->after_any = ++at->pattern;
			at->retry = at->text;
			at->has_any = 1;
		} else if (found && (wanted == found || wanted == REEL_BPF_ANY_BYTE)) {
			at->pattern++;
			at->text++;
		} else if (!found) {
			return !wanted;
		} else if (at->has_any) {
			at->pattern = at->after_any;
			at->text = ++at->retry;
		} else {
			return 0;
		}
	}
	return 0;
}

static __always_inline bool reel_comparison_is_true(struct reel_sampling *s, __u32 index,
						    const volatile struct reel_bpf_comparison *it)
{
	const volatile struct reel_bpf_value *value = &it->value;
	__u32 order = 1;
	__u64 number;

	if (!reel_value_read(s, value, &number))
		return false;
	if (value->kind != REEL_BPF_VALUE_NUMBER) {
		if (!reel_string_read(value, number, (char *)s->search))
			return false;
		order += !reel_glob_matches(s->slot, index);
		return it->op >> order & 1;
	}
	number = reel_value_extend(number, value->size, value->is_signed);
	if (it->op == REEL_BPF_ANY_BIT)
		return number & it->number;
	if (number != it->number)
		order = (value->is_signed ? (__s64)number < (__s64)it->number : number < it->number)
				? 0
				: 2;
	return it->op >> order & 1;
}

/* Not static: the verifier then checks it once. */
__noinline int reel_filter_passes(__u64 slot)
{
	struct reel_sampling *s = reel_sampling(slot);
	__u32 event, next = 0;

	if (!s || !settings.filters)
		return 1;
	event = s->sample.event & (REEL_BPF_EVENTS_MAX - 1);
	for (__u32 i = 0; i < REEL_BPF_COMPARISONS_MAX; i++) {
		const volatile struct reel_bpf_comparison *it = &settings.comparisons[event][i];

		if (i == next)
			next = reel_comparison_is_true(s, i, it) ? it->if_true : it->if_false;
	}
	return next == REEL_BPF_PASS;
}

#endif
