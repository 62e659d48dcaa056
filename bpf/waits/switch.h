/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Samples each wait with its exact time: --off-cpu=all.  A switch notes when a thread loses its
 * CPU, a wakeup when it could have one again.  Once the thread runs, and if it waited long enough,
 * its stack is copied: in its own context, where its memory can be read.  A shorter wait costs
 * three look-ups.
 */
#ifndef BPF_WAITS_SWITCH_H
#define BPF_WAITS_SWITCH_H

#include "bpf/events/take.h"
#include "bpf/maps.h"
#include "bpf/pids.h"
#include "bpf/registers.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/user_memory.h"
#include "bpf/waits/scan.h"
#include "bpf/waits/wait.h"

static __always_inline struct reel_wait *reel_switch_wait(__u32 key)
{
	return bpf_map_lookup_elem(&reel_waits, &key);
}

/* Makes the entry of a thread that waits for the first time; NULL without room. */
static __always_inline struct reel_wait *reel_switch_add(__u32 key)
{
	struct reel_wait wait = {};

	if (bpf_map_update_elem(&reel_waits, &key, &wait, BPF_ANY)) {
		REEL_COUNT(waits_missed);
		return NULL;
	}
	return reel_switch_wait(key);
}

/* Where the owner of the current thread's lock is; 0: it does not wait for one. */
static __always_inline __u64 reel_switch_lock(struct task_struct *task, struct reel_sampling *s)
{
	return reel_task_registers(task, &s->saved) && reel_saved_registers_syscall(&s->saved)
		       ? reel_lock_word(s, reel_task_pt_regs(task))
		       : 0;
}

static __always_inline bool reel_switch_is_blocked(struct task_struct *task)
{
	struct task_struct___older *older = (void *)task;

	return bpf_core_field_exists(task->__state) ? REEL_TASK_READ(task, __state) != 0
						    : REEL_TASK_READ(older, state) != 0;
}

/* A thread loses its CPU. */
static __always_inline void reel_switch_out(struct task_struct *task, struct reel_sampling *s,
					    bool preempted, __u64 time)
{
	__u32 key = bpf_get_current_pid_tgid();
	struct reel_ids ids = reel_current_ids(task);
	struct reel_wait *wait;
	__u64 ran;

	/* The entry of a thread that exits is deleted already, or soon. */
	if (REEL_TASK_READ(task, flags) & (PF_KTHREAD | PF_EXITING) || !reel_current_wanted(ids))
		return;
	wait = reel_switch_wait(key);
	if (!wait)
		wait = reel_switch_add(key);
	if (!wait)
		return;
	wait->state =
		preempted || !reel_switch_is_blocked(task) ? REEL_BPF_PREEMPTED : REEL_BPF_BLOCKED;
	ran = REEL_TASK_READ(task, se.sum_exec_runtime);
	/* Some kernels do not report each switch. The kernel's account tells how long it waited. */
	if (wait->began) {
		REEL_COUNT(waits_missed);
		if (time - wait->began > ran - wait->ran)
			reel_count_waiting(time - wait->began - (ran - wait->ran));
	}
	wait->tid = ids.tid;
	wait->is_woken = 0;
	/* Now: at the end of the wait it is free, or another thread's. */
	wait->lock_owner = 0;
	if (wait->state == REEL_BPF_BLOCKED) {
		__u64 at = reel_switch_lock(task, s);

		if (at)
			wait->lock_owner = reel_lock_owner(NULL, s, at);
	}
	wait->began = time;
	wait->ran = ran;
}

/* A thread gets this CPU, and will be the current one in reel_switch_end. */
static __always_inline void reel_switch_in(__u32 key, struct reel_sampling *s, __u64 time)
{
	struct reel_wait *wait = key ? reel_switch_wait(key) : NULL;
	__u64 began = wait ? wait->began : 0;

	if (!began)
		return;
	if (time - began >= settings.min_block) {
		s->wait = *wait;
		s->wait_end = time;
		s->wait_ends = key;
	}
	wait->began = 0;
}

/*
 * TP_PROTO(bool preempt, struct task_struct *prev, struct task_struct *next, …); prev is current.
 * Both get the same time, as in the kernel's own accounts.
 */
SEC("?raw_tp/sched_switch")
int reel_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct reel_sampling *s = reel_sampling(settings.switch_slot);
	struct task_struct *next = (void *)ctx->args[2];
	__u64 time = bpf_ktime_get_ns();

	if (!s || !reel_control.enabled)
		return 0;
	/* The kernel skipped reel_switch_end. */
	if (s->wait_ends) {
		REEL_COUNT(waits_missed);
		reel_count_waiting(s->wait_end - s->wait.began);
	}
	s->wait_ends = 0;
	reel_switch_out(REEL_TASK_CURRENT(), s, ctx->args[0], time);
	reel_switch_in(BPF_CORE_READ(next, pid), s, time);
	return 0;
}

/* TP_PROTO(struct task_struct *p) */
SEC("?raw_tp/sched_wakeup")
int reel_switch_wakeup(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct reel_wait *wait = reel_switch_wait(BPF_CORE_READ(task, pid));

	if (wait && wait->began && wait->state == REEL_BPF_BLOCKED && !wait->is_woken) {
		wait->time = bpf_ktime_get_ns();
		wait->is_woken = 1;
	}
	return 0;
}

