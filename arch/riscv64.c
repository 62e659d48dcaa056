/* SPDX-License-Identifier: Apache-2.0 */
/* RISC-V, 64 bits: RISC-V ELF psABI (riscv-cc, riscv-dwarf). */
#include "arch/program.h"

enum { RA = 1, SP = 2, S0 = 8, PC = 64 };

/*
 * DWARF: riscv-dwarf 2, "DWARF register numbers"; 64, the alternate frame return column, represents
 * the pc (as in the kernel's and libgcc's signal frames). perf:
 * arch/riscv/include/uapi/asm/perf_regs.h has the pc in place of x0.
 */
static const struct reel_arch_register registers[] = {
	{ "zero", 0, -1, 8 }, { "ra", RA, 1, 8 },  { "sp", SP, 2, 8 },	 { "gp", 3, 3, 8 },
	{ "tp", 4, 4, 8 },    { "t0", 5, 5, 8 },   { "t1", 6, 6, 8 },	 { "t2", 7, 7, 8 },
	{ "s0", S0, 8, 8 },   { "s1", 9, 9, 8 },   { "a0", 10, 10, 8 },	 { "a1", 11, 11, 8 },
	{ "a2", 12, 12, 8 },  { "a3", 13, 13, 8 }, { "a4", 14, 14, 8 },	 { "a5", 15, 15, 8 },
	{ "a6", 16, 16, 8 },  { "a7", 17, 17, 8 }, { "s2", 18, 18, 8 },	 { "s3", 19, 19, 8 },
	{ "s4", 20, 20, 8 },  { "s5", 21, 21, 8 }, { "s6", 22, 22, 8 },	 { "s7", 23, 23, 8 },
	{ "s8", 24, 24, 8 },  { "s9", 25, 25, 8 }, { "s10", 26, 26, 8 }, { "s11", 27, 27, 8 },
	{ "t3", 28, 28, 8 },  { "t4", 29, 29, 8 }, { "t5", 30, 30, 8 },	 { "t6", 31, 31, 8 },
	{ "pc", PC, 0, 8 },
};

/* riscv-cc 1.1: s0 to s11 belong to the caller, gp and tp never change; the CFA is the caller's sp.
 */
static const uint8_t defaults[] = {
	CFA_SAME_VALUE(3),  CFA_SAME_VALUE(4),	CFA_SAME_VALUE(8),     CFA_SAME_VALUE(9),
	CFA_SAME_VALUE(18), CFA_SAME_VALUE(19), CFA_SAME_VALUE(20),    CFA_SAME_VALUE(21),
	CFA_SAME_VALUE(22), CFA_SAME_VALUE(23), CFA_SAME_VALUE(24),    CFA_SAME_VALUE(25),
	CFA_SAME_VALUE(26), CFA_SAME_VALUE(27), CFA_VAL_OFFSET(SP, 0),
};

/* `jalr ra` has set ra and done nothing else. */
static const uint8_t undo_call[] = {
	CFA_DEF_CFA(SP, 0),
};

/* riscv-cc, "Frame pointer convention": s0 is the CFA; ra and the caller's s0 are below it. */
static const uint8_t frame_step[] = {
	CFA_DEF_CFA(S0, 0),
	CFA_OFFSET_SF(RA, 1),
	CFA_OFFSET_SF(S0, 2),
};

/* li a7, 139;  ecall: rt_sigreturn (arch/riscv/kernel/vdso/rt_sigreturn.S). */
static const uint8_t sigreturn[] = { 0x93, 0x08, 0xb0, 0x08, 0x73, 0x00, 0x00, 0x00 };

/*
 * sp points to struct rt_sigframe (arch/riscv/kernel/signal.c): siginfo, 128
 * bytes; ucontext: flags, link, stack, sigmask padded to 1024 bits, and at 176
 * struct user_regs_struct: pc, x1 … x31 (uapi/asm/ptrace.h).  pc is word 38 from sp.
 */
#define SAVED(reg)     CFA_OFFSET_SF(reg, -(38 + (reg)))
#define SAVED_FAR(reg) CFA_OFFSET_SF2(reg, -(38 + (reg)))
static const uint8_t signal_program[] = {
	CFA_DEF_CFA(SP, 0), CFA_OFFSET_SF(PC, -38), CFA_1_TO_25(SAVED),
	SAVED(26),	    SAVED_FAR(27),	    SAVED_FAR(28),
	SAVED_FAR(29),	    SAVED_FAR(30),	    SAVED_FAR(31),
};

static const struct reel_arch_signal_frame signal_frames[] = {
	{ sigreturn, NULL, sizeof(sigreturn), REEL_ARCH_PROGRAM(signal_program) },
};

