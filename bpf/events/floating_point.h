/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * s390x: GCC and clang keep r11 to r15 in f8 to f15 in leaf functions (arch/s390x.c), so unwinding
 * needs them. But while the kernel runs, the user's are in the CPU, where no program can read them.
 * perf makes the kernel save them for an event with PERF_SAMPLE_REGS_USER that occurs in the kernel
 * (arch/s390/kernel/perf_regs.c, perf_get_regs_user), but not for one in user code, such as a
 * clock's tick.  Just before a tick, in the same interrupt, the tracepoint
 * timer:hrtimer_expire_entry occurs in the kernel: an event for it is opened for this side effect
 * alone.
 */
#ifndef BPF_EVENTS_FLOATING_POINT_H
#define BPF_EVENTS_FLOATING_POINT_H

#include "bpf/maps.h"
#include "bpf/pids.h"
#include "bpf/registers.h"

#ifdef REEL_FLOATING_POINT
/* The event's filter: whether the current task's registers are wanted and not saved yet. */
SEC("tracepoint")
int reel_save_floating_point(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	(void)ctx;
	return reel_control.enabled && !(BPF_CORE_READ(task, flags) & PF_KTHREAD) &&
	       reel_current_wanted(reel_current_ids(task)) && reel_floating_point_unsaved(task);
}
#endif

#endif
