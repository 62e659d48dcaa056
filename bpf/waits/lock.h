/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a blocked thread waits for in futex(2), and who holds it. */
#ifndef BPF_WAITS_LOCK_H
#define BPF_WAITS_LOCK_H

#include "bpf/maps.h"
#include "bpf/registers.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/user_memory.h"

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
