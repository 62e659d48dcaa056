/* SPDX-License-Identifier: Apache-2.0 */
/* The DW_CFA bytes for the tables (DWARF 5, 7.24). */
#ifndef ARCH_PROGRAM_H
#define ARCH_PROGRAM_H

#include "arch/arch.h"

/* Operands below 128 take one byte of LEB128; so do signed ones from -64 to 63. */
#define CFA_SAME_VALUE(reg)	      0x08, (reg)
#define CFA_DEF_CFA(reg, offset)      0x0c, (reg), (offset)
#define CFA_DEF_CFA_EXPRESSION(size)  0x0f, (size)
#define CFA_VAL_OFFSET(reg, factored) 0x14, (reg), (factored)
/* Saved at CFA + factored * data_align; `factored` is signed: DW_CFA_offset_extended_sf. */
#define CFA_OFFSET_SF(reg, factored) 0x11, (reg), (factored)&0x7f
/* The same with a two-byte register or factor. */
#define CFA_OFFSET_SF2(reg, factored) 0x11, (reg), ((factored)&0x7f) | 0x80, (factored) >> 7 & 0x7f

/* For registers 1 to 25, in order, what `saved` makes of each. */
#define CFA_1_TO_25(saved)                                                                         \
	saved(1), saved(2), saved(3), saved(4), saved(5), saved(6), saved(7), saved(8), saved(9),  \
		saved(10), saved(11), saved(12), saved(13), saved(14), saved(15), saved(16),       \
		saved(17), saved(18), saved(19), saved(20), saved(21), saved(22), saved(23),       \
		saved(24), saved(25)

#define DW_BREG(reg)	  (0x70 + (reg))
#define DW_DEREF	  0x06
#define DW_PLUS_CONST2(n) 0x23, ((n)&0x7f) | 0x80, (n) >> 7

#define REEL_ARCH_PROGRAM(array)                                                                   \
	{                                                                                          \
		array, sizeof(array)                                                               \
	}
#define REEL_ARCH_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
