/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/id_set.h"
#include "base/id_table.h"

#define FIRST_BITS 6

void reel_id_set_free(struct reel_id_set *set)
{
	free(set->slots);
	*set = (struct reel_id_set){ 0 };
}

/* The slot with the id, or the free slot where it belongs. */
static uint64_t *slot_of(const struct reel_id_set *set, uint64_t id)
{
	size_t mask = ((size_t)1 << set->bits) - 1;
	size_t i = (size_t)(id * set->multiplier >> (64 - set->bits));

	while (set->slots[i] && set->slots[i] != id)
		i = (i + 1) & mask;
	return &set->slots[i];
}

bool reel_id_set_has(const struct reel_id_set *set, uint64_t id)
{
	return id && set->slots && *slot_of(set, id) == id;
}

static bool grow(struct reel_id_set *set)
{
	struct reel_id_set larger = {
		.bits = set->slots ? set->bits + 1 : FIRST_BITS,
		.count = set->count,
		.multiplier = set->slots ? set->multiplier : reel_hash_multiplier(set),
	};

	larger.slots = calloc((size_t)1 << larger.bits, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; set->slots && i < (size_t)1 << set->bits; i++)
		if (set->slots[i])
			*slot_of(&larger, set->slots[i]) = set->slots[i];
	free(set->slots);
	*set = larger;
	return true;
}

bool reel_id_set_add(struct reel_id_set *set, uint64_t id)
{
	uint64_t *slot;

	if (!id || reel_id_set_has(set, id))
		return true;
	/* At most half of the slots are used, so that searches stay short. */
	if ((!set->slots || 2 * (set->count + 1) > (size_t)1 << set->bits) && !grow(set))
		return false;
	slot = slot_of(set, id);
	*slot = id;
	set->count++;
	return true;
}
