/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/hash_index.h"

#define FIRST_SLOTS 64

void reel_hash_index_free(struct reel_hash_index *index)
{
	free(index->slots);
	*index = (struct reel_hash_index){ 0 };
}

static void put(struct reel_hash_index *index, struct reel_hash_slot slot)
{
	size_t at = slot.hash;

	while (index->slots[at & (index->n_slots - 1)].number)
		at++;
	index->slots[at & (index->n_slots - 1)] = slot;
}

static bool grow(struct reel_hash_index *index)
{
	struct reel_hash_index larger = {
		.n = index->n,
		.n_slots = index->n_slots ? 2 * index->n_slots : FIRST_SLOTS,
	};

	larger.slots = calloc(larger.n_slots, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < index->n_slots; i++) {
		if (index->slots[i].number)
			put(&larger, index->slots[i]);
	}
	free(index->slots);
	*index = larger;
	return true;
}

bool reel_hash_index_add(struct reel_hash_index *index, uint64_t hash, uint32_t number)
{
	if (2 * (index->n + 1) > index->n_slots && !grow(index))
		return false;
	put(index, (struct reel_hash_slot){ reel_hash_spread(hash), number + 1 });
	index->n++;
	return true;
}
