/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* x86: the part of bpf/registers.h for this CPU. */
#ifndef BPF_REGISTERS_X86_H
#define BPF_REGISTERS_X86_H

#include "bpf/kernel.h"
#include "bpf/sample.h"
#include "bpf/trampoline.h"

/*
 * struct pt_regs; its layout is an ABI (ptrace, signal frames).  All members are words here: since
 * 6.9 cs and ss are 16 bits next to FRED's flags, and the verifier rejects such an access to a perf
 * event's context.
 */
struct reel_registers {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	__u64 orig_ax, ip, cs, flags, sp, ss;
};

struct reel_saved_registers {
	struct reel_registers user;
};

#define REEL_TRAMPOLINE REEL_TRAMPOLINE_X86_64
/* The most that reel_registers_store sets. */
#define REEL_REGISTERS 16

/* psABI, "Red Zone": leaf functions use 128 bytes below rsp. i386 has no red zone. */
#define REEL_RED_ZONE	 128
#define REEL_RETURN_POPS 8
/* From uc_stack to the interrupted sp in struct ucontext (uapi/asm/sigcontext.h). */
#define REEL_UCONTEXT_SP 144

/* arch/x86/include/asm/segment.h: selectors of 32-bit user code and of all user data, and the bits
 * of the privilege level. */
#define REEL_USER32_CS 0x23
#define REEL_USER_DS   0x2b
#define REEL_CS_USER   3

typedef struct {
	void *vdso;
} REEL_CORE reel_mm_context;

struct mm_struct___context {
	reel_mm_context context;
} REEL_CORE;

/* Eight bytes, as defined by the CPU (Intel SDM, volume 3, figure 3-8). */
struct desc_struct {
	__u16 limit0;
} REEL_CORE;

struct thread_struct {
	struct desc_struct tls_array[3];
	unsigned long fsbase;
} REEL_CORE;

struct task_struct___thread {
	struct thread_struct thread;
} REEL_CORE;

static __always_inline bool reel_registers_user(const struct reel_registers *registers)
{
	return (registers->cs & REEL_CS_USER) == REEL_CS_USER;
}

static __always_inline bool reel_registers_compat(const struct reel_registers *registers)
{
	return (registers->cs & 0xffff) == REEL_USER32_CS;
}

static __always_inline __u64 reel_registers_sp(const struct reel_registers *registers)
{
	return registers->sp;
}

static __always_inline bool reel_saved_registers_read(struct reel_saved_registers *saved,
						      __u64 pt_regs)
{
	return !bpf_probe_read_kernel(&saved->user, sizeof(saved->user), (void *)pt_regs);
}

static __always_inline __u64 reel_saved_registers_size(void)
{
	return sizeof(struct reel_registers);
}

/* entry_64.S: interrupts and exceptions store a negative number there. */
static __always_inline bool reel_saved_registers_syscall(const struct reel_saved_registers *saved)
{
	return (__s64)saved->user.orig_ax >= 0;
}

/* asm/unistd_64.h and asm/unistd_32.h: the system call, and where its arguments are. */
static __always_inline bool reel_futex_read(const struct reel_saved_registers *saved, __u64 pt_regs,
					    struct reel_futex *ret)
{
	const struct reel_registers *user = &saved->user;

	(void)pt_regs;
	if (reel_registers_compat(user)) {
		ret->address = (__u32)user->bx;
		ret->operation = user->cx;
		return user->orig_ax == 240;
	}
	ret->address = user->di;
	ret->operation = user->si;
	return user->orig_ax == 202;
}

/* By DWARF number: psABI x86-64, figure 3.36; i386, table 2.14. */
static __always_inline void reel_registers_store(struct reel_bpf_sample *sample,
						 const struct reel_registers *from, bool syscall)
{
	__u64 *to = sample->registers;

	if (reel_registers_compat(from)) {
		sample->flags |= REEL_BPF_COMPAT;
		to[0] = from->ax;
		to[1] = from->cx;
		to[2] = from->dx;
		to[3] = from->bx;
		to[4] = from->sp;
		to[5] = from->bp;
		to[6] = from->si;
		to[7] = from->di;
		sample->pc = from->ip;
		sample->pc_register = 8;
		sample->n_registers = 8;
		sample->known = syscall ? 0xfe : 0xff;
		return;
	}
	to[0] = from->ax;
	to[1] = from->dx;
	to[2] = from->cx;
	to[3] = from->bx;
	to[4] = from->si;
	to[5] = from->di;
	to[6] = from->bp;
	to[7] = from->sp;
	to[8] = from->r8;
	to[9] = from->r9;
	to[10] = from->r10;
	to[11] = from->r11;
	to[12] = from->r12;
	to[13] = from->r13;
	to[14] = from->r14;
	to[15] = from->r15;
	sample->pc = from->ip;
	sample->pc_register = 16;
	sample->n_registers = 16;
	sample->known = 0xffff;
	/* The syscall instruction itself puts rip into rcx and rflags into r11.  entry_64.S puts
	 * -ENOSYS in rax's place: not the number, not the result. */
	if (syscall)
		sample->known &= ~(1ull << 0 | 1ull << 2 | 1ull << 11);
}

/*
 * glibc and musl put a thread's control block at this address, above its stack.  32-bit code has it
 * in gs, through a descriptor: the first one, from set_thread_area.
 */
static __always_inline __u64 reel_thread_pointer(struct task_struct *task, bool compat)
{
	struct task_struct___thread *with_thread = (void *)task;
	__u64 descriptor = 0;

	if (!compat)
		return REEL_TASK_READ(with_thread, thread.fsbase);
	bpf_core_read(&descriptor, sizeof(descriptor), &with_thread->thread.tls_array);
	return (descriptor >> 16 & 0xffffff) | descriptor >> 56 << 24;
}

/*
 * A signal frame of 32-bit code has a struct sigcontext_32 (uapi/asm/sigcontext.h), with and
 * without SA_SIGINFO; only with it is the alternate stack's address included.  In words from gs on:
 * 7 esp, 15 cs, 17 esp_at_signal, 18 ss.  The frame's address + 4 is a multiple of 16
 * (arch/x86/kernel/signal.c, get_sigframe), so sigcontext is at such a multiple, or a word later
 * (asm/sigframe.h: struct rt_sigframe_ia32, struct sigframe_ia32).
 */
#define REEL_COMPAT_SIGCONTEXT_SP 7

static __always_inline bool reel_is_compat_sigcontext(const __u32 *words)
{
	return words[15] == REEL_USER32_CS && words[18] == REEL_USER_DS && words[7] == words[17];
}

static __always_inline __u64 reel_vdso_address(struct mm_struct *mm)
{
	struct mm_struct___context *with_context = (void *)mm;

	return (__u64)BPF_CORE_READ(with_context, context.vdso);
}

/* runtime/tls_amd64.s, cmd/link: TLS of ELF. */
#define REEL_GOROUTINE_OFFSET (-8)

#endif
