/* SPDX-License-Identifier: Apache-2.0 */
/* AArch64: AAPCS64 and "DWARF for the Arm 64-bit Architecture" (AADWARF64). */
#include "arch/program.h"

enum { X0 = 0, X19 = 19, X29 = 29, X30 = 30, SP = 31, PC = 32 };

/* DWARF: AADWARF64 4.1; perf: arch/arm64/include/uapi/asm/perf_regs.h. They agree. */
static const struct reel_arch_register registers[] = {
	{ "x0", 0, 0, 8 },    { "x1", 1, 1, 8 },    { "x2", 2, 2, 8 },	  { "x3", 3, 3, 8 },
	{ "x4", 4, 4, 8 },    { "x5", 5, 5, 8 },    { "x6", 6, 6, 8 },	  { "x7", 7, 7, 8 },
	{ "x8", 8, 8, 8 },    { "x9", 9, 9, 8 },    { "x10", 10, 10, 8 }, { "x11", 11, 11, 8 },
	{ "x12", 12, 12, 8 }, { "x13", 13, 13, 8 }, { "x14", 14, 14, 8 }, { "x15", 15, 15, 8 },
	{ "x16", 16, 16, 8 }, { "x17", 17, 17, 8 }, { "x18", 18, 18, 8 }, { "x19", 19, 19, 8 },
	{ "x20", 20, 20, 8 }, { "x21", 21, 21, 8 }, { "x22", 22, 22, 8 }, { "x23", 23, 23, 8 },
	{ "x24", 24, 24, 8 }, { "x25", 25, 25, 8 }, { "x26", 26, 26, 8 }, { "x27", 27, 27, 8 },
	{ "x28", 28, 28, 8 }, { "x29", 29, 29, 8 }, { "x30", 30, 30, 8 }, { "sp", SP, SP, 8 },
	{ "pc", PC, PC, 8 },
};

/* AAPCS64 6.1.1: x19 to x29 belong to the caller. The CFA is the caller's sp (AADWARF64 4.2). */
static const uint8_t defaults[] = {
	CFA_SAME_VALUE(19), CFA_SAME_VALUE(20), CFA_SAME_VALUE(21), CFA_SAME_VALUE(22),
	CFA_SAME_VALUE(23), CFA_SAME_VALUE(24), CFA_SAME_VALUE(25), CFA_SAME_VALUE(26),
	CFA_SAME_VALUE(27), CFA_SAME_VALUE(28), CFA_SAME_VALUE(29), CFA_VAL_OFFSET(SP, 0),
};

/* `bl` has set x30 and done nothing else: the return address column has no rule, so x30 counts. */
static const uint8_t undo_call[] = {
	CFA_DEF_CFA(SP, 0),
};

/* AAPCS64 6.4.6: x29 points to a frame record, {caller's x29, x30}, anywhere in the frame. */
static const uint8_t frame_step[] = {
	CFA_DEF_CFA(X29, 0),
	CFA_OFFSET_SF(X29, 0),
	CFA_OFFSET_SF(X30, -1),
};

/* mov x8, #0x8b;  svc #0: rt_sigreturn (arch/arm64/kernel/vdso/sigreturn.S; musl's and Android's
 * libc). */
static const uint8_t sigreturn[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };

/*
 * sp points to struct rt_sigframe (arch/arm64/kernel/signal.c): siginfo, 128
 * bytes; ucontext: flags, link, stack, sigmask padded to 1024 bits, and at 176
 * (16-byte aligned) struct sigcontext: fault_address, regs[31], sp, pc
 * (uapi/asm/sigcontext.h).  regs[0] is word 39 from sp.
 */
#define SAVED(reg)     CFA_OFFSET_SF(reg, -(39 + (reg)))
#define SAVED_FAR(reg) CFA_OFFSET_SF2(reg, -(39 + (reg)))
static const uint8_t signal_program[] = {
	CFA_DEF_CFA(SP, 0), SAVED(0),	   CFA_1_TO_25(SAVED), SAVED_FAR(26), SAVED_FAR(27),
	SAVED_FAR(28),	    SAVED_FAR(29), SAVED_FAR(30),      SAVED_FAR(SP), SAVED_FAR(PC),
};

