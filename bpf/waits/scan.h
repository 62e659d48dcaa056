/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Samples threads that are not on a CPU.  A scan is an iteration over all threads, some times per
 * second; a thread found waiting has waited since the scan before, on average: that is its weight.
 * So each moment of a wait counts the same, however long it is, and context switches cost nothing.
 * From 5.18 on the program may sleep, and reads memory that is not resident; bpf/user_memory.h has
 * scans on older kernels.
 *
 * The way through all threads takes time in proportion to these: one process with many would leave
 * all others fewer scans.  So each such walk lists some threads of each process and user, and from
 * 6.16 on there are scans of these only in between (REEL_SCAN_LIST).  A thread's weight is the time
 * since the last scan that it was part of.
 *
 * record/sampling/scanner.c has scans done by a process that does nothing else: a hostile process
 * may delay it.
 */
#ifndef BPF_WAITS_SCAN_H
#define BPF_WAITS_SCAN_H

#include "bpf/events/cgroup.h"
#include "bpf/events/take.h"
#include "bpf/mapping.h"
#include "bpf/maps.h"
#include "bpf/pids.h"
#include "bpf/registers.h"
#include "bpf/runtimes/frames.h"
#include "bpf/runtimes/interpreters.h"
#include "bpf/runtimes/request.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/stacks/regions.h"
#include "bpf/stacks/user_probes.h"
#include "bpf/user_memory.h"
#include "bpf/waits/wait.h"

/* include/linux/bpf.h, kernel/bpf/task_iter.c */
struct bpf_iter__task {
	void *meta;
	struct task_struct *task; /* NULL at the end */
} REEL_CORE;

#ifdef REEL_SCAN_COPIES
#define REEL_SCAN_SECTION "?iter/task"
#else
#define REEL_SCAN_SECTION "?iter.s/task"
#endif

/* One sample at a time; the loader sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__uint(value_size, 8);
} reel_scan_scratch SEC(".maps");

static __always_inline bool reel_scan_on_cpu(struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) && task->on_cpu;
}

/* Whether the thread is in the requested cgroup or below. */
static __always_inline bool reel_scan_in_cgroup(struct task_struct *task)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp), *above = NULL;
	__u32 level = settings.cgroup_level;
	__u64 id = 0;

	if (BPF_CORE_READ(cgroup, level) < (int)level)
		return false;
	if (bpf_core_field_exists(cgroup->ancestors)) {
		bpf_core_read(&above, sizeof(above), &cgroup->ancestors[0] + level);
		id = BPF_CORE_READ(above, kn, id);
	} else {
		struct cgroup___ids *ids = (void *)cgroup;

		bpf_core_read(&id, sizeof(id), &ids->ancestor_ids[0] + level);
	}
	return id == settings.cgroup_id;
}

static __always_inline bool reel_other_wanted(struct task_struct *task, struct reel_ids ids)
{
	return settings.system_wide || reel_process_followed(ids.pid) ||
	       bpf_map_lookup_elem(&reel_threads, &ids.tid) ||
	       (settings.use_cgroup && reel_scan_in_cgroup(task));
}

static __always_inline bool reel_scan_wanted(struct task_struct *task, struct reel_ids ids)
{
	__u32 cpu = reel_task_cpu(task);

	if (!ids.tid || (settings.check_cpu && !reel_cpu_wanted(cpu)))
		return false;
	return reel_other_wanted(task, ids);
}

/* Whether the thread has run since the last scan that saw it wait. */
static __always_inline bool reel_scan_ran(struct task_struct *task, const struct reel_wait *wait)
{
	return task->nvcsw != wait->voluntary || task->nivcsw != wait->involuntary;
}

/* The kernel wakes all threads whose timers expire within their slack from one interrupt. */
#define REEL_SCAN_INTERRUPT 10000 /* ns */

/*
 * What the scanning process did to a thread that could run: it takes a CPU from one, and others
 * that are woken with it, or while it scans, have to wait for it.
 */
enum reel_scan_effect {
	REEL_SCAN_NO_EFFECT,
	REEL_SCAN_DISPLACED, /* it ran until the scan began */
	REEL_SCAN_DELAYED,   /* it waited for something else until then */
	REEL_SCAN_RESUMED,   /* the same, but it has run since, until the scan began */
};

