/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FIRST_CAPACITY 2

bool reel_array_grow(void *array, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
	void *items;

	/* Every supported platform represents pointers alike, but a compiler cannot assume this. */
	memcpy(&items, array, sizeof(items));
	items = reallocarray(items, wanted, size);
	if (!items)
		return false;
	memcpy(array, &items, sizeof(items));
	*capacity = wanted;
	return true;
}
