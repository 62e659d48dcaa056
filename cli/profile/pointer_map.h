/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from pointers to pointers; an empty one is all zero. */
#ifndef CLI_PROFILE_POINTER_MAP_H
#define CLI_PROFILE_POINTER_MAP_H

#include <stddef.h>

struct pointer_slot {
	const void *key;
	void *value;
};

struct pointer_map {
	struct pointer_slot *slots;
	size_t n_slots, count;
};

/* The caller keeps ownership of values. */
void pointer_map_free(struct pointer_map *map);
/* NULL: none. */
void *pointer_map_get(const struct pointer_map *map, const void *key);
/* `key` must not be NULL or already in the map. */
void pointer_map_put(struct pointer_map *map, const void *key, void *value);

#endif