static __always_inline void reel_scan_record_arrival(void)
{
	struct task_struct *scanner = (void *)bpf_get_current_task();
	__u64 arrival = BPF_CORE_READ(scanner, sched_info.last_arrival);
	__u64 delay = BPF_CORE_READ(scanner, sched_info.run_delay);

	reel_control.scan_woken =
		arrival - (delay - reel_control.scan_run_delay) - REEL_SCAN_INTERRUPT;
	reel_control.scan_arrival = arrival;
	reel_control.scan_run_delay = delay;
	reel_control.scanner = BPF_CORE_READ(scanner, pid);
}

/* The scanning process's wait for a CPU in a scan says nothing about when the next one is due. */
static __always_inline void reel_scan_record_end(void)
{
	struct task_struct *scanner = (void *)bpf_get_current_task();

	reel_control.scan_run_delay = BPF_CORE_READ(scanner, sched_info.run_delay);
}

/* Not inlined, for the limit of stack. */
static __noinline enum reel_scan_effect reel_scan_effect(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.last_queued))
		return REEL_SCAN_NO_EFFECT;
	if (!reel_control.scan_arrival)
		reel_scan_record_arrival();
	if (reel_task_is_blocked(task))
		return REEL_SCAN_NO_EFFECT;
	/* A switch sets both from one reading of the CPU's clock (sched_info_switch). */
	if (task->sched_info.last_queued == reel_control.scan_arrival)
		return task->sched_info.last_arrival < reel_control.scan_woken ? REEL_SCAN_DISPLACED
									       : REEL_SCAN_RESUMED;
	return task->sched_info.last_queued >= reel_control.scan_woken ? REEL_SCAN_DELAYED
								       : REEL_SCAN_NO_EFFECT;
}

/*
 * Why the thread waits.  One that could run was preempted if only the count of involuntary switches
 * has grown since the last scan; if both have, or there was none, if it was interrupted in its own
 * code.
 */
static __always_inline __u32 reel_scan_state(struct task_struct *task, const struct reel_wait *wait,
					     bool in_syscall)
{
	if (reel_task_is_blocked(task))
		return REEL_BPF_BLOCKED;
	if (wait && task->nivcsw == wait->involuntary)
		return task->nvcsw == wait->voluntary && wait->state == REEL_BPF_PREEMPTED
			       ? REEL_BPF_PREEMPTED
			       : REEL_BPF_WOKEN;
	if (wait && task->nvcsw == wait->voluntary)
		return REEL_BPF_PREEMPTED;
	return in_syscall ? REEL_BPF_WOKEN : REEL_BPF_PREEMPTED;
}

/* ---- copying -------------------------------------------------------------------------------- */

/* Room for a region at `offset` of the record; NULL never happens. */
static __always_inline __u8 *reel_scan_room(__u64 offset, __u64 size)
{
	__u32 zero = 0;
	__u8 *scratch = bpf_map_lookup_elem(&reel_scan_scratch, &zero);

	barrier_var(offset);
	barrier_var(size);
	if (!scratch || offset > REEL_REGION_OFFSET_MAX + settings.max_stack ||
	    size > settings.max_stack)
		return NULL;
	return scratch + offset;
}

/* A region being copied page by page. */
struct reel_scan_pages {
	struct task_struct *task;
	struct reel_bpf_region *region;
	__u64 offset; /* in the record */
};

#ifndef REEL_SCAN_COPIES
/* Copies the part of a region in one page; 1 at the region's end. */
static long reel_scan_copy_page(__u32 page, struct reel_scan_pages *pages)
{
	struct reel_bpf_region *region = pages->region;
	__u64 inside = region->address & (settings.page_size - 1), word = page / 64;
	/* By the number, not by a sum: the verifier need not try all sums. */
	__u64 done = page ? (__u64)page * settings.page_size - inside : 0;
	__u64 part = settings.page_size - (page ? 0 : inside);
	__u8 *room;

	barrier_var(word);
	if (done >= region->size || word >= REEL_BPF_MISSING_WORDS)
		return 1;
	if (part > region->size - done)
		part = region->size - done;
	barrier_var(part);
	if (part > settings.page_size)
		return 1;
	room = reel_scan_room(pages->offset + done, part);
	if (!room)
		return 1;
	if (reel_other_read(pages->task, room, part, (void *)region->address + done)) {
		bpf_probe_read_kernel(room, part, reel_zeros);
		region->missing[word] |= 1ull << page % 64;
	}
	return 0;
}

