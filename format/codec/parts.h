/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the encoder and the decoder of samples. */
#ifndef FORMAT_CODEC_PARTS_H
#define FORMAT_CODEC_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/record.h"

/* A sample's `parts`: which data follows. */
enum reel_sample_parts {
	REEL_PART_REGISTERS = 1 << 0,
	REEL_PART_KERNEL_CHAIN = 1 << 1,
	REEL_PART_FRAME_CHAIN = 1 << 2,
	REEL_PART_KERNEL_FRAME = 1 << 3,
	REEL_PARTS_KNOWN = 15,
};

static inline bool reel_sample_knows(const struct reel_sample *sample, size_t i)
{
	return sample->known[i / 8] >> i % 8 & 1;
}

/* The n-th address of a chain, or 0: kernel frames' addresses are stored as differences to it. */
static inline uint64_t reel_chain_get(const uint64_t *chain, size_t n_chain, size_t n)
{
	return n < n_chain ? chain[n] : 0;
}

/* address + size <= 2^64, without the sum. */
static inline bool reel_region_fits(uint64_t address, uint64_t size)
{
	return !size || address <= UINT64_MAX - (size - 1);
}

static inline bool reel_bytes_are_zero(const uint8_t *bytes, size_t size)
{
	/* Each byte equals the previous one, and the first is 0. */
	return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

#endif
