/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers by ids, which a file chooses. */
#ifndef REPLAY_REWRITE_ID_MAP_H
#define REPLAY_REWRITE_ID_MAP_H

#include "base/error.h"
#include "base/id_table.h"

/* All zero: empty. */
struct reel_id_map {
	struct reel_id_table table;
};

void reel_id_map_free(struct reel_id_map *map);
/* The id's number, writable; 0 if new. */
struct reel_error *reel_id_map_get(struct reel_id_map *map, uint64_t id,
				   uint64_t **ret) REEL_MUST_CHECK;
/* NULL if it has none. */
const uint64_t *reel_id_map_find(const struct reel_id_map *map, uint64_t id);

/* One id for equal contents in several captures.  Contents are kept as an unpredictable keyed
 * 128-bit hash. */
struct reel_contents {
	struct reel_id_table table;
	uint8_t key[16];
};

/* Free `ret` after use. */
void reel_contents_init(struct reel_contents *ret);
void reel_contents_free(struct reel_contents *contents);
/* Returns the content's id; new content gets `id`. */
struct reel_error *reel_contents_id(struct reel_contents *contents, const void *bytes, size_t size,
				    uint64_t id, uint64_t *ret) REEL_MUST_CHECK;
/* A hash with the same key. */
uint64_t reel_contents_hash(const struct reel_contents *contents, const void *bytes, size_t size);

#endif
