/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Makes room for `n` items of `size` bytes in `*array`, a pointer to `*capacity` items, by doubling.
 * Without memory it returns false and leaves the array unchanged.  Several arrays share a capacity
 * if the last call sets it and the others get &(size_t){ capacity }.
 */
bool reel_array_fit(void *array, size_t n, size_t *capacity, size_t size);

/* Makes room for one more item when `count` are used. */
static inline bool reel_array_reserve(void *array, size_t count, size_t *capacity, size_t size)
{
	return count < *capacity || reel_array_fit(array, count + 1, capacity, size);
}

/* The same as expressions whose value is NULL or NO_MEMORY, with the array and its numbers
 * themselves: room for `n` items, and an item to append. */
#define REEL_FIT(array, n, capacity)                                                               \
	((n) <= (capacity) || reel_array_fit(&(array), (n), &(capacity), sizeof(*(array)))         \
		 ? NULL                                                                            \
		 : reel_error_no_memory())
#define REEL_APPEND(array, count, capacity, ...)                                                   \
	(reel_array_reserve(&(array), (count), &(capacity), sizeof(*(array)))                      \
		 ? ((array)[(count)++] = __VA_ARGS__, (struct reel_error *)NULL)                   \
		 : reel_error_no_memory())

/* A number to sort by, and the index of its item. */
struct reel_sort_key {
	uint64_t key;
	size_t item;
};

/* Sorts by `key`, and leaves equal ones in their order; false without memory.  Faster than qsort. */
bool reel_sort_keys(struct reel_sort_key *keys, size_t n);

/*
 * The number of items, of `n` in order, for which `is_before` is true: an expression with the
 * item's index `i`, true for the first items and false for all others.
 */
#define REEL_PARTITION_POINT(n, i, is_before)                                                      \
	({                                                                                         \
		size_t low_ = 0, high_ = (n);                                                      \
                                                                                                   \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
                                                                                                   \
			if (is_before)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
