/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s390x: z/Architecture Principles of Operation (SA22-7832), appendix B, "Instructions by opcode",
 * and chapter 5 for the formats.  The first two bits of an instruction determine its length.
 */
#include "arch/effects.h"

/* General registers; those used as addresses, where 0 means none; floating point, by DWARF number,
 * which are the first halves of v0 to v15. */
enum { G, ADDRESS, F };
#define ONE_TO_15 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define NO_MORE	  [16 ... 31] = REEL_ARCH_NO_REGISTER
static const uint8_t register_sets[][32] = {
	[G] = { 0, ONE_TO_15, NO_MORE },
	[ADDRESS] = { REEL_ARCH_NO_REGISTER, ONE_TO_15, NO_MORE },
	[F] = { 16, 20, 17, 21, 18, 22, 19, 23, 24, 28, 25, 29, 26, 30, 27, 31, NO_MORE },
};

/*
 * Places of registers: A and B in instructions of 2 bytes, and in RRE and the like; L in other
 * instructions of 4 bytes, X in those of 6. _1: the other register of a pair; _F: floating point,
 * _F2 the other of its pairs.  The number after L and X is the operand's.
 */
enum {
	A = 1,
	A_1,
	B,
	B_1,
	A_F,
	A_F2,
	B_F,
	L1,
	L1_1,
	L3,
	L3_1,
	L_INDEX,
	L_BASE,
	L1_F,
	L1_F2,
	X1,
	X1_1,
	X3,
	X3_1,
	X_INDEX,
	X_BASE,
	X1_F,
	X1_F2,
	X3_F,
	XF1_F,
	XF1_F2,
	LENGTH,
	R0,
	R1,
	R2,
	R14,
};
static const struct reel_arch_operand operands[] = {
	[A] = { 4, 4, 0, G },
	[A_1] = { 4, 4, 1, G },
	[B] = { 0, 4, 0, G },
	[B_1] = { 0, 4, 1, G },
	[A_F] = { 4, 4, 0, F },
	[A_F2] = { 4, 4, 2, F },
	[B_F] = { 0, 4, 0, F },
	[L1] = { 20, 4, 0, G },
	[L1_1] = { 20, 4, 1, G },
	[L3] = { 16, 4, 0, G },
	[L3_1] = { 16, 4, 1, G },
	[L_INDEX] = { 16, 4, 0, ADDRESS },
	[L_BASE] = { 12, 4, 0, ADDRESS },
	[L1_F] = { 20, 4, 0, F },
	[L1_F2] = { 20, 4, 2, F },
	[X1] = { 36, 4, 0, G },
	[X1_1] = { 36, 4, 1, G },
	[X3] = { 32, 4, 0, G },
	[X3_1] = { 32, 4, 1, G },
	[X_INDEX] = { 32, 4, 0, ADDRESS },
	[X_BASE] = { 28, 4, 0, ADDRESS },
	[X1_F] = { 36, 4, 0, F },
	[X1_F2] = { 36, 4, 2, F },
	[X3_F] = { 32, 4, 0, F },
	[XF1_F] = { 12, 4, 0, F },
	[XF1_F2] = { 12, 4, 2, F },
	[LENGTH] = { 32, 8, 0, G },
	[R0] = { 0, 0, 0, G },
	[R1] = { 0, 0, 1, G },
	[R2] = { 0, 0, 2, G },
	[R14] = { 0, 0, 14, G },
};

/* Displacements, numbers, and distances in halfwords; of 4 bytes and of 6. */
static const struct reel_arch_immediate l_d12 = { { { 0, 12, 0 } } };
static const struct reel_arch_immediate l_i16 = { { { 0, 16, 0 } }, 16 };
static const struct reel_arch_immediate l_distance = { { { 0, 16, 1 } }, 17 };
static const struct reel_arch_immediate x_d12 = { { { 16, 12, 0 } } };
static const struct reel_arch_immediate x_d20 = { { { 16, 12, 0 }, { 8, 8, 12 } }, 20 };
static const struct reel_arch_immediate x_i16 = { { { 16, 16, 0 } }, 16 };
static const struct reel_arch_immediate x_i32 = { { { 0, 32, 0 } }, 32 };
static const struct reel_arch_immediate x_u32 = { { { 0, 32, 0 } } };
static const struct reel_arch_immediate x_minus_u32 = { { { 0, 32, 0 } }, .negative = true };
static const struct reel_arch_immediate x_distance = { { { 0, 32, 1 } }, 33 };
static const struct reel_arch_immediate x_distance16 = { { { 16, 16, 1 } }, 17 };

#define OF(size_, mask_, match_, ...)                                                              \
	{                                                                                          \
		.size = size_, .mask = mask_, .match = match_, __VA_ARGS__                         \
	}
/* By the place of the opcode's second part. */
#define RR(opcode, ...) OF(2, 0xff00, (opcode)*0x100ull, __VA_ARGS__)
#define RX(opcode, ...) OF(4, 0xff000000, (opcode)*0x1000000ull, __VA_ARGS__)
#define RI(opcode, ...)                                                                            \
	OF(4, 0xff0f0000, ((opcode)&0xff0ull) << 20 | ((opcode)&0xfull) << 16, __VA_ARGS__)
