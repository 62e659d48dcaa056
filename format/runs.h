/* SPDX-License-Identifier: Apache-2.0 */
/* The runs in which two regions of one size differ. */
#ifndef FORMAT_RUNS_H
#define FORMAT_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer equal bytes than this between two differences do not end a run. */
#define REEL_RUN_GAP 16

struct reel_run {
	uint32_t offset, size;
};

struct reel_runs {
	struct reel_run *runs;
	size_t n, capacity;
};

void reel_runs_free(struct reel_runs *runs);
/* Replaces `runs` by those in which `a` and `b` differ; false without memory. `size` fits 32 bits.
 */
bool reel_runs_find(struct reel_runs *runs, const uint8_t *a, const uint8_t *b, size_t size);

#endif