static __always_inline void reel_scan_copy(struct task_struct *task, struct reel_sampling *s,
					   __u32 index, __u64 offset)
{
	struct reel_bpf_region *region = &s->sample.regions[index];
	__u64 size = region->size;
	__u8 *room;
	struct reel_scan_pages pages = {
		.task = task,
		.region = region,
		.offset = offset,
	};

	barrier_var(size);
	if (size > settings.max_stack)
		return;
	room = reel_scan_room(offset, size);
	if (!room || !reel_other_read(task, room, size, (void *)region->address))
		return;
	s->sample.flags |= REEL_BPF_COPY_FAILED;
	bpf_loop((REEL_BPF_MAX_STACK_LIMIT >> 12) + 1, reel_scan_copy_page, &pages, 0);
}
#else
/* From the scanning process, which knows what is missing. */
static __noinline void reel_scan_copy(struct task_struct *task, struct reel_sampling *s,
				      __u32 index, __u64 offset)
{
	struct reel_bpf_copies *copies = reel_copies(s);
	const struct reel_bpf_piece *piece;
	struct reel_bpf_region *region;
	__u64 at, size;
	__u8 *room;

	barrier_var(index);
	if (!copies || index >= REEL_BPF_REGIONS_MAX)
		return;
	region = &s->sample.regions[index];
	size = region->size;
	at = reel_copied_at(task, region->address, size);
	piece = &copies->pieces[s->piece % REEL_PIECES_MAX];
	room = reel_scan_room(offset, size);
	barrier_var(size);
	if (!room || size > settings.max_stack)
		return;
	/* The helper zeroes what it cannot read. */
	if (!bpf_probe_read_user(room, size, (void *)at) && !piece->is_partial)
		return;
	s->sample.flags |= REEL_BPF_COPY_FAILED;
#pragma unroll
	for (int i = 0; i < REEL_BPF_MISSING_WORDS; i++)
		region->missing[i] = at ? piece->missing[i] : ~0ull;
}
#endif

static __always_inline bool reel_scan_emit(struct task_struct *task, struct reel_sampling *s,
					   const struct reel_wait *wait, bool ran)
{
	struct reel_bpf_sample *sample = &s->sample;
	__u64 prefix = reel_sampling_prefix(s), size;
	__u64 starts[REEL_BPF_REGIONS_MAX] = {};
	void *ring = reel_task_ring();
	__u32 zero = 0;
	__u8 *scratch = bpf_map_lookup_elem(&reel_scan_scratch, &zero);

	if (!ring || !scratch)
		return false;
	size = reel_record_size(reel_regions_place(sample, prefix, starts));
	if (starts[REEL_BPF_ROOT])
		reel_scan_copy(task, s, REEL_BPF_ROOT, starts[REEL_BPF_ROOT]);
	if (starts[0])
		reel_scan_copy(task, s, 0, starts[0]);
	if (starts[1])
		reel_scan_copy(task, s, 1, starts[1]);
	/* It ran meanwhile: the bytes may be of different moments. */
	if (ran || reel_scan_on_cpu(task) || reel_scan_ran(task, wait)) {
		sample->flags = 0;
		sample->where = REEL_BPF_WHERE_UNKNOWN;
		sample->weight = wait->weight;
		sample->n_kernel_chain = 0;
		sample->n_user_probes = 0;
		sample->n_values = 0;
		sample->n_frames = 0;
		sample->n_registers = 0;
		sample->n_regions = 0;
		sample->pc = 0;
		prefix = sizeof(*sample);
		size = reel_record_size(prefix);
	}
	barrier_var(prefix);
	barrier_var(size);
	if (prefix > REEL_BPF_PREFIX_MAX || bpf_probe_read_kernel(scratch, prefix, sample) ||
	    size > REEL_REGION_OFFSET_MAX + 2 * settings.max_stack)
		return false;
	if (bpf_ringbuf_output(ring, scratch, size, reel_ring_flags(ring))) {
		reel_count_dropped(ring, size);
		return false;
	}
	reel_count_missing(sample);
	return true;
}

