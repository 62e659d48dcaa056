/* SPDX-License-Identifier: Apache-2.0 */
/* s390x: ELF Application Binary Interface, s390x supplement, version 1.6.1. */
#include "arch/program.h"

enum { R11 = 11, R14 = 14, R15 = 15, PSWM = 64, PSWA = 65 };

/* DWARF: supplement 1.6, "DWARF register number mapping"; perf:
 * arch/s390/include/uapi/asm/perf_regs.h.
 * f0, f2, f4, f6, f1, f3 … by DWARF number: GCC and clang keep r11 to r15 in f8 to f15 of leaf
 * functions. */
static const struct reel_arch_register registers[] = {
	{ "r0", 0, 0, 8 },	 { "r1", 1, 1, 8 },    { "r2", 2, 2, 8 },
	{ "r3", 3, 3, 8 },	 { "r4", 4, 4, 8 },    { "r5", 5, 5, 8 },
	{ "r6", 6, 6, 8 },	 { "r7", 7, 7, 8 },    { "r8", 8, 8, 8 },
	{ "r9", 9, 9, 8 },	 { "r10", 10, 10, 8 }, { "r11", 11, 11, 8 },
	{ "r12", 12, 12, 8 },	 { "r13", 13, 13, 8 }, { "r14", 14, 14, 8 },
	{ "r15", 15, 15, 8 },	 { "f0", 16, 16, 8 },  { "f2", 17, 18, 8 },
	{ "f4", 18, 20, 8 },	 { "f6", 19, 22, 8 },  { "f1", 20, 17, 8 },
	{ "f3", 21, 19, 8 },	 { "f5", 22, 21, 8 },  { "f7", 23, 23, 8 },
	{ "f8", 24, 24, 8 },	 { "f10", 25, 26, 8 }, { "f12", 26, 28, 8 },
	{ "f14", 27, 30, 8 },	 { "f9", 28, 25, 8 },  { "f11", 29, 27, 8 },
	{ "f13", 30, 29, 8 },	 { "f15", 31, 31, 8 }, { "pswm", PSWM, 32, 8 },
	{ "pswa", PSWA, 33, 8 },
};

/* 1.2.2.1: r6 to r13, r15 and f8 to f15 belong to the caller, whose r15 is 160 bytes below the CFA.
 */
static const uint8_t defaults[] = {
	CFA_SAME_VALUE(6),	 CFA_SAME_VALUE(7),  CFA_SAME_VALUE(8),	 CFA_SAME_VALUE(9),
	CFA_SAME_VALUE(10),	 CFA_SAME_VALUE(11), CFA_SAME_VALUE(12), CFA_SAME_VALUE(13),
	CFA_SAME_VALUE(24),	 CFA_SAME_VALUE(25), CFA_SAME_VALUE(26), CFA_SAME_VALUE(27),
	CFA_SAME_VALUE(28),	 CFA_SAME_VALUE(29), CFA_SAME_VALUE(30), CFA_SAME_VALUE(31),
	CFA_VAL_OFFSET(R15, 20),
};

/* `basr %r14,…` has set r14 and done nothing else. */
static const uint8_t undo_call[] = {
	CFA_DEF_CFA(R15, 0xa0), 0x01, /* 160 */
};

/*
 * 1.2.2.2 with -mbackchain: *(r15) is the caller's r15, and the callee stored r6 … r15 from 48
 * bytes above it on (r14 at 112).  The CFA is 160 above it.
 */
static const uint8_t frame_step[] = {
	CFA_DEF_CFA_EXPRESSION(6), DW_BREG(R15),	  0, DW_DEREF, DW_PLUS_CONST2(160),
	CFA_OFFSET_SF(R11, 9),	   CFA_OFFSET_SF(R14, 6),
};

/* svc 173: rt_sigreturn;  svc 119: sigreturn (in the vDSO since Linux 5.17, previously on the
 * stack). */
static const uint8_t rt_sigreturn[] = { 0x0a, 0xad };
static const uint8_t sigreturn[] = { 0x0a, 0x77 };

