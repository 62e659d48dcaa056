/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "format/block_ring.h"

static bool is_old_sample(const struct reel_held_block *block, uint64_t time)
{
	return block->header.type == REEL_BLOCK_SAMPLES && block->header.time_last < time;
}

/* Drops blocks of rounds before `round`, and of samples before `time`. */
static void drop(struct reel_block_ring *ring, uint32_t round, uint64_t time)
{
	struct reel_held_block **at = &ring->first, *block;

	while ((block = *at)) {
		if (block->round >= round && !is_old_sample(block, time)) {
			at = &block->next;
			continue;
		}
		*at = block->next;
		ring->bytes -= block->size;
		free(block);
	}
}

/* The end of the oldest block of samples but `newest`; 0: none. */
static uint64_t oldest_end(const struct reel_block_ring *ring, const struct reel_held_block *newest)
{
	for (const struct reel_held_block *at = ring->first; at != newest; at = at->next) {
		if (at->header.type == REEL_BLOCK_SAMPLES)
			return at->header.time_last;
	}
	return 0;
}

void reel_block_ring_add(struct reel_block_ring *ring, struct reel_held_block *block)
{
	struct reel_held_block **last = &ring->first;
	uint64_t end = block->header.time_last;

	while (*last)
		last = &(*last)->next;
	block->next = NULL;
	*last = block;
	ring->bytes += block->size;
	drop(ring, block->round ? block->round - 1 : 0, end > ring->time ? end - ring->time : 0);
	while (ring->bytes > ring->size && (end = oldest_end(ring, block)))
		drop(ring, 0, end + 1);
	if (ring->bytes > ring->size)
		drop(ring, block->round, 0);
}

void reel_block_ring_free(struct reel_block_ring *ring)
{
	drop(ring, UINT32_MAX, 0);
}
