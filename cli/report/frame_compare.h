/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares a walk by frame pointers with the complete stack. Such a walk reads a return address
 * from each frame record. If a function has no frame record, the walk skips its caller, ends, or
 * goes astray.
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
	/* Number of frames above it, towards the root, missing in the chain. */
	size_t lost;
	/* Number of addresses in the chain that are not on the stack. */
	size_t wrong;
	/* The chain and the stack agree again after these. */
	bool resumes;
};

struct frame_comparison {
	struct frame_break *breaks;
	size_t n_breaks, breaks_capacity;
	size_t lost, wrong; /* of all breaks */
	/* Only the limit of addresses ended it: frames beyond do not count as lost. */
	bool cut;

	struct frame_position {
		uint64_t address;
		size_t frame;
	} * positions; /* of the stack's addresses, sorted */
	size_t positions_capacity;
};

void frame_comparison_free(struct frame_comparison *comparison);

/*
 * Both are leaf first, from the same pc on, and the stack has one address for each physical frame.
 * `at_limit`: the chain has the maximum number of addresses.
 */
void frame_compare(struct frame_comparison *comparison, const uint64_t *stack, size_t n_stack,
		   const uint64_t *chain, size_t n_chain, bool at_limit);

#endif
