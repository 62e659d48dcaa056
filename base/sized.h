/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of stackreel.h that begin with their size: the caller's may be of an older or newer
 * version with fewer or more fields. */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <stddef.h>
#include <string.h>

/* Copies the caller's struct to ours (`size` bytes); `from` may be NULL.  Missing fields stay. */
static inline void reel_sized_take(void *to, size_t size, const void *from)
{
	size_t given;

	if (!from)
		return;
	memcpy(&given, from, sizeof(given));
	memcpy(to, from, given < size ? given : size);
}

/* Copies ours, of `size` bytes, to the caller's, which keeps its own size and may be NULL. */
static inline void reel_sized_give(void *to, size_t size, const void *from)
{
	size_t wanted;

	if (!to)
		return;
	memcpy(&wanted, to, sizeof(wanted));
	memcpy(to, from, wanted < size ? wanted : size);
	memcpy(to, &wanted, sizeof(wanted));
}

#endif
