/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A task's user registers.  Each CPU has a header with its own part:
 *   struct reel_registers         the start of a perf event's context (bpf_user_pt_regs_t)
 *   struct reel_saved_registers   and other needed parts of the user's struct pt_regs
 *   reel_registers_*, reel_saved_registers_*, reel_thread_pointer, reel_vdso_address,
 *   REEL_RED_ZONE, REEL_UCONTEXT_SP; REEL_SIGCONTEXT_SP if there are two kinds of signal frames;
 *   REEL_TRAMPOLINE (bpf/trampoline.h) if known; REEL_REGISTERS if there are fewer than
 *   REEL_BPF_REGISTERS_MAX; REEL_GOROUTINE_REGISTER or REEL_GOROUTINE_OFFSET
 *   (bpf/stacks/goroutine.h); reel_futex_read, the arguments of a thread that is in futex(2)
 */
#ifndef BPF_REGISTERS_H
#define BPF_REGISTERS_H

#include "bpf/kernel.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/trampoline.h"

#if defined(__TARGET_ARCH_x86)
#include "bpf/registers/x86.h"
#elif defined(__TARGET_ARCH_arm64)
#include "bpf/registers/arm64.h"
#elif defined(__TARGET_ARCH_riscv)
#include "bpf/registers/riscv.h"
#elif defined(__TARGET_ARCH_s390)
#include "bpf/registers/s390.h"
#else
#error "no bpf/registers/ for this CPU yet"
#endif

/* Bytes that a return instruction of 64-bit code takes from the stack. */
#ifndef REEL_RETURN_POPS
#define REEL_RETURN_POPS 0
#endif

#ifndef REEL_REGISTERS
#define REEL_REGISTERS REEL_BPF_REGISTERS_MAX
#endif

#ifndef REEL_TRAMPOLINE
#define REEL_TRAMPOLINE REEL_TRAMPOLINE_UNKNOWN
#endif

/* The context of a perf event's program: struct bpf_perf_event_data. */
struct reel_perf_context {
	struct reel_registers registers;
	__u64 sample_period;
};

/*
 * The struct pt_regs stored when the current task entered the kernel.  Before bpf_task_pt_regs
 * (5.15): at the top of its kernel stack (asm/processor.h, task_pt_regs).
 */
static __always_inline __u64 reel_task_pt_regs(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (__u64)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	return (__u64)BPF_CORE_READ(task, stack) + settings.thread_size -
	       reel_saved_registers_size();
}

/* The same of a task that a scan has found. */
static __always_inline __u64 reel_other_pt_regs(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (__u64)bpf_task_pt_regs((void *)task);
	return (__u64)task->stack + settings.thread_size - reel_saved_registers_size();
}

/*
 * Gets the user registers of the current task, which is in the kernel.  False if it has none:
 * kernel threads, and threads that the kernel made in a process (io_uring's and vhost's workers,
 * whose user sp is 0).
 */
static __always_inline bool reel_task_registers(struct task_struct *task,
						struct reel_saved_registers *saved)
{
	return reel_saved_registers_read(saved, reel_task_pt_regs(task)) &&
	       reel_registers_user(&saved->user) && reel_registers_sp(&saved->user);
}

#endif
