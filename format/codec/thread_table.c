/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "format/record.h"
#include "format/codec/thread_table.h"

void reel_thread_table_init(struct reel_thread_table *table)
{
	*table = (struct reel_thread_table){ 0 };
	/* Before there is randomness, the address provides some. */
	if (getrandom(&table->seed, sizeof(table->seed), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(table->seed))
		table->seed = (uintptr_t)table;
}

static void base_free(struct reel_thread_base *base)
{
	for (size_t i = 0; i < base->n_regions; i++)
		reel_region_base_free(&base->regions[i]);
	for (size_t i = 0; i < REEL_CHAIN_KINDS; i++)
		reel_chain_base_free(&base->chains[i]);
	free(base->regions);
	free(base->values);
}

void reel_thread_table_reset(struct reel_thread_table *table)
{
	for (size_t i = 0; i < table->n_bases; i++)
		base_free(&table->bases[i]);
	table->n_bases = 0;
	if (table->slots)
		memset(table->slots, 0, table->n_slots * sizeof(*table->slots));
}

void reel_thread_table_free(struct reel_thread_table *table)
{
	reel_thread_table_reset(table);
	free(table->bases);
	free(table->slots);
}

/* The thread's slot, or the free one where it belongs.  There is always a free one. */
static uint32_t *find_slot(const struct reel_thread_table *table, uint64_t thread)
{
	uint64_t hash = (thread ^ table->seed) * 0x9E3779B97F4A7C15u;
	size_t i;

	hash = (hash ^ hash >> 32 ^ table->seed) * 0xD6E8FEB86659FD93u;
	for (i = hash >> 32;; i++) {
		uint32_t *slot = &table->slots[i & (table->n_slots - 1)];

		if (!*slot || table->bases[*slot - 1].thread == thread)
			return slot;
	}
}

/* Keeps at least half of the slots free. */
static struct reel_error *grow(struct reel_thread_table *table)
{
	size_t capacity = table->capacity ? table->capacity * 2 : 64;
	struct reel_thread_base *bases = realloc(table->bases, capacity * sizeof(*bases));
	uint32_t *slots;

	if (!bases)
		return reel_error_no_memory();
	table->bases = bases;
	slots = calloc(capacity * 2, sizeof(*slots));
	if (!slots)
		return reel_error_no_memory();
	free(table->slots);
	table->slots = slots;
	table->n_slots = capacity * 2;
	table->capacity = capacity;
	for (size_t i = 0; i < table->n_bases; i++)
		*find_slot(table, table->bases[i].thread) = (uint32_t)(i + 1);
	return NULL;
}

struct reel_error *reel_thread_table_get(struct reel_thread_table *table, uint64_t thread,
					 struct reel_thread_base **ret)
{
	uint32_t *slot = table->slots ? find_slot(table, thread) : NULL;

	if (slot && *slot) {
		*ret = &table->bases[*slot - 1];
		return NULL;
	}
	if (table->n_bases == REEL_THREADS_MAX)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "the block has samples of more than %d threads",
					 REEL_THREADS_MAX);
	if (table->n_bases == table->capacity) {
		TRY(grow(table));
		slot = find_slot(table, thread);
	}
	*ret = &table->bases[table->n_bases++];
	**ret = (struct reel_thread_base){ .thread = thread };
	*slot = (uint32_t)table->n_bases;
	return NULL;
}

struct reel_error *reel_thread_base_set_layout(struct reel_thread_base *base, uint32_t layout,
					       size_t n)
{
	if (base->layout == layout)
		return NULL;
	if (n > base->values_capacity) {
		uint64_t *values = realloc(base->values, n * sizeof(*values));

		if (!values)
			return reel_error_no_memory();
		base->values = values;
		base->values_capacity = n;
	}
	if (n)
		memset(base->values, 0, n * sizeof(*base->values));
	base->layout = layout;
	return NULL;
}

struct reel_error *reel_thread_base_set_regions(struct reel_thread_base *base, size_t n)
{
	struct reel_region_base *regions;

	if (base->n_regions == n)
		return NULL;
	while (base->n_regions > n)
		reel_region_base_free(&base->regions[--base->n_regions]);
	if (!n)
		return NULL;
	regions = realloc(base->regions, n * sizeof(*regions));
	if (!regions)
		return reel_error_no_memory();
	memset(regions + base->n_regions, 0, (n - base->n_regions) * sizeof(*regions));
	base->regions = regions;
	base->n_regions = (uint32_t)n;
	return NULL;
}