static const struct reel_arch_signal_frame signal_frames[] = {
	{ sigreturn, NULL, sizeof(sigreturn), REEL_ARCH_PROGRAM(signal_program) },
};

/* Arm ARM C6.2: bl; blr and its authenticating forms (blraa, blrab, blraaz, blrabz).  Code is
 * always little-endian. */
static const uint8_t bl[] = { 0x00, 0x00, 0x00, 0x94 };
static const uint8_t bl_mask[] = { 0x00, 0x00, 0x00, 0xfc };
static const uint8_t blr[] = { 0x00, 0x00, 0x3f, 0xd6 };
static const uint8_t blr_mask[] = { 0x00, 0xf0, 0xff, 0xfe };

static const struct reel_arch_call calls[] = {
	{ bl, bl_mask, 4, 0, REEL_ARCH_OPERAND_BL },
	{ blr, blr_mask, 4 },
};

/* b. */
static const uint8_t b[] = { 0x00, 0x00, 0x00, 0x14 };

static const struct reel_arch_call jumps[] = {
	{ b, bl_mask, 4, 0, REEL_ARCH_OPERAND_BL },
};

/*
 * The PLT's header, which has no CFI (AAELF64 "Procedure Linkage Table"; binutils'
 * elfNN_aarch64_small_plt0_entry, possibly preceded by `bti c`):
 * stp x16, x30, [sp, #-16]!;  adrp x16, …;  ldr x17, …;  add x16, …;  br x17
 */
static const uint8_t plt_header[] = { 0xf0, 0x7b, 0xbf, 0xa9, 0x10, 0, 0, 0x90 };
static const uint8_t plt_header_mask[] = { 0xff, 0xff, 0xff, 0xff, 0x1f, 0, 0, 0x9f };

/* Its other entries: adrp x16, …;  ldr x17, [x16, …];  add x16, …;  br x17.  The header continues
 * the same way. */
static const uint8_t plt_entry[] = { 0x10, 0, 0, 0x90, 0x11, 0x02, 0x40, 0xf9 };
static const uint8_t plt_entry_mask[] = { 0x1f, 0, 0, 0x9f, 0xff, 0x03, 0xc0, 0xff };

static const struct reel_arch_entry entries[] = {
	{ plt_header, plt_header_mask, sizeof(plt_header), 4, 2 },
	{ plt_header, plt_header_mask, sizeof(plt_header), 8, 2 },
	{ plt_header, plt_header_mask, sizeof(plt_header), 12, 2 },
	{ plt_header, plt_header_mask, sizeof(plt_header), 16, 2 },
	{ plt_entry, plt_entry_mask, sizeof(plt_entry), 0, 0 },
	{ plt_entry, plt_entry_mask, sizeof(plt_entry), 4, 0 },
	{ plt_entry, plt_entry_mask, sizeof(plt_entry), 8, 0 },
	{ plt_entry, plt_entry_mask, sizeof(plt_entry), 12, 0 },
};

/*
 * LLVM before 15 describes no epilogues (llvm #63598): after the last pop its CFA is out of date.
 * `ret` alone goes to x30 (Arm ARM C6.2; retaa and retab to a signed x30); a tail call follows the
 * pop of x30:
 *   ldp …, [sp], #…  or  ldr x30, [sp], #…;  b …  or  br …
 *   ldp …, [sp, #…]  or  ldr x30, [sp, #…];  add sp, sp, #…;  b …  or  br …
 * or with autiasp or autibsp there, followed by ret.
 */
static const uint8_t ret[] = { 0xc0, 0x03, 0x5f, 0xd6 };
static const uint8_t retaa[] = { 0xff, 0x0b, 0x5f, 0xd6 };
static const uint8_t retaa_mask[] = { 0xff, 0xfb, 0xff, 0xff };

