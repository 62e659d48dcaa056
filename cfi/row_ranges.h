/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For which addresses a row that was compiled holds, so that another one of them needs neither to
 * be looked up in the CFI nor compiled.  Not of all: what is not found is compiled again, to the
 * same row. Internal to rows.c, whose writers call it, one at a time.
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

/* The row's number, 0 if the address is in no range that is known; it is below ROW_ADDRESS_LIMIT.
 */
uint32_t reel_row_ranges_find(const struct row_ranges *ranges, uint64_t address);

/* A row that holds for [begin, end), where `address` lies.  Without memory it is not kept. */
void reel_row_ranges_add(struct row_ranges *ranges, uint64_t begin, uint64_t end, uint64_t address,
			 uint32_t number);

/* What they take. */
size_t reel_row_ranges_bytes(const struct row_ranges *ranges);

#endif
