/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* arm64: the part of bpf/registers.h for this CPU. */
#ifndef BPF_REGISTERS_ARM64_H
#define BPF_REGISTERS_ARM64_H

#include "bpf/kernel.h"
#include "bpf/sample.h"
#include "bpf/trampoline.h"

/* struct user_pt_regs (uapi/asm/ptrace.h), the start of struct pt_regs. */
struct reel_registers {
	__u64 regs[31], sp, pc, pstate;
};

struct reel_saved_registers {
	struct reel_registers user;
	__s32 syscallno;
};

/* Members after the user's registers moved in 6.18. */
struct pt_regs___arm64 {
	__u64 regs[31];
	__s32 syscallno;
} REEL_CORE;

#define REEL_TRAMPOLINE REEL_TRAMPOLINE_ARM64

/* AAPCS64, "The stack": nothing below sp is preserved. */
#define REEL_RED_ZONE 0
/* From uc_stack to the interrupted sp in struct ucontext (uapi/asm/ucontext.h, sigcontext.h). */
#define REEL_UCONTEXT_SP 416

/* uapi/asm/ptrace.h */
#define PSR_MODE_MASK  0xf
#define PSR_MODE32_BIT 0x10

typedef struct {
	void *vdso;
} REEL_CORE reel_mm_context;

struct mm_struct___context {
	reel_mm_context context;
} REEL_CORE;

struct reel_thread_uw {
	unsigned long tp_value;
} REEL_CORE;

struct thread_struct {
	struct reel_thread_uw uw;
} REEL_CORE;

struct task_struct___thread {
	struct thread_struct thread;
} REEL_CORE;

/* 32-bit user mode has the same low bits as 64-bit. */
static __always_inline bool reel_registers_user(const struct reel_registers *registers)
{
	return !(registers->pstate & PSR_MODE_MASK);
}

static __always_inline bool reel_registers_compat(const struct reel_registers *registers)
{
	return registers->pstate & PSR_MODE32_BIT;
}

/* A 32-bit task's sp is r13 (asm/ptrace.h, compat_sp). */
static __always_inline __u64 reel_registers_sp(const struct reel_registers *registers)
{
	return reel_registers_compat(registers) ? registers->regs[13] : registers->sp;
}

static __always_inline bool reel_saved_registers_read(struct reel_saved_registers *saved,
						      __u64 pt_regs)
{
	struct pt_regs___arm64 *kernel = (void *)pt_regs;

	saved->syscallno = BPF_CORE_READ(kernel, syscallno);
	pt_regs += bpf_core_field_offset(struct pt_regs___arm64, regs);
	return !bpf_probe_read_kernel(&saved->user, sizeof(saved->user), (void *)pt_regs);
}

static __always_inline __u64 reel_saved_registers_size(void)
{
	return bpf_core_type_size(struct pt_regs___arm64);
}

/* asm/ptrace.h: NO_SYSCALL is -1. */
static __always_inline bool reel_saved_registers_syscall(const struct reel_saved_registers *saved)
{
	return saved->syscallno >= 0;
}

/* asm-generic/unistd.h, and arm's asm/unistd.h; x0 changes only when the call returns. */
static __always_inline bool reel_futex_read(const struct reel_saved_registers *saved, __u64 pt_regs,
					    struct reel_futex *ret)
{
	const __u64 *regs = saved->user.regs;

	(void)pt_regs;
	ret->address = regs[0];
	ret->operation = regs[1];
	return saved->syscallno == (reel_registers_compat(&saved->user) ? 240 : 98);
}

/* By DWARF number: aadwarf64, "DWARF register names"; aadwarf32 for 32-bit tasks. */
static __always_inline void reel_registers_store(struct reel_bpf_sample *sample,
						 const struct reel_registers *from, bool syscall)
{
	__u64 *to = sample->registers;

	(void)syscall; /* a system call changes only x0, when it returns */
	if (reel_registers_compat(from)) {
		sample->flags |= REEL_BPF_COMPAT;
#pragma unroll
		for (int i = 0; i < 15; i++)
			to[i] = from->regs[i];
		sample->pc = from->pc;
		sample->pc_register = 15;
		sample->n_registers = 15;
		sample->known = 0x7fff;
		return;
	}
#pragma unroll
	for (int i = 0; i < 31; i++)
		to[i] = from->regs[i];
	to[31] = from->sp;
	sample->pc = from->pc;
	sample->pc_register = 32;
	sample->n_registers = 32;
	sample->known = 0xffffffff;
}

/*
 * glibc and musl put a thread's control block at this address, above its stack.  Value of tpidr_el0
 * at the last context switch, or as passed to clone.
 */
static __always_inline __u64 reel_thread_pointer(struct task_struct *task, bool compat)
{
	struct task_struct___thread *with_thread = (void *)task;

	(void)compat;
	return REEL_TASK_READ(with_thread, thread.uw.tp_value);
}

static __always_inline __u64 reel_vdso_address(struct mm_struct *mm)
{
	struct mm_struct___context *with_context = (void *)mm;

	return (__u64)BPF_CORE_READ(with_context, context.vdso);
}

/* runtime/asm_arm64.s: R28. */
#define REEL_GOROUTINE_REGISTER 28

#endif
