/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions (DWARF 5, 2.5): those of CFI (6.4.2), and the machine for others, whose
 * further operations an extension adds.
 */
#ifndef CFI_EXPRESSION_H
#define CFI_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "cfi/state.h"

enum reel_expression_result {
	REEL_EXPRESSION_OK = 0,
	REEL_EXPRESSION_BAD,		  /* malformed, or an operation not allowed in CFI */
	REEL_EXPRESSION_MEMORY_MISSING,	  /* reads memory that was not recorded */
	REEL_EXPRESSION_REGISTER_UNKNOWN, /* uses a register with an unknown value */
	REEL_EXPRESSION_SCRUBBED,	  /* computes with a scrubbed value */
	REEL_EXPRESSION_REFUSED,	  /* an extension's operation has no result */
};

#define REEL_EXPRESSION_STACK 64

/*
 * The machine computes in the target's words: values without a type are unsigned numbers below
 * 2^bits, and wrap around.  A value of a base type (DWARF 5, 2.5.1) is extended from its size.
 */
struct reel_expression {
	const struct reel_unwind_state *state;
	const struct reel_expression_extension *extension; /* NULL: CFI's operations only */
	struct reel_cursor code;
	uint64_t text_bias;
	unsigned word; /* bytes */
	uint64_t mask;
	unsigned n_operations;
	size_t depth;
	uint64_t stack[REEL_EXPRESSION_STACK];
	uint8_t types[REEL_EXPRESSION_STACK]; /* size in bytes, REEL_EXPRESSION_SIGNED; 0: none */
	enum reel_expression_result result;
};

#define REEL_EXPRESSION_SIGNED 0x80

struct reel_expression_extension {
	/* Runs an operation that CFI does not have; false: unknown. */
	bool (*operate)(void *context, struct reel_expression *machine, uint8_t op);
	void *context;
};

void reel_expression_begin(struct reel_expression *machine, const struct reel_unwind_state *state,
			   const uint8_t *bytes, size_t size, uint64_t text_bias,
			   const struct reel_expression_extension *extension);
/* Runs to the end of the code.  Values remain on the stack. */
enum reel_expression_result reel_expression_run(struct reel_expression *machine);
/* The first failure is the result. */
void reel_expression_fail(struct reel_expression *machine, enum reel_expression_result result);
void reel_expression_push(struct reel_expression *machine, uint64_t value);
/* Cuts and extends the value as its type requires; 0 is no type. */
void reel_expression_push_typed(struct reel_expression *machine, uint64_t value, uint8_t type);
uint64_t reel_expression_pop(struct reel_expression *machine);
/* Fails if the register's value is unknown. */
uint64_t reel_expression_register(struct reel_expression *machine, uint64_t dwarf);
/* Reads a value of `size` bytes at the address on the stack. */
void reel_expression_dereference(struct reel_expression *machine, unsigned size, uint8_t type);

/*
 * Evaluates `bytes` for the frame whose registers are in `state`; `initial` is
 * pushed first if not NULL (the CFA, for register rules).  `text_bias` is added to DW_OP_addr.
 * Bounded: a stack of 64 entries, 256 operations.
 */
enum reel_expression_result reel_expression_evaluate(const struct reel_unwind_state *state,
						     const uint8_t *bytes, size_t size,
						     const uint64_t *initial, uint64_t text_bias,
						     uint64_t *ret);

#endif