/* The request that the thread works for, and the beginning of its interpreter frames.  Not inlined,
 * for the limit of stack. */
static __noinline void reel_scan_program(struct task_struct *task, struct reel_sampling *s)
{
	if (reel_request_is_possible())
		reel_request_find(task, task, s);
#ifndef REEL_SCAN_COPIES
	/* With copies, they take more reads than there are passes. */
	if (!reel_control.interpreters || !reel_frames_begin(task, s))
#endif
		s->walk.stage = REEL_FRAMES_END;
}

#ifdef REEL_SCAN_COPIES
static __always_inline void reel_scan_interpreter(struct task_struct *task, struct reel_sampling *s)
{
	(void)task;
	(void)s;
}
#else
/* A walk through interpreter frames. */
struct reel_scan_frames {
	struct task_struct *task;
	struct reel_sampling *s;
};

static long reel_scan_frame(__u32 pass, struct reel_scan_frames *frames)
{
	(void)pass;
	if (reel_frames_step(frames->task, frames->s, settings.scan_slot))
		return 0;
	/* A branch: the verifier wants to see a constant. */
	barrier();
	return 1;
}

static __noinline void reel_scan_interpreter(struct task_struct *task, struct reel_sampling *s)
{
	struct reel_scan_frames frames = { .task = task, .s = s };

	if (s->walk.stage == REEL_FRAMES_END)
		return;
	bpf_loop(REEL_FRAMES_READS_MAX, reel_scan_frame, &frames, 0);
}
#endif

/* Makes the sample of a wait that begins; its fields in `wait` are set. */
static __always_inline void reel_scan_sample(struct task_struct *task, struct reel_sampling *s,
					     struct reel_wait *wait)
{
	struct reel_bpf_sample *sample = &s->sample;
	struct mm_struct *mm = task->mm;
	__u64 sp = 0;
	long size;

	reel_sample_begin(sample, (struct reel_ids){ wait->pid, wait->tid }, settings.scan_event);
	sample->flags = REEL_BPF_WAIT_BEGINS;
	sample->time = wait->time;
	sample->cpu = wait->cpu;
	sample->state = wait->state;
	sample->kernel_tid = task->pid;
	sample->weight = 0;
	sample->where = REEL_BPF_WHERE_KERNEL_THREAD;
	if (reel_registers_user(&s->saved.user) && reel_registers_sp(&s->saved.user)) {
		bool syscall = reel_saved_registers_syscall(&s->saved);

		sample->where = syscall ? REEL_BPF_WHERE_SYSCALL : REEL_BPF_WHERE_INTERRUPT;
		if (!reel_task_in_execve(task)) {
			sample->flags |= REEL_BPF_REGISTERS;
			reel_registers_store(sample, &s->saved.user, syscall);
			sp = reel_registers_sp(&s->saved.user);
		}
	}
	reel_cgroup_record(s, task, reel_task_ring());
	if (settings.kernel_chain) {
		size = bpf_get_task_stack((void *)task, s->chains, 8 * REEL_BPF_KERNEL_CHAIN_MAX,
					  0);
		if (size > 0)
			sample->n_kernel_chain = size / 8;
	}
	if (sp && mm) {
		reel_user_probes_store(settings.scan_slot, task, mm);
		reel_scan_program(task, s);
		reel_scan_interpreter(task, s);
		reel_regions_find(task, s, task, mm, sp);
	}
	reel_lock_find(task, s, wait);
}

/* ---- scanning ------------------------------------------------------------------------------- */

/*
 * Reports who woke the thread since this scan was due, if that ended s->wait.  A thread
 * that has run since has other counts.
 */
