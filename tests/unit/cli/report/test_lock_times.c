/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a lock, divided between the samples of its holder. */
#include "cli/report/lock_times.h"
#include "tests/support/test.h"

#define MS UINT64_C(1000000)

struct parts {
	char text[256];
	uint64_t sum;
};

static void note(void *context, const struct lock_sample *sample, uint64_t time)
{
	struct parts *parts = context;
	size_t used = strlen(parts->text);

	assert_true(time > 0);
	parts->sum += time;
	if (sample)
		snprintf(parts->text + used, sizeof(parts->text) - used, "%s%u:%llu",
			 used ? " " : "", sample->stack, (unsigned long long)(time / MS));
	else
		snprintf(parts->text + used, sizeof(parts->text) - used, "%s-:%llu",
			 used ? " " : "", (unsigned long long)(time / MS));
}

/* A sample of the holder, thread 1, in ms; its stack is its number. */
#define SAMPLE(from, to, number)                                                                   \
	{                                                                                          \
		(from) * MS, (to)*MS, 1, number, LOCK_NO_PAIR                                      \
	}

static void check(const struct lock_sample *given, size_t n, uint64_t from, uint64_t to,
		  const char *expected)
{
	/* Others' samples do not matter. */
	struct lock_sample samples[16] = {
		{ 0, UINT64_MAX, 0, 90, LOCK_NO_PAIR },
		{ from * MS, to * MS, 2, 91, LOCK_NO_PAIR },
	};
	const struct lock_sample wait = { from * MS, to * MS, 3, 0, 0 };
	struct parts parts = { 0 };

	for (size_t i = 0; i < n; i++)
		samples[2 + i] = given[n - 1 - i];
	lock_times_sort(samples, n + 2);
	lock_times_attribute(samples, n + 2, &wait, 1, note, &parts);
	assert_string_equal(parts.text, expected);
	assert_int_equal(parts.sum, (to - from) * MS);
}

TEST(test_overlaps)
{
	const struct lock_sample samples[] = {
		SAMPLE(1000, 1010, 1),
		SAMPLE(1010, 1020, 2),
		SAMPLE(1020, 1040, 3),
	};

	check(samples, 3, 1000, 1040, "1:10 2:10 3:20");
	check(samples, 3, 1005, 1015, "1:5 2:5");
	check(samples, 3, 1022, 1025, "3:3");
	check(samples, 3, 1010, 1020, "2:10");
}

/* A sample's weight is that of a whole look, though the thread ran for some of that time. */
TEST(test_inaccurate_weights)
{
	const struct lock_sample samples[] = {
		SAMPLE(1000, 1001, 1),
		SAMPLE(1001, 1002, 2),
		SAMPLE(995, 1010, 3),
	};

	check(samples, 3, 1000, 1010, "1:1 2:1 3:8");
}

TEST(test_gaps)
{
	const struct lock_sample samples[] = {
		SAMPLE(1000, 1010, 1),
		SAMPLE(1050, 1060, 2),
		SAMPLE(1500, 1510, 3),
	};

	/* The nearer half each. */
	check(samples, 3, 1010, 1050, "1:20 2:20");
	check(samples, 3, 1010, 1020, "1:10");
	check(samples, 3, 1035, 1045, "2:10");
	/* Beyond 100 ms of both: nobody knows. */
	check(samples, 3, 1055, 1505, "2:5 2:100 -:240 3:100 3:5");
	check(samples, 3, 1200, 1300, "-:100");
	/* Before the first and after the last one. */
	check(samples, 3, 850, 1005, "-:50 1:100 1:5");
	check(samples, 3, 1505, 1700, "3:5 3:100 -:90");
}

TEST(test_unknown_holder)
{
	check(NULL, 0, 1000, 1010, "-:10");
}

/* Times of a file may be anything. */
TEST(test_extremes)
{
	struct lock_sample samples[] = {
		{ 0, UINT64_MAX, 1, 1, LOCK_NO_PAIR },
		{ UINT64_MAX - 1, UINT64_MAX, 1, 2, LOCK_NO_PAIR },
		{ 5, 5, 1, 3, LOCK_NO_PAIR },
		{ 9, 7, 1, 4, LOCK_NO_PAIR },
	};
	const struct lock_sample wait = { 0, UINT64_MAX, 3, 0, 0 };
	struct parts parts = { 0 };

	lock_times_sort(samples, 4);
	lock_times_attribute(samples, 4, &wait, 1, note, &parts);
	assert_int_equal(parts.sum, UINT64_MAX);
}

RUN_TESTS()
