/* SPDX-License-Identifier: Apache-2.0 */
/* The hash index: items are found while it grows, whatever their hashes. */
#include "base/hash_index.h"
#include "tests/support/test.h"

#define N 5000

static uint32_t find(const struct reel_hash_index *index, const uint64_t *keys, uint64_t hash,
		     uint64_t key)
{
	return REEL_HASH_FIND(index, hash, i, keys[i] == key);
}

/* `divisor`: that many successive keys have the same hash. */
static void check(uint64_t divisor)
{
	struct reel_hash_index index = { 0 };
	static uint64_t keys[N];

	assert_int_equal(find(&index, keys, 0, 0), REEL_HASH_NONE);
	for (uint32_t n = 0; n < N; n++) {
		uint64_t key = (uint64_t)n << 4;

		assert_int_equal(find(&index, keys, key / divisor, key), REEL_HASH_NONE);
		keys[n] = key;
		assert_true(reel_hash_index_add(&index, key / divisor, n));
		assert_int_equal(find(&index, keys, key / divisor, key), n);
		assert_in_range(2 * index.n, 0, index.n_slots);
	}
	assert_int_equal(index.n, N);
	for (uint32_t n = 0; n < N; n++)
		assert_int_equal(find(&index, keys, keys[n] / divisor, keys[n]), n);
	assert_int_equal(find(&index, keys, 1, 1), REEL_HASH_NONE);
	reel_hash_index_free(&index);
	assert_int_equal(index.n_slots, 0);
}

TEST(finds_all)
{
	check(1);
}

TEST(finds_equal_hashes)
{
	check(1 << 8);
	check(UINT64_MAX);
}

/* Only the items of a hash are compared. */
TEST(compares_few)
{
	struct reel_hash_index index = { 0 };
	unsigned compared = 0;

	for (uint32_t n = 0; n < N; n++)
		assert_true(reel_hash_index_add(&index, n, n));
	for (uint64_t n = 0; n < N; n++)
		assert_int_equal(REEL_HASH_FIND(&index, n, i, (compared++, i == n)), n);
	assert_int_equal(compared, N);
	reel_hash_index_free(&index);
}

RUN_TESTS()
