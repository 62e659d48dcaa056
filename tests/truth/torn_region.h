/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a sample's region; included only by torn_check.c. */
#ifndef TESTS_TRUTH_TORN_REGION_H
#define TESTS_TRUTH_TORN_REGION_H

#include <stdbool.h>
#include <string.h>

#include "include/commands.h"

struct region {
	uint64_t kind, address, size;
	const uint8_t *bytes;
	const struct reel_field *missing;
};

static bool holds(const struct region *region, uint64_t address, uint64_t size)
{
	return address >= region->address && address - region->address <= region->size &&
	       size <= region->size - (address - region->address);
}

static uint64_t word_at(const struct region *region, uint64_t address)
{
	uint64_t word;

	memcpy(&word, region->bytes + (address - region->address), sizeof(word));
	return word;
}

static bool is_missing(const struct region *region, uint64_t address)
{
	uint64_t offset = address - region->address;

	for (size_t i = 0; i < region->missing->n_items; i++) {
		const struct reel_field *range = region->missing->items[i].items;

		if (offset >= range[0].value && offset - range[0].value < range[1].value)
			return true;
	}
	return false;
}

#endif
