/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's region in its previous sample: the next sample's runs are relative to it.  Encoder and
 * decoder keep identical copies.
 */
#ifndef FORMAT_CODEC_REGION_BASE_H
#define FORMAT_CODEC_REGION_BASE_H

#include <stddef.h>
#include <stdint.h>

/* All zero is an empty region at address 0. */
struct reel_region_base {
	uint64_t address;
	size_t size;
	/*
	 * The region is at memory + start.  Stacks grow and shrink at their low end, so the room to
	 * grow precedes it.
	 */
	uint8_t *memory;
	size_t capacity, start;
};

/*
 * Makes it the region of `size` bytes at `address`: keeps the previous bytes at the same addresses,
 * 0 elsewhere.  Returns the bytes for writing; NULL without memory: the previous region stays.
 * address + size is at most 2^64.
 */
uint8_t *reel_region_base_move(struct reel_region_base *base, uint64_t address, size_t size);
void reel_region_base_free(struct reel_region_base *base);

#endif
