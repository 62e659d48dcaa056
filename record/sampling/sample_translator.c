/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampling/sample_translator.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>

#include "bpf/trampoline.h"
#include "record/sampling/user_probes.h"

/* ---- the data after a sample's header in the ring (bpf/sample.h) ------------------------------- */

/* Finds the bytes of a region at *at, and moves *at past them. */
static bool region_parse(const struct reel_bpf_region *region, const uint8_t **at,
			 const uint8_t *end, const uint8_t **ret)
{
	size_t room = (region->size + (size_t)7) & ~(size_t)7;

	if (region->gap + room > (size_t)(end - *at))
		return false;
	*ret = *at + region->gap;
	*at = *ret + room;
	return true;
}

bool reel_sampler_parts_parse(const struct reel_bpf_sample *sample, size_t size,
			      struct reel_sampler_parts *ret)
{
	const uint8_t *at = (const uint8_t *)(sample + 1), *end = (const uint8_t *)sample + size;
	size_t chains, n_probes;

	if (size < sizeof(*sample) || sample->n_kernel_chain > REEL_BPF_KERNEL_CHAIN_MAX ||
	    sample->n_frame_chain > REEL_BPF_FRAME_CHAIN_MAX || sample->n_regions > 2 ||
	    sample->n_registers > REEL_BPF_REGISTERS_MAX)
		return false;
	n_probes = sample->n_user_probes;
	if (sample->n_values && sample->n_values != REEL_BPF_VALUES_WORDS)
		return false;
	if (sample->n_frames > REEL_BPF_FRAMES_MAX)
		return false;
	if (n_probes &&
	    (n_probes < REEL_BPF_USER_PROBES_HEAD || n_probes > REEL_BPF_USER_PROBES_WORDS))
		return false;
	chains = sample->n_kernel_chain + sample->n_frame_chain;
	*ret = (struct reel_sampler_parts){
		.sample = sample,
		.size = size,
		.kernel_chain = (const uint64_t *)at,
		.frame_chain = (const uint64_t *)at + sample->n_kernel_chain,
	};
	if ((chains + n_probes) * 8 > (size_t)(end - at))
		return false;
	at += chains * 8;
	if (n_probes) {
		ret->user_probes = (const struct reel_bpf_user_probes *)at;
		ret->n_returns = (n_probes - REEL_BPF_USER_PROBES_HEAD) / 3;
	}
	at += n_probes * 8;
	if (sample->n_values) {
		if (sizeof(*ret->values) > (size_t)(end - at))
			return false;
		ret->values = (const struct reel_bpf_values *)at;
		at += sizeof(*ret->values);
	}
	if (sample->n_frames * sizeof(*ret->frames) > (size_t)(end - at))
		return false;
	ret->frames = (const struct reel_bpf_frame *)at;
	at += sample->n_frames * sizeof(*ret->frames);
	if (sample->flags & REEL_BPF_ROOT_PART &&
	    !region_parse(&sample->regions[REEL_BPF_ROOT], &at, end,
			  &ret->region_bytes[REEL_BPF_ROOT]))
		return false;
	for (uint32_t i = 0; i < sample->n_regions; i++) {
		if (!region_parse(&sample->regions[i], &at, end, &ret->region_bytes[i]))
			return false;
	}
	return true;
}

/* ---- translation ------------------------------------------------------------------------- */

/* Registers are 0 … n - 1 by DWARF number, and the pc, which has a higher number. */
static const struct reel_record_sample_layout *layout_of(struct reel_sample_translator *translator,
							 const struct reel_bpf_sample *from)
{
	uint8_t size = from->flags & REEL_BPF_COMPAT ? 4 : 8;
	struct reel_record_sample_layout *layout;
	struct reel_register_slot *slots;
	size_t pc = from->n_registers;

	for (size_t i = 0; i < translator->n_layouts; i++) {
		layout = &translator->layouts[i];
		if (layout->n_slots == pc + 1 && layout->slots[0].size == size &&
		    layout->slots[pc].dwarf == from->pc_register)
			return layout;
	}
	if (translator->n_layouts == REEL_TRANSLATOR_LAYOUTS)
		return NULL;
	slots = translator->slots[translator->n_layouts];
	layout = &translator->layouts[translator->n_layouts];
	*layout = (struct reel_record_sample_layout){
		.id = translator->n_layouts,
		.n_slots = pc + 1,
		.slots = slots,
	};
	for (size_t i = 0; i < pc; i++)
		slots[i] = (struct reel_register_slot){ (uint16_t)i, size };
	slots[pc] = (struct reel_register_slot){ (uint16_t)from->pc_register, size };
	translator->n_layouts++;
	return layout;
}