/* Divides a wait that lasted until `time` into the parts before and after the wakeup. */
static __always_inline void reel_switch_weigh(struct reel_bpf_sample *sample,
					      const struct reel_wait *wait, __u64 time)
{
	__u64 woken = wait->is_woken ? wait->time : time;

	sample->flags |= REEL_BPF_WAIT_WHOLE;
	sample->time = time;
	sample->state = wait->state;
	sample->weight = woken - wait->began;
	sample->woken_weight = time - woken;
}

/* In the thread that has got a CPU. */
static __always_inline int reel_switch_end(void *ctx, __u32 skipped)
{
	struct task_struct *task = REEL_TASK_CURRENT();
	struct reel_sampling *s = reel_sampling(settings.switch_slot);
	struct reel_bpf_counts *counts = reel_counters();
	__u64 sp;

	if (!s || !counts || s->wait_ends != (__u32)bpf_get_current_pid_tgid() || !s->wait_ends)
		return 0;
	s->wait_ends = 0;
	if (!reel_cpu_wanted(bpf_get_smp_processor_id()))
		return 0;
	if (!reel_rate_allows(counts, settings.scan_event, s->wait_end)) {
		reel_count_waiting(s->wait_end - s->wait.began);
		return 0;
	}
	s->slot = settings.switch_slot;
	s->skipped = skipped;
	reel_sample_begin(&s->sample, reel_current_ids(task), settings.scan_event);
	reel_switch_weigh(&s->sample, &s->wait, s->wait_end);
	sp = reel_sampling_enter_kernel(s, task);
	if (s->wait.state == REEL_BPF_BLOCKED && reel_switch_lock(task, s)) {
		s->sample.flags |= REEL_BPF_LOCK;
		s->sample.lock = s->futex.address;
		s->sample.lock_owner = s->wait.lock_owner;
	}
	reel_sampling_end(ctx, s, task, sp, reel_task_ring());
	return 0;
}

/* TP_PROTO(bool is_switch, …), from 6.15 on: at the end of __schedule(). */
SEC("?raw_tp/sched_exit_tp")
int reel_switch_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return ctx->args[0] ? reel_switch_end(ctx, 2) : 0;
}

/* On older kernels: finish_task_switch. */
SEC("?kprobe")
int reel_switch_finish(void *ctx)
{
	return reel_switch_end(ctx, 1);
}

/*
 * Threads that do not run: at the start, these began to wait earlier; at the end, their waits are
 * not over.
 */
SEC(REEL_SCAN_SECTION)
int reel_switch_scan(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct reel_sampling *s = reel_sampling(settings.scan_slot);
	__u64 time = reel_control.scan_time;
	struct reel_wait *wait;
	struct reel_ids ids;
	bool is_busy;

	if (!task || !s || !reel_control.enabled || task->flags & PF_KTHREAD || !task->mm ||
	    reel_scan_on_cpu(task))
		return 0;
	ids = reel_task_ids(task);
	wait = reel_switch_wait(task->pid);
#ifdef REEL_SCAN_COPIES
	if (reel_copies_skips(task))
		return 0;
	if (reel_control.scan_pass && (!wait || !wait->copies))
		return 0;
#endif
	if (!reel_control.is_last_scan) {
		if (wait || !reel_scan_wanted(task, ids))
			return 0;
		wait = reel_switch_add(task->pid);
		if (!wait)
			return 0;
		wait->tid = ids.tid;
		wait->state = reel_task_is_blocked(task) ? REEL_BPF_BLOCKED : REEL_BPF_WOKEN;
		wait->began = time;
		wait->ran = task->se.sum_exec_runtime;
		return 0;
	}
	if (!wait || !wait->began || wait->began + settings.min_block > time ||
	    !reel_cpu_wanted(reel_task_cpu(task)) ||
	    !reel_saved_registers_read(&s->saved, reel_other_pt_regs(task)))
		return 0;
	if (!reel_control.scan_pass) {
		wait->voluntary = task->nvcsw;
		wait->involuntary = task->nivcsw;
		wait->copies = 0;
	}
	s->wait = *wait;
	s->wait.pid = ids.pid;
	s->wait.tid = ids.tid;
	s->wait.cpu = reel_task_cpu(task);
	is_busy = reel_other_is_locked(task->mm);
#ifdef REEL_SCAN_COPIES
	s->asks = 0;
	s->copies = wait->copies - 1;
	if (!reel_control.scan_pass && !reel_copies_begin(s, ids.pid)) {
		reel_control.scan_next = ids.tid;
		return 0;
	}
#endif
	reel_scan_sample(task, s, &s->wait);
#ifdef REEL_SCAN_COPIES
	if (!is_busy && reel_copies_wanted(task, s, wait))
		return 0;
#endif
	/* It has got a CPU meanwhile, and its own sample has the whole wait. */
	if (*(volatile __u64 *)&wait->began != s->wait.began)
		return 0;
	/* Of a rotated recording, the next part has the rest. */
	wait->began = time;
	s->sample.flags &= ~REEL_BPF_WAIT_BEGINS;
	s->wait.time = wait->time;
	s->wait.is_woken = wait->is_woken && wait->time < time;
	reel_switch_weigh(&s->sample, &s->wait, time);
	s->wait.weight = s->sample.weight;
	if (s->wait.is_woken)
		wait->time = time;
	reel_scan_emit(task, s, &s->wait, is_busy);
	return 0;
}

#endif
