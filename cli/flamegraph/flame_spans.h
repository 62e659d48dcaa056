/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When which thread had which stack: a span is a stack of a thread in a step of time, whatever
 * their order within it.  Steps get wider when there are too many spans, so that memory is bounded.
 */
#ifndef CLI_FLAMEGRAPH_FLAME_SPANS_H
#define CLI_FLAMEGRAPH_FLAME_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/report/call_tree.h"

struct flame_span {
	uint64_t bin; /* the step's number since the beginning */
	uint32_t event, thread, node;
	struct amount amount;
};

struct flame_spans {
	struct flame_span *items;
	size_t n, capacity;
	uint64_t step; /* ns */
};

void flame_spans_init(struct flame_spans *spans);
void flame_spans_free(struct flame_spans *spans);
/* `span.bin` is a time here, in ns since the beginning. */
void flame_spans_add(struct flame_spans *spans, struct flame_span span);
/* One of each step, event, thread and node, in this order. */
void flame_spans_merge(struct flame_spans *spans);
/* Merged ones, in wider steps; false if there is one step only. */
bool flame_spans_widen(struct flame_spans *spans);

#endif
