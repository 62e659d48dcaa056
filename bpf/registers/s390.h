/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* s390x: the part of bpf/registers.h for this CPU. */
#ifndef BPF_REGISTERS_S390_H
#define BPF_REGISTERS_S390_H

#include "bpf/kernel.h"
#include "bpf/sample.h"

/* user_pt_regs (uapi/asm/ptrace.h), the start of struct pt_regs. */
struct reel_registers {
	__u64 args[1], psw_mask, psw_address, gprs[16];
};

struct reel_saved_registers {
	struct reel_registers user;
	__u64 flags;
};

struct pt_regs___s390 {
	unsigned long gprs[16];
	unsigned long flags;
	unsigned long orig_gpr2;
	unsigned int int_code;
} REEL_CORE;

/* Supplement 1.6.1, 1.2.2: a frame begins at r15; a function saves its caller's registers above. */
#define REEL_RED_ZONE 0
/* From uc_stack to the interrupted r15 in struct ucontext (uapi/asm/ucontext.h, sigcontext.h). */
#define REEL_UCONTEXT_SP 160
/*
 * A handler without SA_SIGINFO has no ucontext but struct sigcontext (arch/s390/kernel/signal.c,
 * setup_frame; uapi/asm/sigcontext.h): a pointer to the registers, which directly follow it: the
 * PSW, r0 … r15.  This is the offset from that pointer to r15.
 */
#define REEL_SIGCONTEXT_SP 144

/* asm/ptrace.h: user mode, 64-bit addresses; bits of pt_regs.flags. */
#define REEL_PSW_USER	 0x0001000000000000ull
#define REEL_PSW_64	 0x0000000100000000ull
#define REEL_PIF_SYSCALL 1

/* A signal frame's PSW mask is from user code. */
static __always_inline bool reel_signal_psw(__u64 mask)
{
	return mask & REEL_PSW_USER;
}

typedef struct {
	unsigned long vdso_base;
} REEL_CORE reel_mm_context;

struct mm_struct___context {
	reel_mm_context context;
} REEL_CORE;

/* asm/fpu-types.h; an element is 16 bytes. */
struct fpu {
	struct {
		__u64 high, low;
	} vxrs[32];
} REEL_CORE;

struct thread_struct {
	unsigned int acrs[16];
	unsigned int ufpu_flags; /* 6.10 and later */
	struct fpu ufpu;
} REEL_CORE;

struct task_struct___thread {
	struct thread_struct thread;
} REEL_CORE;

/* asm/fpu.h: KERNEL_VXR_V0V7 and KERNEL_VXR_V8V15: these are saved in thread.ufpu. */
#define REEL_UFPU_V0_V15 6

static __always_inline bool reel_registers_user(const struct reel_registers *registers)
{
	return registers->psw_mask & REEL_PSW_USER;
}

static __always_inline bool reel_registers_compat(const struct reel_registers *registers)
{
	return !(registers->psw_mask & REEL_PSW_64);
}

/* 31-bit code does not change the upper halves. */
static __always_inline __u64 reel_registers_sp(const struct reel_registers *registers)
{
	return reel_registers_compat(registers) ? registers->gprs[15] & 0x7fffffff
						: registers->gprs[15];
}

static __always_inline bool reel_saved_registers_read(struct reel_saved_registers *saved,
						      __u64 pt_regs)
{
	struct pt_regs___s390 *kernel = (void *)pt_regs;

	saved->flags = BPF_CORE_READ(kernel, flags);
	/* The part from user_pt_regs on is an ABI, and ends with gprs. */
	pt_regs += bpf_core_field_offset(struct pt_regs___s390, gprs) -
		   __builtin_offsetof(struct reel_registers, gprs);
	return !bpf_probe_read_kernel(&saved->user, sizeof(saved->user), (void *)pt_regs);
}

static __always_inline __u64 reel_saved_registers_size(void)
{
	return bpf_core_type_size(struct pt_regs___s390);
}

static __always_inline bool reel_saved_registers_syscall(const struct reel_saved_registers *saved)
{
	return saved->flags & REEL_PIF_SYSCALL;
}

