/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Finds the bytes of a task's stacks to include in a sample: SPEC.md, annex G.1. */
#ifndef BPF_STACKS_REGIONS_H
#define BPF_STACKS_REGIONS_H

#include "bpf/mapping.h"
#include "bpf/maps.h"
#include "bpf/registers.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/stacks/alternate_stack.h"
#include "bpf/stacks/goroutine.h"
#include "bpf/stacks/ocaml.h"
#include "bpf/user_memory.h"

/* The maximum for a main stack; a larger one is found as a mapping. */
#define REEL_MAIN_STACK_MAX (64ull << 20)

/* The end of a stack. */
struct reel_stack_top {
	__u64 address; /* 0 if unknown */
	/* Its thread begins there, unlike at the end of a mapping, which may hold other data. */
	bool is_certain;
	/* It is the end of a mapping. */
	bool is_mapping;
};

static __always_inline bool reel_is_main_thread(struct task_struct *task)
{
	return REEL_TASK_READ(task, pid) == REEL_TASK_READ(task, tgid);
}

/*
 * For the stack that contains sp, in a sample with registers: the kernel's start of the main
 * thread's stack, the thread pointer, Go's own end, or the end of the mapping.  `other`:
 * bpf/user_memory.h.
 */
static __always_inline struct reel_stack_top reel_stack_top(struct task_struct *other,
							    struct task_struct *task,
							    struct mm_struct *mm,
							    const struct reel_bpf_sample *sample,
							    __u64 sp)
{
	bool compat = sample->flags & REEL_BPF_COMPAT;
	__u64 main = REEL_TASK_READ(mm, start_stack), thread_pointer, end;
	struct reel_stack_top top = { .address = main, .is_certain = true };

	if (sp <= main && main - sp < REEL_MAIN_STACK_MAX)
		return top;
	/* _start has popped the arguments' count. */
	top.address = sp;
	if (sp > main && sp - main < 64)
		return top;
	/* Passed as a number, which is the function's argument type. */
	top.address = reel_mapping_end((__u64)BPF_CORE_READ(task, mm), sp);
	top.is_certain = false;
	if (!top.address)
		return top;
	thread_pointer = reel_thread_pointer(task, compat);
	end = thread_pointer;
	/* The main thread's is in any mapping, next to which a coroutine's stack may be. */
	if (thread_pointer <= sp || thread_pointer >= top.address || reel_is_main_thread(task)) {
		__u64 g = compat ? 0 : reel_goroutine(other, task, sample);

		end = other ? reel_goroutine_end_of(other, g, sp, top.address)
			    : reel_goroutine_end(g, sp, top.address);
	}
	top.is_mapping = !end;
	if (end) {
		top.address = end;
		top.is_certain = true;
	}
	return top;
}

/* Bytes to copy from a stack without a known end. */
#define REEL_UNKNOWN_STACK_SIZE 16384

/* Bytes to copy of a stack that may end anywhere in its mapping (coroutines' stacks, heaps): if the
 * limit is higher, a quarter of it, but at least this. */
#define REEL_MAPPING_STACK_SIZE 65536

/* Bytes to copy of the main thread's stack while the thread runs on another one. */
#define REEL_MAIN_PART_SIZE 4096

/* Largest offset of region 0, after the root part. */
#define REEL_REGION_OFFSET_MAX (REEL_BPF_PREFIX_MAX + REEL_BPF_GAPS_MAX + REEL_BPF_ROOT_SIZE)

static __always_inline void reel_region_clear_missing(struct reel_bpf_region *region)
{
#pragma unroll
	for (int i = 0; i < REEL_BPF_MISSING_WORDS; i++)
		region->missing[i] = 0;
}

/* Sets the root part to the last bytes below a top; returns its size. */
static __always_inline __u64 reel_root_set(struct reel_bpf_sample *sample, __u32 kind, __u64 top,
					   __u64 limit)
{
	struct reel_bpf_region *region = &sample->regions[REEL_BPF_ROOT];
	__u64 size = (limit / 4) & ~7ull;

	if (size > REEL_BPF_ROOT_SIZE)
		size = REEL_BPF_ROOT_SIZE;
	sample->flags |= REEL_BPF_ROOT_PART;
	region->address = (top & ~7ull) - size;
	region->size = size;
	region->kind = kind;
	reel_region_clear_missing(region);
	return size;
}

/* Pages of 4 KiB in the largest stack that may end anywhere in its mapping, and one because it need
 * not begin on a page. */
#define REEL_MAPPING_PAGES_MAX ((REEL_BPF_MAX_STACK_LIMIT / 4 >> 12) + 1)

/*
 * The size of such a stack without its last pages if these cannot be read: the current task's stack
 * ends before pages that it never used.  Not static: the verifier then checks it once.
 */
