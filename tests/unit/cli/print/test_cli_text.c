/* SPDX-License-Identifier: Apache-2.0 */
/* The CLI's text: escaping, numbers, JSON strings, option values. */
#include "cli/print/json.h"
#include "cli/session/options.h"
#include "cli/print/text.h"
#include "tests/support/test.h"

static void assert_escaped(const char *text, const char *expected)
{
	char *escaped = text_escape(text, "");

	assert_string_equal(escaped, expected);
	free(escaped);
}

TEST(harmless_text_stays)
{
	assert_escaped("", "");
	assert_escaped("std::vector<int>::push_back(int&&)", "std::vector<int>::push_back(int&&)");
	assert_escaped("größe 日本語 🎞", "größe 日本語 🎞");
}

TEST(hostile_text_is_escaped)
{
	char *escaped;

	assert_escaped("a\x1b[31mb\n\t\x7f", "a\\x1b[31mb\\x0a\\x09\\x7f");
	assert_escaped("\xc2\x9b"
		       "1m",
		       "\\xc2\\x9b1m");			   /* CSI as a single character */
	assert_escaped("\xe2\x80\xae", "\\xe2\\x80\\xae"); /* right-to-left override */
	assert_escaped("\xff\xc0\x80\xed\xa0\x80", "\\xff\\xc0\\x80\\xed\\xa0\\x80");
	assert_escaped("\xf0\x9f\x8e", "\\xf0\\x9f\\x8e");	    /* cut */
	assert_escaped("\xe2\x80\x8b", "\\xe2\\x80\\x8b");	    /* zero width space */
	assert_escaped("\xef\xbb\xbf", "\\xef\\xbb\\xbf");	    /* byte order mark */
	assert_escaped("\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"); /* a tag */
	/* Text that looks like an escape must not be read as one. */
	assert_escaped("a\\x1b\\", "a\\\\x1b\\\\");
	assert_escaped("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
	escaped = text_escape_bytes((const uint8_t *)"a\0 b", 4, " ");
	assert_string_equal(escaped, "a\\x00\\x20b");
	free(escaped);
}

TEST(numbers_are_readable)
{
	assert_string_equal(format_count(0).text, "0");
	assert_string_equal(format_count(999).text, "999");
	assert_string_equal(format_count(1000).text, "1,000");
	assert_string_equal(format_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	assert_string_equal(format_plural(0, "frame").text, "0 frames");
	assert_string_equal(format_plural(1, "frame").text, "1 frame");
	assert_string_equal(format_plural(UINT64_MAX, "frame").text,
			    "18,446,744,073,709,551,615 frames");
	assert_string_equal(format_bytes(999).text, "999 B");
	assert_string_equal(format_bytes(1234).text, "1.23 kB");
	assert_string_equal(format_bytes(UINT64_MAX).text, "18.4 EB");
	assert_string_equal(format_nanoseconds(0).text, "0 ns");
	assert_string_equal(format_nanoseconds(12345).text, "12.3 us");
	assert_string_equal(format_nanoseconds(20000000).text, "20.0 ms");
	assert_string_equal(format_nanoseconds(UINT64_MAX).text, "18446744073.7 s");
	assert_string_equal(format_share(1, 3).text, "33.33 %");
	assert_string_equal(format_share(1, 0).text, "-");
	assert_string_equal(format_share_short(4, 5).text, "80%");
	assert_string_equal(format_share_short(1, 3).text, "33.3%");
	assert_string_equal(format_share_short(0, 0).text, "0%");
	/* Ties round to the even digit. */
	assert_string_equal(format_share(1, 800).text, "0.12 %");
	assert_string_equal(format_share(3, 800).text, "0.38 %");
	assert_string_equal(format_share(8777, 20000).text, "43.88 %");
	assert_string_equal(format_share(UINT64_MAX - 1, UINT64_MAX).text, "100.00 %");
	assert_string_equal(format_nanoseconds(9995000).text, "10.00 ms");
	assert_string_equal(format_nanoseconds(878950000).text, "879.0 ms");
	assert_string_equal(format_ratio(10, 3).text, "3.33");
	assert_string_equal(format_ratio(10, 0).text, "0.00");
	assert_string_equal(format_wall_time(1700000000000000000).text, "2023-11-14 22:13:20 UTC");
	assert_string_equal(format_wall_time(UINT64_MAX).text, "2554-07-21 23:34:33 UTC");
	assert_int_equal(text_width("größe"), 5);
}

static void assert_json(const char *bytes, size_t size, const char *expected)
{
	char *text;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	json_string((const uint8_t *)bytes, size, file);
	fclose(file);
	assert_string_equal(text, expected);
	free(text);
}

/* The output of Python's json.dumps for text read by tests/reader/reel_reader.py. */
TEST(json_is_as_python_writes_it)
{
	assert_json("", 0, "\"\"");
	assert_json("a\"\\/\b\f\n\r\t\0\x1f\x7f", 12,
		    "\"a\\\"\\\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\\u007f\"");
	assert_json("\xc3\xa9\xf0\x9f\x8e\x9e", 6, "\"\\u00e9\\ud83c\\udf9e\"");
	assert_json("\xff\xe2\x82", 3, "\"\\\\xff\\\\xe2\\\\x82\"");
	assert_json("\xed\xa0\x80", 3, "\"\\\\xed\\\\xa0\\\\x80\"");
}

/* ---- options --------------------------------------------------------------------------- */

static void assert_range(const char *text, uint64_t from, uint64_t to)
{
	uint64_t from_got, to_got;

	assert_true(time_range_parse(text, &from_got, &to_got));
	assert_int_equal(from_got, from);
	assert_int_equal(to_got, to);
}

TEST(time_ranges)
{
	static const char *const wrong[] = { "",
					     "1",
					     "..",
					     "2..1",
					     "1..1",
					     "-1..2",
					     "a..b",
					     "1...2",
					     "nan..",
					     "inf..",
					     "0x1..",
					     "..0",
					     "1e30..",
					     "1 s..",
					     "1kg..",
					     "...",
					     "1..18446744074s",
					     "1..99999999999999999999ns" };
	uint64_t from, to;

	assert_range("1.5..3", 1500000000, 3000000000);
	assert_range("200ms..2s", 200000000, 2000000000);
	assert_range("..5us", 0, 5000);
	assert_range("3ns..", 3, 0);
	assert_range("1m..1h", 60000000000, 3600000000000);
	assert_range("0.1..0.2", 100000000, 200000000);
	assert_range("0.0000000014..1.9999999996", 1, 2000000000);
	assert_range(".5m..18446744073709551615ns", 30000000000, UINT64_MAX);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (time_range_parse(wrong[i], &from, &to))
			fail_msg("`%s' is accepted as a range", wrong[i]);
	}
}

/* Seconds since 1970 that do not fit in 32 bits. */
TEST(wall_times)
{
	assert_string_equal(format_wall_time(0).text, "unknown");
	assert_string_equal(format_wall_time(UINT64_C(2147483647999999999)).text,
			    "2038-01-19 03:14:07 UTC");
	assert_string_equal(format_wall_time(UINT64_C(4102444800000000000)).text,
			    "2100-01-01 00:00:00 UTC");
	assert_string_equal(format_wall_time(UINT64_MAX).text, "2554-07-21 23:34:33 UTC");
}

TEST(percentages)
{
	static const char *const wrong[] = { "",    "%",   ".",	 "1e1", "100.1", "-1",
					     "101", "nan", "5x", "0x5", "5%%" };
	uint64_t value;

	assert_true(percent_parse("99.5", &value) && value == 99500000);
	assert_true(percent_parse("80%", &value) && value == 80000000);
	assert_true(percent_parse(".0000015", &value) && value == 2);
	assert_true(percent_parse("0", &value) && value == 0);
	assert_string_equal(format_limit(99500000).text, "99.5");
	assert_string_equal(format_limit(2).text, "0.000002");
	assert_string_equal(format_limit(0).text, "0");
	/* Exactly at the limit: no double equals 0.1. */
	assert_true(percent_parse("0.1", &value) && value == percent_of(1, 1000));
	assert_true(percent_of(999999999, 1000000000000) < value);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (percent_parse(wrong[i], &value))
			fail_msg("`%s' is accepted as a percentage", wrong[i]);
	}
}

RUN_TESTS()
