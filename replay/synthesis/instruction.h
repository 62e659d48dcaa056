/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine instruction's effects on registers and the stack, as needed for unwinding: all writes
 * to registers, if only as "unknown"; for memory, reads and writes at a register plus a constant.
 */
#ifndef REPLAY_SYNTHESIS_INSTRUCTION_H
#define REPLAY_SYNTHESIS_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/error.h"

/* A word, in terms of the registers at some instruction. */
enum reel_value_kind {
	REEL_VALUE_UNKNOWN = 0,
	REEL_VALUE_REGISTER, /* register `slot` + plus */
	REEL_VALUE_MEMORY,   /* the word at register `slot` + at, + plus */
	REEL_VALUE_AT_CFA,   /* the word at the CFA + at, if the CFA is not a register + constant */
	REEL_VALUE_SHIFTED,  /* register `slot` >> at; only set by instructions */
	/* Only for the CFA, and set by instructions.  `at` has the term's place and shift. */
	REEL_VALUE_SUM,	       /* register `slot` + (register `place` >> shift) + plus */
	REEL_VALUE_SUM_MEMORY, /* register `slot` + (the word at it + place >> shift) + plus */
};

struct reel_value {
	unsigned kind : 3; /* enum reel_value_kind */
	unsigned slot : 6;
	int at : 23;
	int32_t plus;
};

/* A value, or an unknown one if its constants do not fit. */
struct reel_value reel_value_of_register(uint8_t slot, int64_t plus);
struct reel_value reel_value_of_memory(uint8_t slot, int64_t at, int64_t plus);
struct reel_value reel_value_at_cfa(int64_t at);
struct reel_value reel_value_shifted(uint8_t slot, int64_t shift);
/* `added`: a REGISTER, or a MEMORY at the register `slot`, without a constant. */
struct reel_value reel_value_of_sum(uint8_t slot, struct reel_value added, int64_t shift,
				    int64_t plus);
static inline unsigned reel_value_shift(struct reel_value sum)
{
	return (unsigned)sum.at % 64;
}
static inline int reel_value_place(struct reel_value sum)
{
	return (sum.at - (int)reel_value_shift(sum)) / 64;
}
static inline bool reel_value_equal(struct reel_value a, struct reel_value b)
{
	return a.kind == b.kind && a.slot == b.slot && a.at == b.at && a.plus == b.plus;
}

/* A write of an instruction: a register, or `size` bytes at a register plus a constant. */
struct reel_effect {
	uint8_t slot;
	uint8_t size; /* bytes of memory; 0: the register itself */
	int32_t at;
	/* The value written, in terms of the registers before the instruction; for memory, only if
	 * it is a word. */
	struct reel_value value;
};

/* More than any instruction's: s390x's stmg stores 16 registers. */
#define REEL_EFFECTS_MAX 40

struct reel_instruction {
	uint64_t target;
	uint8_t size; /* bytes */
	uint8_t flow; /* enum reel_flow */
	/* JUMP, CALL, RETURN: the register with the target; REEL_ARCH_NO_SLOT: memory, or the
	 * target itself. */
	uint8_t through;
	bool has_target;
	bool by_fp; /* it reads or writes memory at the frame pointer + a constant */
	/* All happen at once; no two set the same register. */
	uint8_t n_effects;
	struct reel_effect effects[REEL_EFFECTS_MAX];
};

/* A register's value after the instruction. */
struct reel_value reel_instruction_sets(const struct reel_instruction *instruction, uint8_t slot);

/* Decodes one CPU's instructions.  For one thread at a time. */
struct reel_decoder;
/* NULL in *ret if the CPU's instructions are unknown. */
struct reel_error *reel_decoder_create(const struct reel_arch *arch,
				       struct reel_decoder **ret) REEL_MUST_CHECK;
void reel_decoder_destroy(struct reel_decoder *decoder);

/* The largest instruction. */
#define REEL_INSTRUCTION_SIZE_MAX 15
/* The instruction at `address`; false if the bytes are invalid or unknown. */
bool reel_decode(struct reel_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
		 struct reel_instruction *ret);

#endif
