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

#include "cli/print/output.h"
#include "cli/profile/pointer_map.h"
#include "cli/profile/symbols.h"

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

/* stackreel report --compare-fp: the frames that walks by frame pointers miss. */

struct count {
	uint64_t samples, frames;
};

/* A function without a frame record where it should have one. */
struct breaker {
	const struct symbol *symbol;
	struct count count;
	uint64_t last_sample; /* last sample it was counted for, from 1 */
};

struct compare_report {
	uint64_t compared, frames; /* whole stacks, and their frames */
	uint64_t without_chain, chain_only, incomplete, cut;
	uint64_t whole;
	struct count lacking; /* samples whose chain is short or wrong */
	/* Kinds of these; a sample may have several. */
	struct count caller, middle, end;
	uint64_t wrong, wrong_addresses;

	struct breaker **breakers;
	size_t n_breakers, capacity;
	struct pointer_map by_symbol;
	struct symbol_table symbols;

	struct frame_comparison comparison;
	uint64_t *stack; /* addresses of physical frames, and their frames */
	const struct reel_frame **stack_frames;
	size_t stack_capacity;
};

void compare_report_init(struct compare_report *report);
void compare_report_free(struct compare_report *report);

/* Adds a trace: for session_visit. */
bool compare_report_add(void *context, const struct reel_trace *trace,
			const struct reel_event_info *event);

/* Prints a line about the chains for the report's head. */
void compare_report_print_head(const struct compare_report *report, FILE *file);
/* `limit`: skips functions that break a smaller share of the samples. */
void compare_report_print(struct compare_report *report, uint64_t limit,
			  const struct output *output);

#endif
