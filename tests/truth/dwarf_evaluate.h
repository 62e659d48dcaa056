/* SPDX-License-Identifier: Apache-2.0 */
/* A small evaluator of the expressions from libdw's dwarf_frame_cfa and dwarf_frame_register, for
 * the judge.
 */
#ifndef TESTS_TRUTH_DWARF_EVALUATE_H
#define TESTS_TRUTH_DWARF_EVALUATE_H

#include "tests/truth/unwind_sample.h"

struct truth_registers {
	uint64_t values[TRUTH_REGISTERS_MAX];
	bool known[TRUTH_REGISTERS_MAX];
};

enum truth_evaluated {
	TRUTH_EVALUATED = 0,
	TRUTH_NO_MEMORY,   /* the bytes were not recorded */
	TRUTH_NO_REGISTER, /* an unknown register */
	TRUTH_UNSUPPORTED, /* an operation that is not supported here */
};

struct truth_location {
	enum { TRUTH_AT_ADDRESS, TRUTH_IN_REGISTER, TRUTH_IS_VALUE } kind;
	uint64_t value; /* the address, register or value */
	uint64_t used;	/* bit n: register n was used */
};

/* `cfa`: NULL while the CFA itself is computed. */
enum truth_evaluated truth_evaluate(const struct truth_sample *sample,
				    const struct truth_registers *registers, const uint64_t *cfa,
				    const Dwarf_Op *ops, size_t n, struct truth_location *ret);

#endif
