/* SPDX-License-Identifier: Apache-2.0 */
/* CODED_SAMPLES: what a sample has besides words, decision by decision (SPEC.md, section 6). */
#ifndef FORMAT_HEAD_CODER_H
#define FORMAT_HEAD_CODER_H

#include "format/number_coder.h"
#include "format/thread_table.h"

#define REEL_HEAD_CPUS 256

/* A sample's fields but for words and chains. */
struct reel_sample_head {
	uint64_t cpu, thread, time, id;
	uint64_t event, weight, where, flags, parts, n_regions;
};

/* Zeroed, but for the period, it has seen none. */
struct reel_head_coder {
	uint64_t period; /* ns between samples of a CPU, 0 if they come at any time */
	struct reel_sample_head last;
	uint64_t periods;  /* between the last sample's time and the one it was foreseen from */
	unsigned lateness; /* how many bits */
	struct {
		uint64_t thread, time; /* foreseen from these */
	} cpus[REEL_HEAD_CPUS];
};

void reel_head_encode(struct reel_head_coder *coder, struct reel_number_coder *numbers,
		      const struct reel_sample_head *head);
void reel_head_decode(struct reel_head_coder *coder, struct reel_number_coder *numbers,
		      struct reel_sample_head *ret);

/* Where a region lies, as the thread's one with the same index did; `pc_before` is the thread's
 * last pc. */
struct reel_coded_region {
	size_t index;
	uint64_t pc, pc_before;
	const struct reel_region_base *base;
};

void reel_region_place_encode(struct reel_number_coder *numbers,
			      const struct reel_coded_region *region, uint64_t address,
			      uint64_t size);
void reel_region_place_decode(struct reel_number_coder *numbers,
			      const struct reel_coded_region *region, uint64_t *address_ret,
			      uint64_t *size_ret);

#endif
