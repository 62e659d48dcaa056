/* SPDX-License-Identifier: Apache-2.0 */
/* Each hit is stored once, in order, however many there are. */
#include "record/embedding/hit_set.h"
#include "tests/support/test.h"

#define N 100000u

TEST(each_is_kept_once)
{
	struct reel_hit_set set = { 0 }, other = { 0 };
	uint64_t *all;
	size_t n;

	/* 7919 is prime to N: each of 0 to N - 1 occurs twice, in no order. */
	for (uint64_t i = 0; i < 2 * N; i++)
		assert_int_equal(reel_hit_set_add(&set, i * 7919 % N * 3),
				 i < N ? REEL_HIT_NEW : REEL_HIT_RECENT);
	assert_int_equal(set.n, N);
	/* One of both, and one more. */
	assert_int_equal(reel_hit_set_add(&other, 3), REEL_HIT_NEW);
	assert_int_equal(reel_hit_set_add(&other, 3 * N), REEL_HIT_NEW);
	all = reel_hit_set_sorted(&set, &other, &n);
	assert_non_null(all);
	assert_int_equal(n, N + 1);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(all[i], 3 * i);
	free(all);
	reel_hit_set_free(&set);
	reel_hit_set_free(&other);
}

TEST(hits_are_recent_until_it_is_settled)
{
	struct reel_hit_set set = { 0 };

	reel_hit_set_settle(&set);
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(reel_hit_set_add(&set, i), REEL_HIT_NEW);
		assert_int_equal(reel_hit_set_add(&set, i), REEL_HIT_RECENT);
	}
	reel_hit_set_settle(&set);
	/* Also after it has grown. */
	for (uint64_t i = 100; i < N; i++)
		assert_int_equal(reel_hit_set_add(&set, i), REEL_HIT_NEW);
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(reel_hit_set_add(&set, i),
				 i < 100 ? REEL_HIT_KNOWN : REEL_HIT_RECENT);
	reel_hit_set_free(&set);
}

TEST(an_empty_set_has_none)
{
	struct reel_hit_set set = { 0 };
	size_t n;
	uint64_t *all = reel_hit_set_sorted(&set, &set, &n);

	assert_non_null(all);
	assert_int_equal(n, 0);
	free(all);
	assert_int_equal(reel_hit_set_add(&set, 0), REEL_HIT_NEW);
	assert_int_equal(reel_hit_set_add(&set, UINT64_MAX - 1), REEL_HIT_NEW);
	assert_int_equal(set.n, 2);
	reel_hit_set_free(&set);
}

RUN_TESTS()
