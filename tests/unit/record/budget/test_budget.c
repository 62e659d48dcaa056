/* SPDX-License-Identifier: Apache-2.0 */
/* record/budget/budget.c: what may be spent, by whom, and when again. */
#include "base/quantity.h"
#include "record/budget/budget.h"
#include "tests/support/test.h"

#define MS   REEL_NS_PER_MS
#define MIB  (UINT64_C(1) << 20)
#define SIDE (64 * MIB)

static struct reel_budget *budget;
static uint64_t now;

static uint64_t clock_of_test(void)
{
	return now;
}

/* Processes 1000 to 1999 are user 1's, and so on. */
static uint32_t user_of(const void *context, uint32_t pid)
{
	return pid / 1000;
}

static int setup(void **state)
{
	now = 1000000 * MS;
	if (reel_budget_create(SIDE, &budget))
		return -1;
	reel_budget_set_clock(budget, clock_of_test);
	reel_budget_set_users(budget, user_of, NULL);
	reel_budget_hurry(budget, true);
	return 0;
}

static int teardown(void **state)
{
	reel_budget_destroy(budget);
	return 0;
}

/* Spends steps as long as that is allowed. */
static uint64_t spend(enum reel_budget_kind kind, uint32_t pid, uint64_t step)
{
	uint64_t sum = 0;

	while (reel_budget_allows(budget, kind, pid)) {
		reel_budget_charge(budget, kind, pid, step);
		sum += step;
	}
	return sum;
}

TEST_WITH(test_alone, setup, teardown)
{
	assert_in_range(spend(REEL_BUDGET_NAMES, 1000, MS), 100 * MS, 101 * MS);
	/* The kinds do not share. */
	assert_in_range(spend(REEL_BUDGET_PLACES, 1000, MS), 2666 * MS, 2667 * MS);
	assert_in_range(spend(REEL_BUDGET_NAME_BYTES, 1000, 1000), SIDE / 6, SIDE / 6 + 1000);
	assert_in_range(spend(REEL_BUDGET_PLACE_BYTES, 1000, 1000), SIDE / 6, SIDE / 6 + 1000);
}

/* Any time, however often it is asked for: 0.69 * 300 ms / 3 a second, and what may be spent at once. */
TEST_WITH(test_in_the_long_run, setup, teardown)
{
	uint64_t sum = spend(REEL_BUDGET_NAMES, 1000, MS), bytes = 0;

	for (unsigned i = 0; i < 100 * 100; i++) {
		now += 10 * MS;
		sum += spend(REEL_BUDGET_NAMES, 1000, MS);
		bytes += spend(REEL_BUDGET_NAME_BYTES, 1000, 100);
	}
	assert_in_range(sum, 100 * 60 * MS, 100 * 85 * MS);
	assert_in_range(bytes, SIDE / 6 * 2, SIDE / 6 * 5 / 2);
}

/* A newcomer finds something left, and in the long run all get the same. */
TEST_WITH(test_processes_share, setup, teardown)
{
	uint64_t sums[3] = { 0 };

	spend(REEL_BUDGET_NAMES, 1000, MS);
	assert_in_range(spend(REEL_BUDGET_NAMES, 1001, MS), 30 * MS, 101 * MS);
	for (unsigned i = 0; i < 30 * 100; i++) {
		now += 10 * MS;
		for (uint32_t j = 0; j < 3; j++)
			sums[j] += spend(REEL_BUDGET_NAMES, 1000 + j, MS / 8);
	}
	for (unsigned j = 0; j < 3; j++)
		assert_in_range(sums[j], sums[0] / 2, 2 * sums[0]);
}

/* A user with a thousand processes leaves another one's process as much as a user with one. */
TEST_WITH(test_users_share, setup, teardown)
{
	uint64_t one, many;

	spend(REEL_BUDGET_PLACE_BYTES, 1000, 100);
	one = spend(REEL_BUDGET_PLACE_BYTES, 2000, 100);
	for (uint32_t i = 0; i < 1000; i++)
		many = spend(REEL_BUDGET_NAME_BYTES, 1000 + i, 100);
	assert_in_range(many, 0, 1000000);
	many = spend(REEL_BUDGET_NAME_BYTES, 2000, 100);
	assert_in_range(many, one / 2, one);
	assert_in_range(one, SIDE / 10, SIDE / 2);
	/* And all users together no more than there is. */
	for (uint32_t i = 0; i < 1000; i++)
		spend(REEL_BUDGET_NAME_BYTES, 3000 + 1000 * i, 100);
	assert_false(reel_budget_has_refused(budget));
	assert_false(reel_budget_charge_bytes(budget, REEL_BUDGET_NAME_BYTES, 1000, 1));
	assert_true(reel_budget_has_refused(budget));
}

