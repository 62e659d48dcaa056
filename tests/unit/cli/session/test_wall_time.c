/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the wall clock: zones, days, and times that do not exist. Expected values are from
 * `date -d TEXT +%s.%N`. */
#include <stdlib.h>
#include <time.h>

#include "cli/session/wall_time.h"
#include "tests/support/test.h"

#define DAY (UINT64_C(1795737600) * 1000000000) /* 2026-11-27 00:00 UTC */

static uint64_t parse(const char *zone, const char *text)
{
	uint64_t time;

	setenv("TZ", zone, 1);
	tzset();
	return wall_time_parse(text, DAY, &time) ? time / 1000000 : 0;
}

TEST(zones)
{
	assert_int_equal(parse("UTC0", "2026-11-27 03:17"), 1795749420000);
	assert_int_equal(parse("Europe/Berlin", "2026-11-27 03:17"), 1795745820000);
	assert_int_equal(parse("Europe/Berlin", "2026-07-01 03:17:30.25"), 1782868650250);
	assert_int_equal(parse("Europe/Berlin", "2026-11-27T03:17:00Z"), 1795749420000);
	assert_int_equal(parse("Europe/Berlin", "2026-11-27 03:17 UTC"), 1795749420000);
	assert_int_equal(parse("Europe/Berlin", "2026-11-27 03:17 -05:30"), 1795769220000);
	assert_int_equal(parse("Europe/Berlin", "2026-11-27T03:17+0200"), 1795742220000);
	assert_int_equal(parse("Europe/Berlin", "2026-11-27"), 1795734000000);
}

TEST(days)
{
	assert_int_equal(parse("UTC0", "03:17"), 1795749420000);
	/* It is still the 26th. */
	assert_int_equal(parse("America/New_York", "03:17"), 1795681020000);
	assert_int_equal(parse("America/New_York", "03:17Z"), 1795749420000);
}

TEST(invalid)
{
	static const char *const texts[] = {
		"",
		"2026",
		"2026-02-30",
		"2026-11-27 24:00",
		"03:17 CET",
		"2026-11-27 03",
		"2026-11-27x",
		"2026-11-27 03:17:00.",
		"03:17+2",
		"2026-11-27 03:17+",
		"1969-12-31Z",
		"2026-11-27 03:17 UTC x",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(parse("UTC0", texts[i]), 0);
	/* Clocks went from 2:00 to 3:00. */
	assert_int_equal(parse("Europe/Berlin", "2026-03-29 02:30"), 0);
	assert_int_not_equal(parse("UTC0", "2026-03-29 02:30"), 0);
}

TEST(ranges)
{
	uint64_t from, to;

	parse("UTC0", "");
	assert_true(wall_range_parse("2026-11-27 03:17..03:19", &from, &to));
	assert_int_equal(to - from, UINT64_C(120000000000));
	assert_true(wall_range_parse("2026-11-27 03:17..", &from, &to));
	assert_int_equal(to, 0);
	assert_true(wall_range_parse("..2026-11-27Z", &from, &to));
	assert_int_equal(from, 0);
	assert_false(wall_range_parse("2026-11-27 03:17..03:16", &from, &to));
	assert_false(wall_range_parse("..", &from, &to));
	assert_false(wall_range_parse("2026-11-27", &from, &to));
}

RUN_TESTS()
