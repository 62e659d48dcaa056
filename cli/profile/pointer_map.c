/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "cli/profile/pointer_map.h"
#include "cli/print/text.h"

#define FIRST_SLOTS 256

void pointer_map_free(struct pointer_map *map)
{
	free(map->slots);
	*map = (struct pointer_map){ 0 };
}

static struct pointer_slot *slot_of(const struct pointer_map *map, const void *key)
{
	uint64_t mixed = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15;
	size_t i = (size_t)(mixed >> 32) & (map->n_slots - 1);

	while (map->slots[i].key && map->slots[i].key != key)
		i = (i + 1) & (map->n_slots - 1);
	return &map->slots[i];
}

void *pointer_map_get(const struct pointer_map *map, const void *key)
{
	return map->n_slots ? slot_of(map, key)->value : NULL;
}

static void grow_slots(struct pointer_map *map)
{
	struct pointer_map old = *map;

	map->n_slots = old.n_slots ? old.n_slots * 2 : FIRST_SLOTS;
	map->slots = memory_get(map->n_slots * sizeof(*map->slots));
	for (size_t i = 0; i < old.n_slots; i++) {
		if (old.slots[i].key)
			*slot_of(map, old.slots[i].key) = old.slots[i];
	}
	free(old.slots);
}

void pointer_map_put(struct pointer_map *map, const void *key, void *value)
{
	if (map->count * 2 >= map->n_slots)
		grow_slots(map);
	map->count++;
	*slot_of(map, key) = (struct pointer_slot){ key, value };
}
