/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of many ranges of addresses holds one at a moment: the one that came last of those that
 * still count then.
 *
 * Moments are numbers, and a range counts from one of them up to another.  Of two ranges, either
 * one's moments are all among the other's, or they have none in common: so it is with what
 * processes inherit (target/jit.c).  With n ranges, however they overlap, it takes
 * O(n log n) time and memory, and a look-up O(log^2 n).
 */
#ifndef TARGET_JIT_INDEX_H
#define TARGET_JIT_INDEX_H

#include <stdint.h>

#include "base/error.h"

struct reel_jit_range {
	uint64_t first, last; /* addresses, both included */
	uint32_t begin, end;  /* moments, the latter excluded */
	const void *value;    /* NULL: nothing is there any more */
};

struct reel_jit_index;

/* Takes `ranges`, from malloc, over, with or without an error; ascending by `begin`, and each has
 * its own. */
struct reel_error *reel_jit_index_create(struct reel_jit_range *ranges, size_t n,
					 struct reel_jit_index **ret) REEL_MUST_CHECK;
void reel_jit_index_destroy(struct reel_jit_index *index);
/* The range's value; NULL if there is none, or `index` is NULL. */
const void *reel_jit_index_find(const struct reel_jit_index *index, uint32_t moment,
				uint64_t address);

#endif
