/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns overlapping address ranges into disjoint ones: an address belongs to the range with the
 * highest priority among those that hold it.  A look-up is one binary search.
 */
#ifndef BASE_RANGE_MAP_H
#define BASE_RANGE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct reel_range_entry {
	uint64_t begin, end; /* [begin, end) */
	uint32_t value;
	uint32_t priority; /* if equal, either may win */
};

/* All zero is an empty map. */
struct reel_range_map {
	struct reel_range_entry *entries;
	size_t n, capacity;
};

/* Only before reel_range_map_build.  Empty ranges are skipped.  False: out of memory. */
bool reel_range_map_add(struct reel_range_map *map, uint64_t begin, uint64_t end, uint32_t value,
			uint32_t priority) REEL_MUST_CHECK;
struct reel_error *reel_range_map_build(struct reel_range_map *map) REEL_MUST_CHECK;
/* NULL: no range holds it. */
const struct reel_range_entry *reel_range_map_find(const struct reel_range_map *map,
						   uint64_t address);
/* The same before reel_range_map_build, by linear search: for a few look-ups. */
const struct reel_range_entry *reel_range_map_find_unbuilt(const struct reel_range_map *map,
							   uint64_t address);
void reel_range_map_free(struct reel_range_map *map);

#endif
