/* SPDX-License-Identifier: Apache-2.0 */
/* Maps an address to the number of its row: a table that grows while others read it.  Internal to
 * rows.c. */
#ifndef CFI_ROW_TABLE_H
#define CFI_ROW_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROW_NUMBER_BITS	  24
#define ROW_ADDRESS_LIMIT ((uint64_t)1 << (64 - ROW_NUMBER_BITS))

struct row_directory;
struct row_bucket;

struct row_table {
	_Atomic(struct row_directory *) directory;
	/* The writer's. */
	struct row_slab *slabs;
	size_t n;
	uint64_t bytes;
};

bool reel_row_table_init(struct row_table *table);
void reel_row_table_free(struct row_table *table);

/*
 * The number, 0 if the address is missing or being moved: the answer is certain only with the
 * writers' lock held.  `address` is below ROW_ADDRESS_LIMIT.
 */
uint32_t reel_row_table_find(const struct row_table *table, uint64_t address);

/*
 * For writers, one at a time; the address must not be in the table.  The row must be written before
 * its number is added.  If memory is short, or too many addresses collide, a different address may
 * be forgotten, or this one not stored.
 */
void reel_row_table_add(struct row_table *table, uint64_t address, uint32_t number);

#endif