/* Accounts are forgotten once they are settled, not before. */
TEST_WITH(test_many_accounts, setup, teardown)
{
	spend(REEL_BUDGET_NAME_BYTES, 1000, 1000);
	for (uint32_t pid = 100000; pid < 200000; pid++) {
		reel_budget_charge(budget, REEL_BUDGET_NAMES, pid, 1000);
		if (pid == 150000)
			assert_false(reel_budget_allows(budget, REEL_BUDGET_NAME_BYTES, 1000));
	}
	now += 3600 * REEL_NS_PER_SECOND;
	reel_budget_charge(budget, REEL_BUDGET_NAMES, 1, 1000);
	assert_true(reel_budget_allows(budget, REEL_BUDGET_NAME_BYTES, 1000));
	assert_in_range(spend(REEL_BUDGET_NAME_BYTES, 1000, 1000), SIDE / 6, SIDE / 6 + 1000);
}

/* A process that has ended takes no memory, and its user has still spent what it did. */
TEST_WITH(test_ended, setup, teardown)
{
	uint64_t one = spend(REEL_BUDGET_NAME_BYTES, 1000, 1000), next;

	reel_budget_forget(budget, 1000);
	next = spend(REEL_BUDGET_NAME_BYTES, 1000, 1000);
	assert_in_range(next, 1000, one / 2);
	reel_budget_forget(budget, 1000);
	reel_budget_forget(budget, 1000);
	reel_budget_forget(NULL, 1000);
}

TEST_WITH(test_setup_and_end, setup, teardown)
{
	spend(REEL_BUDGET_NAMES, 1000, MS);
	reel_budget_hurry(budget, false);
	assert_in_range(spend(REEL_BUDGET_NAMES, 1000, 10 * MS), 1490 * MS, 1510 * MS);
	reel_budget_hurry(budget, true);
	assert_true(reel_budget_allows(budget, REEL_BUDGET_NAMES, 1000));
	/* Bytes stay. */
	spend(REEL_BUDGET_NAME_BYTES, 1000, 1000);
	reel_budget_hurry(budget, false);
	assert_false(reel_budget_allows(budget, REEL_BUDGET_NAME_BYTES, 1000));
}

/* Waiting in vain for as long as is allowed takes a few percent of the time. */
TEST_WITH(test_waiting, setup, teardown)
{
	uint64_t wasted = 0, end = now + 100000 * MS;

	assert_int_equal(reel_budget_wait_limit(budget, REEL_BUDGET_PLACES, 1000), 50 * MS);
	while (now < end) {
		uint64_t limit = reel_budget_wait_limit(budget, REEL_BUDGET_PLACES, 1000);

		reel_budget_charge_answer(budget, REEL_BUDGET_PLACES, 1000, limit, 0, 0);
		wasted += limit;
		now += limit ? limit : MS;
	}
	assert_in_range(wasted, 1000 * MS, 6000 * MS);
	now += 60000 * MS;
	assert_int_equal(reel_budget_wait_limit(budget, REEL_BUDGET_PLACES, 1000), 50 * MS);
	/* A busy host is not to blame. */
	reel_budget_charge_answer(budget, REEL_BUDGET_PLACES, 1000, 50 * MS, MS, 50 * MS);
	assert_true(reel_budget_wait_limit(budget, REEL_BUDGET_PLACES, 1000) > 40 * MS);
}

TEST_WITH(test_backoffs, setup, teardown)
{
	uint64_t delay = 1000 * MS;

	reel_budget_back_off(budget, 5, now);
	assert_false(reel_budget_is_backing_off(budget, 5, now));
	for (unsigned i = 0; i < 20; i++) {
		reel_budget_back_off(budget, 5, now);
		assert_true(reel_budget_is_backing_off(budget, 5, now + delay - 1));
		assert_false(reel_budget_is_backing_off(budget, 5, now + delay));
		assert_false(reel_budget_is_backing_off(budget, 6, now));
		now += delay;
		delay = delay < 4096000 * MS ? 2 * delay : delay;
	}
	reel_budget_reset_backoff(budget, 5);
	reel_budget_back_off(budget, 5, now);
	assert_false(reel_budget_is_backing_off(budget, 5, now));
}

/* NULL is a budget without limits. */
TEST(test_none)
{
	reel_budget_charge(NULL, REEL_BUDGET_NAMES, 1, UINT64_MAX);
	assert_true(reel_budget_allows(NULL, REEL_BUDGET_NAMES, 1));
	assert_true(reel_budget_charge_bytes(NULL, REEL_BUDGET_NAME_BYTES, 1, UINT64_MAX));
	assert_int_equal(reel_budget_wait_limit(NULL, REEL_BUDGET_PLACES, 1), 50 * MS);
	assert_false(reel_budget_has_refused(NULL));
}

RUN_TESTS()