#define RRE(opcode, ...) OF(4, 0xffff0000, (opcode)*0x10000ull, __VA_ARGS__)
/* 16 opcodes that differ in the last digit. */
#define RRE_16(opcode, ...) OF(4, 0xfff00000, (opcode)*0x10000ull, __VA_ARGS__)
#define RIL(opcode, ...)                                                                           \
	OF(6, 0xff0f00000000, ((opcode)&0xff0ull) << 36 | ((opcode)&0xfull) << 32, __VA_ARGS__)
#define RXY(opcode, ...)                                                                           \
	OF(6, 0xff00000000ff, ((opcode)&0xff00ull) << 32 | ((opcode)&0xff), __VA_ARGS__)
#define SS(opcode, ...)	 OF(6, 0xff0000000000, (opcode)*0x10000000000ull, __VA_ARGS__)
#define SIL(opcode, ...) OF(6, 0xffff00000000, (opcode)*0x100000000ull, __VA_ARGS__)
#define WRITES(...)	 .effects = { __VA_ARGS__ }

/* The effect at displacement(index, base): if one of the two is none, the other counts; if both are
 * used, the address is not described, and only `otherwise` applies. */
#define AT_RX(opcode, effect, register, size_, otherwise)                                          \
	OF(4, 0xff0f0000, (opcode)*0x1000000ull, .immediate = &l_d12,                              \
	   WRITES(effect(register, L_BASE, size_))),                                               \
		OF(4, 0xff00f000, (opcode)*0x1000000ull, .immediate = &l_d12,                      \
		   WRITES(effect(register, L_INDEX, size_))),                                      \
		RX(opcode, WRITES(otherwise))
#define RXY_BITS(opcode) (((opcode)&0xff00ull) << 32 | ((opcode)&0xff))
#define AT_RXY(opcode, imm, effect, register, size_, otherwise)                                    \
	OF(6, 0xff0f000000ff, RXY_BITS(opcode), .immediate = &(imm),                               \
	   WRITES(effect(register, X_BASE, size_))),                                               \
		OF(6, 0xff00f00000ff, RXY_BITS(opcode), .immediate = &(imm),                       \
		   WRITES(effect(register, X_INDEX, size_))),                                      \
		RXY(opcode, WRITES(otherwise))
#define NOTHING                                                                                    \
	{                                                                                          \
		REEL_ARCH_NOTHING                                                                  \
	}
#define STORE_AT(from, base, size) STORE(from, base, 0, size)
#define LOAD_AT(to, base, size)	   LOAD(to, base, 0)
#define ADD_AT(to, base, size)	   ADD(to, base)
#define RANGE(kind_, first, base_, size_)                                                          \
	{                                                                                          \
		.kind = kind_, .to = first, .base = base_, .by_immediate = true, .size = size_     \
	}

