/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "base/large_memory.h"
#include "format/codec/region_base.h"

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
