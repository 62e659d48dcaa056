/* SPDX-License-Identifier: Apache-2.0 */
/* record/turns.c: how long samples wait. */
#include "base/quantity.h"
#include "record/turns.h"
#include "tests/support/test.h"

static struct reel_turn_needs calm(uint64_t frequency)
{
	return (struct reel_turn_needs){
		.may_be_long = true,
		.frequency = frequency,
		.without_news = 100 * REEL_NS_PER_SECOND,
	};
}

TEST(a_turn_waits_for_some_samples)
{
	struct reel_turn_needs needs = { .frequency = 19 };

	assert_int_equal(reel_turn_length(&needs), REEL_TURN_MAX);
	needs.frequency = 49;
	assert_int_equal(reel_turn_length(&needs), 204);
	needs.frequency = 99;
	assert_int_equal(reel_turn_length(&needs), 101);
	needs.frequency = 999;
	assert_int_equal(reel_turn_length(&needs), REEL_TURN_MIN);
	/* There are none. */
	needs.frequency = 0;
	assert_int_equal(reel_turn_length(&needs), REEL_TURN_MIN);
}

TEST(a_calm_host_has_long_turns)
{
	struct reel_turn_needs needs = calm(999);

	assert_int_equal(reel_turn_length(&needs), REEL_TURN_CALM);
	/* A second is the most that a kill may lose. */
	assert_true(REEL_TURN_CALM < 1000 && REEL_TURN_MAX + REEL_FLUSH_USUAL < 1000);
}

TEST(a_minute_is_not_yet_calm)
{
	struct reel_turn_needs needs = calm(19);

	/* A job that begins each minute is found again. */
	needs.without_news = 61 * REEL_NS_PER_SECOND;
	assert_int_equal(reel_turn_length(&needs), REEL_TURN_MAX);
}

TEST(what_is_promised_early_has_short_turns)
{
	struct reel_turn_needs needs = calm(19);

	needs.is_prompt = true;
	assert_int_equal(reel_turn_length(&needs), REEL_TURN_MIN);
	needs.is_prompt = needs.may_be_long = false;
	assert_int_equal(reel_turn_length(&needs), REEL_TURN_MAX);
}

RUN_TESTS_WITH(NULL, NULL)
