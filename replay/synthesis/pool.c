/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/synthesis/pool.h"

void reel_pool_free(struct reel_pool *pool)
{
	free(pool->items);
	free(pool->index);
	*pool = (struct reel_pool){ .item_size = pool->item_size };
}

static uint64_t hash(const struct reel_pool *pool, const uint8_t *item)
{
	uint64_t hash = 0, word;

	for (size_t i = 0; i < pool->item_size; i += sizeof(word)) {
		memcpy(&word, item + i, sizeof(word));
		/* Most words of most items. */
		if (!word)
			continue;
		hash = (hash ^ (word + i)) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 29;
	}
	return hash;
}

static bool grow_index(struct reel_pool *pool)
{
	size_t size = pool->index ? 2 * (pool->mask + 1) : 64, at;
	uint32_t *index = calloc(size, sizeof(*index));

	if (!index)
		return false;
	for (uint32_t i = 0; i < pool->n; i++) {
		at = hash(pool, reel_pool_at(pool, i)) & (size - 1);
		while (index[at])
			at = (at + 1) & (size - 1);
		index[at] = i + 1;
	}
	free(pool->index);
	pool->index = index;
	pool->mask = size - 1;
	return true;
}

uint32_t reel_pool_add(struct reel_pool *pool, const void *item)
{
	size_t at;

	if ((!pool->index || pool->n * 2 > pool->mask) && !grow_index(pool))
		return REEL_POOL_NONE;
	at = hash(pool, item) & pool->mask;
	for (; pool->index[at]; at = (at + 1) & pool->mask) {
		if (!memcmp(reel_pool_at(pool, pool->index[at] - 1), item, pool->item_size))
			return pool->index[at] - 1;
	}
	if (!reel_array_reserve(&pool->items, pool->n, &pool->capacity, pool->item_size))
		return REEL_POOL_NONE;
	memcpy(pool->items + pool->n * pool->item_size, item, pool->item_size);
	pool->index[at] = (uint32_t)++pool->n;
	return (uint32_t)pool->n - 1;
}
