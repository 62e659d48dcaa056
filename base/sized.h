/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of stackreel.h that begin with their size: what is passed may be of an older or a newer
 * version, which knows fewer or more of the fields. */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <stddef.h>
#include <string.h>

/* From the caller's to ours, of `size` bytes; `from` may be NULL. What the caller's lacks stays. */
static inline void reel_sized_take(void *to, size_t size, const void *from)
{
	size_t given;

	if (!from)
		return;
	memcpy(&given, from, sizeof(given));
	memcpy(to, from, given < size ? given : size);
}

/* From ours, of `size` bytes, to the caller's, which keeps its own size; it may be NULL. */
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
