/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Samples who ends a wait that a scan has seen (bpf/waits/scan.h), when it does: for --wakers.  So
 * there are at most as many such samples as threads found waiting, or as long waits
 * (bpf/waits/switch.h).
 */
#ifndef BPF_WAITS_WAKER_H
#define BPF_WAITS_WAKER_H

#include "bpf/copy/copy.h"
#include "bpf/events/cgroup.h"
#include "bpf/events/take.h"
#include "bpf/maps.h"
#include "bpf/pids.h"
#include "bpf/runtimes/interpreters.h"
#include "bpf/runtimes/request.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/stacks/regions.h"
#include "bpf/stacks/user_probes.h"
#include "bpf/waits/scan.h"
#include "bpf/waits/wait.h"

/* What interrupts a CPU. */
struct reel_interrupts {
	const char *device;
	__u32 soft; /* the number of the soft interrupt, counted from 1; 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct reel_interrupts);
} reel_interrupts SEC(".maps");

static __always_inline struct reel_interrupts *reel_interrupts_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&reel_interrupts, &zero);
}

/* TP_PROTO(int irq, struct irqaction *action) */
SEC("?raw_tp/irq_handler_entry")
int reel_interrupt_begin(struct bpf_raw_tracepoint_args *ctx)
{
	struct reel_interrupts *here = reel_interrupts_here();

	if (here)
		here->device = BPF_CORE_READ((struct irqaction *)ctx->args[1], name);
	return 0;
}

SEC("?raw_tp/irq_handler_exit")
int reel_interrupt_end(void *ctx)
{
	struct reel_interrupts *here = reel_interrupts_here();

	(void)ctx;
	if (here)
		here->device = NULL;
	return 0;
}

/* TP_PROTO(unsigned int vec_nr) */
SEC("?raw_tp/softirq_entry")
int reel_interrupt_soft_begin(struct bpf_raw_tracepoint_args *ctx)
{
	struct reel_interrupts *here = reel_interrupts_here();

	if (here)
		here->soft = (__u32)ctx->args[0] + 1;
	return 0;
}

SEC("?raw_tp/softirq_exit")
int reel_interrupt_soft_end(void *ctx)
{
	struct reel_interrupts *here = reel_interrupts_here();

	(void)ctx;
	if (here)
		here->soft = 0;
	return 0;
}

/* Names the interrupt that wakes, which may have interrupted a soft one. */
static __always_inline void reel_interrupt_name(struct reel_bpf_sample *sample)
{
	struct reel_interrupts *here = reel_interrupts_here();

	sample->comm[0] = 0;
	if (here && here->device)
		bpf_probe_read_kernel_str(sample->comm, sizeof(sample->comm), here->device);
	else if (here)
		sample->soft_interrupt = here->soft;
}

/* Addresses of a chain that are searched for an interrupt's entry. */
#define REEL_INTERRUPT_DEPTH 48

/*
 * Whether an interrupt wakes, so that the current task has nothing to do with it: its chain leads
 * through the kernel's code for entries of interrupts.  (A soft interrupt that the task itself
 * raised, such as by sending over loopback, is its own doing.)  Not static: the verifier then
 * checks it once.
 */
__noinline bool reel_is_interrupt(__u32 slot)
{
	const struct reel_sampling *s = reel_sampling(slot);
	__u32 n;

	if (!s)
		return false;
	n = s->sample.n_kernel_chain;
	for (__u32 i = 0; i < REEL_INTERRUPT_DEPTH; i++) {
		if (i >= n)
			break;
		if (s->chains[i] - settings.interrupt_entries < settings.interrupt_entries_size)
			return true;
	}
	return !s->sample.tid;
}

/* The wait that this wakeup ends; NULL if no scan has seen it, or it was too short. */
static __always_inline struct reel_wait *reel_waker_wait(struct task_struct *woken)
{
	__u32 key = BPF_CORE_READ(woken, pid);
	struct reel_wait *wait = bpf_map_lookup_elem(&reel_waits, &key);

	if (!wait || wait->is_woken || wait->state != REEL_BPF_BLOCKED)
		return NULL;
	if (settings.all_waits)
		return wait->began && bpf_ktime_get_ns() - wait->began >= settings.min_block ? wait
											     : NULL;
	if (wait->start_time != BPF_CORE_READ(woken, start_time) ||
	    wait->voluntary != BPF_CORE_READ(woken, nvcsw) ||
	    wait->involuntary != BPF_CORE_READ(woken, nivcsw))
		return NULL;
	return wait;
}

/* For a scan that is due, and will find that the thread waited until now. */
static __always_inline void reel_waker_remember(struct task_struct *woken,
						const struct reel_bpf_sample *sample)
{
	struct reel_recent_waker waker = {
		.voluntary = BPF_CORE_READ(woken, nvcsw),
		.involuntary = BPF_CORE_READ(woken, nivcsw),
		.scan = reel_control.scan_wakes,
		.tid = sample->tid,
		.flags = sample->flags,
		.soft_interrupt = sample->soft_interrupt,
	};
	__u32 key = BPF_CORE_READ(woken, pid);

	__builtin_memcpy(waker.comm, sample->comm, sizeof(waker.comm));
	bpf_map_update_elem(&reel_recent_wakers, &key, &waker, BPF_ANY);
}

/* TP_PROTO(struct task_struct *p); in the waker, or in the interrupt that wakes. */
SEC("?raw_tp/sched_waking")
int reel_waking(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = REEL_TASK_CURRENT(), *woken = (void *)ctx->args[0];
	struct reel_sampling *s = reel_sampling(settings.waker_slot);
	struct reel_wait *wait = reel_waker_wait(woken);
	struct reel_bpf_counts *counts = reel_counters();
	void *ring = reel_task_ring();
	struct reel_bpf_sample *sample;
	struct mm_struct *mm;
	long size;
	__u64 sp;

	if (!settings.all_waits && (__u32)BPF_CORE_READ(woken, pid) == reel_control.scanner &&
	    !reel_control.scan_pending) {
		reel_control.scan_wakes++;
		reel_control.scan_pending = 1;
	}
	if (!s || !ring || !counts || !reel_control.enabled)
		return 0;
	if (wait ? !reel_rate_allows(counts, settings.waker_event, bpf_ktime_get_ns())
		 : !reel_control.scan_pending || !reel_other_wanted(woken, reel_task_ids(woken)))
		return 0;
	if (wait && !settings.all_waits) /* else reel_switch_wakeup does */
		wait->is_woken = 1;
	/* A kernel that does not prevent this program from interrupting itself. */
	if (s->busy) {
		REEL_COUNT(ring_busy);
		return 0;
	}
	s->busy = 1;
	s->slot = settings.waker_slot;
	sample = &s->sample;
	reel_sample_begin(sample, reel_current_ids(task), settings.waker_event);
	sample->flags = REEL_BPF_WAKER;
	sample->soft_interrupt = 0;
	bpf_get_current_comm(sample->comm, sizeof(sample->comm));
	size = bpf_get_stack(ctx, s->chains, 8 * REEL_BPF_KERNEL_CHAIN_MAX, 0);
	if (size > 0)
		sample->n_kernel_chain = size / 8;
	if (reel_is_interrupt(settings.waker_slot)) {
		sample->flags |= REEL_BPF_INTERRUPT;
		reel_interrupt_name(sample);
	}
	if (!wait) {
		reel_waker_remember(woken, sample);
		s->busy = 0;
		return 0;
	}
	sample->woken_tid = wait->tid;
	sample->weight = sample->time - wait->began;
	reel_cgroup_record(s, task, ring);
	if (!(sample->flags & REEL_BPF_INTERRUPT) &&
	    reel_current_wanted((struct reel_ids){ sample->pid, sample->tid }))
		sample->flags |= REEL_BPF_WAKER_SAMPLED;
	sample->n_kernel_chain = 0;
	if (sample->flags & REEL_BPF_WAKER_SAMPLED) {
		sp = reel_sampling_enter_kernel(s, task);
		reel_chains_walk(ctx, s);
		mm = REEL_TASK_READ(task, mm);
		if (sp && mm) {
			reel_user_probes_store(s->slot, task, mm);
			if (reel_request_is_possible())
				reel_request_store(s->slot);
			if (reel_control.interpreters)
				reel_frames_store(s->slot);
			reel_regions_find(NULL, s, task, mm, sp);
		}
	}
	reel_sample_emit(s, ring);
	s->busy = 0;
	return 0;
}

#endif