#define WORD(w)	      (w) & 0xff, (w) >> 8 & 0xff, (w) >> 16 & 0xff, (w) >> 24
#define POP_1ST	      0xa8c003fe /* ldp x30, …, [sp], #… */
#define POP_1ST_MASK  0xffc003ff
#define POP_2ND	      0xa8c07be0 /* ldp …, x30, [sp], #… */
#define POP_2ND_MASK  0xffc07fe0
#define POP	      0xf84007fe /* ldr x30, [sp], #… */
#define POP_MASK      0xffe00fff
#define LOAD_1ST      0xa94003fe /* ldp x30, …, [sp, #…] */
#define LOAD_1ST_MASK 0xffc003ff
#define LOAD_2ND      0xa9407be0 /* ldp …, x30, [sp, #…] */
#define LOAD_2ND_MASK 0xffc07fe0
#define LOAD	      0xf94003fe /* ldr x30, [sp, #…] */
#define LOAD_MASK     0xffc003ff
#define ADD	      0x910003ff /* add sp, sp, #… */
#define ADD_MASK      0xff8003ff
#define B	      0x14000000
#define B_MASK	      0xfc000000
#define BR	      0xd61f0000
#define BR_MASK	      0xfffffc1f
#define AUTI	      0xd50323bf /* autiasp, autibsp */
#define AUTI_MASK     0xffffffbf

