/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, sizes, durations and lists as users type them, and exact fractions. */
#include "base/decimal.h"
#include "base/quantity.h"
#include "tests/support/test.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const never[] = { "",    "-1",  "+1",  " 1",	   "1 ",
				     "0x1", "1e3", ".",	  "1.2.3", "nan",
				     "inf", "1,5", "5kg", "5x",	   "99999999999999999999" };

static void assert_wrong(struct reel_error *error, const char *text)
{
	if (!error)
		fail_msg("'%s' is accepted", text);
	assert_int_equal(reel_error_code(error), REEL_ERROR_INVALID);
	assert_non_null(strstr(reel_error_message(error), text));
	reel_error_destroy(error);
}

struct expected {
	const char *text;
	uint64_t value;
};

TEST(sizes)
{
	static const struct expected right[] = {
		{ "1", 1 },
		{ "65536", 65536 },
		{ "7B", 7 },
		{ "64K", 65536 },
		{ "64k", 65536 },
		{ "1.5KiB", 1536 },
		{ "16M", 16 << 20 },
		{ "16mb", 16 << 20 },
		{ "1G", 1 << 30 },
		{ "0.5GiB", 1 << 29 },
		{ "2T", UINT64_C(1) << 41 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const wrong[] = { "0",	 "0K",	 "12Q", "1iB",
					     "1Ki",	 "1KBB", "K",	"18446744073709551616",
					     "16777216T" };
	uint64_t value;

	for (size_t i = 0; i < COUNT(right); i++) {
		assert_null(reel_quantity_size(right[i].text, &value));
		assert_int_equal(value, right[i].value);
	}
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_wrong(reel_quantity_size(wrong[i], &value), wrong[i]);
	for (size_t i = 0; i < COUNT(never); i++)
		assert_wrong(reel_quantity_size(never[i], &value), never[i]);
}

TEST(times)
{
	static const struct expected right[] = {
		{ "10", 10000000000 },
		{ "1.5s", 1500000000 },
		{ ".5m", 30000000000 },
		{ "500ms", 500000000 },
		{ "3us", 3000 },
		{ "7ns", 7 },
		{ "2min", 120000000000 },
		{ "1h", 3600000000000 },
		{ "1d", 86400000000000 },
		{ "0.1", 100000000 },
		{ "1.9999999996", 2000000000 },
	};
	static const char *const wrong[] = { "1M", "1S", "s", "106752d", "9223372036854775808ns" };
	uint64_t value;

	for (size_t i = 0; i < COUNT(right); i++) {
		assert_null(reel_quantity_duration(right[i].text, &value));
		assert_int_equal(value, right[i].value);
	}
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_wrong(reel_quantity_duration(wrong[i], &value), wrong[i]);
	for (size_t i = 0; i < COUNT(never); i++) {
		assert_wrong(reel_quantity_duration(never[i], &value), never[i]);
		assert_wrong(reel_quantity_time(never[i], &value), never[i]);
	}
	/* A time, but not a duration. */
	assert_wrong(reel_quantity_duration("0", &value), "0");
	assert_null(reel_quantity_time("0", &value));
	assert_int_equal(value, 0);
	assert_null(reel_quantity_time("18446744073709551615ns", &value));
	assert_int_equal(value, UINT64_MAX);
}

TEST(lists)
{
	static const char *const wrong[] = { ",",  "1,",	 "a",	   "1-",  "3-1",
					     "-1", "1,,2",	 "1 2",	   "0x1", "1-2-3",
					     "+1", "4294967296", "0-65536" };
	static const uint32_t expected[] = { 1, 3, 4, 5, 7, UINT32_MAX };
	uint32_t *list = NULL;
	size_t count = 0;

	assert_null(reel_quantity_list("7", true, UINT32_MAX, &list, &count));
	assert_null(reel_quantity_list("4,4294967295,1,3-5", true, UINT32_MAX, &list, &count));
	assert_int_equal(count, COUNT(expected));
	assert_memory_equal(list, expected, sizeof(expected));
	free(list);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		list = NULL;
		count = 0;
		assert_wrong(reel_quantity_list(wrong[i], true, UINT32_MAX, &list, &count),
			     wrong[i]);
		free(list);
	}
	list = NULL;
	count = 0;
	assert_wrong(reel_quantity_list("1-3", false, UINT32_MAX, &list, &count), "1-3");
	assert_wrong(reel_quantity_list("6", false, 5, &list, &count), "6");
	assert_null(reel_quantity_list("0-65535", true, UINT32_MAX, &list, &count));
	assert_int_equal(count, 65536);
	assert_wrong(reel_quantity_list("65536", true, UINT32_MAX, &list, &count), "65536");
	free(list);
}

TEST(numbers)
{
	uint64_t value;

	assert_null(reel_quantity_number("3", 3, 5, &value));
	assert_int_equal(value, 3);
	assert_wrong(reel_quantity_number("2", 3, 5, &value), "2");
	assert_wrong(reel_quantity_number("6", 3, 5, &value), "6");
	for (size_t i = 0; i < COUNT(never); i++)
		assert_wrong(reel_quantity_number(never[i], 0, UINT64_MAX, &value), never[i]);
}

TEST(ratios_are_exact)
{
	uint64_t random = 0x2545f4914f6cdd1d;

	assert_int_equal(reel_decimal_ratio(UINT64_MAX, UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(reel_decimal_ratio(UINT64_MAX, UINT64_MAX, UINT64_MAX), UINT64_MAX);
	assert_int_equal(reel_decimal_ratio(UINT64_MAX - 1, UINT64_MAX - 2, UINT64_MAX),
			 UINT64_MAX - 3);
	assert_int_equal(reel_decimal_ratio_rounded(1, 3, 2), 2);
	assert_int_equal(reel_decimal_ratio_rounded(1, 5, 2), 2);
	assert_int_equal(reel_decimal_ratio_rounded(UINT64_MAX, 1, 2), UINT64_C(1) << 63);
	for (int i = 0; i < 10000; i++) {
		uint64_t values[3];

		for (size_t j = 0; j < 3; j++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			values[j] = (random >> (random & 31)) | 1;
		}
		assert_int_equal(reel_decimal_ratio(values[0], values[1], values[1]), values[0]);
#ifdef __SIZEOF_INT128__
		unsigned __int128 ratio = (unsigned __int128)values[0] * values[1] / values[2];

		assert_true(reel_decimal_ratio(values[0], values[1], values[2]) ==
			    (ratio > UINT64_MAX ? UINT64_MAX : (uint64_t)ratio));
#endif
	}
}

RUN_TESTS()
