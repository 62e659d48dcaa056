/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/id_table.h"

#define FIRST_BITS 4

void reel_id_table_free(struct reel_id_table *table)
{
	free(table->buckets);
	*table = (struct reel_id_table){ 0 };
}

static size_t bucket_of(const struct reel_id_table *table, uint64_t id)
{
	return (size_t)(id * table->multiplier >> (64 - table->bits));
}

uint64_t reel_hash_multiplier(const void *owner)
{
	uint64_t value;

	/* Early in boot, or under seccomp, there may be no randomness; the fallback is an address
	 * and the time. */
	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value))
		value = ((uint64_t)(uintptr_t)owner ^ (uint64_t)time(NULL)) * 0x9e3779b97f4a7c15;
	return value | 1;
}

struct reel_id_entry *reel_id_table_find(const struct reel_id_table *table, uint64_t id)
{
	struct reel_id_entry *entry;

	if (!table->buckets)
		return NULL;
	for (entry = table->buckets[bucket_of(table, id)]; entry; entry = entry->next) {
		if (entry->id == id)
			return entry;
	}
	return NULL;
}

static void put(struct reel_id_table *table, struct reel_id_entry *entry)
{
	struct reel_id_entry **bucket = &table->buckets[bucket_of(table, entry->id)];

	entry->next = *bucket;
	*bucket = entry;
}

static bool grow(struct reel_id_table *table)
{
	struct reel_id_table old = *table;

	table->bits = old.buckets ? old.bits + 1 : FIRST_BITS;
	table->buckets = calloc((size_t)1 << table->bits, sizeof(*table->buckets));
	if (!table->buckets) {
		*table = old;
		return false;
	}
	if (!old.buckets) {
		table->multiplier = reel_hash_multiplier(table);
		return true;
	}
	for (size_t i = 0; i < (size_t)1 << old.bits; i++) {
		struct reel_id_entry *next;

		for (struct reel_id_entry *entry = old.buckets[i]; entry; entry = next) {
			next = entry->next;
			put(table, entry);
		}
	}
	free(old.buckets);
	return true;
}

bool reel_id_table_insert(struct reel_id_table *table, struct reel_id_entry *entry)
{
	if ((!table->buckets || table->count >= (size_t)1 << table->bits) && !grow(table))
		return false;
	put(table, entry);
	table->count++;
	return true;
}

void *reel_id_table_add(struct reel_id_table *table, uint64_t id, size_t size)
{
	struct reel_id_entry *entry = calloc(1, size);

	if (!entry)
		return NULL;
	entry->id = id;
	if (reel_id_table_insert(table, entry))
		return entry;
	free(entry);
	return NULL;
}

struct reel_id_entry *reel_id_table_remove(struct reel_id_table *table, uint64_t id)
{
	struct reel_id_entry **link;

	if (!table->buckets)
		return NULL;
	for (link = &table->buckets[bucket_of(table, id)]; *link; link = &(*link)->next) {
		struct reel_id_entry *entry = *link;

		if (entry->id != id)
			continue;
		*link = entry->next;
		table->count--;
		return entry;
	}
	return NULL;
}

void reel_id_table_visit(const struct reel_id_table *table,
			 void (*visit)(void *context, struct reel_id_entry *entry), void *context)
{
	for (size_t i = 0; table->buckets && i < (size_t)1 << table->bits; i++) {
		struct reel_id_entry *next;

		for (struct reel_id_entry *entry = table->buckets[i]; entry; entry = next) {
			next = entry->next;
			visit(context, entry);
		}
	}
}

static void free_entry(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(entry);
}

void reel_id_table_free_all(struct reel_id_table *table)
{
	reel_id_table_visit(table, free_entry, NULL);
	reel_id_table_free(table);
}

struct collected {
	struct reel_id_entry **entries;
	size_t count;
};

static void collect(void *context, struct reel_id_entry *entry)
{
	struct collected *collected = context;

	collected->entries[collected->count++] = entry;
}

static int compare_ids(const void *a, const void *b)
{
	const struct reel_id_entry *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

struct reel_id_entry **reel_id_table_sorted(const struct reel_id_table *table)
{
	struct collected collected = { 0 };

	if (!table->count)
		return NULL;
	collected.entries = malloc(table->count * sizeof(*collected.entries));
	if (!collected.entries)
		return NULL;
	reel_id_table_visit(table, collect, &collected);
	qsort(collected.entries, collected.count, sizeof(*collected.entries), compare_ids);
	return collected.entries;
}
