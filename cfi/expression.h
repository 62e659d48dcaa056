/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF expressions, as CFI uses them (DWARF 5, 2.5 and 6.4.2). */
#ifndef CFI_EXPRESSION_H
#define CFI_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/state.h"

enum reel_expression_result {
	REEL_EXPRESSION_OK = 0,
	REEL_EXPRESSION_BAD,		  /* malformed, or an operation not allowed in CFI */
	REEL_EXPRESSION_MEMORY_MISSING,	  /* reads memory that was not recorded */
	REEL_EXPRESSION_REGISTER_UNKNOWN, /* uses a register with an unknown value */
	REEL_EXPRESSION_SCRUBBED,	  /* computes with a scrubbed value */
};

/*
 * Evaluates `bytes` for the frame whose registers are in `state`; `initial` is
 * pushed first if not NULL (the CFA, for register rules).  `text_bias` is added to DW_OP_addr.
 * Bounded: a stack of 64 entries, 4096 operations.
 */
enum reel_expression_result reel_expression_evaluate(const struct reel_unwind_state *state,
						     const uint8_t *bytes, size_t size,
						     const uint64_t *initial, uint64_t text_bias,
						     uint64_t *ret);

#endif
