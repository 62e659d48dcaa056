/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reads user memory.  `other` is NULL for the current task's memory: only resident pages can be
 * read then, but from any context.  Or `other` is the task of a scan (bpf/waits/scan.h), which
 * sleeps until the page is there, or has another process read it (REEL_SCAN_COPIES).  Callers pass
 * a constant NULL or a task, and are inlined, so that each program has only its own helper.
 */
#ifndef BPF_USER_MEMORY_H
#define BPF_USER_MEMORY_H

#include "bpf/mapping.h"
#include "bpf/maps.h"
#include "bpf/pids.h"
#include "bpf/sample.h"
#include "bpf/settings.h"

#ifdef REEL_SCAN_COPIES
/*
 * Scans on kernels whose iterators may not sleep (before 5.18), where a BPF program cannot read
 * another process's memory.  A scan is several passes over the threads: what the program would read
 * is noted in a first one; the scanning process reads it (process_vm_readv), into its own memory,
 * where the program finds it in the next.  It is believed if the thread has not run since the first
 * pass.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REEL_COPIES_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct reel_bpf_copies);
} reel_scan_copies SEC(".maps");

static __always_inline struct reel_bpf_copies *reel_copies(const struct reel_sampling *s)
{
	__u32 index = s->copies;

	return bpf_map_lookup_elem(&reel_scan_copies, &index);
}

/* Whether reading would wait for a lock, or for another process. */
static __always_inline bool reel_piece_waits(struct mm_struct *mm, __u64 from, __u64 size)
{
	struct vm_area_struct *mapping;

	if (reel_other_is_locked(mm) || !reel_mapping_is_local((__u64)mm, from, size))
		return true;
	mapping = (void *)reel_mapping_find((__u64)mm, from);
	return !mapping || (bpf_core_field_exists(mapping->vm_userfaultfd_ctx.ctx) &&
			    BPF_CORE_READ(mapping, vm_userfaultfd_ctx.ctx));
}

/* Where the scanning process has these bytes; 0, and asks for them, if it has not. */
static __noinline __u64 reel_copied_at(struct task_struct *task, __u64 from, __u32 size)
{
	struct reel_sampling *s = reel_sampling(settings.scan_slot);
	struct reel_bpf_copies *copies = s ? reel_copies(s) : NULL;
	struct reel_bpf_piece *piece;
	__u32 n;

	if (!s || !copies)
		return 0;
	for (n = 0; n < REEL_PIECES_MAX; n++) {
		__u64 before;

		piece = &copies->pieces[n];
		if (n >= copies->n_pieces)
			break;
		before = from - piece->address;
		if (before >= piece->size || piece->size - before < size ||
		    (piece->is_partial && piece->size != size))
			continue;
		s->piece = n;
		return piece->copy ? piece->copy + before : 0;
	}
	if (reel_piece_waits(BPF_CORE_READ(task, mm), from, size))
		return 0;
	/* 5.10 forgets the bounds of a value that the compiler keeps on the stack. */
	n = copies->n_pieces;
	barrier_var(n);
	if (n >= REEL_PIECES_MAX)
		return 0;
	piece = &copies->pieces[n];
	piece->address = from;
	piece->size = size;
	piece->copy = 0;
	piece->is_done = 0;
	piece->is_partial = 0;
	copies->n_pieces = n + 1;
	reel_control.scan_bytes += size;
	s->asks = 1;
	return 0;
}

/* Asks for a thread's memory from now on; false without room in this scan's passes. */
static __always_inline bool reel_copies_begin(struct reel_sampling *s, __u32 pid)
{
	struct reel_bpf_copies *copies;

	s->asks = 0;
	s->copies = reel_control.scan_copies;
	copies = reel_copies(s);
	if (!copies || reel_control.scan_bytes > REEL_COPIES_SIZE)
		return false;
	copies->pid = pid;
	copies->n_pieces = 0;
	return true;
}

/* Whether the thread's memory has to be read before the sample can be made. */
static __always_inline bool reel_copies_wanted(struct task_struct *task, struct reel_sampling *s,
					       struct reel_wait *wait)
{
	struct reel_bpf_sample *sample = &s->sample;

	/* The regions, which are copied with the sample. */
	if (sample->flags & REEL_BPF_ROOT_PART)
		reel_copied_at(task, sample->regions[REEL_BPF_ROOT].address,
			       sample->regions[REEL_BPF_ROOT].size);
	if (sample->n_regions > 0)
		reel_copied_at(task, sample->regions[0].address, sample->regions[0].size);
	if (sample->n_regions > 1)
		reel_copied_at(task, sample->regions[1].address, sample->regions[1].size);
	if (!s->asks || reel_control.scan_pass == REEL_PASSES_MAX - 1) {
		wait->copies = 0;
		return false;
	}
	reel_control.scan_asks = 1;
	if (!wait->copies) {
		wait->copies = s->copies + 1;
		reel_control.scan_copies++;
	}
	return true;
}

/*
 * Each thread is visited once in a scan: if more wait than have room, the next passes go on with
 * the next one.  The kernel's iterator goes by thread number.
 */
static __always_inline bool reel_copies_skips(struct task_struct *task)
{
	if (reel_control.scan_pass)
		return false;
	if (reel_control.scan_next)
		return true;
	return reel_control.scan_from && reel_task_ids(task).tid < reel_control.scan_from;
}

static __always_inline long reel_other_read(struct task_struct *other, void *to, __u32 size,
					    const void *from)
{
	__u64 at = reel_copied_at(other, (__u64)from, size);

	return at ? bpf_probe_read_user(to, size, (void *)at) : -1;
}
#else
/*
 * Reads another task's memory, where the wait for it cannot take long.  Missing pages of memory
 * with userfaultfd are an error: the kernel does not wait for them here.
 */
static __always_inline long reel_other_read(struct task_struct *other, void *to, __u32 size,
					    const void *from)
{
	struct mm_struct *mm = BPF_CORE_READ(other, mm);

	if (reel_other_is_locked(mm) || !reel_mapping_is_local((__u64)mm, (__u64)from, size))
		return -1;
	return bpf_copy_from_user_task(to, size, from, (void *)other, 0);
}
#endif

static __always_inline long reel_user_read(struct task_struct *other, void *to, __u32 size,
					   const void *from)
{
	return other ? reel_other_read(other, to, size, from) : bpf_probe_read_user(to, size, from);
}

#endif
