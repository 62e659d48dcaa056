/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A64 instructions, by the tables of Arm ARM (DDI 0487) C4.1, "A64 instruction set encoding"; the
 * comments name its classes.  Pointer authentication changes no relevant address: its bits are
 * stripped from values used as code addresses.
 */
#include "arch/effects.h"

/* Register 31 is sp, or the zero register. */
enum { X, XSP };
static const uint8_t register_sets[][32] = {
	[X] = { 0, ONE_TO_30, REEL_ARCH_NO_REGISTER },
	[XSP] = { 0, ONE_TO_30, 31 },
};

/* The places of registers in an instruction; RD is also Rt's, and RM Rs's. */
enum { RD = 1, RD_SP, RN, RN_SP, RT2, RM, RM_1, X0, X17, X30 };
static const struct reel_arch_operand operands[] = {
	[RD] = { 0, 5, 0, X },	    [RD_SP] = { 0, 5, 0, XSP }, [RN] = { 5, 5, 0, X },
	[RN_SP] = { 5, 5, 0, XSP }, [RT2] = { 10, 5, 0, X },	[RM] = { 16, 5, 0, X },
	[RM_1] = { 16, 5, 1, X },   [X0] = { 0, 0, 0, X },	[X17] = { 0, 0, 17, X },
	[X30] = { 0, 0, 30, X },
};

#define UNSIGNED(name, scale)                                                                      \
	static const struct reel_arch_immediate name = { { { 10, 12, scale } } }
UNSIGNED(imm12, 0);
UNSIGNED(imm12_2, 1);
UNSIGNED(imm12_4, 2);
UNSIGNED(imm12_8, 3);
UNSIGNED(imm12_16, 4);
UNSIGNED(imm12_4096, 12);
static const struct reel_arch_immediate minus_imm12 = { { { 10, 12, 0 } }, .negative = true };
static const struct reel_arch_immediate minus_imm12_4096 = { { { 10, 12, 12 } }, .negative = true };

#define SIGNED(name, at, bits, scale)                                                              \
	static const struct reel_arch_immediate name = { { { at, bits, scale } }, (bits) + (scale) }
SIGNED(imm7_4, 15, 7, 2);
SIGNED(imm7_8, 15, 7, 3);
SIGNED(imm7_16, 15, 7, 4);
SIGNED(imm9, 12, 9, 0);
SIGNED(imm9_16, 12, 9, 4);
SIGNED(imm14, 5, 14, 2);
SIGNED(imm19, 5, 19, 2);
SIGNED(imm26, 0, 26, 2);

#define A(mask_, match_, ...)                                                                      \
	{                                                                                          \
		.size = 4, .mask = mask_, .match = match_, __VA_ARGS__                             \
	}
#define WRITES(...) .effects = { __VA_ARGS__ }

/* Load/store register pair: no-allocate, post-indexed, offset, pre-indexed. */
#define STORE_PAIR(opcode, imm, first, second, bytes)                                              \
	A(0xffc00000, opcode, .immediate = &(imm),                                                 \
	  WRITES(STORE(first, RN_SP, 0, bytes), STORE(second, RN_SP, bytes, bytes))),              \
		A(0xffc00000, (opcode) | 0x00800000, .immediate = &(imm),                          \
		  WRITES(STORE_BASE(first, RN_SP, 0, bytes),                                       \
			 STORE_BASE(second, RN_SP, bytes, bytes), ADD(RN_SP, RN_SP))),             \
		A(0xffc00000, (opcode) | 0x01000000, .immediate = &(imm),                          \
		  WRITES(STORE(first, RN_SP, 0, bytes), STORE(second, RN_SP, bytes, bytes))),      \
		A(0xffc00000, (opcode) | 0x01800000, .immediate = &(imm),                          \
		  WRITES(STORE(first, RN_SP, 0, bytes), STORE(second, RN_SP, bytes, bytes),        \
			 ADD(RN_SP, RN_SP)))

