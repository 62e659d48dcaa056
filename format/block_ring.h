/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last blocks of a recording, compressed, in memory.  They belong to rounds: a round begins
 * with a head block and states everything anew that its samples need, so it can be read without
 * earlier rounds.  The ring holds the current round and the one before.
 */
#ifndef FORMAT_BLOCK_RING_H
#define FORMAT_BLOCK_RING_H

#include "format/block.h"

struct reel_held_block {
	struct reel_held_block *next;
	struct reel_block_header header;
	uint64_t samples;
	uint32_t round;
	bool is_head;
	size_t size;
	uint8_t frame[]; /* zstd's */
};

struct reel_block_ring {
	/* Drops samples that are older than the newest by more than `time` ns, and the oldest ones
	 * if the blocks exceed `size` bytes; the rest of a round is dropped with the round. */
	uint64_t time, size;
	struct reel_held_block *first;
	uint64_t bytes;
};

/* Takes over the block, from malloc. */
void reel_block_ring_add(struct reel_block_ring *ring, struct reel_held_block *block);
void reel_block_ring_free(struct reel_block_ring *ring);

#endif
