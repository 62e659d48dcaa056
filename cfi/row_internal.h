/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a compiled row.  Internal to row*.c, and to the fast path of unwind*.c. */
#ifndef CFI_ROW_INTERNAL_H
#define CFI_ROW_INTERNAL_H

#include "cfi/row.h"

enum row_flags {
	ROW_SIGNAL_FRAME = 1 << 0,
	ROW_ENDS_FUNCTION = 1 << 1,
	ROW_SP_IS_CFA = 1 << 2,
	ROW_HAS_PERSONALITY = 1 << 3,
	ROW_IS_ONLY = 1 << 4,
	ROW_IS_FIRST = 1 << 5, /* of several; or the second, after one instruction */
	ROW_IS_LAST = 1 << 6,  /* of several */
	ROW_BEGINS_FUNCTION = 1 << 7,
};

/* A rule for a register: the source of its value.  `offset` is in bytes, or the expression's
 * index. */
enum rule_from {
	FROM_NOWHERE = 0,
	FROM_MEMORY,	 /* at CFA + offset */
	FROM_CFA,	 /* CFA + offset */
	FROM_REGISTER,	 /* register + offset */
	FROM_EXPRESSION, /* at the address computed by the expression */
	FROM_VALUE,	 /* the expression's value */
};

struct rule_expression {
	const uint8_t *bytes;
	uint64_t size;
};

struct rule_source {
	uint8_t to;   /* slot */
	uint8_t from; /* enum rule_from */
	uint8_t slot; /* FROM_REGISTER */
	uint8_t unused;
	int32_t offset;
};

/*
 * 32 bytes, plus 8 for each saved register and 16 for each expression: the expressions follow the
 * saved registers.
 */
struct reel_row {
	uint8_t outcome; /* enum reel_row_outcome */
	uint8_t flags;
	uint8_t n_saved, n_expressions;
	uint8_t unused[4];
	struct rule_source cfa, return_address;
	uint64_t keep; /* slots that keep their values */
	struct rule_source saved[];
};

#define ROW_SIZE_MAX                                                                               \
	(sizeof(struct reel_row) + REEL_ARCH_SLOTS_MAX * sizeof(struct rule_source) +              \
	 (REEL_ARCH_SLOTS_MAX + 2) * sizeof(struct rule_expression))

/* A buffer to compile a row in. */
union row_buffer {
	struct reel_row row;
	uint8_t bytes[ROW_SIZE_MAX];
};

static inline const struct rule_expression *row_expressions(const struct reel_row *row)
{
	return (const struct rule_expression *)&row->saved[row->n_saved];
}

static inline size_t row_size(const struct reel_row *row)
{
	return sizeof(*row) + row->n_saved * sizeof(struct rule_source) +
	       row->n_expressions * sizeof(struct rule_expression);
}

/* Compiles a row.  Sets all of its bytes, so equal rows compare equal. */
void reel_row_compile(const struct reel_arch *arch, const struct reel_cfi_row *cfi_row,
		      union row_buffer *ret);
void reel_row_compile_outcome(enum reel_row_outcome outcome, union row_buffer *ret);

#endif