/* For vector registers, which are not tracked. */
#define LOAD_VECTOR_PAIR(opcode, imm)                                                              \
	A(0xfec00000, (opcode) | 0x00800000, .immediate = &(imm), WRITES(ADD(RN_SP, RN_SP))),      \
		A(0xfec00000, opcode)

/* Load/store register: unsigned offset; unscaled, post-indexed, unprivileged, pre-indexed. */
#define STORE_ONE(opcode, imm, from, bytes)                                                        \
	A(0xffc00000, (opcode) | 0x01000000, .immediate = &(imm),                                  \
	  WRITES(STORE(from, RN_SP, 0, bytes))),                                                   \
		A(0xffe00400, opcode, .immediate = &imm9, WRITES(STORE(from, RN_SP, 0, bytes))),   \
		A(0xffe00c00, (opcode) | 0x400, .immediate = &imm9,                                \
		  WRITES(STORE_BASE(from, RN_SP, 0, bytes), ADD(RN_SP, RN_SP))),                   \
		A(0xffe00c00, (opcode) | 0xc00, .immediate = &imm9,                                \
		  WRITES(STORE(from, RN_SP, 0, bytes), ADD(RN_SP, RN_SP)))

/* Advanced SIMD load/store multiple structures of this many bytes: stores, and with post-index. */
#define STRUCTURES(opcode, bytes)                                                                  \
	A(0xfffff000, opcode, WRITES(STORE_BASE(NO_OPERAND, RN_SP, 0, bytes))),                    \
		A(0xfffff000, (opcode) | 0x009f0000,                                               \
		  WRITES(STORE_BASE(NO_OPERAND, RN_SP, 0, bytes),                                  \
			 ADD_CONSTANT(RN_SP, RN_SP, bytes))),                                      \
		A(0xfffff000, (opcode) | 0x00df0000, WRITES(ADD_CONSTANT(RN_SP, RN_SP, bytes)))

