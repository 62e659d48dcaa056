/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 4-way set-associative cache, by blocks of 1 KiB of code.  It answers a third of g++'s look-ups
 * of new addresses, and more than half of those of smaller programs; without any limit it would
 * answer half of g++'s.
 */
#include <stdlib.h>
#include <string.h>

#include "cfi/row_ranges.h"
#include "cfi/row_table.h"

#define BLOCK_BITS 10
#define BLOCK_MASK ((1u << BLOCK_BITS) - 1)
#define WAYS	   4

#define SETS_MIN 16
#define SETS_MAX 1024

/* Blocks' numbers are below 2^32. */
_Static_assert(ROW_ADDRESS_LIMIT >> BLOCK_BITS <= UINT32_MAX, "blocks");

struct row_range_set {
	uint32_t blocks[WAYS];
	uint32_t numbers[WAYS]; /* 0: none */
	/* The range's part in the block, both ends inclusive. */
	uint16_t first[WAYS], last[WAYS];
};

void reel_row_ranges_free(struct row_ranges *ranges)
{
	free(ranges->sets);
}

size_t reel_row_ranges_bytes(const struct row_ranges *ranges)
{
	return ranges->n_sets * sizeof(*ranges->sets);
}

uint32_t reel_row_ranges_find(const struct row_ranges *ranges, uint64_t address)
{
	uint32_t block = (uint32_t)(address >> BLOCK_BITS), at = address & BLOCK_MASK;
	const struct row_range_set *set;

	if (!ranges->n_sets)
		return 0;
	set = &ranges->sets[block & (ranges->n_sets - 1)];
	for (size_t i = 0; i < WAYS; i++) {
		if (set->blocks[i] == block && at >= set->first[i] && at <= set->last[i])
			return set->numbers[i];
	}
	return 0;
}

/* Inserts before the others and drops the last one. */
static void put(struct row_ranges *ranges, uint32_t block, uint16_t first, uint16_t last,
		uint32_t number)
{
	struct row_range_set *set = &ranges->sets[block & (ranges->n_sets - 1)];

	for (size_t i = WAYS - 1; i; i--) {
		set->blocks[i] = set->blocks[i - 1];
		set->numbers[i] = set->numbers[i - 1];
		set->first[i] = set->first[i - 1];
		set->last[i] = set->last[i - 1];
	}
	set->blocks[0] = block;
	set->numbers[0] = number;
	set->first[0] = first;
	set->last[0] = last;
}

/* Doubles the size up to the limit. */
static void grow(struct row_ranges *ranges)
{
	struct row_ranges larger = { .n_sets = ranges->n_sets ? 2 * ranges->n_sets : SETS_MIN };

	if (ranges->n_sets == SETS_MAX || ranges->n_added < WAYS * ranges->n_sets)
		return;
	larger.sets = calloc(larger.n_sets, sizeof(*larger.sets));
	if (!larger.sets)
		return;
	for (size_t i = 0; i < ranges->n_sets; i++) {
		const struct row_range_set *set = &ranges->sets[i];

		for (size_t j = WAYS; j-- > 0;) {
			if (set->numbers[j])
				put(&larger, set->blocks[j], set->first[j], set->last[j],
				    set->numbers[j]);
		}
	}
	larger.n_added = ranges->n_added;
	free(ranges->sets);
	*ranges = larger;
}

void reel_row_ranges_add(struct row_ranges *ranges, uint64_t begin, uint64_t end, uint64_t address,
			 uint32_t number)
{
	uint64_t start = address & ~(uint64_t)BLOCK_MASK;

	grow(ranges);
	if (!ranges->n_sets || address < begin || address >= end)
		return;
	ranges->n_added++;
	put(ranges, (uint32_t)(address >> BLOCK_BITS), begin > start ? begin & BLOCK_MASK : 0,
	    end - start <= BLOCK_MASK ? (uint16_t)(end - start - 1) : BLOCK_MASK, number);
}
