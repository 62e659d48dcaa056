/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FIRST_CAPACITY 2

bool reel_array_fit(void *array, size_t n, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity : FIRST_CAPACITY;
	void *items;

	if (n <= *capacity)
		return true;
	while (wanted < n)
		wanted = wanted > SIZE_MAX / 2 ? SIZE_MAX : wanted * 2;
	/* Every supported platform represents pointers alike, but a compiler cannot assume this. */
	memcpy(&items, array, sizeof(items));
	items = reallocarray(items, wanted, size);
	if (!items)
		return false;
	memcpy(array, &items, sizeof(items));
	*capacity = wanted;
	return true;
}

/* By each byte in which keys differ, the lowest first. */
bool reel_sort_keys(struct reel_sort_key *keys, size_t n)
{
	struct reel_sort_key *room = calloc(n + 1, sizeof(*room)), *from = keys, *to = room;
	uint64_t differing = 0;

	if (!room)
		return false;
	for (size_t i = 0; i < n; i++)
		differing |= keys[i].key ^ keys[0].key;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct reel_sort_key *sorted = to;
		size_t places[256] = { 0 }, place = 0;

		if (!(differing >> shift & 0xff))
			continue;
		for (size_t i = 0; i < n; i++)
			places[from[i].key >> shift & 0xff]++;
		for (size_t i = 0; i < 256; i++) {
			size_t count = places[i];

			places[i] = place;
			place += count;
		}
		for (size_t i = 0; i < n; i++)
			to[places[from[i].key >> shift & 0xff]++] = from[i];
		to = from;
		from = sorted;
	}
	if (from != keys)
		memcpy(keys, from, n * sizeof(*keys));
	free(room);
	return true;
}
