/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's region as it was in its previous sample: what the next one's runs
 * are relative to.  Encoder and decoder keep the same, in the same way.
 */
#ifndef FORMAT_CODEC_REGION_BASE_H
#define FORMAT_CODEC_REGION_BASE_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed, it is an empty region at address 0. */
struct reel_region_base {
	uint64_t address;
	size_t size;
	/*
	 * The region lies at memory + start.  Stacks grow and shrink at their
	 * low end, so the room to grow is in front.
	 */
	uint8_t *memory;
	size_t capacity, start;
};

/*
 * Makes it the region of `size` bytes at `address`: the bytes that the former
 * one had at the same addresses, 0 elsewhere.  Returns the bytes, to be written
 * to; NULL without memory: the former region is kept then.  address + size is
 * at most 2^64.
 */
uint8_t *reel_region_base_move(struct reel_region_base *base, uint64_t address, size_t size);
void reel_region_base_free(struct reel_region_base *base);

#endif