static const struct reel_arch_instruction instructions[] = {
	/* ---- data processing, immediate ---- */
	/* Add/subtract: add and sub, without and with lsl #12; adds and subs. */
	A(0xffc00000, 0x91000000, .immediate = &imm12, WRITES(ADD(RD_SP, RN_SP))),
	A(0xffc00000, 0x91400000, .immediate = &imm12_4096, WRITES(ADD(RD_SP, RN_SP))),
	A(0xffc00000, 0xd1000000, .immediate = &minus_imm12, WRITES(ADD(RD_SP, RN_SP))),
	A(0xffc00000, 0xd1400000, .immediate = &minus_imm12_4096, WRITES(ADD(RD_SP, RN_SP))),
	A(0xffc00000, 0xb1000000, .immediate = &imm12, WRITES(ADD(RD, RN_SP))),
	A(0xffc00000, 0xb1400000, .immediate = &imm12_4096, WRITES(ADD(RD, RN_SP))),
	A(0xffc00000, 0xf1000000, .immediate = &minus_imm12, WRITES(ADD(RD, RN_SP))),
	A(0xffc00000, 0xf1400000, .immediate = &minus_imm12_4096, WRITES(ADD(RD, RN_SP))),
	/* add and sub of 32 bits; addg and subg. */
	A(0xbf800000, 0x11000000, WRITES(CLOBBER(RD_SP))),
	A(0xbfc00000, 0x91800000, WRITES(CLOBBER(RD_SP))),
	/* Logical: ands; and, orr, eor. */
	A(0x7f800000, 0x72000000, WRITES(CLOBBER(RD))),
	A(0x1f800000, 0x12000000, WRITES(CLOBBER(RD_SP))),
	/* PC-relative addresses, moves, bitfields, extract. */
	A(0x1c000000, 0x10000000, WRITES(CLOBBER(RD))),

	/* ---- branches, exceptions, system ---- */
	A(0xfc000000, 0x14000000, .flow = REEL_FLOW_JUMP, .immediate = &imm26),
	A(0xfc000000, 0x94000000, .flow = REEL_FLOW_CALL, .immediate = &imm26),
	A(0xff000000, 0x54000000, .flow = REEL_FLOW_BRANCH, .immediate = &imm19),
	A(0x7e000000, 0x34000000, .flow = REEL_FLOW_BRANCH, .immediate = &imm19),
	A(0x7e000000, 0x36000000, .flow = REEL_FLOW_BRANCH, .immediate = &imm14),
	/* br x30 returns as ret does; ret may name another register. The second of each: with
	 * pointer authentication. */
	A(0xffffffff, 0xd61f03c0, .flow = REEL_FLOW_RETURN, .through = RN),
	A(0xfffffc1f, 0xd61f0000, .flow = REEL_FLOW_JUMP, .through = RN),
	A(0xfefff800, 0xd61f0800, .flow = REEL_FLOW_JUMP, .through = RN),
	A(0xfffffc1f, 0xd63f0000, .flow = REEL_FLOW_CALL, .through = RN),
	A(0xfefff800, 0xd63f0800, .flow = REEL_FLOW_CALL, .through = RN),
	A(0xfffffc1f, 0xd65f0000, .flow = REEL_FLOW_RETURN, .through = RN),
	A(0xfffffbff, 0xd65f0bff, .flow = REEL_FLOW_RETURN, .through = X30),
	/* eret, drps; brk, hlt; udf. */
	A(0xffdf0000, 0xd69f0000, .flow = REEL_FLOW_END),
	A(0xffe0001f, 0xd4200000, .flow = REEL_FLOW_END),
	A(0xffe0001f, 0xd4400000, .flow = REEL_FLOW_END),
	A(0xffff0000, 0x00000000, .flow = REEL_FLOW_END),
	/* svc: the kernel's result. */
	A(0xffe0001f, 0xd4000001, WRITES(CLOBBER(X0))),
	/* Hints that sign or check x17; other system instructions write with bit 21 alone. */
	A(0xffffff3f, 0xd503211f, WRITES(CLOBBER(X17))),
	A(0xffe00000, 0xd5200000, WRITES(CLOBBER(RD))),
	A(0xffe00000, 0xd5000000),

	/* ---- loads and stores ---- */
	STORE_PAIR(0xa8000000, imm7_8, RD, RT2, 8),
	STORE_PAIR(0x28000000, imm7_4, RD, RT2, 4),
	STORE_PAIR(0x2c000000, imm7_4, NO_OPERAND, NO_OPERAND, 4),
	STORE_PAIR(0x6c000000, imm7_8, NO_OPERAND, NO_OPERAND, 8),
	STORE_PAIR(0xac000000, imm7_16, NO_OPERAND, NO_OPERAND, 16),
	/* stgp (which has no form without allocation). */
	STORE_PAIR(0x68000000, imm7_16, RD, RT2, 8),
	A(0xffc00000, 0xa8400000, .immediate = &imm7_8,
	  WRITES(LOAD(RD, RN_SP, 0), LOAD(RT2, RN_SP, 8))),
	A(0xffc00000, 0xa8c00000, .immediate = &imm7_8,
	  WRITES(LOAD_BASE(RD, RN_SP, 0), LOAD_BASE(RT2, RN_SP, 8), ADD(RN_SP, RN_SP))),
	A(0xffc00000, 0xa9400000, .immediate = &imm7_8,
	  WRITES(LOAD(RD, RN_SP, 0), LOAD(RT2, RN_SP, 8))),
	A(0xffc00000, 0xa9c00000, .immediate = &imm7_8,
	  WRITES(LOAD(RD, RN_SP, 0), LOAD(RT2, RN_SP, 8), ADD(RN_SP, RN_SP))),
	/* Of 32 bits, and ldpsw. */
	A(0xbec00000, 0x28c00000, .immediate = &imm7_4,
	  WRITES(CLOBBER(RD), CLOBBER(RT2), ADD(RN_SP, RN_SP))),
	A(0xbec00000, 0x28400000, WRITES(CLOBBER(RD), CLOBBER(RT2))),
	LOAD_VECTOR_PAIR(0x2c400000, imm7_4),
	LOAD_VECTOR_PAIR(0x6c400000, imm7_8),
	LOAD_VECTOR_PAIR(0xac400000, imm7_16),

	STORE_ONE(0xf8000000, imm12_8, RD, 8),
	STORE_ONE(0xb8000000, imm12_4, NO_OPERAND, 4),
	STORE_ONE(0x78000000, imm12_2, NO_OPERAND, 2),
	STORE_ONE(0x38000000, imm12, NO_OPERAND, 1),
	STORE_ONE(0xfc000000, imm12_8, NO_OPERAND, 8),
	STORE_ONE(0xbc000000, imm12_4, NO_OPERAND, 4),
	STORE_ONE(0x7c000000, imm12_2, NO_OPERAND, 2),
	STORE_ONE(0x3c000000, imm12, NO_OPERAND, 1),
	STORE_ONE(0x3c800000, imm12_16, NO_OPERAND, 16),
	A(0xffc00000, 0xf9400000, .immediate = &imm12_8, WRITES(LOAD(RD, RN_SP, 0))),
	A(0xffe00400, 0xf8400000, .immediate = &imm9, WRITES(LOAD(RD, RN_SP, 0))),
	A(0xffe00c00, 0xf8400400, .immediate = &imm9,
	  WRITES(LOAD_BASE(RD, RN_SP, 0), ADD(RN_SP, RN_SP))),
	A(0xffe00c00, 0xf8400c00, .immediate = &imm9,
	  WRITES(LOAD(RD, RN_SP, 0), ADD(RN_SP, RN_SP))),
	/* prfm: immediate, register, unscaled, literal. */
	A(0xffc00000, 0xf9800000),
	A(0xffc00000, 0xf8800000),
	A(0xff000000, 0xd8000000),
	/* Vectors, in any form: pre- and post-indexed write the base. */
	A(0x3f200400, 0x3c000400, .immediate = &imm9, WRITES(ADD(RN_SP, RN_SP))),
	A(0x3e000000, 0x3c000000),
	/* Stores at register + register; other loads. */
	A(0x3fe00c00, 0x38200800),
	A(0x3f200400, 0x38000400, .immediate = &imm9, WRITES(CLOBBER(RD), ADD(RN_SP, RN_SP))),
	/* ldraa, ldrab: pre-indexed, and not. */
	A(0xff200c00, 0xf8200c00, WRITES(CLOBBER(RD), CLOBBER(RN_SP))),
	/* ld64b loads eight registers, st64bv and st64bv0 write a status. */
	A(0xfffffc00, 0xf83fd000, .unknown = true),
	A(0xff20dc00, 0xf8209000, WRITES(CLOBBER(RD), CLOBBER(RM))),
	A(0x3e000000, 0x38000000, WRITES(CLOBBER(RD))),
	/* Load register (literal). */
	A(0x3f000000, 0x18000000, WRITES(CLOBBER(RD))),
	A(0x3f000000, 0x1c000000),

	/* Exclusive and ordered: casp, cas; ldar, stlr; ldxr and ldxp; stxr and stxp. */
	A(0xbfa00000, 0x08200000, WRITES(CLOBBER(RM), CLOBBER(RM_1))),
	A(0x3fa00000, 0x08a00000, WRITES(CLOBBER(RM))),
	A(0x3fc00000, 0x08c00000, WRITES(CLOBBER(RD))),
	A(0xffe00000, 0xc8800000, WRITES(STORE_BASE(RD, RN_SP, 0, 8))),
	A(0x3fe00000, 0x08800000, WRITES(STORE_BASE(NO_OPERAND, RN_SP, 0, 4))),
	A(0x3fc00000, 0x08400000, WRITES(CLOBBER(RD), CLOBBER(RT2))),
	A(0x3fc00000, 0x08000000, WRITES(CLOBBER(RM), STORE_BASE(NO_OPERAND, RN_SP, 0, 16))),
	/* ldapur and stlur. */
	A(0x3f200c00, 0x19000000, WRITES(CLOBBER(RD))),
	/* Memory tags: ldg; post- and pre-indexed; without. */
	A(0xffe00c00, 0xd9600000, WRITES(CLOBBER(RD))),
	A(0xff200c00, 0xd9200400, .immediate = &imm9_16, WRITES(ADD(RN_SP, RN_SP))),
	A(0xff200c00, 0xd9200c00, .immediate = &imm9_16, WRITES(ADD(RN_SP, RN_SP))),
	A(0xff200c00, 0xd9200800),
	/* Advanced SIMD structures: of 8 bytes a register, then of 16. */
	STRUCTURES(0x0c007000, 8),
	STRUCTURES(0x0c00a000, 16),
	STRUCTURES(0x0c008000, 16),
	STRUCTURES(0x0c006000, 24),
	STRUCTURES(0x0c004000, 24),
	STRUCTURES(0x0c002000, 32),
	STRUCTURES(0x0c000000, 32),
	STRUCTURES(0x4c007000, 16),
	STRUCTURES(0x4c00a000, 32),
	STRUCTURES(0x4c008000, 32),
	STRUCTURES(0x4c006000, 48),
	STRUCTURES(0x4c004000, 48),
	STRUCTURES(0x4c002000, 64),
	STRUCTURES(0x4c000000, 64),
	/* Others with post-index: by a register, and single structures. */
	A(0xbe800000, 0x0c800000, WRITES(CLOBBER(RN_SP))),
	A(0xbe800000, 0x0c000000),
	/* Remaining loads and stores: copies of memory, and newer instructions. */
	A(0x0a000000, 0x08000000,
	  WRITES(CLOBBER(RD_SP), CLOBBER(RN_SP), CLOBBER(RM), CLOBBER(RT2))),

	/* ---- data processing, register ---- */
	/* mov, which is orr with the zero register. */
	A(0xffe0ffe0, 0xaa0003e0, WRITES(COPY(RD, RM))),
	/* add and sub of an extended register, irg. */
	A(0x3fe00000, 0x0b200000, WRITES(CLOBBER(RD_SP))),
	A(0xffe0fc00, 0x9ac01000, WRITES(CLOBBER(RD_SP))),
	/* ccmn, ccmp. */
	A(0x3fe00000, 0x3a400000),
	/* Pointer authentication: of data, then of code. */
	A(0xffffc800, 0xdac10800, WRITES(CLOBBER(RD))),
	A(0xffffffe0, 0xdac147e0, WRITES(CLOBBER(RD))),
	A(0xffff0000, 0xdac10000),
	A(0x0e000000, 0x0a000000, WRITES(CLOBBER(RD))),

	/* ---- floating point and Advanced SIMD ---- */
	/* To general registers: from floating point, to fixed point, umov and smov. */
	A(0x7f22fc00, 0x1e200000, WRITES(CLOBBER(RD))),
	A(0x7f27fc00, 0x1e260000, WRITES(CLOBBER(RD))),
	A(0x7f220000, 0x1e000000, WRITES(CLOBBER(RD))),
	A(0xbfe0fc00, 0x0e003c00, WRITES(CLOBBER(RD))),
	A(0xbfe0fc00, 0x0e002c00, WRITES(CLOBBER(RD))),
	A(0x0e000000, 0x0e000000),

	/* ---- SVE ---- */
	/* addvl, addpl; counts of elements, or an element of a vector or a predicate. */
	A(0xffa0f000, 0x04205000, WRITES(CLOBBER(RD_SP))),
	A(0xfe000000, 0x04000000, WRITES(CLOBBER(RD))),
	A(0xff000000, 0x25000000, WRITES(CLOBBER(RD))),
	A(0x1e000000, 0x04000000),
};

extern const struct reel_arch_instructions reel_arch_aarch64_instructions;
const struct reel_arch_instructions reel_arch_aarch64_instructions = {
	.table = instructions,
	.n = REEL_ARCH_COUNT(instructions),
	.operands = operands,
	.register_sets = register_sets,
};