static __noinline void reel_scan_emit_waker(__u32 key, bool has_run)
{
	struct reel_sampling *s = reel_sampling(settings.scan_slot);
	struct reel_recent_waker *waker = bpf_map_lookup_elem(&reel_recent_wakers, &key);
	struct reel_bpf_sample *sample;
	void *ring = reel_task_ring();
	__u32 zero = 0;
	__u8 *scratch = bpf_map_lookup_elem(&reel_scan_scratch, &zero);

	if (!s || !waker || !ring || !scratch || waker->scan != reel_control.scan_wakes)
		return;
	if (!has_run &&
	    (waker->voluntary != s->wait.voluntary || waker->involuntary != s->wait.involuntary))
		return;
	sample = &s->sample;
	reel_sample_begin(sample, (struct reel_ids){ 0, waker->tid }, settings.waker_event);
	sample->flags = waker->flags;
	sample->time = reel_control.scan_time;
	sample->weight = 0;
	sample->woken_tid = s->wait.tid;
	sample->soft_interrupt = waker->soft_interrupt;
	__builtin_memcpy(sample->comm, waker->comm, sizeof(sample->comm));
	if (!bpf_probe_read_kernel(scratch, sizeof(*sample), sample))
		bpf_ringbuf_output(ring, scratch, reel_record_size(sizeof(*sample)),
				   reel_ring_flags(ring));
}

/* Makes the sample of a wait that begins, unless its memory has to be read first. */
static __always_inline void reel_scan_finish(struct task_struct *task, struct reel_sampling *s,
					     struct reel_wait *wait, __u32 key, bool ran)
{
	/* The next scan tries again. */
	if (reel_other_is_locked(task->mm))
		ran = true;
	/* Making the sample takes as long as many a wait for a disk: its waker is to find it. */
	if (!ran && !reel_control.is_last_scan)
		bpf_map_update_elem(&reel_waits, &key, wait, BPF_ANY);
	if (settings.waker_slot)
		reel_scan_emit_waker(key, false);
	reel_scan_sample(task, s, wait);
#ifdef REEL_SCAN_COPIES
	wait->is_new = 1;
	if (!ran && reel_copies_wanted(task, s, wait) &&
	    !bpf_map_update_elem(&reel_waits, &key, wait, BPF_ANY))
		return;
	wait->copies = wait->is_new = 0;
#endif
	/* Without room to remember it, each scan is a wait of its own. */
	if (reel_control.is_last_scan || bpf_map_update_elem(&reel_waits, &key, wait, BPF_ANY)) {
		s->sample.flags &= ~REEL_BPF_WAIT_BEGINS;
		s->sample.weight = wait->weight;
		reel_scan_emit(task, s, wait, ran);
		bpf_map_delete_elem(&reel_waits, &key);
		return;
	}
	if (!reel_scan_emit(task, s, wait, ran) || !(s->sample.flags & REEL_BPF_WAIT_BEGINS))
		bpf_map_delete_elem(&reel_waits, &key);
}

/* A new wait, which the thread was not in at the last scan. */
static __always_inline void reel_scan_begin(struct task_struct *task, struct reel_sampling *s,
					    struct reel_wait *wait, __u32 key, bool ran)
{
	wait->start_time = task->start_time;
	wait->voluntary = task->nvcsw;
	wait->involuntary = task->nivcsw;
	wait->time = reel_control.scan_time;
	wait->weight = s->scan_weight;
	wait->began = reel_control.scan_time - s->scan_weight;
	wait->is_woken = 0;
	wait->cpu = reel_task_cpu(task);
	wait->copies = 0;
#ifdef REEL_SCAN_COPIES
	if (!reel_copies_begin(s, wait->pid)) {
		reel_control.scan_next = wait->tid;
		return;
	}
#endif
	reel_scan_finish(task, s, wait, key, ran);
}

#ifdef REEL_SCAN_COPIES
/* The owner of a known wait's lock: as before, until its memory is read. */
static __always_inline __u32 reel_scan_owner(struct task_struct *task, struct reel_sampling *s,
					     struct reel_wait *wait)
{
	if (wait->lock_word && !reel_control.is_last_scan && reel_copies_begin(s, wait->pid)) {
		reel_lock_owner(task, s, wait->lock_word);
		s->sample.flags = s->sample.n_regions = 0;
		reel_copies_wanted(task, s, wait);
	}
	return wait->lock_owner;
}

