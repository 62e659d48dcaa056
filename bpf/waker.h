/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Samples who ends a wait that a look has seen (bpf/look.h), when it does: for --wakers.  So there
 * are at most as many such samples as threads found waiting, or as long waits (bpf/switch.h).
 */
#ifndef BPF_WAKER_H
#define BPF_WAKER_H

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
	const struct reel_draft *draft = reel_draft(slot);
	__u32 n;

	if (!draft)
		return false;
	n = draft->sample.n_kernel_chain;
	for (__u32 i = 0; i < REEL_INTERRUPT_DEPTH; i++) {
		if (i >= n)
			break;
		if (draft->chains[i] - settings.interrupt_entries < settings.interrupt_entries_size)
			return true;
	}
	return !draft->sample.tid;
}

/* The wait that this wakeup ends; NULL if no look has seen it, or it was too short. */
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

/* TP_PROTO(struct task_struct *p); in the waker, or in the interrupt that wakes. */
SEC("?raw_tp/sched_waking")
int reel_waking(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = REEL_TASK_CURRENT();
	struct reel_draft *draft = reel_draft(settings.waker_slot);
	struct reel_wait *wait = reel_waker_wait((void *)ctx->args[0]);
	struct reel_bpf_counts *counts = reel_counters();
	void *ring = reel_task_ring();
	struct reel_bpf_sample *sample;
	struct mm_struct *mm;
	long size;
	__u64 sp;

	if (!wait || !draft || !ring || !counts || !reel_control.enabled ||
	    !reel_rate_allows(counts, settings.waker_event, bpf_ktime_get_ns()))
		return 0;
	if (!settings.all_waits) /* else reel_switch_wakeup does */
		wait->is_woken = 1;
	/* A kernel that does not prevent this program from interrupting itself. */
	if (draft->busy) {
		REEL_COUNT(ring_busy);
		return 0;
	}
	draft->busy = 1;
	draft->slot = settings.waker_slot;
	sample = &draft->sample;
	reel_sample_begin(sample, reel_current_ids(task), settings.waker_event);
	sample->flags = REEL_BPF_WAKER;
	sample->woken_tid = wait->tid;
	sample->weight = sample->time - wait->began;
	reel_cgroup_note(draft, task, ring);
	bpf_get_current_comm(sample->comm, sizeof(sample->comm));
	size = bpf_get_stack(ctx, draft->chains, 8 * REEL_BPF_KERNEL_CHAIN_MAX, 0);
	if (size > 0)
		sample->n_kernel_chain = size / 8;
	if (reel_is_interrupt(settings.waker_slot))
		sample->flags |= REEL_BPF_INTERRUPT;
	else if (reel_current_wanted((struct reel_ids){ sample->pid, sample->tid }))
		sample->flags |= REEL_BPF_WAKER_SAMPLED;
	sample->n_kernel_chain = 0;
	if (sample->flags & REEL_BPF_WAKER_SAMPLED) {
		sp = reel_draft_enter_kernel(draft, task);
		reel_chains_walk(ctx, draft);
		mm = REEL_TASK_READ(task, mm);
		if (sp && mm) {
			reel_user_probes_store(draft->slot, task, mm);
			if (reel_request_is_possible())
				reel_request_store(draft->slot);
			if (reel_control.interpreters)
				reel_frames_store(draft->slot);
			reel_regions_find(NULL, draft, task, mm, sp);
		}
	}
	reel_sample_emit(draft, ring);
	draft->busy = 0;
	return 0;
}

#endif
