/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cfi/state.h"
#include "base/dwarf_cursor.h"

/* `missing` is ascending, and mostly empty. */
static bool is_missing(const struct reel_memory_region *region, uint64_t offset, unsigned size)
{
	for (size_t i = 0; i < region->n_missing; i++) {
		const struct reel_memory_range *range = &region->missing[i];

		if (range->offset >= offset + size)
			return false;
		/* A range that starts within the bytes, or holds the first: subtractions, so
		 * nothing overflows. */
		if (offset < range->offset || offset - range->offset < range->size)
			return true;
	}
	return false;
}

bool reel_memory_read(const struct reel_memory_view *memory, uint64_t address, unsigned size,
		      uint64_t *ret)
{
	for (size_t i = 0; i < memory->n_regions; i++) {
		const struct reel_memory_region *region = &memory->regions[i];
		uint64_t offset = address - region->address;

		if (offset >= region->size || size > region->size - offset)
			continue;
		if (region->n_missing && is_missing(region, offset, size))
			continue;
		if (memory->reads)
			memory->reads(memory->reads_context, i, offset, size);
		*ret = reel_load_target(region->bytes + offset, size, memory->big_endian);
		return true;
	}
	return false;
}

/* Bytes from `address` to the next start of a region. */
static uint64_t bytes_to_region(const struct reel_memory_view *memory, uint64_t address)
{
	uint64_t bytes = UINT64_MAX - address;

	for (size_t i = 0; i < memory->n_regions; i++) {
		uint64_t begin = memory->regions[i].address;

		if (begin > address && begin - address < bytes)
			bytes = begin - address;
	}
	return bytes;
}

/* The first words, up to `n`, that are at most 1. */
static size_t count_cleared(const uint8_t *bytes, unsigned size, size_t n, bool big_endian)
{
	uint8_t one[sizeof(uint64_t)] = { 0 };
	uint64_t mask, word;
	size_t i = 0;

	if (size != sizeof(word))
		return 0;
	one[big_endian ? size - 1 : 0] = 1;
	memcpy(&mask, one, sizeof(mask));
	for (; i < n; i++) {
		memcpy(&word, bytes + i * size, sizeof(word));
		if (word & ~mask)
			break;
	}
	return i;
}

size_t reel_memory_count_empty(const struct reel_memory_view *memory, uint64_t address,
			       unsigned size, size_t max)
{
	uint64_t left;

	if (memory->reads)
		return 0;
	left = bytes_to_region(memory, address);
	left = left / size + !!(left % size);
	max = left < max ? (size_t)left : max;
	for (size_t i = 0; i < memory->n_regions; i++) {
		const struct reel_memory_region *region = &memory->regions[i];
		uint64_t offset = address - region->address;

		if (offset >= region->size || size > region->size - offset)
			continue;
		if (region->n_missing)
			return 0;
		left = (region->size - offset) / size;
		return count_cleared(region->bytes + offset, size, left < max ? (size_t)left : max,
				     memory->big_endian);
	}
	return max;
}

bool reel_memory_same_region(const struct reel_memory_view *memory, uint64_t a, uint64_t b)
{
	for (size_t i = 0; i < memory->n_regions; i++) {
		const struct reel_memory_region *region = &memory->regions[i];

		if (a - region->address < region->size && b - region->address < region->size)
			return true;
	}
	return false;
}
