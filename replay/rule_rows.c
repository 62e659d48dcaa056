/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of four ways, by blocks of 1 KB of code: of g++'s addresses it knows a third before they
 * are asked for, of smaller programs' more than half; without any limit it were a half of g++'s.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/rule_rows.h"
#include "replay/rule_table.h"

#define BLOCK_BITS 10
#define BLOCK_MASK ((1u << BLOCK_BITS) - 1)
#define WAYS	   4

#define SETS_MIN 16
#define SETS_MAX 1024

/* Blocks' numbers are below 2^32. */
_Static_assert(RULE_ADDRESS_LIMIT >> BLOCK_BITS <= UINT32_MAX, "blocks");

struct rule_row_set {
	uint32_t blocks[WAYS];
	uint32_t numbers[WAYS]; /* 0: none */
	/* What of the row lies in the block, both ends inclusive. */
	uint16_t first[WAYS], last[WAYS];
};

void reel_rule_rows_free(struct rule_rows *rows)
{
	free(rows->sets);
}

size_t reel_rule_rows_bytes(const struct rule_rows *rows)
{
	return rows->n_sets * sizeof(*rows->sets);
}

uint32_t reel_rule_rows_find(const struct rule_rows *rows, uint64_t address)
{
	uint32_t block = (uint32_t)(address >> BLOCK_BITS), at = address & BLOCK_MASK;
	const struct rule_row_set *set;

	if (!rows->n_sets)
		return 0;
	set = &rows->sets[block & (rows->n_sets - 1)];
	for (size_t i = 0; i < WAYS; i++) {
		if (set->blocks[i] == block && at >= set->first[i] && at <= set->last[i])
			return set->numbers[i];
	}
	return 0;
}

/* In front of the others, of which the last one goes. */
static void put(struct rule_rows *rows, uint32_t block, uint16_t first, uint16_t last,
		uint32_t number)
{
	struct rule_row_set *set = &rows->sets[block & (rows->n_sets - 1)];

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

/* Twice as large, unless it is large enough. */
static void grow(struct rule_rows *rows)
{
	struct rule_rows larger = { .n_sets = rows->n_sets ? 2 * rows->n_sets : SETS_MIN };

	if (rows->n_sets == SETS_MAX || rows->n_added < WAYS * rows->n_sets)
		return;
	larger.sets = calloc(larger.n_sets, sizeof(*larger.sets));
	if (!larger.sets)
		return;
	for (size_t i = 0; i < rows->n_sets; i++) {
		const struct rule_row_set *set = &rows->sets[i];

		for (size_t j = WAYS; j-- > 0;) {
			if (set->numbers[j])
				put(&larger, set->blocks[j], set->first[j], set->last[j],
				    set->numbers[j]);
		}
	}
	larger.n_added = rows->n_added;
	free(rows->sets);
	*rows = larger;
}

void reel_rule_rows_add(struct rule_rows *rows, uint64_t begin, uint64_t end, uint64_t address,
			uint32_t number)
{
	uint64_t start = address & ~(uint64_t)BLOCK_MASK;

	grow(rows);
	if (!rows->n_sets || address < begin || address >= end)
		return;
	rows->n_added++;
	put(rows, (uint32_t)(address >> BLOCK_BITS), begin > start ? begin & BLOCK_MASK : 0,
	    end - start <= BLOCK_MASK ? (uint16_t)(end - start - 1) : BLOCK_MASK, number);
}
