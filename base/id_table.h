/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table keyed by 64-bit ids that a file chooses.  Each table hashes with its own random odd
 * multiplier (Dietzfelbinger's multiply-shift, which is universal), so no choice of ids makes long
 * chains.
 */
#ifndef BASE_ID_TABLE_H
#define BASE_ID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of every item in a table. */
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

/* An unpredictable odd number for such hashing; `owner` is the caller's object. */
uint64_t reel_hash_multiplier(const void *owner);

/* All zero is an empty table, as these leave it; the second also frees the entries. */
void reel_id_table_free(struct reel_id_table *table);
void reel_id_table_free_all(struct reel_id_table *table);

struct reel_id_entry *reel_id_table_find(const struct reel_id_table *table, uint64_t id);
/* `entry->id` must not be in the table; false if memory runs out. */
bool reel_id_table_insert(struct reel_id_table *table, struct reel_id_entry *entry);
/* A new entry of `size` bytes, which is zero but for the id; as above.  NULL if memory runs out. */
void *reel_id_table_add(struct reel_id_table *table, uint64_t id, size_t size);
/* The removed entry; NULL if there was none. */
struct reel_id_entry *reel_id_table_remove(struct reel_id_table *table, uint64_t id);

/* Calls `visit` for every entry, in no particular order; it may free the entry. */
void reel_id_table_visit(const struct reel_id_table *table,
			 void (*visit)(void *context, struct reel_id_entry *entry), void *context);
/* A new array of all entries, ascending by id; NULL if the table is empty or memory runs out. */
struct reel_id_entry **reel_id_table_sorted(const struct reel_id_table *table);

#endif
