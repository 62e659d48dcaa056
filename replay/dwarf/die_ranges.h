/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of a DIE's code: DW_AT_low_pc and DW_AT_high_pc, or DW_AT_ranges. */
#ifndef REPLAY_DWARF_DIE_RANGES_H
#define REPLAY_DWARF_DIE_RANGES_H

#include "replay/dwarf/dwarf_file.h"
#include "base/range_map.h"

/*
 * A collection of DIEs' ranges.  Ranges that begin outside the text are leftovers of removed
 * sections.
 */
struct reel_die_ranges {
	struct reel_range_map *map;
	uint64_t text_begin, text_end;
};

/* Adds the ranges of a DIE with `value` as value and priority; their number goes to *n_ret. */
struct reel_error *reel_die_ranges_add(const struct reel_die_ranges *to, struct reel_dwarf *dwarf,
				       const struct reel_unit *unit,
				       const struct reel_die_values *values, uint32_t value,
				       size_t *n_ret) REEL_MUST_CHECK;

/* The same for [begin, end). */
struct reel_error *reel_die_range_add(const struct reel_die_ranges *to, uint64_t begin,
				      uint64_t end, uint32_t value) REEL_MUST_CHECK;

#endif
