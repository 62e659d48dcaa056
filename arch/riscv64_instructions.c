/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of 64-bit RISC-V CPUs, by the unprivileged ISA (20191213): chapter 24, "RV32/64G
 * Instruction Set Listings", and 16.8, "RVC Instruction Set Listings"; later ratified extensions by
 * their own specifications.
 */
#include "arch/effects.h"

enum { X };
/* x0 is always 0. */
static const uint8_t register_sets[][32] = { [X] = { REEL_ARCH_NO_REGISTER, ONE_TO_30, 31 } };

/* C_: for compressed instructions; three-bit fields select x8 to x15. */
enum { RD = 1, RS1, RS2, C_RS2, C_RD3, C_RS3, RA, SP, A0 };
static const struct reel_arch_operand operands[] = {
	[RD] = { 7, 5, 0, X },	  [RS1] = { 15, 5, 0, X },  [RS2] = { 20, 5, 0, X },
	[C_RS2] = { 2, 5, 0, X }, [C_RD3] = { 2, 3, 8, X }, [C_RS3] = { 7, 3, 8, X },
	[RA] = { 0, 0, 1, X },	  [SP] = { 0, 0, 2, X },    [A0] = { 0, 0, 10, X },
};

/* 2.3: the immediates of the formats I, S, B and J. */
static const struct reel_arch_immediate i_type = { { { 20, 12, 0 } }, 12 };
static const struct reel_arch_immediate s_type = { { { 7, 5, 0 }, { 25, 7, 5 } }, 12 };
static const struct reel_arch_immediate b_type = {
	{ { 8, 4, 1 }, { 25, 6, 5 }, { 7, 1, 11 }, { 31, 1, 12 } }, 13
};
static const struct reel_arch_immediate j_type = {
	{ { 21, 10, 1 }, { 20, 1, 11 }, { 12, 8, 12 }, { 31, 1, 20 } }, 21
};
/* 16.8, named after the first instruction that uses it. */
static const struct reel_arch_immediate c_addi4spn = {
	{ { 11, 2, 4 }, { 7, 4, 6 }, { 6, 1, 2 }, { 5, 1, 3 } }
};
static const struct reel_arch_immediate c_ld = { { { 10, 3, 3 }, { 5, 2, 6 } } };
static const struct reel_arch_immediate c_sw = { { { 10, 3, 3 }, { 6, 1, 2 }, { 5, 1, 6 } } };
static const struct reel_arch_immediate c_addi = { { { 2, 5, 0 }, { 12, 1, 5 } }, 6 };
static const struct reel_arch_immediate c_addi16sp = {
	{ { 6, 1, 4 }, { 2, 1, 5 }, { 5, 1, 6 }, { 3, 2, 7 }, { 12, 1, 9 } }, 10
};
static const struct reel_arch_immediate c_j = { { { 3, 3, 1 },
						  { 11, 1, 4 },
						  { 2, 1, 5 },
						  { 7, 1, 6 },
						  { 6, 1, 7 },
						  { 9, 2, 8 },
						  { 8, 1, 10 },
						  { 12, 1, 11 } },
						12 };
static const struct reel_arch_immediate c_beqz = {
	{ { 3, 2, 1 }, { 10, 2, 3 }, { 2, 1, 5 }, { 5, 2, 6 }, { 12, 1, 8 } }, 9
};
static const struct reel_arch_immediate c_ldsp = { { { 5, 2, 3 }, { 12, 1, 5 }, { 2, 3, 6 } } };
static const struct reel_arch_immediate c_swsp = { { { 9, 4, 2 }, { 7, 2, 6 } } };
static const struct reel_arch_immediate c_sdsp = { { { 10, 3, 3 }, { 7, 3, 6 } } };

#define I(mask_, match_, ...)                                                                      \
	{                                                                                          \
		.size = 4, .mask = mask_, .match = match_, __VA_ARGS__                             \
	}
#define C(mask_, match_, ...)                                                                      \
	{                                                                                          \
		.size = 2, .mask = mask_, .match = match_, __VA_ARGS__                             \
	}
#define WRITES(...) .effects = { __VA_ARGS__ }

