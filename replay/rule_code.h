/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiled rule is made of. Internal to rule*.c, and to the short way of unwind*.c. */
#ifndef REPLAY_RULE_CODE_H
#define REPLAY_RULE_CODE_H

#include "replay/rule.h"

enum rule_flags {
	RULE_SIGNAL_FRAME = 1 << 0,
	RULE_ENDS_FUNCTION = 1 << 1,
	RULE_SP_IS_CFA = 1 << 2,
	RULE_HAS_PERSONALITY = 1 << 3,
};

/* Where a value comes from; `offset` is in bytes, or the expression's index. */
enum rule_from {
	FROM_NOWHERE = 0,
	FROM_MEMORY,	 /* at CFA + offset */
	FROM_CFA,	 /* CFA + offset */
	FROM_REGISTER,	 /* register + offset */
	FROM_EXPRESSION, /* at what the expression gives */
	FROM_VALUE,	 /* what the expression gives */
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
 * 32 bytes, 8 for each saved register, 16 for each expression: the
 * expressions lie behind the saved registers.
 */
struct reel_rule {
	uint8_t outcome; /* enum reel_rule_outcome */
	uint8_t flags;
	uint8_t n_saved, n_expressions;
	uint8_t unused[4];
	struct rule_source cfa, return_address;
	uint64_t keep; /* slots that keep their values */
	struct rule_source saved[];
};

#define RULE_SIZE_MAX                                                                              \
	(sizeof(struct reel_rule) + REEL_ARCH_SLOTS_MAX * sizeof(struct rule_source) +             \
	 (REEL_ARCH_SLOTS_MAX + 2) * sizeof(struct rule_expression))

/* Room to compile a rule in. */
union rule_buffer {
	struct reel_rule rule;
	uint8_t bytes[RULE_SIZE_MAX];
};

static inline const struct rule_expression *rule_expressions(const struct reel_rule *rule)
{
	return (const struct rule_expression *)&rule->saved[rule->n_saved];
}

static inline size_t rule_size(const struct reel_rule *rule)
{
	return sizeof(*rule) + rule->n_saved * sizeof(struct rule_source) +
	       rule->n_expressions * sizeof(struct rule_expression);
}

/* Compiles a row. All bytes of the rule are set, so equal rules compare equal. */
void reel_rule_compile(const struct reel_arch *arch, const struct reel_cfi_row *row,
		       union rule_buffer *ret);
void reel_rule_compile_outcome(enum reel_rule_outcome outcome, union rule_buffer *ret);

#endif
