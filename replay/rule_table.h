/* SPDX-License-Identifier: Apache-2.0 */
/* From an address to the number of its rule: a table that grows while others read it. Internal to
 * rules.c. */
#ifndef REPLAY_RULE_TABLE_H
#define REPLAY_RULE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULE_NUMBER_BITS   24
#define RULE_ADDRESS_LIMIT ((uint64_t)1 << (64 - RULE_NUMBER_BITS))

struct rule_directory;
struct rule_bucket;

struct rule_table {
	_Atomic(struct rule_directory *) directory;
	/* The writer's. */
	struct rule_slab *slabs;
	size_t n;
	uint64_t bytes;
};

bool reel_rule_table_init(struct rule_table *table);
void reel_rule_table_free(struct rule_table *table);

/*
 * The number, 0 if the address is not there; or if it is being moved: with the writers' lock held,
 * the answer is certain.  `address` is below RULE_ADDRESS_LIMIT.
 */
uint32_t reel_rule_table_find(const struct rule_table *table, uint64_t address);

/*
 * For writers, one at a time; the address is not there yet.  What the number refers to must have
 * been written before.  Where memory is short, or too many addresses fall together, another address
 * may be forgotten, or this one not be kept.
 */
void reel_rule_table_add(struct rule_table *table, uint64_t address, uint32_t number);

#endif