static bool translate_registers(struct reel_sample_translator *translator,
				const struct reel_bpf_sample *from)
{
	struct reel_sample *to = &translator->sample;
	size_t count = from->n_registers;
	/* In 32-bit mode the upper halves are undefined (Intel SDM, volume 1, 3.4.1.1). */
	uint64_t mask = from->flags & REEL_BPF_COMPAT ? UINT32_MAX : UINT64_MAX;

	if (!(from->flags & REEL_BPF_REGISTERS) || count > REEL_BPF_REGISTERS_MAX)
		return true;
	to->layout = layout_of(translator, from);
	if (!to->layout)
		return false;
	memset(translator->known, 0, sizeof(translator->known));
	for (size_t i = 0; i < count; i++) {
		bool known = from->known >> i & 1;

		/* The format requires 0 for unknown values. */
		translator->values[i] = known ? from->registers[i] & mask : 0;
		translator->known[i / 8] |= (uint8_t)(known << i % 8);
	}
	translator->values[count] = from->pc & mask;
	translator->known[count / 8] |= (uint8_t)(1 << count % 8);
	to->values = translator->values;
	to->known = translator->known;
	to->pc = from->pc & mask;
	return true;
}

/* Unreadable pages as ranges within the region; merges neighbours. */
static size_t translate_missing(const struct reel_bpf_region *region, uint64_t page_size,
				struct reel_range *ret)
{
	uint64_t first_page = region->address & ~(page_size - 1);
	uint64_t end = region->address + region->size;
	size_t count = 0;

	for (size_t i = 0; i < 64 * REEL_BPF_MISSING_WORDS; i++) {
		uint64_t from = first_page + i * page_size, to = from + page_size;

		if (!(region->missing[i / 64] >> i % 64 & 1))
			continue;
		if (from < region->address)
			from = region->address;
		/* The last page ends at 2^64, which wraps to 0. */
		if (to > end || !to)
			to = end;
		if (from >= to)
			continue;
		from -= region->address;
		to -= region->address;
		if (count && ret[count - 1].offset + ret[count - 1].size == from)
			ret[count - 1].size += to - from;
		else
			ret[count++] = (struct reel_range){ from, to - from };
	}
	return count;
}

/* Stores the words as in the program's memory. */
static void translate_gobuf(struct reel_sample_translator *translator,
			    const struct reel_bpf_gobuf *gobuf)
{
	struct reel_sample *to = &translator->sample;

	translator->regions[to->n_regions++] = (struct reel_region){
		.kind = REEL_REGION_GOROUTINE_STATE,
		.address = gobuf->address,
		.bytes = (const uint8_t *)gobuf->words,
		.size = sizeof(gobuf->words),
	};
}

static void translate_regions(struct reel_sample_translator *translator,
			      const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *from = parts->sample;
	struct reel_sample *to = &translator->sample;

	for (size_t i = 0; i < REEL_BPF_REGIONS_MAX; i++) {
		const struct reel_bpf_region *region = &from->regions[i];
		struct reel_range *missing = translator->missing[i];
		size_t n_missing = 0;

		/* The root part is the last region. */
		if (i == REEL_BPF_ROOT && from->flags & REEL_BPF_WAITING_GOBUF)
			translate_gobuf(translator, &from->waiting);
		if (i == REEL_BPF_ROOT && from->flags & REEL_BPF_OWN_GOBUF)
			translate_gobuf(translator, &from->own);
		if (i == REEL_BPF_ROOT ? !(from->flags & REEL_BPF_ROOT_PART) : i >= from->n_regions)
			continue;
		for (size_t word = 0; word < REEL_BPF_MISSING_WORDS; word++) {
			if (!region->missing[word])
				continue;
			n_missing = translate_missing(region, translator->page_size, missing);
			break;
		}
		translator->regions[to->n_regions++] = (struct reel_region){
			.kind = region->kind,
			.address = region->address,
			.bytes = parts->region_bytes[i],
			.size = region->size,
			.missing = missing,
			.n_missing = n_missing,
		};
	}
	to->regions = translator->regions;
}

/*
 * For a precise event, the kernel returns the call chain that it took itself, whose parts each
 * begin with a mark (kernel/bpf/stackmap.c, bpf_get_stack_pe).
 */
static size_t skip_mark(const uint64_t **chain, size_t n)
{
	if (!n || (*chain)[0] < (uint64_t)PERF_CONTEXT_MAX)
		return n;
	(*chain)++;
	return n - 1;
}

/* A waker's chain begins in the BPF program and in bpf_trace_run1, which called it. */
static void skip_program(struct reel_sample *sample)
{
	size_t n = sample->n_kernel_chain < 2 ? sample->n_kernel_chain : 2;

	sample->kernel_chain += n;
	sample->n_kernel_chain -= n;
}

/*
 * A chain taken in a function's program begins there, and leads through the trampoline to its
 * return address after the call at the function's entry.  The translated chain has the function
 * first, then its caller.  If the entry jumped to the trampoline, the return address is in the
 * caller.
 */
