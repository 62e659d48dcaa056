/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Selects the hits of a tracepoint or a probe that become samples: --filter, as compiled by
 * record/probes/filter.c. */
#ifndef BPF_EVENTS_FILTER_H
#define BPF_EVENTS_FILTER_H

#include "bpf/maps.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/events/values.h"

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
