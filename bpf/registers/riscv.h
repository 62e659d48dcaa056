/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* riscv64: the part of bpf/registers.h for this CPU. */
#ifndef BPF_REGISTERS_RISCV_H
#define BPF_REGISTERS_RISCV_H

#include "bpf/kernel.h"
#include "bpf/sample.h"

/* bpf/registers.h */
static __always_inline __u64 reel_task_pt_regs(struct task_struct *task);

/* struct user_regs_struct (uapi/asm/ptrace.h), the start of struct pt_regs; x[0] is x1. */
struct reel_registers {
	__u64 pc, x[31];
};

struct reel_saved_registers {
	struct reel_registers user;
	__u64 cause;
};

struct pt_regs___riscv {
	unsigned long epc;
	unsigned long tp;
	unsigned long status;
	unsigned long cause;
	unsigned long orig_a0;
} REEL_CORE;

/* riscv-cc, "Integer Calling Convention": nothing below sp is preserved. */
#define REEL_RED_ZONE 0
/* From uc_stack to the interrupted sp in struct ucontext (uapi/asm/ucontext.h, ptrace.h). */
#define REEL_UCONTEXT_SP 176

/* asm/csr.h */
#define REEL_STATUS_SPP	   0x100ull
#define REEL_STATUS_UXL	   0x300000000ull
#define REEL_STATUS_UXL_32 0x100000000ull
#define REEL_CAUSE_SYSCALL 8

typedef struct {
	void *vdso;
} REEL_CORE reel_mm_context;

struct mm_struct___context {
	reel_mm_context context;
} REEL_CORE;

/*
 * A perf event's context does not contain the status.  The kernel has the upper half of the
 * addresses. (A user's pc may be in it until it faults: such a sample has the registers with which
 * the task entered the kernel.)
 */
static __always_inline bool reel_registers_user(const struct reel_registers *registers)
{
	return !(registers->pc >> 63);
}

/* For the current task, whose user registers these are. */
static __always_inline bool reel_registers_compat(const struct reel_registers *registers)
{
	struct pt_regs___riscv *kernel = (void *)reel_task_pt_regs((void *)bpf_get_current_task());

	(void)registers;
	return (BPF_CORE_READ(kernel, status) & REEL_STATUS_UXL) == REEL_STATUS_UXL_32;
}

static __always_inline __u64 reel_registers_sp(const struct reel_registers *registers)
{
	return reel_registers_compat(registers) ? registers->x[1] & 0xffffffff : registers->x[1];
}

/* Also false if the task was already in the kernel: these are not user registers. */
static __always_inline bool reel_saved_registers_read(struct reel_saved_registers *saved,
						      __u64 pt_regs)
{
	struct pt_regs___riscv *kernel = (void *)pt_regs;

	if (BPF_CORE_READ(kernel, status) & REEL_STATUS_SPP)
		return false;
	saved->cause = BPF_CORE_READ(kernel, cause);
	pt_regs += bpf_core_field_offset(struct pt_regs___riscv, epc);
	return !bpf_probe_read_kernel(&saved->user, sizeof(saved->user), (void *)pt_regs);
}

static __always_inline __u64 reel_saved_registers_size(void)
{
	return bpf_core_type_size(struct pt_regs___riscv);
}

/* scause: interrupts have the highest bit set. */
static __always_inline bool reel_saved_registers_syscall(const struct reel_saved_registers *saved)
{
	return saved->cause == REEL_CAUSE_SYSCALL;
}

/* asm-generic/unistd.h: a7 has the call, and a0 is -ENOSYS by now (kernel/traps.c). */
static __always_inline bool reel_futex_read(const struct reel_saved_registers *saved, __u64 pt_regs,
					    struct reel_futex *ret)
{
	struct pt_regs___riscv *kernel = (void *)pt_regs;

	ret->address = BPF_CORE_READ(kernel, orig_a0);
	ret->operation = saved->user.x[10];
	return saved->user.x[16] == 98;
}

/* By DWARF number: riscv-dwarf, "DWARF Register Numbers"; the pc is its column 64. */
static __always_inline void reel_registers_store(struct reel_bpf_sample *sample,
						 const struct reel_registers *from, bool syscall)
{
	__u64 *to = sample->registers;

	to[0] = 0;
#pragma unroll
	for (int i = 1; i < 32; i++)
		to[i] = from->x[i - 1];
	sample->pc = from->pc;
	sample->pc_register = 64;
	sample->n_registers = 32;
	sample->known = 0xffffffff;
	/* kernel/traps.c puts -ENOSYS in a0's place: not the argument, not the result. */
	if (syscall)
		sample->known &= ~(1ull << 10);
	if (!reel_registers_compat(from))
		return;
	/* The values are sign-extended. */
	sample->flags |= REEL_BPF_COMPAT;
	sample->pc &= 0xffffffff;
#pragma unroll
	for (int i = 1; i < 32; i++)
		to[i] &= 0xffffffff;
}

/* tp itself.  glibc and musl put a thread's control block above its stack. */
static __always_inline __u64 reel_thread_pointer(struct task_struct *task, bool compat)
{
	struct pt_regs___riscv *kernel = (void *)reel_task_pt_regs(task);

	(void)compat;
	return BPF_CORE_READ(kernel, tp);
}

static __always_inline __u64 reel_vdso_address(struct mm_struct *mm)
{
	struct mm_struct___context *with_context = (void *)mm;

	return (__u64)BPF_CORE_READ(with_context, context.vdso);
}

/* runtime/asm_riscv64.s: X27. */
#define REEL_GOROUTINE_REGISTER 27

#endif