__noinline __u64 reel_region_used(__u64 start, __u64 size)
{
	__u64 page = settings.page_size, probe;

	for (__u32 i = 0; i < REEL_MAPPING_PAGES_MAX; i++) {
		__u64 last = ((start + size - 1) & ~(page - 1)) - start;

		/* Not beyond the first page. */
		if (!last || last >= size ||
		    !bpf_probe_read_user(&probe, 1, (void *)(start + last)))
			break;
		size = last;
	}
	return size;
}

/* From sp less the red zone up to the top, or up to the limit. */
static __always_inline void reel_region_set(struct task_struct *other,
					    struct reel_bpf_sample *sample,
					    struct reel_bpf_region *region, __u32 kind, __u64 sp,
					    struct reel_stack_top found)
{
	__u64 start = sp, top = found.address, size, used, limit, probe;
	bool is_cut;

	if (REEL_RED_ZONE && !(sample->flags & REEL_BPF_COMPAT))
		start -= REEL_RED_ZONE;
	start &= ~7ull;
	/* The page below sp may never have been touched: that would make each whole copy fail. */
	if ((start ^ sp) & ~(__u64)(settings.page_size - 1) &&
	    reel_user_read(other, &probe, sizeof(probe), (void *)start))
		start = sp & ~(__u64)(settings.page_size - 1);

	if (!top) {
		sample->flags |= REEL_BPF_TOP_UNKNOWN;
		top = sp + REEL_UNKNOWN_STACK_SIZE;
		/* Programs may keep any value in sp. A region ends at 2^64 at most. */
		if (top < sp)
			top = ~7ull;
	}
	size = top - start;
	limit = settings.max_stack;
	if (reel_control.max_stack < limit)
		limit = reel_control.max_stack;
	if (found.is_mapping && limit > REEL_MAPPING_STACK_SIZE)
		limit = limit / 4 > REEL_MAPPING_STACK_SIZE ? limit / 4 : REEL_MAPPING_STACK_SIZE;
	is_cut = size > limit;
	if (is_cut)
		size = limit;
	if (is_cut && found.is_certain)
		size -= reel_root_set(sample, kind, top, limit);
	if (found.is_mapping && !other) {
		used = reel_region_used(start, size);
		is_cut &= used == size;
		size = used;
	}
	if (is_cut)
		sample->flags |= REEL_BPF_STACK_CUT;
	region->address = start;
	region->size = size;
	region->kind = kind;
	reel_region_clear_missing(region);
}

/* Places a region at `offset` of the record, after a gap; returns its end. */
static __always_inline __u64 reel_region_place(struct reel_bpf_region *region, __u64 offset,
					       __u64 *start_ret)
{
	region->gap = (region->address - offset - REEL_BPF_RING_HEADER) & (REEL_BPF_ALIGNMENT - 1);
	*start_ret = offset + region->gap;
	return *start_ret + ((region->size + 7ull) & ~7ull);
}

/* Places the regions after `offset` bytes of the record; returns their end. */
static __always_inline __u64 reel_regions_place(struct reel_bpf_sample *sample, __u64 offset,
						__u64 starts_ret[REEL_BPF_REGIONS_MAX])
{
	if (sample->flags & REEL_BPF_ROOT_PART)
		offset = reel_region_place(&sample->regions[REEL_BPF_ROOT], offset,
					   &starts_ret[REEL_BPF_ROOT]);
	if (sample->n_regions > 0)
		offset = reel_region_place(&sample->regions[0], offset, &starts_ret[0]);
	if (sample->n_regions > 1)
		offset = reel_region_place(&sample->regions[1], offset, &starts_ret[1]);
	return offset;
}

/* Rounds a record's size up so that the next one in the ring begins aligned. */
static __always_inline __u64 reel_record_size(__u64 size)
{
	return ((size + REEL_BPF_RING_HEADER + REEL_BPF_ALIGNMENT - 1) &
		~(REEL_BPF_ALIGNMENT - 1ull)) -
	       REEL_BPF_RING_HEADER;
}

/* A second stack of the thread; sp 0: none.  A top without address is still to be found. */
struct reel_second_stack {
	__u64 sp;
	__u32 kind; /* enum reel_bpf_region_kind */
	struct reel_stack_top top;
};

/* The stack that waits for this one: a goroutine's, or that of Go's scheduler. */
static __always_inline void reel_goroutine_second(struct task_struct *other,
						  struct reel_sampling *s, struct task_struct *task,
						  struct reel_second_stack *ret)
{
	struct reel_bpf_sample *sample = &s->sample;
	__u64 g, end;

	if (sample->flags & REEL_BPF_COMPAT)
		return;
	g = reel_goroutine(other, task, sample);
	end = other ? reel_goroutine_left_by(other, sample, g) : reel_goroutine_left(s->slot, g);
	if (!end)
		return;
	ret->sp = sample->waiting.words[0];
	ret->kind = REEL_BPF_REGION_OTHER_STACK;
	/* The scheduler's stack may be a thread's, which began in C. */
	if (!sample->waiting.words[1])
		return;
	ret->top.address = end;
	ret->top.is_certain = true;
}