/*
 * r15 points to struct rt_sigframe (arch/s390/kernel/signal.c): 160 bytes of
 * register save area, the svc instruction padded to 8, siginfo (128 bytes),
 * ucontext: flags, link, stack, and at 336 _sigregs: psw mask and address,
 * r0 … r15, access registers (64 bytes), fpc padded to 8, f0 … f15 (uapi/asm/sigcontext.h).
 */
#define RT(reg, word)	  CFA_OFFSET_SF(reg, -(42 + (word)))
#define RT_FAR(reg, word) CFA_OFFSET_SF2(reg, -(42 + (word)))
static const uint8_t rt_signal_program[] = {
	CFA_DEF_CFA(R15, 0),
	CFA_OFFSET_SF(PSWM, -42),
	CFA_OFFSET_SF(PSWA, -43),
	RT(0, 2),
	RT(1, 3),
	RT(2, 4),
	RT(3, 5),
	RT(4, 6),
	RT(5, 7),
	RT(6, 8),
	RT(7, 9),
	RT(8, 10),
	RT(9, 11),
	RT(10, 12),
	RT(11, 13),
	RT(12, 14),
	RT(13, 15),
	RT(14, 16),
	RT(15, 17),
	RT_FAR(16, 27),
	RT_FAR(17, 29),
	RT_FAR(18, 31),
	RT_FAR(19, 33),
	RT_FAR(20, 28),
	RT_FAR(21, 30),
	RT_FAR(22, 32),
	RT_FAR(23, 34),
	RT_FAR(24, 35),
	RT_FAR(25, 37),
	RT_FAR(26, 39),
	RT_FAR(27, 41),
	RT_FAR(28, 36),
	RT_FAR(29, 38),
	RT_FAR(30, 40),
	RT_FAR(31, 42),
};

/* struct sigframe: 160 bytes, sigcontext (old mask, pointer), then _sigregs at 176. */
#define OLD(reg, word) CFA_OFFSET_SF(reg, -(22 + (word)))
static const uint8_t signal_program[] = {
	CFA_DEF_CFA(R15, 0),
	CFA_OFFSET_SF(PSWM, -22),
	CFA_OFFSET_SF(PSWA, -23),
	OLD(0, 2),
	OLD(1, 3),
	OLD(2, 4),
	OLD(3, 5),
	OLD(4, 6),
	OLD(5, 7),
	OLD(6, 8),
	OLD(7, 9),
	OLD(8, 10),
	OLD(9, 11),
	OLD(10, 12),
	OLD(11, 13),
	OLD(12, 14),
	OLD(13, 15),
	OLD(14, 16),
	OLD(15, 17),
	OLD(16, 27),
	OLD(17, 29),
	OLD(18, 31),
	OLD(19, 33),
	OLD(20, 28),
	OLD(21, 30),
	OLD(22, 32),
	OLD(23, 34),
	OLD(24, 35),
	OLD(25, 37),
	OLD(26, 39),
	OLD(27, 41),
	OLD(28, 36),
	OLD(29, 38),
	OLD(30, 40),
	CFA_OFFSET_SF2(31, -64),
};

static const struct reel_arch_signal_frame signal_frames[] = {
	{ rt_sigreturn, NULL, sizeof(rt_sigreturn), REEL_ARCH_PROGRAM(rt_signal_program) },
	{ sigreturn, NULL, sizeof(sigreturn), REEL_ARCH_PROGRAM(signal_program) },
};

/* Principles of Operation, chapter 7: brasl, bras and basr with %r14 as the link. */
static const uint8_t brasl[] = { 0xc0, 0xe5, 0, 0, 0, 0 };
static const uint8_t brasl_mask[] = { 0xff, 0xff, 0, 0, 0, 0 };
static const uint8_t bras[] = { 0xa7, 0xe5, 0, 0 };
static const uint8_t bras_mask[] = { 0xff, 0xff, 0, 0 };
static const uint8_t basr[] = { 0x0d, 0xe0 };
static const uint8_t basr_mask[] = { 0xff, 0xf0 };