/* A pass after the first over a thread whose memory was read. */
static __always_inline int reel_scan_again(struct task_struct *task, struct reel_sampling *s,
					   struct reel_wait *wait, __u32 key)
{
	bool ran = wait->start_time != task->start_time || reel_scan_on_cpu(task) ||
		   reel_scan_ran(task, wait);
	__u32 owner;

	s->asks = 0;
	s->copies = wait->copies - 1;
	if (wait->is_new) {
		reel_saved_registers_read(&s->saved, reel_other_pt_regs(task));
		s->wait = *wait;
		reel_scan_finish(task, s, &s->wait, key, ran);
		return 0;
	}
	wait->copies = 0;
	owner = reel_lock_owner(task, s, wait->lock_word);
	if (ran || owner == wait->lock_owner)
		return 0;
	/* This scan's weight is the new owner's. */
	if (wait->weight >= reel_control.scan_weight) {
		wait->weight -= reel_control.scan_weight;
		reel_wait_report(wait, false);
		wait->weight = reel_control.scan_weight;
	}
	wait->lock_owner = owner;
	return 0;
}
#else
static __always_inline __u32 reel_scan_owner(struct task_struct *task, struct reel_sampling *s,
					     struct reel_wait *wait)
{
	return wait->lock_word ? reel_lock_owner(task, s, wait->lock_word) : 0;
}
#endif

/* One more scan of the same wait. */
static __always_inline void reel_scan_count(struct task_struct *task, struct reel_sampling *s,
					    struct reel_wait *wait, enum reel_scan_effect effect)
{
	__u32 state =
		effect == REEL_SCAN_NO_EFFECT ? reel_scan_state(task, wait, true) : wait->state;
	__u32 owner = reel_scan_owner(task, s, wait);

	if (state != wait->state || owner != wait->lock_owner) {
		reel_wait_report(wait, false);
		wait->state = state;
		wait->lock_owner = owner;
	}
	wait->time = reel_control.scan_time;
	wait->weight += s->scan_weight;
	if (wait->weight >= REEL_WAIT_PART)
		reel_wait_report(wait, false);
}

static __always_inline int reel_scan_task(struct task_struct *task, struct reel_sampling *s)
{
	enum reel_scan_effect effect;
	struct reel_wait *wait;
	bool is_waiting, is_known;
	struct reel_ids ids;
	__u32 key;

	key = task->pid;
	wait = bpf_map_lookup_elem(&reel_waits, &key);
#ifdef REEL_SCAN_COPIES
	if (reel_copies_skips(task))
		return 0;
	if (reel_control.scan_pass)
		return wait && wait->copies ? reel_scan_again(task, s, wait, key) : 0;
#endif
	effect = reel_scan_effect(task);
	is_waiting = !reel_scan_on_cpu(task) && effect != REEL_SCAN_DISPLACED;
	is_known = wait && wait->start_time == task->start_time;
	if (is_known && is_waiting && !reel_scan_ran(task, wait)) {
		reel_scan_count(task, s, wait, effect);
		if (!reel_control.is_last_scan)
			return 0;
		is_waiting = false; /* as far as this recording knows */
	}
	is_waiting = is_waiting && reel_saved_registers_read(&s->saved, reel_other_pt_regs(task));
	if (is_waiting)
		s->wait.state = reel_scan_state(task, is_known ? wait : NULL,
						reel_saved_registers_syscall(&s->saved));
	if (effect == REEL_SCAN_RESUMED ||
	    (effect == REEL_SCAN_DELAYED && s->wait.state == REEL_BPF_WOKEN))
		s->wait.state = REEL_BPF_BLOCKED;
	else if (effect == REEL_SCAN_DELAYED && reel_task_cpu(task) == bpf_get_smp_processor_id())
		is_waiting = false; /* displaced by a thread that was woken with this process */
	if (wait) {
		reel_wait_report(wait, true);
		bpf_map_delete_elem(&reel_waits, &key);
	}
	ids = reel_task_ids(task);
	if (!is_waiting || !reel_scan_wanted(task, ids))
		return 0;
	s->wait.pid = ids.pid;
	s->wait.tid = ids.tid;
	if (settings.waker_slot && effect == REEL_SCAN_RESUMED)
		reel_scan_emit_waker(key, true);
	reel_scan_begin(task, s, &s->wait, key, effect == REEL_SCAN_RESUMED);
	return 0;
}

