/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel report --compare-fp: the frames that walks by frame pointers miss. */
#ifndef CLI_REPORT_REPORT_COMPARE_H
#define CLI_REPORT_REPORT_COMPARE_H

#include "cli/report/frame_compare.h"
#include "cli/print/output.h"
#include "cli/profile/pointer_map.h"
#include "cli/profile/symbols.h"

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
