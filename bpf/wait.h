/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The waits that looks have seen and that may not be over yet: bpf/look.h. */
#ifndef BPF_WAIT_H
#define BPF_WAIT_H

/* A longer wait is reported in parts, in ns. */
#define REEL_WAIT_PART (5 * 1000000000ull)

/* By the kernel's number of the thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct reel_wait);
} reel_waits SEC(".maps");

/* Reports the weight since the last report. */
static __always_inline void reel_wait_report(struct reel_wait *wait, bool is_over)
{
	void *ring = reel_task_ring();
	struct reel_bpf_wait *report;

	if (!ring || (!wait->weight && !is_over))
		return;
	report = bpf_ringbuf_reserve(ring, sizeof(*report), 0);
	if (!report) {
		/* Kept for the next report, if there is one. */
		if (is_over)
			REEL_COUNT(ring_full);
		return;
	}
	report->kind = REEL_BPF_WAIT;
	report->is_over = is_over;
	report->time = wait->time;
	report->pid = wait->pid;
	report->tid = wait->tid;
	report->state = wait->state;
	report->cpu = wait->cpu;
	report->weight = wait->weight;
	report->lock_owner = wait->lock_owner;
	report->unused = 0;
	bpf_ringbuf_submit(report, reel_ring_flags(ring));
	wait->weight = 0;
}

/* For a thread that ends. */
static __always_inline void reel_wait_exit(void)
{
	__u32 key = bpf_get_current_pid_tgid();
	struct reel_wait *wait = bpf_map_lookup_elem(&reel_waits, &key);

	if (!wait)
		return;
	if (!settings.all_waits)
		reel_wait_report(wait, true);
	bpf_map_delete_elem(&reel_waits, &key);
}

#endif