static const struct reel_arch_instruction instructions[] = {
	/* ---- 16 bits, quadrant 0 ---- */
	/* All zeros is illegal. */
	C(0xffff, 0x0000, .flow = REEL_FLOW_END),
	C(0xe003, 0x0000, .immediate = &c_addi4spn, WRITES(ADD(C_RD3, SP))),
	/* c.fld; c.lw; c.ld; Zcb; c.fsd; c.sw; c.sd. */
	C(0xe003, 0x2000),
	C(0xe003, 0x4000, WRITES(CLOBBER(C_RD3))),
	C(0xe003, 0x6000, .immediate = &c_ld, WRITES(LOAD(C_RD3, C_RS3, 0))),
	C(0xf803, 0x8000, WRITES(CLOBBER(C_RD3))),
	C(0xf803, 0x8800, WRITES(STORE_BASE(NO_OPERAND, C_RS3, 0, 4))),
	C(0xe003, 0xa000, .immediate = &c_ld, WRITES(STORE(NO_OPERAND, C_RS3, 0, 8))),
	C(0xe003, 0xc000, .immediate = &c_sw, WRITES(STORE(NO_OPERAND, C_RS3, 0, 4))),
	C(0xe003, 0xe000, .immediate = &c_ld, WRITES(STORE(C_RD3, C_RS3, 0, 8))),

	/* ---- quadrant 1 ---- */
	C(0xe003, 0x0001, .immediate = &c_addi, WRITES(ADD(RD, RD))),
	/* c.addiw; c.li. */
	C(0xe003, 0x2001, WRITES(CLOBBER(RD))),
	C(0xe003, 0x4001, WRITES(CLOBBER(RD))),
	/* c.addi16sp; Zcmop, which writes nothing; c.lui. */
	C(0xef83, 0x6101, .immediate = &c_addi16sp, WRITES(ADD(SP, SP))),
	C(0xf8ff, 0x6081),
	C(0xe003, 0x6001, WRITES(CLOBBER(RD))),
	/* Arithmetic of x8 to x15. */
	C(0xe003, 0x8001, WRITES(CLOBBER(C_RS3))),
	C(0xe003, 0xa001, .flow = REEL_FLOW_JUMP, .immediate = &c_j),
	C(0xc003, 0xc001, .flow = REEL_FLOW_BRANCH, .immediate = &c_beqz),

	/* ---- quadrant 2 ---- */
	/* c.slli; c.fldsp; c.lwsp; c.ldsp. */
	C(0xe003, 0x0002, WRITES(CLOBBER(RD))),
	C(0xe003, 0x2002),
	C(0xe003, 0x4002, WRITES(CLOBBER(RD))),
	C(0xe003, 0x6002, .immediate = &c_ldsp, WRITES(LOAD(RD, SP, 0))),
	/* c.jr ra and c.jr; c.mv; c.ebreak; c.jalr; c.add. */
	C(0xffff, 0x8082, .flow = REEL_FLOW_RETURN, .through = RD),
	C(0xf07f, 0x8002, .flow = REEL_FLOW_JUMP, .through = RD),
	C(0xf003, 0x8002, WRITES(COPY(RD, C_RS2))),
	C(0xffff, 0x9002, .flow = REEL_FLOW_END),
	C(0xf07f, 0x9002, .flow = REEL_FLOW_CALL, .through = RD),
	C(0xf003, 0x9002, WRITES(CLOBBER(RD))),
	/* c.fsdsp; c.swsp; c.sdsp. */
	C(0xe003, 0xa002, .immediate = &c_sdsp, WRITES(STORE(NO_OPERAND, SP, 0, 8))),
	C(0xe003, 0xc002, .immediate = &c_swsp, WRITES(STORE(NO_OPERAND, SP, 0, 4))),
	C(0xe003, 0xe002, .immediate = &c_sdsp, WRITES(STORE(C_RS2, SP, 0, 8))),

	/* ---- 32 bits ---- */
	/* LOAD: ld, and others; LOAD-FP, with vectors; MISC-MEM. */
	I(0x707f, 0x3003, .immediate = &i_type, WRITES(LOAD(RD, RS1, 0))),
	I(0x7f, 0x03, WRITES(CLOBBER(RD))),
	I(0x7f, 0x07),
	I(0x7f, 0x0f),
	/* OP-IMM: addi, and others; AUIPC; LUI; OP-IMM-32. */
	I(0x707f, 0x0013, .immediate = &i_type, WRITES(ADD(RD, RS1))),
	I(0x7f, 0x13, WRITES(CLOBBER(RD))),
	I(0x7f, 0x17, WRITES(CLOBBER(RD))),
	I(0x7f, 0x37, WRITES(CLOBBER(RD))),
	I(0x7f, 0x1b, WRITES(CLOBBER(RD))),
	/* STORE and STORE-FP, by size; vectors. */
	I(0x707f, 0x3023, .immediate = &s_type, WRITES(STORE(RS2, RS1, 0, 8))),
	I(0x707f, 0x2023, .immediate = &s_type, WRITES(STORE(NO_OPERAND, RS1, 0, 4))),
	I(0x707f, 0x1023, .immediate = &s_type, WRITES(STORE(NO_OPERAND, RS1, 0, 2))),
	I(0x707f, 0x0023, .immediate = &s_type, WRITES(STORE(NO_OPERAND, RS1, 0, 1))),
	I(0x707f, 0x4027, .immediate = &s_type, WRITES(STORE(NO_OPERAND, RS1, 0, 16))),
	I(0x707f, 0x3027, .immediate = &s_type, WRITES(STORE(NO_OPERAND, RS1, 0, 8))),
	I(0x707f, 0x2027, .immediate = &s_type, WRITES(STORE(NO_OPERAND, RS1, 0, 4))),
	I(0x707f, 0x1027, .immediate = &s_type, WRITES(STORE(NO_OPERAND, RS1, 0, 2))),
	I(0x7f, 0x27),
	/* AMO. */
	I(0x7f, 0x2f, WRITES(CLOBBER(RD))),
	/* OP: add with x0, which copies, and others; OP-32. */
	I(0xfffff07f, 0x00000033, WRITES(CLOBBER(RD))),
	I(0xfff0707f, 0x00000033, WRITES(COPY(RD, RS1))),
	I(0xfe0ff07f, 0x00000033, WRITES(COPY(RD, RS2))),
	I(0x7f, 0x33, WRITES(CLOBBER(RD))),
	I(0x7f, 0x3b, WRITES(CLOBBER(RD))),
	/* MADD, MSUB, NMSUB, NMADD; OP-FP that writes a general register, and others. */
	I(0x73, 0x43),
	I(0xf800007f, 0xa0000053, WRITES(CLOBBER(RD))),
	I(0xf800007f, 0xc0000053, WRITES(CLOBBER(RD))),
	I(0xf800007f, 0xe0000053, WRITES(CLOBBER(RD))),
	I(0x7f, 0x53),
	/* OP-V ("V" 1.0, 5): vsetvl and its like; vmv.x.s, vcpop, vfirst. OP-VE. */
	I(0x707f, 0x7057, WRITES(CLOBBER(RD))),
	I(0xfc00707f, 0x40002057, WRITES(CLOBBER(RD))),
	I(0x7f, 0x57),
	I(0x7f, 0x77),
	I(0x7f, 0x63, .flow = REEL_FLOW_BRANCH, .immediate = &b_type),
	/*
	 * 2.5: jalr and jal link by ra; without a link they jump. t0 links to code that saves
	 * registers on its caller's stack, whose effects are unknown.  Other registers are not
	 * links: PLTs use t1 to get their own address.
	 */
	I(0xffffffff, 0x00008067, .flow = REEL_FLOW_RETURN, .through = RS1),
	I(0xfff, 0x0e7, .flow = REEL_FLOW_CALL, .through = RS1),
	I(0xfff, 0x2e7, .unknown = true),
	I(0x7f, 0x67, .flow = REEL_FLOW_JUMP, .through = RS1, WRITES(CLOBBER(RD))),
	I(0xfff, 0x0ef, .flow = REEL_FLOW_CALL, .immediate = &j_type),
	I(0xfff, 0x2ef, .unknown = true),
	I(0x7f, 0x6f, .flow = REEL_FLOW_JUMP, .immediate = &j_type, WRITES(CLOBBER(RD))),
	/* SYSTEM: ecall, the kernel's result; ebreak; sret and mret; CSRs and others. */
	I(0xffffffff, 0x00000073, WRITES(CLOBBER(A0))),
	I(0xffffffff, 0x00100073, .flow = REEL_FLOW_END),
	I(0xdfffffff, 0x10200073, .flow = REEL_FLOW_END),
	I(0x7f, 0x73, WRITES(CLOBBER(RD))),
};

extern const struct reel_arch_instructions reel_arch_riscv64_instructions;
const struct reel_arch_instructions reel_arch_riscv64_instructions = {
	.table = instructions,
	.n = REEL_ARCH_COUNT(instructions),
	.operands = operands,
	.register_sets = register_sets,
};