static const struct reel_arch_call calls[] = {
	{ brasl, brasl_mask, 6, 2, REEL_ARCH_OPERAND_LARL },
	{ bras, bras_mask, 4 },
	{ basr, basr_mask, 2 },
};

/* jg: brcl 15. */
static const uint8_t jg[] = { 0xc0, 0xf4, 0, 0, 0, 0 };

static const struct reel_arch_call jumps[] = {
	{ jg, brasl_mask, 6, 2, REEL_ARCH_OPERAND_LARL },
};

/*
 * LLVM 14 describes no epilogues: after lmg …,%r15,…(%r15) its CFA is out of date. br %r14 returns;
 * a tail call is jg after that lmg (Principles of Operation, chapter 7).
 */
static const uint8_t br_r14[] = { 0x07, 0xfe };
static const uint8_t popped[] = { 0xeb, 0x0f, 0xf0, 0, 0, 0x04, 0xc0, 0xf4 };
static const uint8_t popped_mask[] = { 0xff, 0x0f, 0xf0, 0, 0, 0xff, 0xff, 0xff };

static const struct reel_arch_entry returns[] = {
	{ .code = br_r14, .size = sizeof(br_r14) },
	{ .code = popped, .mask = popped_mask, .size = sizeof(popped), .into = 6 },
};

/* z/Architecture Principles of Operation: SVC, with any number. */
static const uint8_t svc[] = { 0x0a, 0 };
static const uint8_t svc_mask[] = { 0xff, 0 };

static const struct reel_arch_call system_calls[] = {
	{ svc, svc_mask, 2 },
};

/* PLT stubs: larl %r1, slot; lg %r1, 0(%r1). */
static const uint8_t plt_stub[] = { 0xc0, 0x10, 0, 0, 0, 0, 0xe3, 0x10, 0x10, 0x00, 0x00, 0x04 };
static const uint8_t plt_stub_mask[] = {
	0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
};

static const struct reel_arch_stub stubs[] = {
	{ plt_stub, plt_stub_mask, 12, 32, 2, REEL_ARCH_OPERAND_LARL },
};

/* The two highest bits: z/Architecture Principles of Operation, "Instruction Formats". */
static uint8_t instruction_size(uint8_t first)
{
	return first < 0x40 ? 2 : first < 0xc0 ? 4 : 6;
}

extern const struct reel_arch reel_arch_s390x;
extern const struct reel_arch_instructions reel_arch_s390x_instructions;
/* arch/s390/kernel/entry.S; unwind_next_frame reports the psw after them. */
static const char *const kernel_entries[] = {
	"ext_int_handler", "io_int_handler", "pgm_check_handler", "mcck_int_handler", NULL,
};

const struct reel_arch reel_arch_s390x = {
	.name = "s390x",
	.elf_machine = 22, /* EM_S390 */
	.word_size = 8,
	.code_align = 2,
	.registers = registers,
	.n_registers = REEL_ARCH_COUNT(registers),
	.pc = PSWA,
	.sp = R15,
	.fp = R11,
	.return_column = R14,
	.system_call_changes = 1u << 2, /* r2 */
	.data_align = -8,
	/* Trampolines: before Linux 5.17 (arch/s390/kernel/signal.c, svc_insn). */
	.flags = REEL_ARCH_LINK_REGISTER | REEL_ARCH_BACK_CHAIN | REEL_ARCH_STACK_TRAMPOLINES,
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
	.result = 2, /* r2 */
	.system_calls = system_calls,
	.n_system_calls = REEL_ARCH_COUNT(system_calls),
	.stubs = stubs,
	.n_stubs = REEL_ARCH_COUNT(stubs),
	.instruction_size = instruction_size,
	.code = REEL_ARCH_CODE_TABLE,
	.instructions = &reel_arch_s390x_instructions,
	.kernel_entries = kernel_entries,
};
