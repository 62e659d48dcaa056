/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/id_table.h"
#include "record/embedding/hit_set.h"

/* Uses a secret multiplier (base/id_table.h): a program that controls its stack could otherwise
 * choose offsets that collide. */
static size_t slot_of(const struct reel_hit_set *set, uint64_t key)
{
	size_t at = (size_t)(key * set->multiplier >> 32) & (set->capacity - 1);

	while (set->slots[at] && set->slots[at] != key)
		at = (at + 1) & (set->capacity - 1);
	return at;
}

static bool make_room(struct reel_hit_set *set)
{
	struct reel_hit_set grown = { .n = set->n, .multiplier = set->multiplier };

	if (set->capacity > 2 * set->n)
		return true;
	if (!grown.multiplier)
		grown.multiplier = reel_hash_multiplier(set);
	grown.capacity = set->capacity ? 2 * set->capacity : 64;
	grown.slots = calloc(grown.capacity, sizeof(*grown.slots) + sizeof(*grown.is_recent));
	if (!grown.slots)
		return false;
	grown.is_recent = (bool *)(grown.slots + grown.capacity);
	for (size_t i = 0; i < set->capacity; i++) {
		size_t to;

		if (!set->slots[i])
			continue;
		to = slot_of(&grown, set->slots[i]);
		grown.slots[to] = set->slots[i];
		grown.is_recent[to] = set->is_recent[i];
	}
	free(set->slots);
	*set = grown;
	return true;
}

enum reel_hit reel_hit_set_add(struct reel_hit_set *set, uint64_t hit)
{
	size_t at;

	if (!make_room(set))
		return REEL_HIT_NO_MEMORY;
	at = slot_of(set, hit + 1);
	if (set->slots[at])
		return set->is_recent[at] ? REEL_HIT_RECENT : REEL_HIT_KNOWN;
	set->slots[at] = hit + 1;
	set->is_recent[at] = true;
	set->n++;
	return REEL_HIT_NEW;
}

void reel_hit_set_settle(struct reel_hit_set *set)
{
	if (set->capacity)
		memset(set->is_recent, 0, set->capacity);
}

void reel_hit_set_free(struct reel_hit_set *set)
{
	free(set->slots);
	*set = (struct reel_hit_set){ 0 };
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void collect(const struct reel_hit_set *set, uint64_t *all, size_t *n)
{
	for (size_t i = 0; i < set->capacity; i++) {
		if (set->slots[i])
			all[(*n)++] = set->slots[i] - 1;
	}
}

uint64_t *reel_hit_set_sorted(const struct reel_hit_set *set, const struct reel_hit_set *other,
			      size_t *n_ret)
{
	uint64_t *all = calloc(set->n + other->n + 1, sizeof(*all));
	size_t n = 0;

	*n_ret = 0;
	if (!all)
		return NULL;
	collect(set, all, &n);
	collect(other, all, &n);
	qsort(all, n, sizeof(*all), compare);
	for (size_t i = 0; i < n; i++) {
		if (!*n_ret || all[i] != all[*n_ret - 1])
			all[(*n_ret)++] = all[i];
	}
	return all;
}
