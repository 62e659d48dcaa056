/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "format/array.h"

#define FIRST_CAPACITY 2

bool reel_array_reserve(void *array, size_t count, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
	void **items = array;
	void *grown;

	if (count < *capacity)
		return true;
	grown = reallocarray(*items, wanted, size);
	if (!grown)
		return false;
	*items = grown;
	*capacity = wanted;
	return true;
}