/*
 * The main thread on a stack of its program's own (SBCL's Lisp runs on one): the calls that led
 * there are near the top of the kernel's.
 */
static __always_inline void reel_main_part(struct reel_bpf_sample *sample, struct task_struct *task,
					   struct mm_struct *mm)
{
	if (!reel_is_main_thread(task))
		return;
	reel_root_set(sample, REEL_BPF_REGION_STACK, REEL_TASK_READ(mm, start_stack),
		      4 * REEL_MAIN_PART_SIZE);
}

/*
 * Leaves an interpreter's own stack out of region 0: Ruby's threads have 1 MB there, mostly
 * untouched.  A thread's first calls are above it and become a root part; a fiber has all below.
 */
static __always_inline void reel_region_leave_out(struct reel_sampling *s,
						  struct reel_stack_top top)
{
	struct reel_bpf_sample *sample = &s->sample;
	struct reel_bpf_region *region = &sample->regions[0];
	__u64 begin = s->walk.stack, end = s->walk.end, above = top.address - end;

	if (begin <= region->address || end < begin || end > top.address ||
	    begin - region->address > region->size)
		return;
	if (top.is_certain && (above > REEL_BPF_ROOT_SIZE || above > settings.max_stack))
		return;
	region->size = begin - region->address;
	sample->flags &= ~(REEL_BPF_STACK_CUT | REEL_BPF_ROOT_PART);
	if (top.is_certain)
		reel_root_set(sample, REEL_BPF_REGION_STACK, top.address, 4 * above);
}

/*
 * Sets region 0 of a thread with OCaml's stacks, and finds the second one: this is one of OCaml's,
 * or the thread's.
 */
static __always_inline void reel_ocaml_regions(struct task_struct *other, struct reel_sampling *s,
					       __u64 sp, struct reel_stack_top top,
					       struct reel_second_stack *ret)
{
	struct reel_bpf_sample *sample = &s->sample;
	bool is_own = sp >= s->ocaml.low && sp < s->ocaml.high;

	ret->kind = REEL_BPF_REGION_OTHER_STACK;
	ret->sp = s->ocaml.link;
	if (is_own) {
		top.address = s->ocaml.high;
		top.is_certain = true;
		top.is_mapping = false;
	}
	reel_region_set(other, sample, &sample->regions[0], REEL_BPF_REGION_STACK, sp, top);
	if (is_own)
		return;
	/* Otherwise the stacks are those of another thread that OCaml runs meanwhile. */
	if (s->ocaml.link < sp || s->ocaml.link >= top.address) {
		ret->sp = 0;
		return;
	}
	ret->sp = other ? reel_ocaml_left_by(other, s) : reel_ocaml_left(s->slot);
	ret->top.address = s->ocaml.high;
	if (ret->sp >= ret->top.address)
		ret->sp = 0;
}

/* Sets region 0, and finds the second stack. */
static __always_inline void reel_first_region(struct task_struct *other, struct reel_sampling *s,
					      struct task_struct *task, struct mm_struct *mm,
					      __u64 sp, struct reel_second_stack *ret)
{
	struct reel_bpf_sample *sample = &s->sample;
	struct reel_stack_top top = {};

	if (reel_on_alternate_stack(task, sp, &s->alternate)) {
		/* The root is on the interrupted stack instead. */
		top.address = s->alternate.address + s->alternate.size;
		reel_region_set(other, sample, &sample->regions[0], REEL_BPF_REGION_STACK, sp, top);
		/* The search reads the current task's memory. */
		ret->sp = other ? 0 : reel_interrupted_sp(s, sp);
		ret->kind = REEL_BPF_REGION_INTERRUPTED_STACK;
		return;
	}
	top = reel_stack_top(other, task, mm, sample, sp);
	if (reel_control.publishers &&
	    (other ? reel_ocaml_find_by(other, task, s) : reel_ocaml_find(s->slot))) {
		reel_ocaml_regions(other, s, sp, top, ret);
		return;
	}
	reel_region_set(other, sample, &sample->regions[0], REEL_BPF_REGION_STACK, sp, top);
	if (sample->n_frames)
		reel_region_leave_out(s, top);
	if (top.is_mapping)
		reel_main_part(sample, task, mm);
	else
		reel_goroutine_second(other, s, task, ret);
}

/* Sets the regions of a sample; `other` is `task`, or NULL if that is the current one. */
static __always_inline void reel_regions_find(struct task_struct *other, struct reel_sampling *s,
					      struct task_struct *task, struct mm_struct *mm,
					      __u64 sp)
{
	struct reel_bpf_sample *sample = &s->sample;
	struct reel_second_stack second = {};

	sample->n_regions = 1;
	reel_first_region(other, s, task, mm, sp, &second);
	if (!second.sp)
		return;
	if (!second.top.address)
		second.top = reel_stack_top(other, task, mm, sample, second.sp);
	reel_region_set(other, sample, &sample->regions[1], second.kind, second.sp, second.top);
	sample->n_regions = 2;
}

#endif
