/* SPDX-License-Identifier: Apache-2.0 */
/* Macros to write the tables of instructions. */
#ifndef ARCH_EFFECTS_H
#define ARCH_EFFECTS_H

#include "arch/program.h"

#define CLOBBER(to_)                                                                               \
	{                                                                                          \
		.kind = REEL_ARCH_CLOBBER, .to = to_                                               \
	}
/* to = base + immediate */
#define ADD(to_, base_)                                                                            \
	{                                                                                          \
		.kind = REEL_ARCH_SUM, .to = to_, .base = base_, .by_immediate = true              \
	}
/* to = base + a constant */
#define ADD_CONSTANT(to_, base_, constant)                                                         \
	{                                                                                          \
		.kind = REEL_ARCH_SUM, .to = to_, .base = base_, .plus = constant                  \
	}
#define COPY(to_, from)                                                                            \
	{                                                                                          \
		.kind = REEL_ARCH_SUM, .to = to_, .base = from                                     \
	}
/* A word at base + plus, and at base + immediate + plus. */
#define LOAD_BASE(to_, base_, plus_)                                                               \
	{                                                                                          \
		.kind = REEL_ARCH_LOAD, .to = to_, .base = base_, .plus = plus_                    \
	}
#define LOAD(to_, base_, plus_)                                                                    \
	{                                                                                          \
		.kind = REEL_ARCH_LOAD, .to = to_, .base = base_, .plus = plus_,                   \
		.by_immediate = true                                                               \
	}
#define STORE_BASE(from, base_, plus_, size_)                                                      \
	{                                                                                          \
		.kind = REEL_ARCH_STORE, .to = from, .base = base_, .plus = plus_, .size = size_   \
	}
#define STORE(from, base_, plus_, size_)                                                           \
	{                                                                                          \
		.kind = REEL_ARCH_STORE, .to = from, .base = base_, .plus = plus_, .size = size_,  \
		.by_immediate = true                                                               \
	}

/* Registers that each architecture with 32 of them numbers the same way. */
#define ONE_TO_30                                                                                  \
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, \
		26, 27, 28, 29, 30

/* Instead of a register: an untracked one. */
#define NO_OPERAND 0

#endif