/* The same loads before either branch: code, then mask. */
#define POPPED(pop, branch)                                                                        \
	{                                                                                          \
		{ WORD(pop), WORD(branch) },                                                       \
		{                                                                                  \
			WORD(pop##_MASK), WORD(branch##_MASK)                                      \
		}                                                                                  \
	}
#define ADDED(load, branch)                                                                        \
	{                                                                                          \
		{ WORD(load), WORD(ADD), WORD(branch) },                                           \
		{                                                                                  \
			WORD(load##_MASK), WORD(ADD_MASK), WORD(branch##_MASK)                     \
		}                                                                                  \
	}
static const uint8_t popped[][2][8] = {
	POPPED(POP_1ST, B),    POPPED(POP_2ND, B),    POPPED(POP, B),
	POPPED(POP_1ST, BR),   POPPED(POP_2ND, BR),   POPPED(POP, BR),
	POPPED(POP_1ST, AUTI), POPPED(POP_2ND, AUTI), POPPED(POP, AUTI),
};
static const uint8_t added[][2][12] = {
	ADDED(LOAD_1ST, B),    ADDED(LOAD_2ND, B),    ADDED(LOAD, B),
	ADDED(LOAD_1ST, BR),   ADDED(LOAD_2ND, BR),   ADDED(LOAD, BR),
	ADDED(LOAD_1ST, AUTI), ADDED(LOAD_2ND, AUTI), ADDED(LOAD, AUTI),
};

#define POPPED_ENTRY(n)                                                                            \
	{                                                                                          \
		.code = popped[n][0], .mask = popped[n][1], .size = 8, .into = 4                   \
	}
#define ADDED_ENTRY(n)                                                                             \
	{                                                                                          \
		.code = added[n][0], .mask = added[n][1], .size = 12, .into = 8                    \
	}
static const struct reel_arch_entry returns[] = {
	{ .code = ret, .size = sizeof(ret) },
	{ .code = retaa, .mask = retaa_mask, .size = sizeof(retaa) },
	POPPED_ENTRY(0),
	POPPED_ENTRY(1),
	POPPED_ENTRY(2),
	POPPED_ENTRY(3),
	POPPED_ENTRY(4),
	POPPED_ENTRY(5),
	POPPED_ENTRY(6),
	POPPED_ENTRY(7),
	POPPED_ENTRY(8),
	ADDED_ENTRY(0),
	ADDED_ENTRY(1),
	ADDED_ENTRY(2),
	ADDED_ENTRY(3),
	ADDED_ENTRY(4),
	ADDED_ENTRY(5),
	ADDED_ENTRY(6),
	ADDED_ENTRY(7),
	ADDED_ENTRY(8),
};

/* Arm ARM C6.2: svc, with any immediate. */
static const uint8_t svc[] = { 0x01, 0x00, 0x00, 0xd4 };
static const uint8_t svc_mask[] = { 0x1f, 0x00, 0xe0, 0xff };

static const struct reel_arch_call system_calls[] = {
	{ svc, svc_mask, 4 },
};

/* PLT stubs: adrp x16, slot; ldr x17, [x16, slot]; after bti c if branches are checked. */
static const uint8_t plt_stub[] = { 0x10, 0x00, 0x00, 0x90, 0x11, 0x02, 0x40, 0xf9 };
static const uint8_t plt_stub_mask[] = { 0x1f, 0x00, 0x00, 0x9f, 0xff, 0x03, 0xc0, 0xff };
static const uint8_t bti_plt_stub[] = { 0x5f, 0x24, 0x03, 0xd5, 0x10, 0x00,
					0x00, 0x90, 0x11, 0x02, 0x40, 0xf9 };
static const uint8_t bti_plt_stub_mask[] = { 0xff, 0xff, 0xff, 0xff, 0x1f, 0x00,
					     0x00, 0x9f, 0xff, 0x03, 0xc0, 0xff };

static const struct reel_arch_stub stubs[] = {
	{ plt_stub, plt_stub_mask, 8, 24, 0, REEL_ARCH_OPERAND_ADRP },
	{ bti_plt_stub, bti_plt_stub_mask, 12, 24, 4, REEL_ARCH_OPERAND_ADRP },
};

/* Arm Architecture Reference Manual, C2.1: all instructions have one word. */
static uint8_t instruction_size(uint8_t first)
{
	(void)first;
	return 4;
}

extern const struct reel_arch reel_arch_aarch64;
extern const struct reel_arch_instructions reel_arch_aarch64_instructions;
/* The vectors of arch/arm64/kernel/entry.S for EL1, from 5.13 on and before 5.13. */
static const char *const kernel_entries[] = { "el1h_64_", "el1t_64_",  "el1_sync",
					      "el1_irq",  "el1_error", NULL };

const struct reel_arch reel_arch_aarch64 = {
	.name = "aarch64",
	.elf_machine = 183, /* EM_AARCH64 */
	.word_size = 8,
	.code_align = 4,
	.registers = registers,
	.n_registers = REEL_ARCH_COUNT(registers),
	.pc = PC,
	.sp = SP,
	.fp = X29,
	.return_column = X30,
	.system_call_changes = 1u << 0, /* x0 */
	.data_align = -8,
	.flags = REEL_ARCH_LINK_REGISTER | REEL_ARCH_FRAME_STEP_LOSES_SP |
		 REEL_ARCH_POINTER_AUTHENTICATION,
	/* User addresses have at most 48 bits unless a program asks for 52 (arm64/memory.rst); code
	 * is never at those. */
	.default_code_mask = 0xffff000000000000,
	.defaults = REEL_ARCH_PROGRAM(defaults),
	.undo_call = REEL_ARCH_PROGRAM(undo_call),
	.frame_step = REEL_ARCH_PROGRAM(frame_step),
	.signal_frames = signal_frames,
	.n_signal_frames = REEL_ARCH_COUNT(signal_frames),
	.calls = calls,
	.n_calls = REEL_ARCH_COUNT(calls),
	.jumps = jumps,
	.n_jumps = REEL_ARCH_COUNT(jumps),
	.entries = entries,
	.n_entries = REEL_ARCH_COUNT(entries),
	.returns = returns,
	.n_returns = REEL_ARCH_COUNT(returns),
	.result = X0,
	.system_calls = system_calls,
	.n_system_calls = REEL_ARCH_COUNT(system_calls),
	.stubs = stubs,
	.n_stubs = REEL_ARCH_COUNT(stubs),
	.instruction_size = instruction_size,
	.code = REEL_ARCH_CODE_TABLE,
	.instructions = &reel_arch_aarch64_instructions,
	.kernel_entries = kernel_entries,
};
