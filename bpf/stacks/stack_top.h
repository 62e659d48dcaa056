/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Finds the end of a stack: the kernel's start of the main thread's stack, the thread pointer, Go's
 * own end, or the end of the mapping.
 */
#ifndef BPF_STACKS_STACK_TOP_H
#define BPF_STACKS_STACK_TOP_H

#include "bpf/stacks/goroutine.h"
#include "bpf/mapping.h"
#include "bpf/registers.h"
#include "bpf/sample.h"

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

/* For the stack that contains sp, in a sample with registers.  `other`: bpf/user_memory.h. */
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

#endif
