/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address ranges for which compiled rows are valid, so that further addresses need neither a
 * look-up in the CFI nor compiling.  Incomplete: a missing address is compiled again, to the same
 * row.  Internal to rows.c, whose writers call it one at a time.
 */
#ifndef CFI_ROW_RANGES_H
#define CFI_ROW_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct row_ranges {
	struct row_range_set *sets; /* a power of two */
	size_t n_sets, n_added;
};

void reel_row_ranges_free(struct row_ranges *ranges);

/* The row's number, 0 if the address is in no known range; `address` is below ROW_ADDRESS_LIMIT. */
uint32_t reel_row_ranges_find(const struct row_ranges *ranges, uint64_t address);

/* Adds a row for [begin, end), which holds `address`.  Without memory nothing is added. */
void reel_row_ranges_add(struct row_ranges *ranges, uint64_t begin, uint64_t end, uint64_t address,
			 uint32_t number);

/* The memory used. */
size_t reel_row_ranges_bytes(const struct row_ranges *ranges);

#endif
