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
