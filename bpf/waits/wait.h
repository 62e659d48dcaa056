/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Waits that may not be over yet, and what a thread blocked in futex(2) waits for. */
#ifndef BPF_WAITS_WAIT_H
#define BPF_WAITS_WAIT_H

#include "bpf/maps.h"
#include "bpf/registers.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/user_memory.h"

/* A longer wait is reported in parts, in ns. */
#define REEL_WAIT_PART (5 * 1000000000ull)

/* By the kernel's number of the thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct reel_wait);
} reel_waits SEC(".maps");

#ifdef REEL_SCAN_LIST
/*
 * Threads for scans that do not go through all threads: REEL_LISTED_OF_PROCESS of a process, if it
 * has no more, and REEL_LISTED_OF_USER of a user, so that many threads or many processes do not
 * keep others out.
 */
#define REEL_LISTED_MAX	       8192
#define REEL_LISTED_OF_PROCESS 64
#define REEL_LISTED_OF_USER    512

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REEL_LISTED_MAX);
	__type(key, __u32);
	__type(value, __u32);
} reel_scan_list SEC(".maps");

/* The same threads, by the kernel's number. */
struct reel_listed {
	__u64 start_time;
	__u32 walk, unused; /* that listed it */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * REEL_LISTED_MAX);
	__type(key, __u32);
	__type(value, struct reel_listed);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} reel_scan_listed SEC(".maps");

/* How many of a user a walk has listed. */
struct reel_listed_user {
	__u32 walk, count;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct reel_listed_user);
} reel_scan_users SEC(".maps");

static __always_inline void reel_scan_unlist(void)
{
	__u32 key = bpf_get_current_pid_tgid();

	if (reel_control.scan_listed)
		bpf_map_delete_elem(&reel_scan_listed, &key);
}
#endif

/* Who woke a thread since a scan was due, before the scan noted its wait: by the thread's pid. */
struct reel_recent_waker {
	__u64 voluntary, involuntary; /* the thread's, as in struct reel_wait */
	__u32 scan;		      /* reel_control.scan_wakes */
	__u32 tid;		      /* as in struct reel_bpf_sample, like the others */
	__u32 flags;
	__u32 soft_interrupt;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct reel_recent_waker);
} reel_recent_wakers SEC(".maps");

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

/* uapi/linux/futex.h */
#define REEL_FUTEX_COMMAND     0x7f
#define REEL_FUTEX_WAIT	       0
#define REEL_FUTEX_LOCK_PI     6
#define REEL_FUTEX_WAIT_BITSET 9
#define REEL_FUTEX_LOCK_PI2    13
#define REEL_FUTEX_TID_MASK    0x3fffffff

/* glibc, struct __pthread_mutex_s: __owner is the third int on all CPUs, and __lock, on which
 * threads wait, the first. */
#define REEL_MUTEX_OWNER 8

/*
 * A candidate for a tid: four bytes, which the recorder keeps only if they are the tid of a thread
 * of the same process.
 */
static __always_inline __u32 reel_lock_owner(struct task_struct *task, struct reel_sampling *s,
					     __u64 address)
{
	if (reel_user_read(task, &s->owner, sizeof(s->owner), (void *)address))
		return 0;
	return s->owner & REEL_FUTEX_TID_MASK;
}

/*
 * Reads the arguments of a thread in futex(2) into s->futex; returns the address of the owner's
 * tid if the thread waits for a mutex of glibc, and 0 if it does not wait.
 */
static __always_inline __u64 reel_lock_word(struct reel_sampling *s, __u64 pt_regs)
{
	if (!reel_futex_read(&s->saved, pt_regs, &s->futex))
		return 0;
	switch (s->futex.operation & REEL_FUTEX_COMMAND) {
	case REEL_FUTEX_WAIT:
	case REEL_FUTEX_WAIT_BITSET:
		return s->futex.address + REEL_MUTEX_OWNER;
	case REEL_FUTEX_LOCK_PI:
	case REEL_FUTEX_LOCK_PI2:
		return s->futex.address;
	default:
		return 0;
	}
}

/* Sets the lock and its owner in the sample and the wait.  Not inlined, for the limit of stack. */
static __noinline void reel_lock_find(struct task_struct *task, struct reel_sampling *s,
				      struct reel_wait *wait)
{
	struct reel_bpf_sample *sample = &s->sample;
	__u64 at;

	wait->lock_word = 0;
	wait->lock_owner = 0;
	if (sample->state != REEL_BPF_BLOCKED || sample->where != REEL_BPF_WHERE_SYSCALL)
		return;
	at = reel_lock_word(s, reel_other_pt_regs(task));
	if (!at)
		return;
	sample->flags |= REEL_BPF_LOCK;
	sample->lock = s->futex.address;
	sample->lock_owner = reel_lock_owner(task, s, at);
	if (!sample->lock_owner)
		return;
	wait->lock_word = at;
	wait->lock_owner = sample->lock_owner;
}

#endif
