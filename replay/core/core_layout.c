/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NT_PRSTATUS is struct elf_prstatus of include/linux/elfcore.h, whose pr_reg is at offset 112 with
 * 64-bit words and at 72 with 32-bit words; pr_reg is elf_gregset_t of arch/<cpu>/include/asm/elf.h.
 */
#include <elf.h>

#include "replay/core/core_state.h"

#define REGS_64	     112
#define REGS_32	     72
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* arch/x86/include/asm/user_64.h, struct user_regs_struct. */
static const struct reel_core_registers x86_64_general[] = {
	{ 0, 1, REGS_64 + 80, 0 },				  /* rax */
	{ 1, 1, REGS_64 + 96, 0 },				  /* rdx */
	{ 2, 1, REGS_64 + 88, 0 },				  /* rcx */
	{ 3, 1, REGS_64 + 40, 0 },				  /* rbx */
	{ 4, 2, REGS_64 + 104, 8 },				  /* rsi, rdi */
	{ 6, 1, REGS_64 + 32, 0 },				  /* rbp */
	{ 7, 1, REGS_64 + 152, 0 },				  /* rsp */
	{ 8, 4, REGS_64 + 72, -8 },				  /* r8 to r11 */
	{ 12, 4, REGS_64 + 24, -8 }, { 16, 1, REGS_64 + 128, 0 }, /* rip */
};
static const struct reel_core_register_note x86_64_notes[] = {
	{ NT_PRSTATUS, 336, x86_64_general, COUNT(x86_64_general) },
};

/* arch/x86/include/asm/user_32.h, struct user_regs_struct. */
static const struct reel_core_registers i386_general[] = {
	{ 0, 1, REGS_32 + 24, 0 }, /* eax */
	{ 1, 2, REGS_32 + 4, 4 },  /* ecx, edx */
	{ 3, 1, REGS_32 + 0, 0 },  /* ebx */
	{ 4, 1, REGS_32 + 60, 0 }, /* esp */
	{ 5, 1, REGS_32 + 20, 0 }, /* ebp */
	{ 6, 2, REGS_32 + 12, 4 }, /* esi, edi */
	{ 8, 1, REGS_32 + 48, 0 }, /* eip */
};
static const struct reel_core_register_note i386_notes[] = {
	{ NT_PRSTATUS, 144, i386_general, COUNT(i386_general) },
};

/* arch/arm64/include/uapi/asm/ptrace.h, struct user_pt_regs: x0 to x30, sp, pc, pstate. */
static const struct reel_core_registers aarch64_general[] = {
	{ 0, 32, REGS_64, 8 },
	{ 32, 1, REGS_64 + 256, 0 },
};
static const struct reel_core_register_note aarch64_notes[] = {
	{ NT_PRSTATUS, 392, aarch64_general, COUNT(aarch64_general) },
};

/* arch/riscv/include/uapi/asm/ptrace.h, struct user_regs_struct: pc, x1 to x31. */
static const struct reel_core_registers riscv64_general[] = {
	{ 64, 1, REGS_64, 0 },
	{ 1, 31, REGS_64 + 8, 8 },
};
static const struct reel_core_register_note riscv64_notes[] = {
	{ NT_PRSTATUS, 376, riscv64_general, COUNT(riscv64_general) },
};

/* arch/s390/include/uapi/asm/ptrace.h, s390_regs (PSW, gprs) and s390_fp_regs (fpc, fprs), in which
 * functions save registers. */
static const struct reel_core_registers s390x_general[] = {
	{ 64, 2, REGS_64, 8 },
	{ 0, 16, REGS_64 + 16, 8 },
};
static const struct reel_core_registers s390x_floating[] = {
	{ 16, 4, 8, 16 },  /* f0 f2 f4 f6 */
	{ 20, 4, 16, 16 }, /* f1 f3 f5 f7 */
	{ 24, 4, 72, 16 }, /* f8 f10 f12 f14 */
	{ 28, 4, 80, 16 }, /* f9 f11 f13 f15 */
};
static const struct reel_core_register_note s390x_notes[] = {
	{ NT_PRSTATUS, 336, s390x_general, COUNT(s390x_general) },
	{ NT_FPREGSET, 136, s390x_floating, COUNT(s390x_floating) },
};

static const struct reel_core_layout layouts[] = {
	{ EM_X86_64, 8, 4, x86_64_notes, COUNT(x86_64_notes) },
	{ EM_386, 4, 2, i386_notes, COUNT(i386_notes) },
	{ EM_AARCH64, 8, 4, aarch64_notes, COUNT(aarch64_notes) },
	{ EM_RISCV, 8, 4, riscv64_notes, COUNT(riscv64_notes) },
	{ EM_S390, 8, 4, s390x_notes, COUNT(s390x_notes) },
};

const struct reel_core_layout *reel_core_layout_of(const struct reel_arch *arch)
{
	for (size_t i = 0; i < COUNT(layouts); i++) {
		if (layouts[i].machine == arch->elf_machine &&
		    layouts[i].word_size == arch->word_size)
			return &layouts[i];
	}
	return NULL;
}