/* Whether the kernel has saved the user's f0 … f15; unknown before 6.10. */
static __always_inline bool reel_floating_point_saved(struct task_struct *task)
{
	struct task_struct___thread *with_thread = (void *)task;

	return bpf_core_field_exists(with_thread->thread.ufpu_flags) &&
	       (BPF_CORE_READ(with_thread, thread.ufpu_flags) & REEL_UFPU_V0_V15) ==
		       REEL_UFPU_V0_V15;
}

/* Whether it could be made to save them (bpf/events/take.h). */
#define REEL_FLOATING_POINT
static __always_inline bool reel_floating_point_unsaved(struct task_struct *task)
{
	struct task_struct___thread *with_thread = (void *)task;

	return bpf_core_field_exists(with_thread->thread.ufpu_flags) &&
	       !reel_floating_point_saved(task);
}

/* asm/unistd.h; kernel/syscall.c: int_code has the call, and r2 is -ENOSYS by now. */
static __always_inline bool reel_futex_read(const struct reel_saved_registers *saved, __u64 pt_regs,
					    struct reel_futex *ret)
{
	struct pt_regs___s390 *kernel = (void *)pt_regs;

	ret->address = BPF_CORE_READ(kernel, orig_gpr2);
	ret->operation = saved->user.gprs[3];
	return (BPF_CORE_READ(kernel, int_code) & 0xffff) == 238;
}

/* By DWARF number from 16 on: supplement 1.6, "DWARF register number mapping". */
static __always_inline void reel_floating_point_store(struct reel_bpf_sample *sample,
						      struct task_struct *task)
{
	static const __u8 numbers[16] = { 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15 };
	__u64 *from;

	sample->n_registers = 32;
	if (!reel_floating_point_saved(task))
		return;
	from = (void *)task + bpf_core_field_offset(struct task_struct___thread, thread.ufpu.vxrs);
#pragma unroll
	for (int i = 0; i < 16; i++) {
		/* The first half of vector register n is the floating-point register n. */
		if (bpf_probe_read_kernel(&sample->registers[16 + i], 8, &from[2 * numbers[i]]))
			return;
	}
	sample->known |= 0xffff0000;
}

/* By DWARF number: supplement 1.6; the PSW's address is 65. */
static __always_inline void reel_registers_store(struct reel_bpf_sample *sample,
						 const struct reel_registers *from, bool syscall)
{
	__u64 *to = sample->registers;

#pragma unroll
	for (int i = 0; i < 16; i++)
		to[i] = from->gprs[i];
	sample->pc = from->psw_address;
	sample->pc_register = 65;
	sample->n_registers = 16;
	sample->known = 0xffff;
	/* kernel/syscall.c puts -ENOSYS in r2's place: not the argument, not the result. */
	if (syscall)
		sample->known &= ~(1ull << 2);
	if (!reel_registers_compat(from)) {
		reel_floating_point_store(sample, (void *)bpf_get_current_task());
		return;
	}
	sample->flags |= REEL_BPF_COMPAT;
	sample->pc &= 0x7fffffff;
#pragma unroll
	for (int i = 0; i < 16; i++)
		to[i] &= 0xffffffff;
}

/*
 * glibc and musl put a thread's control block at this address, above its stack.  Value of access
 * registers 0 and 1 at the last context switch, or as passed to clone.
 */
static __always_inline __u64 reel_thread_pointer(struct task_struct *task, bool compat)
{
	struct task_struct___thread *with_thread = (void *)task;

	return compat ? 0
		      : (__u64)BPF_CORE_READ(with_thread, thread.acrs[0]) << 32 |
				BPF_CORE_READ(with_thread, thread.acrs[1]);
}

static __always_inline __u64 reel_vdso_address(struct mm_struct *mm)
{
	struct mm_struct___context *with_context = (void *)mm;

	return BPF_CORE_READ(with_context, context.vdso_base);
}

/* runtime/asm_s390x.s: R13. */
#define REEL_GOROUTINE_REGISTER 13

#endif
