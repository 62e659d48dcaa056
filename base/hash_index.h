/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds items by a hash of their keys: open addressing, at most half full.  It holds the items'
 * numbers; where the items are, and when two are the same, only their owner knows.  For ids that a
 * file chooses, to make long searches, use id_table.h.
 */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_hash_slot {
	uint32_t hash, number; /* number: the item's, plus 1; 0: free */
};

/* All zero is an empty index. */
struct reel_hash_index {
	struct reel_hash_slot *slots;
	size_t n, n_slots; /* n_slots: a power of two */
};

#define REEL_HASH_NONE UINT32_MAX

void reel_hash_index_free(struct reel_hash_index *index);

/* Adds an item that is not in the index; false if memory runs out.  `number` is not NONE. */
bool reel_hash_index_add(struct reel_hash_index *index, uint64_t hash, uint32_t number);

/* Spreads hashes that differ in any bits, such as addresses. */
static inline uint32_t reel_hash_spread(uint64_t hash)
{
	return (uint32_t)(hash * 0x9e3779b97f4a7c15 >> 32);
}

/*
 * The number of the item whose hash is `key` and for which `is_same`, an expression with the item's
 * number `i`, is true; NONE if there is none.
 */
#define REEL_HASH_FIND(index, key, i, is_same)                                                     \
	({                                                                                         \
		const struct reel_hash_index *index_ = (index);                                    \
		uint32_t hash_ = reel_hash_spread(key), found_ = REEL_HASH_NONE;                   \
                                                                                                   \
		for (size_t at_ = hash_; index_->n; at_++) {                                       \
			const struct reel_hash_slot *slot_ =                                       \
				&index_->slots[at_ & (index_->n_slots - 1)];                       \
			uint32_t i = slot_->number - 1;                                            \
                                                                                                   \
			if (!slot_->number || (slot_->hash == hash_ && (is_same))) {               \
				found_ = i;                                                        \
				break;                                                             \
			}                                                                          \
		}                                                                                  \
		found_;                                                                            \
	})

#endif
