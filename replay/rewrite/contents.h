/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same in several captures has one id: of contents only a keyed hash of 128 bits is
 * kept, which nobody can foresee. */
#ifndef REPLAY_REWRITE_CONTENTS_H
#define REPLAY_REWRITE_CONTENTS_H

#include "base/error.h"
#include "base/id_table.h"

struct reel_contents {
	struct reel_id_table table;
	uint8_t key[16];
};

/* `ret` is to be freed. */
void reel_contents_init(struct reel_contents *ret);
void reel_contents_free(struct reel_contents *contents);
/* The id that the content has; it gets `id` if it is new. */
struct reel_error *reel_contents_id(struct reel_contents *contents, const void *bytes, size_t size,
				    uint64_t id, uint64_t *ret) REEL_MUST_CHECK;
/* A hash with the same key. */
uint64_t reel_contents_hash(const struct reel_contents *contents, const void *bytes, size_t size);

#endif
