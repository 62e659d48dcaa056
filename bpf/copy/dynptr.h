/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Writes a sample to the ring, from 6.16 on: room of the exact size is reserved in the ring, and
 * the stack is copied straight into it.
 */
#ifndef BPF_COPY_DYNPTR_H
#define BPF_COPY_DYNPTR_H

#include "bpf/maps.h"
#include "bpf/registers.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/stacks/regions.h"

struct bpf_dynptr {
	__u64 opaque[2];
};

/* kernel/trace/bpf_trace.c */
extern int bpf_probe_read_user_dynptr(const struct bpf_dynptr *to, __u32 offset, __u32 size,
				      const void *from) __ksym;

#define REEL_PAGES_MAX ((REEL_BPF_MAX_STACK_LIMIT >> 12) + 1)

/* A region being copied page by page; s->done is the progress. */
struct reel_dynptr_pages {
	struct bpf_dynptr *to;
	struct reel_sampling *s;
	struct reel_bpf_region *region;
	__u64 offset; /* in the record */
};

/* Clears data of an earlier record in the ring: s->part bytes, up to a page. */
static __always_inline void reel_dynptr_clear(struct bpf_dynptr *to, __u64 offset,
					      struct reel_sampling *s)
{
	for (__u32 done = 0; done < settings.page_size; done += REEL_ZEROS) {
		__u64 part = s->part - done;

		if (part > s->part)
			break;
		if (part > REEL_ZEROS)
			part = REEL_ZEROS;
		bpf_dynptr_write(to, offset + done, (void *)reel_zeros, part, 0);
	}
}

/* Copies the part of a region in one page; 1 at the region's end. */
static long reel_dynptr_copy_page(__u32 page, struct reel_dynptr_pages *pages)
{
	struct reel_bpf_region *region = pages->region;
	struct reel_sampling *s = pages->s;
	__u64 done = s->done, from = region->address + done, word = page / 64;
	__u64 part = settings.page_size - (from & (settings.page_size - 1));

	barrier_var(word);
	if (done >= region->size || word >= REEL_BPF_MISSING_WORDS)
		return 1;
	if (part > region->size - done)
		part = region->size - done;
	s->done = done + part;
	if (bpf_probe_read_user_dynptr(pages->to, pages->offset + done, part, (void *)from)) {
		s->part = part;
		reel_dynptr_clear(pages->to, pages->offset + done, s);
		region->missing[word] |= 1ull << page % 64;
	}
	return 0;
}

/* Copies a region to `offset` in the record. */
static __always_inline void reel_dynptr_copy(struct bpf_dynptr *to, __u64 offset,
					     struct reel_sampling *s, __u32 index)
{
	struct reel_bpf_region *region = &s->sample.regions[index];
	struct reel_dynptr_pages pages = {
		.to = to,
		.s = s,
		.region = region,
		.offset = offset,
	};

	if (!bpf_probe_read_user_dynptr(to, offset, region->size, (void *)region->address))
		return;
	/* All or nothing: now page by page.  In a loop, the verifier would follow each pass. */
	s->sample.flags |= REEL_BPF_COPY_FAILED;
	s->done = 0;
	bpf_loop(REEL_PAGES_MAX, reel_dynptr_copy_page, &pages, 0);
}

/*
 * Copies only the parts of the header that are set: each cache line of the ring costs a miss.  Word
 * by word, since `from` may not be aligned.
 */
static __always_inline void reel_dynptr_write_header(struct reel_bpf_sample *to,
						     const struct reel_bpf_sample *from)
{
	__builtin_memcpy(to, from, __builtin_offsetof(struct reel_bpf_sample, regions[1]));
	if (from->n_regions > 1)
		to->regions[1] = from->regions[1];
	if (from->flags & REEL_BPF_ROOT_PART)
		to->regions[REEL_BPF_ROOT] = from->regions[REEL_BPF_ROOT];
	if (from->flags & REEL_BPF_FUNCTION)
		to->kernel_frame = from->kernel_frame;
	if (from->flags & REEL_BPF_WAITING_GOBUF)
		to->waiting = from->waiting;
	if (from->flags & REEL_BPF_OWN_GOBUF)
		to->own = from->own;
	if (from->flags & REEL_BPF_LOCK) {
		to->lock = from->lock;
		to->lock_owner = from->lock_owner;
	}
	if (from->flags & REEL_BPF_WAKER) {
		to->woken_tid = from->woken_tid;
		to->soft_interrupt = from->soft_interrupt;
		__builtin_memcpy(to->comm, from->comm, sizeof(to->comm));
	}
	if (from->flags & REEL_BPF_HAS_REQUEST)
		to->request = from->request;
	to->pc = from->pc;
	to->known = from->known;
	__builtin_memcpy(to->registers, from->registers, 8 * REEL_REGISTERS);
}

/* Writes the sample to the ring. */
static __always_inline void reel_sample_emit(struct reel_sampling *s, void *ring)
{
	struct reel_bpf_sample *sample = &s->sample;
	__u64 prefix = reel_sampling_prefix(s);
	__u64 starts[REEL_BPF_REGIONS_MAX] = {}, total, chains;
	struct reel_bpf_sample *header;
	struct bpf_dynptr record;

	total = reel_record_size(reel_regions_place(sample, prefix, starts));
	if (bpf_ringbuf_reserve_dynptr(ring, total, 0, &record)) {
		reel_count_dropped(ring, total);
		if (sample->flags & REEL_BPF_WAIT_WHOLE)
			reel_count_waiting(sample->weight + sample->woken_weight);
		/* The verifier requires it even after a failure. */
		bpf_ringbuf_discard_dynptr(&record, 0);
		return;
	}
	if (starts[REEL_BPF_ROOT])
		reel_dynptr_copy(&record, starts[REEL_BPF_ROOT], s, REEL_BPF_ROOT);
	if (starts[0])
		reel_dynptr_copy(&record, starts[0], s, 0);
	if (starts[1])
		reel_dynptr_copy(&record, starts[1], s, 1);
	header = bpf_dynptr_data(&record, 0, sizeof(*header));
	if (header)
		reel_dynptr_write_header(header, sample);
	chains = prefix - sizeof(*header);
	/* Otherwise the compiler compares the values that it was computed from. */
	barrier_var(chains);
	if (chains && chains <= sizeof(s->chains))
		bpf_dynptr_write(&record, sizeof(*header), s->chains, chains, 0);
	bpf_ringbuf_submit_dynptr(&record, reel_ring_flags(ring));
	reel_count_missing(sample);
}

#endif
