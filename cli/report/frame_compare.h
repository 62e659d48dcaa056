/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a walk by frame pointers found of a stack, against all of the stack.
 * Such a walk reads a return address from each frame record: where a function
 * has none, its caller is passed over, or the walk ends, or goes astray.
 */
#ifndef CLI_REPORT_FRAME_COMPARE_H
#define CLI_REPORT_FRAME_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the chain (the walk by frame pointers) differs from the stack. */
struct frame_break {
	/* Index of the stack's frame without a frame record. */
	size_t frame;
	/* How many frames above it, towards the root, the chain lacks. */
	size_t lost;
	/* How many addresses the chain has there that are not on the stack. */
	size_t wrong;
	/* Behind these, the chain and the stack agree again. */
	bool resumes;
};

struct frame_comparison {
	struct frame_break *breaks;
	size_t n_breaks, breaks_capacity;
	size_t lost, wrong; /* of all breaks */
	/* Only the limit of addresses ended it: frames behind do not count as lost. */
	bool cut;

	struct frame_position {
		uint64_t address;
		size_t frame;
	} * positions; /* of the stack's addresses, sorted */
	size_t positions_capacity;
};

void frame_comparison_free(struct frame_comparison *comparison);

/*
 * Compares; both are leaf first, from the same pc on, and the stack has one address for each
 * physical frame.  `at_limit`: the chain has as many addresses as it may have.
 */
void frame_compare(struct frame_comparison *comparison, const uint64_t *stack, size_t n_stack,
		   const uint64_t *chain, size_t n_chain, bool at_limit);

#endif
