/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of threads over time: a span is a thread's stack in a step of time; the order within a
 * step is dropped. Steps get wider when there are too many spans, so that memory is bounded.
 */
#ifndef CLI_FLAMEGRAPH_FLAME_SPANS_H
#define CLI_FLAMEGRAPH_FLAME_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/profile/call_tree.h"

/* The resolution of samples' times, in ns. */
#define FLAME_STEP_FIRST UINT64_C(1000000)

struct flame_span {
	uint64_t bin; /* the step's number since the beginning */
	uint32_t event, thread, node;
	uint32_t labels; /* a set of flame_labels */
	uint8_t state;	 /* enum reel_state */
	struct amount amount;
};

struct flame_spans {
	struct flame_span *items;
	size_t n, capacity;
	uint64_t step; /* ns */
};

void flame_spans_init(struct flame_spans *spans);
void flame_spans_free(struct flame_spans *spans);
/* Here `span.bin` is a time, in ns since the beginning. */
void flame_spans_add(struct flame_spans *spans, struct flame_span span);
/* Merges and sorts spans by step, event, thread, node, state and labels. */
void flame_spans_merge(struct flame_spans *spans);
/* Doubles the steps of merged spans; false if there is only one step. */
bool flame_spans_widen(struct flame_spans *spans);

#endif
