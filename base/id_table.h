/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table by 64-bit ids that a file chooses.  Hashing is by a random odd
 * multiplier of each table's own (Dietzfelbinger's multiply-shift, which is
 * universal), so no choice of ids makes long chains.
 */
#ifndef BASE_ID_TABLE_H
#define BASE_ID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of whatever is in a table. */
struct reel_id_entry {
	struct reel_id_entry *next;
	uint64_t id;
};

struct reel_id_table {
	struct reel_id_entry **buckets;
	size_t count;
	unsigned int bits; /* log2 of the number of buckets */
	uint64_t multiplier;
};

/* An odd number that nobody can foresee, for such hashing; `owner` is who takes it. */
uint64_t reel_hash_multiplier(const void *owner);

/* All zero is an empty table. */
void reel_id_table_free(struct reel_id_table *table);

struct reel_id_entry *reel_id_table_find(const struct reel_id_table *table, uint64_t id);
/* `entry->id` must not be in the table yet; false if there is no memory. */
bool reel_id_table_insert(struct reel_id_table *table, struct reel_id_entry *entry);
/* The entry taken out, NULL if there is none. */
struct reel_id_entry *reel_id_table_remove(struct reel_id_table *table, uint64_t id);

/* Calls `visit` for every entry, in no order; it may free the entry. */
void reel_id_table_visit(const struct reel_id_table *table,
			 void (*visit)(void *context, struct reel_id_entry *entry), void *context);
/* A new array of all entries, ascending by id; NULL if there are none or no memory is left. */
struct reel_id_entry **reel_id_table_sorted(const struct reel_id_table *table);

#endif