static void translate_function(struct reel_sample_translator *translator,
			       const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *from = parts->sample;
	const struct reel_bpf_kernel_frame *frame = &from->kernel_frame;
	const uint64_t caller = frame->return_address, *rest = parts->kernel_chain;
	const uint64_t *end = rest + from->n_kernel_chain;
	bool has_frame = from->flags & REEL_BPF_KERNEL_FRAME;
	struct reel_sample *to = &translator->sample;

	while (rest < end && !reel_trampoline_returns_to(frame->pc, *rest))
		rest++;
	if (rest < end) {
		rest++;
	} else if (has_frame) {
		rest = parts->kernel_chain;
		while (rest < end && *rest != caller)
			rest++;
		if (from->flags & REEL_BPF_FRAME_GUESSED)
			has_frame = rest < end;
	}
	/* The kernel's unwinder may stop before this, or return nothing. */
	if (rest == end && has_frame) {
		rest = &caller;
		end = rest + 1;
	}
	translator->kernel_chain[0] = frame->pc;
	memcpy(translator->kernel_chain + 1, rest, (size_t)(end - rest) * sizeof(*rest));
	to->kernel_chain = translator->kernel_chain;
	to->n_kernel_chain = 1 + (size_t)(end - rest);
	to->has_kernel_frame = has_frame;
	if (has_frame)
		to->kernel_frame = (struct reel_kernel_frame){
			.pc = frame->pc,
			.sp = frame->sp,
			.fp = frame->fp,
			.return_address = frame->return_address,
		};
}

/* The region's bytes are the kernel's. */
static bool restore_region(struct reel_region *region, const struct reel_user_probes *probes,
			   struct reel_buffer *copy)
{
	if (!reel_user_probes_has_return(probes, region->address, region->bytes, region->size))
		return true;
	copy->size = 0;
	reel_buffer_append(copy, region->bytes, region->size);
	if (copy->failed)
		return false;
	reel_user_probes_restore_stack(probes, region->address, copy->bytes, region->size);
	region->bytes = copy->bytes;
	return true;
}

/* Puts original return addresses in place of uretprobes' trampoline. */
static bool restore_returns(struct reel_sample_translator *translator,
			    const struct reel_sampler_parts *parts)
{
	struct reel_sample *to = &translator->sample;
	struct reel_user_probes probes;

	if (!to->layout || !reel_user_probes_begin(parts, &probes))
		return true;
	for (size_t i = 0, copies = 0; i < to->n_regions; i++) {
		if (translator->regions[i].kind != REEL_REGION_GOROUTINE_STATE &&
		    !restore_region(&translator->regions[i], &probes,
				    &translator->restored[copies++]))
			return false;
	}
	reel_user_probes_restore_registers(&probes, to->regions, to->n_regions, translator->values,
					   translator->known, parts->sample->n_registers);
	to->pc = translator->values[parts->sample->n_registers];
	if (to->n_frame_chain) {
		memcpy(translator->frame_chain, to->frame_chain,
		       to->n_frame_chain * sizeof(*to->frame_chain));
		reel_user_probes_restore_chain(&probes, translator->frame_chain, to->n_frame_chain);
		to->frame_chain = translator->frame_chain;
	}
	return true;
}

struct reel_sample *reel_sample_translate(struct reel_sample_translator *translator,
					  const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *from = parts->sample;

	translator->sample = (struct reel_sample){
		.time = from->time,
		.cpu = from->cpu,
		.event = from->event,
		.weight = from->weight,
		.where = from->where,
		.flags =
			(from->flags & REEL_BPF_STACK_CUT ? REEL_SAMPLE_STACK_CUT : 0) |
			(from->flags & REEL_BPF_TOP_UNKNOWN ? REEL_SAMPLE_TOP_UNKNOWN : 0) |
			(from->flags & REEL_BPF_FRAME_CHAIN_CUT ? REEL_SAMPLE_FRAME_CHAIN_CUT : 0) |
			(uint64_t)(from->state & 3) << REEL_SAMPLE_STATE_SHIFT,
		.kernel_chain = parts->kernel_chain,
		.frame_chain = parts->frame_chain,
	};
	translator->sample.n_kernel_chain =
		skip_mark(&translator->sample.kernel_chain, from->n_kernel_chain);
	if (from->flags & REEL_BPF_WAKER)
		skip_program(&translator->sample);
	translator->sample.n_frame_chain =
		skip_mark(&translator->sample.frame_chain, from->n_frame_chain);
	if (!translate_registers(translator, from))
		return NULL;
	if (from->flags & REEL_BPF_FUNCTION)
		translate_function(translator, parts);
	translate_regions(translator, parts);
	if (parts->user_probes && !restore_returns(translator, parts))
		return NULL;
	return &translator->sample;
}

void reel_sample_translator_free(struct reel_sample_translator *translator)
{
	for (size_t i = 0; i < REEL_BPF_REGIONS_MAX; i++)
		reel_buffer_free(&translator->restored[i]);
}
