/* SPDX-License-Identifier: Apache-2.0 */
/* A file's hits by samples (elf/image/hit_image.h), as a set. */
#ifndef RECORD_EMBEDDING_HIT_SET_H
#define RECORD_EMBEDDING_HIT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty set. */
struct reel_hit_set {
	uint64_t *slots; /* a hit + 1; 0: free */
	bool *is_recent; /* of each slot, behind these */
	size_t n, capacity;
	uint64_t multiplier; /* of the hash; 0: set is empty */
};

/* Result of adding a hit: the set had it already when it was last settled; it was added since then;
 * it is new. */
enum reel_hit { REEL_HIT_KNOWN, REEL_HIT_RECENT, REEL_HIT_NEW, REEL_HIT_NO_MEMORY };

/* `hit` must not be UINT64_MAX. */
enum reel_hit reel_hit_set_add(struct reel_hit_set *set, uint64_t hit);
/* From now on, no hit of the set is recent. */
void reel_hit_set_settle(struct reel_hit_set *set);
void reel_hit_set_free(struct reel_hit_set *set);
/* A new array of all hits of both, ascending, each once; NULL if out of memory. */
uint64_t *reel_hit_set_sorted(const struct reel_hit_set *set, const struct reel_hit_set *other,
			      size_t *n_ret);

#endif
