/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of 64-bit ids that a file chooses, at 16 to 32 bytes each: made for millions.  Hashed as in
 * id_table.h. 0 is not an id and never a member.
 */
#ifndef BASE_ID_SET_H
#define BASE_ID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty set. */
struct reel_id_set {
	uint64_t *slots; /* 0: free */
	size_t count;
	unsigned int bits; /* log2 of the number of slots */
	uint64_t multiplier;
};

void reel_id_set_free(struct reel_id_set *set);
bool reel_id_set_has(const struct reel_id_set *set, uint64_t id);
/* False if memory runs out. */
bool reel_id_set_add(struct reel_id_set *set, uint64_t id);

#endif