/* RISC-V unprivileged ISA 2.5: jal and jalr with rd = ra; c.jalr (never of x0: that is c.ebreak).
 */
static const uint8_t jal[] = { 0xef, 0x00, 0x00, 0x00 };
static const uint8_t jal_mask[] = { 0xff, 0x0f, 0x00, 0x00 };
static const uint8_t jalr[] = { 0xe7, 0x00, 0x00, 0x00 };
static const uint8_t jalr_mask[] = { 0xff, 0x7f, 0x00, 0x00 };
static const uint8_t c_jalr[] = { 0x02, 0x90 };
static const uint8_t c_jalr_mask[] = { 0x7f, 0xf0 };

static const struct reel_arch_call calls[] = {
	{ jal, jal_mask, 4, 0, REEL_ARCH_OPERAND_JAL },
	{ jalr, jalr_mask, 4 },
	{ c_jalr, c_jalr_mask, 2 },
};

/* j: jal x0. */
static const uint8_t j[] = { 0x6f, 0x00, 0x00, 0x00 };

static const struct reel_arch_call jumps[] = {
	{ j, jal_mask, 4, 0, REEL_ARCH_OPERAND_JAL },
};

/*
 * LLVM 14 describes no epilogues: after addi sp,sp,… its CFA is out of date. ret is jalr x0,0(ra),
 * or c.jr ra (RISC-V unprivileged ISA 2.5, 16.4).
 */
static const uint8_t jr_ra[] = { 0x67, 0x80, 0x00, 0x00 };
static const uint8_t c_jr_ra[] = { 0x82, 0x80 };

static const struct reel_arch_entry returns[] = {
	{ .code = jr_ra, .size = sizeof(jr_ra) },
	{ .code = c_jr_ra, .size = sizeof(c_jr_ra) },
};

/* RISC-V ISA, 3.3.1: ecall. */
static const uint8_t ecall[] = { 0x73, 0x00, 0x00, 0x00 };

static const struct reel_arch_call system_calls[] = {
	{ ecall, NULL, 4 },
};

/* PLT stubs: auipc t3, slot; ld t3, slot(t3) (psABI, "Procedure Linkage Table"). */
static const uint8_t plt_stub[] = { 0x17, 0x0e, 0x00, 0x00, 0x03, 0x3e, 0x0e, 0x00 };
static const uint8_t plt_stub_mask[] = { 0xff, 0x0f, 0x00, 0x00, 0xff, 0xff, 0x0f, 0x00 };

static const struct reel_arch_stub stubs[] = {
	{ plt_stub, plt_stub_mask, 8, 16, 0, REEL_ARCH_OPERAND_AUIPC },
};

/* The RISC-V Instruction Set Manual, "Expanded Instruction-Length Encoding". */
static uint8_t instruction_size(uint8_t first)
{
	return (first & 3) == 3 ? 4 : 2;
}

extern const struct reel_arch reel_arch_riscv64;
extern const struct reel_arch_instructions reel_arch_riscv64_instructions;
/* arch/riscv/kernel/entry.S; walk_stackframe reports epc after it. */
static const char *const kernel_entries[] = {
	"handle_exception",
	"ret_from_exception",
	NULL,
};

const struct reel_arch reel_arch_riscv64 = {
	.name = "riscv64",
	.elf_machine = 243, /* EM_RISCV */
	.word_size = 8,
	.code_align = 2,
	.registers = registers,
	.n_registers = REEL_ARCH_COUNT(registers),
	.pc = PC,
	.sp = SP,
	.fp = S0,
	.return_column = RA,
	.system_call_changes = 1u << 10, /* a0 */
	.data_align = -8,
	.flags = REEL_ARCH_LINK_REGISTER,
	.defaults = REEL_ARCH_PROGRAM(defaults),
	.undo_call = REEL_ARCH_PROGRAM(undo_call),
	.frame_step = REEL_ARCH_PROGRAM(frame_step),
	.signal_frames = signal_frames,
	.n_signal_frames = REEL_ARCH_COUNT(signal_frames),
	.calls = calls,
	.n_calls = REEL_ARCH_COUNT(calls),
	.jumps = jumps,
	.n_jumps = REEL_ARCH_COUNT(jumps),
	.returns = returns,
	.n_returns = REEL_ARCH_COUNT(returns),
	.result = 10, /* a0 */
	.system_calls = system_calls,
	.n_system_calls = REEL_ARCH_COUNT(system_calls),
	.stubs = stubs,
	.n_stubs = REEL_ARCH_COUNT(stubs),
	.instruction_size = instruction_size,
	.code = REEL_ARCH_CODE_TABLE,
	.instructions = &reel_arch_riscv64_instructions,
	.kernel_entries = kernel_entries,
};
