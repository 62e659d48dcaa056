/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "replay/rewrite/id_map.h"

struct entry {
	struct reel_id_entry by_id;
	uint64_t number;
};

static void free_entry(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(entry);
}

void reel_id_map_free(struct reel_id_map *map)
{
	reel_id_table_visit(&map->table, free_entry, NULL);
	reel_id_table_free(&map->table);
}

struct reel_error *reel_id_map_get(struct reel_id_map *map, uint64_t id, uint64_t **ret)
{
	struct entry *entry = (struct entry *)reel_id_table_find(&map->table, id);

	if (!entry) {
		entry = reel_id_table_add(&map->table, id, sizeof(*entry));
		if (!entry)
			return reel_error_no_memory();
	}
	*ret = &entry->number;
	return NULL;
}

const uint64_t *reel_id_map_find(const struct reel_id_map *map, uint64_t id)
{
	const struct entry *entry = (const struct entry *)reel_id_table_find(&map->table, id);

	return entry ? &entry->number : NULL;
}