#ifdef REEL_SCAN_LIST
/* Whether one more thread of the user may be listed. */
static __noinline bool reel_scan_user_has_room(__u32 user)
{
	struct reel_listed_user *known = bpf_map_lookup_elem(&reel_scan_users, &user), first = {};

	if (!known) {
		first.walk = reel_control.scan_walk;
		first.count = 1;
		bpf_map_update_elem(&reel_scan_users, &user, &first, BPF_ANY);
		return true;
	}
	if (known->walk != reel_control.scan_walk) {
		known->walk = reel_control.scan_walk;
		known->count = 0;
	}
	return known->count++ < REEL_LISTED_OF_USER;
}

/* In a walk: the weight of a thread, which is listed for the scans until the next walk if it is one
 * of few. */
static __always_inline __u64 reel_scan_list_append(struct task_struct *task)
{
	__u32 key = task->pid, at = reel_control.scan_listed;
	struct reel_listed *known = bpf_map_lookup_elem(&reel_scan_listed, &key), listed = {};
	bool was_listed = known && known->start_time == task->start_time &&
			  known->walk + 1 == reel_control.scan_walk;
	bool has_room = task->signal->nr_threads <= REEL_LISTED_OF_PROCESS &&
			at < REEL_LISTED_MAX &&
			(settings.system_wide || reel_scan_wanted(task, reel_task_ids(task))) &&
			reel_scan_user_has_room(task->real_cred->uid.val);

	listed.start_time = task->start_time;
	listed.walk = reel_control.scan_walk;
	if (has_room && !bpf_map_update_elem(&reel_scan_listed, &key, &listed, BPF_ANY)) {
		bpf_map_update_elem(&reel_scan_list, &at, &key, BPF_ANY);
		reel_control.scan_listed = at + 1;
	} else if (known) {
		bpf_map_delete_elem(&reel_scan_listed, &key);
	}
	return was_listed ? reel_control.scan_weight : reel_control.scan_rest_weight;
}
#endif

SEC(REEL_SCAN_SECTION)
int reel_scan(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct reel_sampling *s = reel_sampling(settings.scan_slot);

	if (!task)
		reel_scan_record_end();
	if (!task || !s || !reel_control.enabled)
		return 0;
	/* Kernel threads wait most of the time; a thread without memory is ending. */
	if (task->flags & PF_KTHREAD || !task->mm)
		return 0;
#ifdef REEL_SCAN_LIST
	s->scan_weight = reel_scan_list_append(task);
#else
	s->scan_weight = reel_control.scan_weight;
#endif
	return reel_scan_task(task, s);
}

#ifdef REEL_SCAN_LIST
extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;

static long reel_scan_listed_task(__u32 at, void *context)
{
	struct reel_sampling *s = reel_sampling(settings.scan_slot);
	__u32 *key = bpf_map_lookup_elem(&reel_scan_list, &at);
	struct reel_listed *listed;
	struct task_struct *task;

	(void)context;
	if (!key || !s)
		return 1;
	listed = bpf_map_lookup_elem(&reel_scan_listed, key);
	task = listed ? bpf_task_from_pid(*key) : NULL;
	if (!task)
		return 0;
	s->scan_weight = reel_control.scan_weight;
	if (task->mm && task->start_time == listed->start_time)
		reel_scan_task(task, s);
	bpf_task_release(task);
	return 0;
}

/* A scan of the threads that the last walk has listed. */
SEC("?syscall")
int reel_scan_listed_tasks(void *ctx)
{
	(void)ctx;
	if (reel_control.enabled)
		bpf_loop(reel_control.scan_listed, reel_scan_listed_task, NULL, 0);
	reel_scan_record_end();
	return 0;
}
#endif

#endif
