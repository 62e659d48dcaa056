/* SPDX-License-Identifier: Apache-2.0 */
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

bool reel_memory_same_region(const struct reel_memory_view *memory, uint64_t a, uint64_t b)
{
	for (size_t i = 0; i < memory->n_regions; i++) {
		const struct reel_memory_region *region = &memory->regions[i];

		if (a - region->address < region->size && b - region->address < region->size)
			return true;
	}
	return false;
}