static const struct reel_arch_instruction instructions[] = {
	/* ---- 2 bytes ---- */
	/* trap2 and a word of zeros; upt, ptff, sckpf, pfpo: their registers are not described. */
	OF(2, 0xffff, 0x01ff, .flow = REEL_FLOW_END),
	OF(2, 0xffff, 0x0000, .flow = REEL_FLOW_END),
	OF(2, 0xffff, 0x010c),
	OF(2, 0xffff, 0x010d),
	OF(2, 0xffff, 0x010e),
	/* spm; svc: the kernel's result. */
	RR(0x04),
	RR(0x0a, WRITES(CLOBBER(R2))),
	/* bctr, which only counts with 0. */
	OF(2, 0xff0f, 0x0600, WRITES(CLOBBER(A))),
	RR(0x06, .flow = REEL_FLOW_BRANCH, .through = B, WRITES(CLOBBER(A))),
	/* bcr: with 0 in either place it does nothing. */
	OF(2, 0xff0f, 0x0700),
	OF(2, 0xfff0, 0x0700),
	OF(2, 0xffff, 0x07fe, .flow = REEL_FLOW_RETURN, .through = B),
	OF(2, 0xfff0, 0x07f0, .flow = REEL_FLOW_JUMP, .through = B),
	OF(2, 0xff0f, 0x070e, .flow = REEL_FLOW_RETURN_OR_NEXT, .through = B),
	RR(0x07, .flow = REEL_FLOW_BRANCH, .through = B),
	/* basr and balr: without a second register they load their own address. */
	OF(2, 0xf70f, 0x0500, WRITES(CLOBBER(A))),
	OF(2, 0xfff0, 0x0de0, .flow = REEL_FLOW_CALL, .through = B),
	/* mvcl, clcl. */
	OF(2, 0xfe00, 0x0e00, WRITES(CLOBBER(A), CLOBBER(A_1), CLOBBER(B), CLOBBER(B_1))),
	/* clr, cr; mr, dr; others. */
	RR(0x15),
	RR(0x19),
	OF(2, 0xfe00, 0x1c00, WRITES(CLOBBER(A), CLOBBER(A_1))),
	OF(2, 0xf000, 0x1000, WRITES(CLOBBER(A))),
	/* ldr; mxr and mxdr, axr and sxr have pairs; other floating point. */
	RR(0x28, WRITES(COPY(A_F, B_F))),
	OF(2, 0xfe00, 0x2600, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	OF(2, 0xfe00, 0x3600, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	OF(2, 0xe000, 0x2000, WRITES(CLOBBER(A_F))),

	/* ---- 4 bytes ---- */
	AT_RX(0x41, ADD_AT, L1, 8, CLOBBER(L1)),
	/* stc, sth, st, std, ste. */
	AT_RX(0x42, STORE_AT, NO_OPERAND, 1, NOTHING),
	AT_RX(0x40, STORE_AT, NO_OPERAND, 2, NOTHING),
	AT_RX(0x50, STORE_AT, NO_OPERAND, 4, NOTHING),
	AT_RX(0x60, STORE_AT, L1_F, 8, NOTHING),
	AT_RX(0x70, STORE_AT, NO_OPERAND, 4, NOTHING),
	AT_RX(0x68, LOAD_AT, L1_F, 8, CLOBBER(L1_F)),
	/* cvd stores; ch, cl, c compare; cd, ce as well. */
	AT_RX(0x4e, STORE_AT, NO_OPERAND, 8, NOTHING),
	RX(0x49),
	RX(0x55),
	RX(0x59),
	RX(0x69),
	RX(0x79),
	/* ex: compilers use it on code that writes memory, and on trt (two registers). */
	RX(0x44, WRITES(CLOBBER(R1), CLOBBER(R2))),
	/* bct; bc, which does nothing for the mask 0; bal and bas link. */
	RX(0x46, .flow = REEL_FLOW_BRANCH, WRITES(CLOBBER(L1))),
	OF(4, 0xfff00000, 0x47000000),
	OF(4, 0xfff00000, 0x47f00000, .flow = REEL_FLOW_JUMP),
	RX(0x47, .flow = REEL_FLOW_BRANCH),
	RX(0x45, .unknown = true),
	OF(4, 0xfff00000, 0x4de00000, .flow = REEL_FLOW_CALL),
	RX(0x4d, .unknown = true),
	/* m and d; others that write a register; ms. */
	OF(4, 0xfe000000, 0x5c000000, WRITES(CLOBBER(L1), CLOBBER(L1_1))),
	OF(4, 0xf0000000, 0x40000000, WRITES(CLOBBER(L1))),
	OF(4, 0xf0000000, 0x50000000, WRITES(CLOBBER(L1))),
	RX(0x71, WRITES(CLOBBER(L1))),
	RX(0x67, WRITES(CLOBBER(L1_F), CLOBBER(L1_F2))),
	OF(4, 0xe0000000, 0x60000000, WRITES(CLOBBER(L1_F))),

	/* brxh and brxle; bxh and bxle; shifts of one and of two. */
	OF(4, 0xfe000000, 0x84000000, .flow = REEL_FLOW_BRANCH, .immediate = &l_distance,
	   WRITES(CLOBBER(L1))),
	OF(4, 0xfe000000, 0x86000000, .flow = REEL_FLOW_BRANCH, WRITES(CLOBBER(L1))),
	OF(4, 0xfc000000, 0x88000000, WRITES(CLOBBER(L1))),
	OF(4, 0xfc000000, 0x8c000000, WRITES(CLOBBER(L1), CLOBBER(L1_1))),
	/* stm, lm. */
	RX(0x90, .last = L3, .immediate = &l_d12,
	   WRITES(RANGE(REEL_ARCH_STORE_RANGE, L1, L_BASE, 4))),
	RX(0x98, .last = L3, WRITES(RANGE(REEL_ARCH_CLOBBER_RANGE, L1, L_BASE, 4))),
	/* tm and cli only read; mvi, ts, ni, oi, xi write a byte; access and control registers. */
	RX(0x91),
	RX(0x95),
	OF(4, 0xf0000000, 0x90000000, .immediate = &l_d12, WRITES(STORE(NO_OPERAND, L_BASE, 0, 1))),
	/* Immediate: tmlh to tmhl; brc, with 0, with 15, and others; bras. */
	OF(4, 0xff0c0000, 0xa7000000),
	OF(4, 0xffff0000, 0xa7040000),
	OF(4, 0xffff0000, 0xa7f40000, .flow = REEL_FLOW_JUMP, .immediate = &l_distance),
	RI(0xa74, .flow = REEL_FLOW_BRANCH, .immediate = &l_distance),
	OF(4, 0xffff0000, 0xa7e50000, .flow = REEL_FLOW_CALL, .immediate = &l_distance),
	RI(0xa75, .flow = REEL_FLOW_JUMP, .immediate = &l_distance, WRITES(CLOBBER(L1))),
	/* brct, brctg; aghi; chi, cghi; others. */
	RI(0xa76, .flow = REEL_FLOW_BRANCH, .immediate = &l_distance, WRITES(CLOBBER(L1))),
	RI(0xa77, .flow = REEL_FLOW_BRANCH, .immediate = &l_distance, WRITES(CLOBBER(L1))),
	RI(0xa7b, .immediate = &l_i16, WRITES(ADD(L1, L1))),
	RI(0xa7e),
	RI(0xa7f),
	RX(0xa7, WRITES(CLOBBER(L1))),
	RX(0xa5, WRITES(CLOBBER(L1))),
	/* mvcle, clcle. */
	OF(4, 0xfe000000, 0xa8000000,
	   WRITES(CLOBBER(L1), CLOBBER(L1_1), CLOBBER(L3), CLOBBER(L3_1))),
	/* cs, cds; clm, stcm; icm. */
	RX(0xba, WRITES(CLOBBER(L1))),
	RX(0xbb, WRITES(CLOBBER(L1), CLOBBER(L1_1))),
	RX(0xbd),
	RX(0xbe, .immediate = &l_d12, WRITES(STORE(NO_OPERAND, L_BASE, 0, 4))),
	RX(0xbf, WRITES(CLOBBER(L1))),

	/* stck, stckf, stcke; sfpc, stfpc, lfpc, srnm: none; stfle: r0. */
	RRE(0xb205, .immediate = &l_d12, WRITES(STORE(NO_OPERAND, L_BASE, 0, 8))),
	RRE(0xb27c, .immediate = &l_d12, WRITES(STORE(NO_OPERAND, L_BASE, 0, 8))),
	RRE(0xb278, .immediate = &l_d12, WRITES(STORE(NO_OPERAND, L_BASE, 0, 16))),
	RRE(0xb299),
	RRE(0xb29c, .immediate = &l_d12, WRITES(STORE(NO_OPERAND, L_BASE, 0, 4))),
	RRE(0xb29d),
	RRE(0xb2b0, WRITES(CLOBBER(R0))),
	/* sar, cpya; ear, ipm, msr, etnd: the first. */
	RRE(0xb24e),
	RRE(0xb24d),
	RRE(0xb24f, WRITES(CLOBBER(A))),
	RRE(0xb222, WRITES(CLOBBER(A))),
	RRE(0xb252, WRITES(CLOBBER(A))),
	RRE(0xb2ec, WRITES(CLOBBER(A))),
	/* ppa, niai, tend, tabort, bpp's: they write nothing. */
	RRE(0xb2e8),
	RRE(0xb2fa),
	RRE(0xb2f8),
	RRE(0xb2fc),
	/* Other unprivileged instructions: mvst, srst, cksm, cuse, translations. */
	RX(0xb2, WRITES(CLOBBER(A), CLOBBER(A_1), CLOBBER(B), CLOBBER(B_1))),

	/* ldgr, lgdr. */
	RRE(0xb3c1, WRITES(COPY(A_F, B))),
	RRE(0xb3cd, WRITES(COPY(A, B_F))),
	/* Floating point to general registers: efpc; c.f.br; clf.br; clg.br; ... by digits. */
	RRE(0xb38c, WRITES(CLOBBER(A))),
	RRE(0xb384),
	OF(4, 0xfffc0000, 0xb3980000, WRITES(CLOBBER(A))),
	OF(4, 0xfffc0000, 0xb39c0000, WRITES(CLOBBER(A))),
	OF(4, 0xfffc0000, 0xb3a80000, WRITES(CLOBBER(A))),
	OF(4, 0xfffc0000, 0xb3ac0000, WRITES(CLOBBER(A))),
	OF(4, 0xfffc0000, 0xb3b80000, WRITES(CLOBBER(A))),
	OF(4, 0xfffc0000, 0xb3c80000, WRITES(CLOBBER(A))),
	OF(4, 0xfffc0000, 0xb3e00000, WRITES(CLOBBER(A), CLOBBER(A_F), CLOBBER(A_F2))),
	RRE(0xb3e5, WRITES(CLOBBER(A))),
	RRE(0xb3e7, WRITES(CLOBBER(A))),
	OF(4, 0xfffc0000, 0xb3e80000, WRITES(CLOBBER(A), CLOBBER(A_1))),
	RRE(0xb3ed, WRITES(CLOBBER(A))),
	RRE(0xb3ef, WRITES(CLOBBER(A))),
	/* maebr and the like have their result in a different place; diebr and didbr in two. */
	OF(4, 0xfffe0000, 0xb30e0000, WRITES(CLOBBER(XF1_F))),
	OF(4, 0xfffe0000, 0xb31e0000, WRITES(CLOBBER(XF1_F))),
	OF(4, 0xfffe0000, 0xb32e0000, WRITES(CLOBBER(XF1_F))),
	OF(4, 0xfff80000, 0xb3380000, WRITES(CLOBBER(XF1_F), CLOBBER(XF1_F2))),
	RRE(0xb353, WRITES(CLOBBER(A_F), CLOBBER(XF1_F))),
	RRE(0xb35b, WRITES(CLOBBER(A_F), CLOBBER(XF1_F))),
	/* Extended numbers are pairs: lx.br, mxdbr, sqxbr, lx.r, mxdr, sqxr, ..xbr, ..xr, lzxr,
	 * cxl.br, cx.br, cx.r, ..xtr. */
	OF(4, 0xfffc0000, 0xb3040000, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	RRE(0xb316, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	OF(4, 0xfffc0000, 0xb3240000, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	RRE(0xb336, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	RRE_16(0xb340, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	RRE_16(0xb360, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	RRE(0xb376, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	OF(4, 0xfffb0000, 0xb3920000, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	OF(4, 0xfffb0000, 0xb3a20000, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	RRE(0xb3b6, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	RRE(0xb3c6, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	OF(4, 0xfff80000, 0xb3d80000, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	OF(4, 0xfff80000, 0xb3f80000, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	RX(0xb3, WRITES(CLOBBER(A_F))),

	/* lgr, ltgr. */
	RRE(0xb904, WRITES(COPY(A, B))),
	RRE(0xb902, WRITES(COPY(A, B))),
	/* dsgr, dsgfr, mlgr, dlgr, mlr, dlr, flogr, mgrk, cspg: pairs. */
	RRE(0xb90d, WRITES(CLOBBER(A), CLOBBER(A_1))),
	RRE(0xb91d, WRITES(CLOBBER(A), CLOBBER(A_1))),
	RRE(0xb986, WRITES(CLOBBER(A), CLOBBER(A_1))),
	RRE(0xb987, WRITES(CLOBBER(A), CLOBBER(A_1))),
	RRE(0xb996, WRITES(CLOBBER(A), CLOBBER(A_1))),
	RRE(0xb997, WRITES(CLOBBER(A), CLOBBER(A_1))),
	RRE(0xb983, WRITES(CLOBBER(A), CLOBBER(A_1))),
	RRE(0xb98a, WRITES(CLOBBER(A), CLOBBER(A_1))),
	RRE(0xb9ec, WRITES(CLOBBER(A), CLOBBER(A_1))),
	/* cgr, clgr, cgfr, clgfr; epsw. */
	OF(4, 0xfffe0000, 0xb9200000),
	OF(4, 0xfffe0000, 0xb9300000),
	RRE(0xb98d, WRITES(CLOBBER(A), CLOBBER(B))),
	/* bctgr. */
	OF(4, 0xffff000f, 0xb9460000, WRITES(CLOBBER(A))),
	RRE(0xb946, .flow = REEL_FLOW_BRANCH, .through = B, WRITES(CLOBBER(A))),
	/* kmac; lbr, lhr. */
	RRE(0xb91e, WRITES(CLOBBER(A), CLOBBER(A_1), CLOBBER(B), CLOBBER(B_1))),
	OF(4, 0xfffe0000, 0xb9260000, WRITES(CLOBBER(A))),
	RRE_16(0xb900, WRITES(CLOBBER(A))),
	RRE_16(0xb910, WRITES(CLOBBER(A))),
	RRE_16(0xb940, WRITES(CLOBBER(A))),
	RRE_16(0xb950, WRITES(CLOBBER(A_F), CLOBBER(A_F2))),
	RRE_16(0xb960, WRITES(CLOBBER(A))),
	RRE_16(0xb970, WRITES(CLOBBER(A))),
	RRE_16(0xb980, WRITES(CLOBBER(A))),
	OF(4, 0xfffc0000, 0xb9940000, WRITES(CLOBBER(A))),
	OF(4, 0xfffc0000, 0xb9980000, WRITES(CLOBBER(A))),
	RRE_16(0xb9c0, WRITES(CLOBBER(A))),
	RRE_16(0xb9d0, WRITES(CLOBBER(A))),
	RRE_16(0xb9e0, WRITES(CLOBBER(A))),
	RRE_16(0xb9f0, WRITES(CLOBBER(A))),
	/* Ciphers, translations, conversions of texts. */
	RX(0xb9, WRITES(CLOBBER(A), CLOBBER(A_1), CLOBBER(B), CLOBBER(B_1))),

	/* ---- 6 bytes ---- */
	/* brcl, with 0, with 15, and others; brasl. */
	OF(6, 0xffff00000000, 0xc00400000000),
	OF(6, 0xffff00000000, 0xc0f400000000, .flow = REEL_FLOW_JUMP, .immediate = &x_distance),
	RIL(0xc04, .flow = REEL_FLOW_BRANCH, .immediate = &x_distance),
	OF(6, 0xffff00000000, 0xc0e500000000, .flow = REEL_FLOW_CALL, .immediate = &x_distance),
	RIL(0xc05, .unknown = true),
	SS(0xc0, WRITES(CLOBBER(X1))),
	/* slgfi, agfi, algfi; compares; others. */
	RIL(0xc24, .immediate = &x_minus_u32, WRITES(ADD(X1, X1))),
	RIL(0xc28, .immediate = &x_i32, WRITES(ADD(X1, X1))),
	RIL(0xc2a, .immediate = &x_u32, WRITES(ADD(X1, X1))),
	OF(6, 0xff0c00000000, 0xc20c00000000),
	SS(0xc2, WRITES(CLOBBER(X1))),
	/* sthrl, stgrl, strl; loads. */
	RIL(0xc47),
	RIL(0xc4b),
	RIL(0xc4f),
	SS(0xc4, WRITES(CLOBBER(X1))),
	/* exrl, as ex; prefetches and compares. */
	RIL(0xc60, WRITES(CLOBBER(R1), CLOBBER(R2))),
	SS(0xc6),
	/* mvcos; ectg, csst, lpd, lpdg. */
	RIL(0xc80),
	SS(0xc8, WRITES(CLOBBER(X1), CLOBBER(X1_1), CLOBBER(X3), CLOBBER(X3_1))),
	/* brcth; cih, clih; other halves. */
	RIL(0xcc6, .flow = REEL_FLOW_BRANCH, .immediate = &x_distance, WRITES(CLOBBER(X1))),
	RIL(0xccd),
	RIL(0xccf),
	SS(0xcc, WRITES(CLOBBER(X1))),
	/* bprp, bpp: hints. */
	SS(0xc5),
	SS(0xc7),

	/* clc; trt and trtr, edmk: r1 and r2; others write as many bytes as their length field. */
	SS(0xd5),
	SS(0xdd, WRITES(CLOBBER(R1), CLOBBER(R2))),
	SS(0xd0, WRITES(CLOBBER(R1), CLOBBER(R2))),
	SS(0xdf, WRITES(CLOBBER(R1), CLOBBER(R2))),
	OF(6, 0xf00000000000, 0xd00000000000, .last = LENGTH, .immediate = &x_d12,
	   WRITES({ .kind = REEL_ARCH_STORE_LENGTH, .base = X_BASE, .by_immediate = true })),
	/* mvhhi, mvghi, mvhi; others of e5 compare. */
	SIL(0xe544, .immediate = &x_d12, WRITES(STORE(NO_OPERAND, X_BASE, 0, 2))),
	SIL(0xe548, .immediate = &x_d12, WRITES(STORE(NO_OPERAND, X_BASE, 0, 8))),
	SIL(0xe54c, .immediate = &x_d12, WRITES(STORE(NO_OPERAND, X_BASE, 0, 4))),
	SS(0xe5),
	/* plo; lmd; decimal numbers and bytes of texts. */
	SS(0xee, WRITES(CLOBBER(X1), CLOBBER(X1_1), CLOBBER(X3), CLOBBER(X3_1))),
	SS(0xef, .last = X3, WRITES(RANGE(REEL_ARCH_CLOBBER_RANGE, X1, X_BASE, 8))),
	SS(0xe1),
	SS(0xe2),
	SS(0xe8, .last = LENGTH, .immediate = &x_d12,
	   WRITES({ .kind = REEL_ARCH_STORE_LENGTH, .base = X_BASE, .by_immediate = true })),
	SS(0xe9),
	SS(0xea),
	OF(6, 0xf00000000000, 0xf00000000000),

	/* lay; lg and ltg; stg, sty, sthy, stcy, reversed ones, cvdg, cvdy, stpq, halves. */
	AT_RXY(0xe371, x_d20, ADD_AT, X1, 8, CLOBBER(X1)),
	AT_RXY(0xe304, x_d20, LOAD_AT, X1, 8, CLOBBER(X1)),
	AT_RXY(0xe302, x_d20, LOAD_AT, X1, 8, CLOBBER(X1)),
	AT_RXY(0xe324, x_d20, STORE_AT, X1, 8, NOTHING),
	AT_RXY(0xe350, x_d20, STORE_AT, NO_OPERAND, 4, NOTHING),
	AT_RXY(0xe370, x_d20, STORE_AT, NO_OPERAND, 2, NOTHING),
	AT_RXY(0xe372, x_d20, STORE_AT, NO_OPERAND, 1, NOTHING),
	AT_RXY(0xe32f, x_d20, STORE_AT, NO_OPERAND, 8, NOTHING),
	AT_RXY(0xe33e, x_d20, STORE_AT, NO_OPERAND, 4, NOTHING),
	AT_RXY(0xe33f, x_d20, STORE_AT, NO_OPERAND, 2, NOTHING),
	AT_RXY(0xe32e, x_d20, STORE_AT, NO_OPERAND, 16, NOTHING),
	AT_RXY(0xe326, x_d20, STORE_AT, NO_OPERAND, 8, NOTHING),
	AT_RXY(0xe38e, x_d20, STORE_AT, NO_OPERAND, 16, NOTHING),
	AT_RXY(0xe3c3, x_d20, STORE_AT, NO_OPERAND, 1, NOTHING),
	AT_RXY(0xe3c7, x_d20, STORE_AT, NO_OPERAND, 2, NOTHING),
	AT_RXY(0xe3cb, x_d20, STORE_AT, NO_OPERAND, 4, NOTHING),
	/* Compares: cg, clg, cgf, clgf, cgh, cly, cy, chy, chf, clhf; pfd. */
	OF(6, 0xff00000000fe, 0xe30000000020),
	OF(6, 0xff00000000fe, 0xe30000000030),
	RXY(0xe334),
	RXY(0xe355),
	RXY(0xe359),
	RXY(0xe379),
	RXY(0xe3cd),
	RXY(0xe3cf),
	RXY(0xe336),
	/* bctg; bic, always and by a condition. */
	RXY(0xe346, .flow = REEL_FLOW_BRANCH, WRITES(CLOBBER(X1))),
	OF(6, 0xfff0000000ff, 0xe3f000000047, .flow = REEL_FLOW_JUMP),
	RXY(0xe347, .flow = REEL_FLOW_BRANCH),
	/* Pairs: dsg, dsgf, mfy, mg, mlg, dlg, ml, dl, lpq. */
	RXY(0xe30d, WRITES(CLOBBER(X1), CLOBBER(X1_1))),
	RXY(0xe31d, WRITES(CLOBBER(X1), CLOBBER(X1_1))),
	RXY(0xe35c, WRITES(CLOBBER(X1), CLOBBER(X1_1))),
	RXY(0xe384, WRITES(CLOBBER(X1), CLOBBER(X1_1))),
	RXY(0xe386, WRITES(CLOBBER(X1), CLOBBER(X1_1))),
	RXY(0xe387, WRITES(CLOBBER(X1), CLOBBER(X1_1))),
	RXY(0xe396, WRITES(CLOBBER(X1), CLOBBER(X1_1))),
	RXY(0xe397, WRITES(CLOBBER(X1), CLOBBER(X1_1))),
	RXY(0xe38f, WRITES(CLOBBER(X1), CLOBBER(X1_1))),
	SS(0xe3, WRITES(CLOBBER(X1))),

	/* lmg, stmg; lmy, lmh; stmy, stmh. */
	RXY(0xeb04, .last = X3, .immediate = &x_d20,
	    WRITES(RANGE(REEL_ARCH_LOAD_RANGE, X1, X_BASE, 8))),
	RXY(0xeb24, .last = X3, .immediate = &x_d20,
	    WRITES(RANGE(REEL_ARCH_STORE_RANGE, X1, X_BASE, 8))),
	RXY(0xeb98, .last = X3, WRITES(RANGE(REEL_ARCH_CLOBBER_RANGE, X1, X_BASE, 4))),
	RXY(0xeb96, .last = X3, WRITES(RANGE(REEL_ARCH_CLOBBER_RANGE, X1, X_BASE, 4))),
	RXY(0xeb90, .last = X3, .immediate = &x_d20,
	    WRITES(RANGE(REEL_ARCH_STORE_RANGE, X1, X_BASE, 4))),
	RXY(0xeb26, .last = X3, .immediate = &x_d20,
	    WRITES(RANGE(REEL_ARCH_STORE_RANGE, X1, X_BASE, 4))),
	/* bxhg, bxleg. */
	OF(6, 0xff00000000fe, 0xeb0000000044, .flow = REEL_FLOW_BRANCH, WRITES(CLOBBER(X1))),
	/* Bytes: tmy, mviy, niy, cliy, oiy, xiy; asi, alsi, agsi, algsi. */
	OF(6, 0xff00000000f8, 0xeb0000000050, .immediate = &x_d20,
	   WRITES(STORE(NO_OPERAND, X_BASE, 0, 1))),
	OF(6, 0xff00000000fb, 0xeb000000006a, .immediate = &x_d20,
	   WRITES(STORE(NO_OPERAND, X_BASE, 0, 4))),
	OF(6, 0xff00000000fb, 0xeb000000007a, .immediate = &x_d20,
	   WRITES(STORE(NO_OPERAND, X_BASE, 0, 8))),
	/* clmh, clmy; stcmh, stcmy; stoc, stocg, stocfh. */
	OF(6, 0xff00000000fe, 0xeb0000000020),
	OF(6, 0xff00000000fe, 0xeb000000002c, .immediate = &x_d20,
	   WRITES(STORE(NO_OPERAND, X_BASE, 0, 4))),
	RXY(0xebf3, .immediate = &x_d20, WRITES(STORE(NO_OPERAND, X_BASE, 0, 4))),
	RXY(0xebe3, .immediate = &x_d20, WRITES(STORE(X1, X_BASE, 0, 16))),
	RXY(0xebe1, .immediate = &x_d20, WRITES(STORE(NO_OPERAND, X_BASE, 0, 4))),
	/* clt, clgt trap; lamy, stamy: access registers. */
	RXY(0xeb23),
	RXY(0xeb2b),
	RXY(0xeb9a),
	RXY(0xeb9b),
	/* cdsy, cdsg; mvclu, clclu. */
	RXY(0xeb31, WRITES(CLOBBER(X1), CLOBBER(X1_1))),
	RXY(0xeb3e, WRITES(CLOBBER(X1), CLOBBER(X1_1))),
	OF(6, 0xff00000000fe, 0xeb000000008e,
	   WRITES(CLOBBER(X1), CLOBBER(X1_1), CLOBBER(X3), CLOBBER(X3_1))),
	SS(0xeb, WRITES(CLOBBER(X1))),

	/* brxhg, brxlg. */
	OF(6, 0xff00000000fe, 0xec0000000044, .flow = REEL_FLOW_BRANCH, .immediate = &x_distance16,
	   WRITES(CLOBBER(X1))),
	/* aghik, alghsik. */
	RXY(0xecd9, .immediate = &x_i16, WRITES(ADD(X1, X3))),
	RXY(0xecdb, .immediate = &x_i16, WRITES(ADD(X1, X3))),
	/* Compare and branch: cgrj, clgrj, crj, clrj; cgij, clgij, cij, clij. */
	OF(6, 0xff00000000fe, 0xec0000000064, .flow = REEL_FLOW_BRANCH, .immediate = &x_distance16),
	OF(6, 0xff00000000fe, 0xec0000000076, .flow = REEL_FLOW_BRANCH, .immediate = &x_distance16),
	OF(6, 0xff00000000fc, 0xec000000007c, .flow = REEL_FLOW_BRANCH, .immediate = &x_distance16),
	/* To an address: cgrb, clgrb, crb, clrb; cgib, clgib, cib, clib.  To the one in r14 they
	 * return. */
	OF(6, 0xff00fffe00fe, 0xec00e00000e4, .flow = REEL_FLOW_RETURN_OR_NEXT, .through = R14),
	OF(6, 0xff00000000fe, 0xec00000000e4, .flow = REEL_FLOW_BRANCH),
	OF(6, 0xff00fffe00fe, 0xec00e00000f6, .flow = REEL_FLOW_RETURN_OR_NEXT, .through = R14),
	OF(6, 0xff00000000fe, 0xec00000000f6, .flow = REEL_FLOW_BRANCH),
	OF(6, 0xff00ffff00fc, 0xec00e00000fc, .flow = REEL_FLOW_RETURN_OR_NEXT, .through = R14),
	OF(6, 0xff00000000fc, 0xec00000000fc, .flow = REEL_FLOW_BRANCH),
	/* Compare and trap. */
	OF(6, 0xff00000000fc, 0xec0000000070),
	SS(0xec, WRITES(CLOBBER(X1))),

	/* Floating point: ldy; stdy, stey; others, some with the result at the end. */
	AT_RXY(0xed65, x_d20, LOAD_AT, X1_F, 8, CLOBBER(X1_F)),
	AT_RXY(0xed67, x_d20, STORE_AT, X1_F, 8, NOTHING),
	AT_RXY(0xed66, x_d20, STORE_AT, NO_OPERAND, 4, NOTHING),
	/* lxdb, lxeb, mxdb; lxd, lxe; slxt, srxt; cxzt; may and its like: pairs. */
	OF(6, 0xff00000000fc, 0xed0000000004, WRITES(CLOBBER(X1_F), CLOBBER(X1_F2))),
	OF(6, 0xff00000000fc, 0xed0000000024, WRITES(CLOBBER(X1_F), CLOBBER(X1_F2))),
	OF(6, 0xff00000000f8, 0xed0000000048, WRITES(CLOBBER(XF1_F), CLOBBER(XF1_F2))),
	RXY(0xedab, WRITES(CLOBBER(X1_F), CLOBBER(X1_F2))),
	OF(6, 0xff00000000f8, 0xed0000000038, WRITES(CLOBBER(XF1_F), CLOBBER(XF1_F2))),
	SS(0xed, WRITES(CLOBBER(X1_F), CLOBBER(XF1_F))),

	/* Vectors: vlgv and lcbb write a general register. */
	RXY(0xe721, WRITES(CLOBBER(X1))),
	RXY(0xe727, WRITES(CLOBBER(X1))),
	RXY(0xe650, WRITES(CLOBBER(X1))),
	RXY(0xe652, WRITES(CLOBBER(X1))),
	/* vst, vstm; vsteb to vstef, vstl, vscef and vsceg. */
	AT_RXY(0xe70e, x_d12, STORE_AT, NO_OPERAND, 16, NOTHING),
	RXY(0xe73e, .last = X3_F, .immediate = &x_d12,
	    WRITES(RANGE(REEL_ARCH_STORE_RANGE, X1_F, X_BASE, 16))),
	OF(6, 0xff00000000ff, 0xe7000000000a, .immediate = &x_d12,
	   WRITES(STORE(NO_OPERAND, X_BASE, 0, 8))),
	OF(6, 0xff00000000fc, 0xe70000000008, .immediate = &x_d12,
	   WRITES(STORE(NO_OPERAND, X_BASE, 0, 4))),
	RXY(0xe73f, .immediate = &x_d12, WRITES(STORE(NO_OPERAND, X_BASE, 0, 16))),
	OF(6, 0xff00000000fe, 0xe7000000001a),
	/* RXB's first bit: v16 to v31. */
	OF(6, 0xfe0000000800, 0xe60000000800),
	RXY(0xe736, .last = X3_F, WRITES(RANGE(REEL_ARCH_CLOBBER_RANGE, X1_F, X_BASE, 16))),
	OF(6, 0xfe0000000000, 0xe60000000000, WRITES(CLOBBER(X1_F))),
};

extern const struct reel_arch_instructions reel_arch_s390x_instructions;
const struct reel_arch_instructions reel_arch_s390x_instructions = {
	.table = instructions,
	.n = REEL_ARCH_COUNT(instructions),
	.big_endian = true,
	.operands = operands,
	.register_sets = register_sets,
};
