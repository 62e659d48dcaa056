/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Go's goroutines have stacks in arenas of 64 MiB.  A thread (`m`) has a current `g`; on the
 * thread's own stack it is g0, which schedules, and m.curg is the goroutine that g0 works for.
 * Nothing read here is trusted: pointers must lead back to their origin, and stack pointers must be
 * on their stacks.
 */
#ifndef BPF_STACKS_GOROUTINE_H
#define BPF_STACKS_GOROUTINE_H

#include "bpf/maps.h"
#include "bpf/registers.h"
#include "bpf/sample.h"
#include "bpf/user_memory.h"

/* A g's first words, the same in all versions since 1.4 (runtime/runtime2.go). */
struct reel_goroutine {
	__u64 stack_lo, stack_hi;
	__u64 stack_guards[2];
	__u64 panic, defer;
	__u64 m;
	/* Where it continues after it was switched out, or while it calls on another stack. */
	__u64 sched[REEL_BPF_GOBUF_WORDS];
};

/* Offset of curg in m: since 1.25, in which a gobuf lost a word, and from 1.9 to 1.24.  The value
 * at the other offset is not a pointer to a g of that m, and mostly 0. */
#define REEL_CURG_1_25 0xb8
#define REEL_CURG_1_9  0xc0

/* The thread's `g`, or any other value: in a register, or in memory near the thread pointer. */
static __always_inline __u64 reel_goroutine(struct task_struct *other, struct task_struct *task,
					    const struct reel_bpf_sample *sample)
{
#ifdef REEL_GOROUTINE_REGISTER
	(void)other;
	(void)task;
	return sample->registers[REEL_GOROUTINE_REGISTER];
#else
	__u64 g = 0;

	(void)sample;
	reel_user_read(other, &g, sizeof(g),
		       (void *)(reel_thread_pointer(task, false) + REEL_GOROUTINE_OFFSET));
	return g;
#endif
}

/* The g0 of an m, 0 if invalid: g0 points to its m. */
static __always_inline __u64 reel_goroutine_scheduler(struct task_struct *other, __u64 m)
{
	__u64 g0 = 0, its_m = 0;

	if (!m || m & 7 || reel_user_read(other, &g0, sizeof(g0), (void *)m) ||
	    reel_user_read(other, &its_m, sizeof(its_m),
			   (void *)g0 + __builtin_offsetof(struct reel_goroutine, m)))
		return 0;
	return its_m == m ? g0 : 0;
}

/*
 * The end of the goroutine's stack that contains sp; 0 if `g`, which may be any value, is not that
 * goroutine.  No other data has words like these by chance.
 */
static __always_inline __u64 reel_goroutine_end_of(struct task_struct *other, __u64 g, __u64 sp,
						   __u64 end)
{
	struct reel_goroutine goroutine = {};

	if (!g || g & 7 || reel_user_read(other, &goroutine, sizeof(goroutine), (void *)g) ||
	    sp < goroutine.stack_lo || sp >= goroutine.stack_hi || goroutine.stack_hi > end)
		return 0;
	return reel_goroutine_scheduler(other, goroutine.m) ? goroutine.stack_hi : 0;
}

/* The current task's.  Not static: the verifier then checks it once. */
__noinline __u64 reel_goroutine_end(__u64 g, __u64 sp, __u64 end)
{
	return reel_goroutine_end_of(NULL, g, sp, end);
}

/* The g at this place in m; 0 if it is not a g of that m. */
static __always_inline __u64 reel_goroutine_of(struct task_struct *other, __u64 m, __u64 place,
					       struct reel_goroutine *ret)
{
	__u64 curg = 0;

	if (reel_user_read(other, &curg, sizeof(curg), (void *)m + place) || !curg || curg & 7 ||
	    reel_user_read(other, ret, sizeof(*ret), (void *)curg))
		return 0;
	return ret->m == m ? curg : 0;
}

/* The most bytes of the scheduler's stack between its end and its first call. */
#define REEL_GOROUTINE_FIRST_CALL 256

static __always_inline void reel_gobuf_copy(struct reel_bpf_gobuf *gobuf, __u64 g,
					    const struct reel_goroutine *goroutine)
{
	gobuf->address = g + __builtin_offsetof(struct reel_goroutine, sched);
	__builtin_memcpy(gobuf->words, goroutine->sched, sizeof(gobuf->words));
}

/* Whether C functions have called back into Go: g0 then continues in cgocallback's frame. */
static __always_inline bool reel_goroutine_called_back(const struct reel_goroutine *g0)
{
	return g0->sched[0] < g0->stack_hi &&
	       g0->stack_hi - g0->sched[0] > REEL_GOROUTINE_FIRST_CALL;
}

/*
 * If `g` is a g0 that works for a goroutine, notes where that goroutine continues, and returns its
 * stack's end.  If it works for none, notes where g0's own stack begins each time, and returns 0.
 * If `g` is a goroutine that C functions have called, notes where its g0 continues, and returns
 * the end of g0's stack.
 */
static __always_inline __u64 reel_goroutine_left_by(struct task_struct *other,
						    struct reel_bpf_sample *sample, __u64 g)
{
	struct reel_goroutine goroutine = {};
	__u64 m, g0, curg = 0;
	bool called_back, is_idle;

	if (!g || g & 7 ||
	    reel_user_read(other, &m, sizeof(m),
			   (void *)g + __builtin_offsetof(struct reel_goroutine, m)))
		return 0;
	g0 = reel_goroutine_scheduler(other, m);
	if (!g0 || reel_user_read(other, &goroutine, sizeof(goroutine), (void *)g0))
		return 0;
	called_back = reel_goroutine_called_back(&goroutine);
	if (g0 != g) {
		if (!called_back)
			return 0;
		sample->flags |= REEL_BPF_WAITING_GOBUF;
		reel_gobuf_copy(&sample->waiting, g0, &goroutine);
		sample->waiting.words[1] = 0;
		return goroutine.stack_hi;
	}
	reel_gobuf_copy(&sample->own, g0, &goroutine);
	is_idle = !reel_user_read(other, &curg, sizeof(curg), (void *)m + REEL_CURG_1_9) && !curg;
	curg = reel_goroutine_of(other, m, REEL_CURG_1_25, &goroutine);
	if (!curg)
		curg = reel_goroutine_of(other, m, REEL_CURG_1_9, &goroutine);
	if (!curg) {
		if (is_idle)
			sample->flags |= REEL_BPF_OWN_GOBUF;
		return 0;
	}
	if (goroutine.sched[0] < goroutine.stack_lo || goroutine.sched[0] >= goroutine.stack_hi)
		return 0;
	sample->flags |= REEL_BPF_WAITING_GOBUF;
	reel_gobuf_copy(&sample->waiting, curg, &goroutine);
	if (called_back) {
		sample->flags |= REEL_BPF_OWN_GOBUF;
		sample->own.words[1] = 0;
	}
	return goroutine.stack_hi;
}

/* The current task's.  Not static, for the same reason. */
__noinline __u64 reel_goroutine_left(__u64 slot, __u64 g)
{
	struct reel_sampling *s = reel_sampling(slot);

	return s ? reel_goroutine_left_by(NULL, &s->sample, g) : 0;
}

#endif
