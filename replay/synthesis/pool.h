/* SPDX-License-Identifier: Apache-2.0 */
/* Equal items of one size, kept once. Internal to replay/synthesis/. */
#ifndef REPLAY_SYNTHESIS_POOL_H
#define REPLAY_SYNTHESIS_POOL_H

#include <stddef.h>
#include <stdint.h>

struct reel_pool {
	size_t item_size; /* bytes: a multiple of 8; all are compared */
	uint8_t *items;
	size_t n, capacity;
	uint32_t *index; /* item + 1 by hash; open-addressed */
	size_t mask;
};

#define REEL_POOL_NONE UINT32_MAX

void reel_pool_free(struct reel_pool *pool);
/* The number of the item with these bytes, from 0 without holes; NONE if memory is short. */
uint32_t reel_pool_add(struct reel_pool *pool, const void *item);
/* Valid until the next item is added. */
static inline const void *reel_pool_at(const struct reel_pool *pool, uint32_t number)
{
	return pool->items + number * pool->item_size;
}

#endif
