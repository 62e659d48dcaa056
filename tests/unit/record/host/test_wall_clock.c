/* SPDX-License-Identifier: Apache-2.0 */
/* record/host/wall_clock.c: two readings, and what happened between them. */
#include <time.h>

#include "base/quantity.h"
#include "record/host/wall_clock.h"
#include "tests/support/test.h"

#define S INT64_C(1000000000)

static void check(int64_t set, int64_t slept, const char *expected)
{
	const struct reel_wall_clock before = { 1700000000 * S, 100 * S };
	const struct reel_wall_clock now = { before.ahead + set + slept, before.slept + slept };
	struct reel_wall_clock_jump jump;
	char text[128] = "";

	if (reel_wall_clock_compare(&before, &now, &jump))
		reel_wall_clock_jump_print(&jump, text);
	assert_string_equal(text, expected);
}

TEST(jumps)
{
	check(0, 0, "");
	check(S / 2000, -S / 2000, "");
	check(3600 * S, 0, "the wall clock was set forward by 3600.000 s");
	check(-S / 50, 0, "the wall clock was set back by 0.020 s");
	check(0, 28800 * S, "the host slept for 28800.000 s");
	check(-2 * S, 5 * S,
	      "the host slept for 5.000 s, and the wall clock was set back by 2.000 s");
}

TEST(a_reading_is_exact)
{
	struct reel_wall_clock clock;
	int64_t ahead;

	for (int i = 0; i < 10000 && !reel_wall_clock_read(&clock); i++)
		;
	ahead = (int64_t)(reel_clock_now(CLOCK_REALTIME) - reel_now());
	assert_true(ahead - clock.ahead < 60 * S && clock.ahead - ahead < 60 * S);
}

RUN_TESTS()
