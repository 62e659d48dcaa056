/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/memory.h"
#include "format/record.h"
#include "format/codec/thread_table.h"

/* ---- regions ----------------------------------------------------------------------------- */

/* The overlap of two regions: byte offsets from the start of each. */
struct overlap {
	size_t from, to;
	size_t size;
};

static struct overlap overlap_of(const struct reel_region_base *from, uint64_t address, size_t size)
{
	struct overlap overlap = { 0 };

	if (address >= from->address) {
		uint64_t gap = address - from->address;

		if (gap >= from->size)
			return overlap;
		overlap.from = gap;
	} else {
		uint64_t gap = from->address - address;

		if (gap >= size)
			return overlap;
		overlap.to = gap;
	}
	overlap.size = from->size - overlap.from;
	if (overlap.size > size - overlap.to)
		overlap.size = size - overlap.to;
	return overlap;
}

void reel_region_base_free(struct reel_region_base *base)
{
	reel_large_memory_free(base->memory, base->capacity);
	*base = (struct reel_region_base){ 0 };
}

/* Zeroes the bytes of the region at memory + start that are not in the overlap. */
static void zero_exposed(struct reel_region_base *base, size_t start, size_t size,
			 const struct overlap *overlap)
{
	size_t behind = overlap->to + overlap->size;

	memset(base->memory + start, 0, overlap->to);
	memset(base->memory + start + behind, 0, size - behind);
}

/* Moves to new memory, with room to grow if the region has grown before. */
static bool move_out(struct reel_region_base *base, size_t size, const struct overlap *overlap)
{
	size_t capacity = (size + (base->memory ? size / 2 : size / 8) + 63) / 64 * 64;
	uint8_t *memory = reel_large_memory_allocate(capacity);

	if (!memory)
		return false;
	if (overlap->size)
		memcpy(memory + capacity - size + overlap->to,
		       base->memory + base->start + overlap->from, overlap->size);
	reel_large_memory_free(base->memory, base->capacity);
	base->memory = memory;
	base->capacity = capacity;
	base->start = capacity - size;
	return true;
}

uint8_t *reel_region_base_move(struct reel_region_base *base, uint64_t address, size_t size)
{
	static uint8_t none;
	struct overlap overlap = overlap_of(base, address, size);
	size_t exposed = size - overlap.size;
	/* The address's position in the memory: modulo 2^64, so far outside if it is not in it. */
	uint64_t start = base->start + (address - base->address);
	bool stays;

	if (!size) {
		reel_region_base_free(base);
		base->address = address;
		return &none;
	}
	if (!overlap.size)
		start = base->capacity >= size ? base->capacity - size : UINT64_MAX;
	/* Zeroing many bytes costs more than fresh memory and copying a few. */
	stays = start <= base->capacity && size <= base->capacity - start &&
		(exposed <= overlap.size || exposed < REEL_LARGE_MEMORY);
	if (stays) {
		zero_exposed(base, start, size, &overlap);
		base->start = start;
	} else if (!move_out(base, size, &overlap)) {
		return NULL;
	}
	base->address = address;
	base->size = size;
	return base->memory + base->start;
}

/* ---- threads ----------------------------------------------------------------------------- */

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
