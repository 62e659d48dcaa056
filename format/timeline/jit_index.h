/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which of many address ranges holds an address at a moment: the last to begin of those valid
 * then.
 *
 * Moments are numbers, and a range is valid from one of them up to another.  Any two ranges are
 * either nested in time or disjoint, as with what processes inherit (jit.c).  With n ranges,
 * however they overlap, it takes O(n log n) time and memory, and O(log^2 n) for a look-up.
 */
#ifndef FORMAT_TIMELINE_JIT_INDEX_H
#define FORMAT_TIMELINE_JIT_INDEX_H

#include <stdint.h>

#include "base/error.h"

struct reel_jit_range {
	uint64_t first, last; /* addresses, both included */
	uint32_t begin, end;  /* moments, end excluded */
	const void *value;    /* NULL: from here on nothing is there */
};

struct reel_jit_index;

/* Takes ownership of `ranges`, from malloc, even on error; they must ascend by `begin`, each with a
 * different one. */
struct reel_error *reel_jit_index_create(struct reel_jit_range *ranges, size_t n,
					 struct reel_jit_index **ret) REEL_MUST_CHECK;
void reel_jit_index_destroy(struct reel_jit_index *index);
/* The range's value; NULL if no range holds the address, or `index` is NULL. */
const void *reel_jit_index_find(const struct reel_jit_index *index, uint32_t moment,
				uint64_t address);

#endif
