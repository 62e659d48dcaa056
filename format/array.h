/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMAT_ARRAY_H
#define FORMAT_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Room for one more item in `*array`, a pointer to `*capacity` items of `size` bytes of which
 * `count` are used: doubles it where it is full.  False if there is no memory; then it is as it
 * was.
 */
bool reel_array_reserve(void *array, size_t count, size_t *capacity, size_t size);

#endif
