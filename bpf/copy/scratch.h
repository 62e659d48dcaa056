/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Writes a sample to the ring, on any kernel: bpf_ringbuf_reserve takes constant sizes only, so the
 * sample is assembled in a scratch area and copied again by bpf_ringbuf_output.
 */
#ifndef BPF_COPY_SCRATCH_H
#define BPF_COPY_SCRATCH_H

#include "bpf/maps.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/stacks/regions.h"

/*
 * One per CPU and slot, but a plain array: values of a PERCPU_ARRAY are at most 32 KiB.
 * record/sampling/programs.c sets the size: alignment, REEL_BPF_PREFIX_MAX, REEL_BPF_GAPS_MAX,
 * REEL_BPF_ROOT_SIZE, two regions, and a page needed only for the verifier.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 1 << 20);
} reel_scratches SEC(".maps");

/* Pages of 4 KiB in the largest region, and one because it need not begin on a page. */
#define REEL_PAGES_MAX ((REEL_BPF_MAX_STACK_LIMIT >> 12) + 1)

/* Aligned to cache lines as the record will be in the ring. */
static __always_inline __u8 *reel_scratch(__u32 slot)
{
	__u32 index = bpf_get_smp_processor_id() + slot * settings.n_cpus;
	__u8 *scratch = bpf_map_lookup_elem(&reel_scratches, &index);
	/* Values follow the map's struct, which begins a page. */
	__u64 start = bpf_core_field_offset(struct bpf_array, value);

	if (!scratch)
		return NULL;
	return scratch + ((REEL_BPF_RING_HEADER - start) & (REEL_BPF_ALIGNMENT - 1));
}

/*
 * Copies the part of a region in one page, from s->done bytes into the region, to `offset` plus
 * as many bytes in the scratch area; 1 at the region's end.  Not static: the verifier then checks
 * it once, for all arguments, and keeps all bounds on the way here (5.10 loses spilled ones).
 */
__noinline int reel_scratch_copy_page(__u64 offset, __u64 index, __u64 slot, __u64 page)
{
	struct reel_sampling *s = reel_sampling(slot);
	__u8 *scratch = reel_scratch(slot);
	struct reel_bpf_region *region;
	__u64 done, from, part, word = page / 64;

	if (!s || !scratch)
		return 1;
	/* Before 6.2, the verifier loses bounds checked on a copy of a value spilled to the stack:
	 * barrier_var makes the compiler check and use the same register. */
	barrier_var(offset);
	if (offset > REEL_REGION_OFFSET_MAX + settings.max_stack)
		return 1;
	scratch += offset;
	barrier_var(scratch);
	barrier_var(index);
	if (index >= REEL_BPF_REGIONS_MAX)
		return 1;
	region = &s->sample.regions[index];
	done = s->done;
	from = region->address + done;
	if (done >= region->size)
		return 1;
	part = settings.page_size - (from & (settings.page_size - 1));
	if (part > region->size - done)
		part = region->size - done;
	s->done = done + part;
	barrier_var(done);
	barrier_var(part);
	barrier_var(word);
	if (done > settings.max_stack || part > settings.page_size ||
	    word >= REEL_BPF_MISSING_WORDS)
		return 1;
	/* The helper zeroes unreadable memory. */
	if (bpf_probe_read_user(scratch + done, part, (void *)from))
		region->missing[word] |= 1ull << page % 64;
	return 0;
}

/* Copies a region to `offset` in the scratch area.  Not static for the same reasons. */
__noinline int reel_scratch_copy(__u64 offset, __u64 index, __u64 slot)
{
	struct reel_sampling *s = reel_sampling(slot);
	__u8 *scratch = reel_scratch(slot);
	struct reel_bpf_region *region;
	__u64 size;

	if (!s || !scratch)
		return 0;
	barrier_var(offset);
	if (offset > REEL_REGION_OFFSET_MAX + settings.max_stack)
		return 0;
	scratch += offset;
	barrier_var(scratch);
	barrier_var(index);
	if (index >= REEL_BPF_REGIONS_MAX)
		return 0;
	region = &s->sample.regions[index];
	size = region->size;
	barrier_var(size);
	if (size > settings.max_stack)
		return 0;
	if (!bpf_probe_read_user(scratch, size, (void *)region->address))
		return 0;

	/* All or nothing: now page by page. */
	s->sample.flags |= REEL_BPF_COPY_FAILED;
	s->done = 0;
	for (__u32 page = 0; page < REEL_PAGES_MAX; page++) {
		if (reel_scratch_copy_page(offset, index, slot, page))
			break;
	}
	return 0;
}

/* Writes the sample to the ring. */
static __always_inline void reel_sample_emit(struct reel_sampling *s, void *ring)
{
	struct reel_bpf_sample *sample = &s->sample;
	__u64 prefix = reel_sampling_prefix(s);
	__u64 starts[REEL_BPF_REGIONS_MAX] = {}, size;
	__u8 *scratch = reel_scratch(s->slot);

	/* A CPU that came online and has no room. */
	if (!scratch) {
		REEL_COUNT(waits_missed);
		return;
	}
	size = reel_record_size(reel_regions_place(sample, prefix, starts));
	if (starts[REEL_BPF_ROOT])
		reel_scratch_copy(starts[REEL_BPF_ROOT], REEL_BPF_ROOT, s->slot);
	if (starts[0])
		reel_scratch_copy(starts[0], 0, s->slot);
	if (starts[1])
		reel_scratch_copy(starts[1], 1, s->slot);
	/* Otherwise the compiler compares the values that these were computed from. */
	barrier_var(prefix);
	barrier_var(size);
	if (prefix > REEL_BPF_PREFIX_MAX || bpf_probe_read_kernel(scratch, prefix, sample))
		return;
	if (size > REEL_REGION_OFFSET_MAX + 2 * settings.max_stack)
		return;
	if (bpf_ringbuf_output(ring, scratch, size, reel_ring_flags(ring))) {
		reel_count_dropped(ring, size);
		if (sample->flags & REEL_BPF_WAIT_WHOLE)
			reel_count_waiting(sample->weight + sample->woken_weight);
		return;
	}
	reel_count_missing(sample);
}

#endif
