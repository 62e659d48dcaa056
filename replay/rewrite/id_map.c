/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>

#include "replay/rewrite/id_map.h"

struct entry {
	struct reel_id_entry by_id;
	uint64_t number;
};

void reel_id_map_free(struct reel_id_map *map)
{
	reel_id_table_free_all(&map->table);
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

/* ---- contents ------------------------------------------------------------------------------- */

struct content {
	struct reel_id_entry by_hash; /* half of it */
	uint64_t other_half;
	uint64_t id;
};

_Static_assert(sizeof(((struct reel_contents *)0)->key) == crypto_shorthash_KEYBYTES, "");

void reel_contents_init(struct reel_contents *ret)
{
	*ret = (struct reel_contents){ 0 };
	crypto_shorthash_keygen(ret->key);
}

void reel_contents_free(struct reel_contents *contents)
{
	reel_id_table_free_all(&contents->table);
}

struct reel_error *reel_contents_id(struct reel_contents *contents, const void *bytes, size_t size,
				    uint64_t id, uint64_t *ret)
{
	uint64_t hash[2];
	struct content *content;

	crypto_shorthash_siphashx24((uint8_t *)hash, bytes, size, contents->key);
	content = (struct content *)reel_id_table_find(&contents->table, hash[0]);
	*ret = content && content->other_half == hash[1] ? content->id : id;
	if (content)
		return NULL;
	content = reel_id_table_add(&contents->table, hash[0], sizeof(*content));
	if (!content)
		return reel_error_no_memory();
	content->other_half = hash[1];
	content->id = id;
	return NULL;
}

uint64_t reel_contents_hash(const struct reel_contents *contents, const void *bytes, size_t size)
{
	uint64_t hash;

	crypto_shorthash((uint8_t *)&hash, bytes, size, contents->key);
	return hash;
}
