/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of --where: which are valid, and when they hold. */
#include "cli/session/where.h"
#include "tests/support/test.h"

static void assert_invalid(const char *text, const char *part)
{
	struct where_list list = { 0 };
	char *problem = where_add(&list, text);

	assert_non_null(problem);
	if (!strstr(problem, part))
		assert_string_equal(problem, part);
	free(problem);
	where_free(&list);
}

static enum where_result check(const char *text, struct reel_frame_value value)
{
	struct reel_trace trace = { .values = &value, .n_values = 1 };
	struct where_list list = { 0 };
	enum reel_value_state state;
	enum where_result result;

	assert_null(where_add(&list, text));
	result = where_check(&list.items[0], &trace, 0, &state);
	where_free(&list);
	return result;
}

static struct reel_frame_value known(const char *text)
{
	return (struct reel_frame_value){ .text = text };
}

static struct reel_frame_value number(const char *text, uint64_t value, bool is_signed)
{
	return (struct reel_frame_value){
		.text = text, .is_number = true, .is_signed = is_signed, .number = value
	};
}

TEST(conditions_are_parsed)
{
	struct where_list list = { 0 };

	assert_null(where_add(&list, "ns::f<a::b>:request->items[2].length>=4K"));
	assert_string_equal(list.items[0].function, "ns::f<a::b>");
	assert_string_equal(list.items[0].expression, "request->items[2].length");
	assert_int_equal(list.items[0].relation, WHERE_AT_LEAST);
	assert_true(list.items[0].has_number);
	assert_int_equal(list.items[0].number.magnitude, 4096);
	assert_null(where_add(&list, " f : name != \" a > b\" "));
	assert_string_equal(list.items[1].function, "f");
	assert_string_equal(list.items[1].expression, "name");
	assert_int_equal(list.items[1].relation, WHERE_NOT_EQUAL);
	assert_string_equal(list.items[1].constant, " a > b");
	assert_null(where_add(&list, "f:this is not-captured"));
	assert_int_equal(list.items[2].relation, WHERE_IS);
	assert_int_equal(list.items[2].state, REEL_VALUE_NOT_CAPTURED);
	where_free(&list);
	assert_invalid("f", "invalid condition 'f'");
	assert_invalid("f:x", "invalid condition 'f:x'");
	assert_invalid(":x == 1", "has no function");
	assert_invalid("f: == 1", "has no expression");
	assert_invalid("f:x ==", "nothing to compare with");
	assert_invalid("f:x is gone", "invalid state 'gone'");
	assert_invalid("f:x < abc", "'abc' is not a number");
	assert_invalid("f:x < \"3\"", "'3' is not a number");
	assert_invalid("f:x < 3x", "'3x' is not a number");
	assert_invalid("f:x < 99999999999999999999", "is not a number");
}

TEST(numbers_are_compared)
{
	struct reel_frame_value big = number("18446744073709551615", UINT64_MAX, false);
	struct reel_frame_value minus = number("-1", UINT64_MAX, true);

	assert_int_equal(check("f:x > 0x10", number("17", 17, true)), WHERE_YES);
	assert_int_equal(check("f:x > 0x11", number("17", 17, true)), WHERE_NO);
	assert_int_equal(check("f:x >= 17", number("17", 17, false)), WHERE_YES);
	assert_int_equal(check("f:x != 17", number("17", 17, false)), WHERE_NO);
	assert_int_equal(check("f:x <= 1M", number("1048576", 1 << 20, false)), WHERE_YES);
	assert_int_equal(check("f:x < 1M", number("1048576", 1 << 20, false)), WHERE_NO);
	assert_int_equal(check("f:x > -1", big), WHERE_YES);
	assert_int_equal(check("f:x = 0xffffffffffffffff", big), WHERE_YES);
	assert_int_equal(check("f:x == -1", big), WHERE_NO);
	assert_int_equal(check("f:x == -1", minus), WHERE_YES);
	assert_int_equal(check("f:x < 0", minus), WHERE_YES);
	assert_int_equal(check("f:x < -1", minus), WHERE_NO);
	assert_int_equal(check("f:x > -2", minus), WHERE_YES);
	assert_int_equal(check("f:x == -0", number("0", 0, true)), WHERE_YES);
	assert_int_equal(check("f:x < 1.5", number("1", 1, true)), WHERE_YES);
	assert_int_equal(check("f:x < 1.5", number("2", 2, true)), WHERE_NO);
	assert_int_equal(check("f:x == 1.5K", number("1536", 1536, true)), WHERE_YES);
	assert_int_equal(check("f:x > 2", known("2.5")), WHERE_YES);
	assert_int_equal(check("f:x == -2.5", known("-2.5")), WHERE_YES);
	assert_int_equal(check("f:x > 2", known("nan")), WHERE_NO);
	assert_int_equal(check("f:x != 2", known("nan")), WHERE_YES);
	/* Enumerators, characters and pointers are by number, too. */
	assert_int_equal(check("f:x == 7", number("GREEN", 7, false)), WHERE_YES);
	assert_int_equal(check("f:x == 120", number("120 'x'", 120, true)), WHERE_YES);
	assert_int_equal(check("f:x != 0", number("0x0", 0, false)), WHERE_NO);
	assert_int_equal(check("f:x > 2", known("{a = 1}")), WHERE_INCOMPARABLE);
	assert_int_equal(check("f:x == 2", known("\"2\"")), WHERE_INCOMPARABLE);
}

TEST(texts_are_compared)
{
	struct reel_frame_value text = number("0x4020f8 \"a \\\"name\"", 0x4020f8, false);

	assert_int_equal(check("f:x == GREEN", number("GREEN", 7, false)), WHERE_YES);
	assert_int_equal(check("f:x != GREEN", number("GREEN", 7, false)), WHERE_NO);
	assert_int_equal(check("f:x == RED", number("GREEN", 7, false)), WHERE_NO);
	assert_int_equal(check("f:x == true", number("true", 1, false)), WHERE_YES);
	assert_int_equal(check("f:x == 'x'", number("120 'x'", 120, true)), WHERE_YES);
	assert_int_equal(check("f:x == \"hello\"", known("\"hello\"")), WHERE_YES);
	assert_int_equal(check("f:x == hello", known("\"hello\"")), WHERE_YES);
	assert_int_equal(check("f:x == hell", known("\"hello\"")), WHERE_NO);
	assert_int_equal(check("f:x == hello2", known("\"hello\"")), WHERE_NO);
	assert_int_equal(check("f:x == \"\"", known("\"\"")), WHERE_YES);
	/* As shown, with its escapes. */
	assert_int_equal(check("f:x == \"a \\\"name\"", text), WHERE_YES);
	assert_int_equal(check("f:x != \"a \\\"name\"", text), WHERE_NO);
	/* A cut text; and a pointer to one that is not captured, or to none. */
	assert_int_equal(check("f:x == hello", known("\"hell\"...")), WHERE_UNKNOWN);
	assert_int_equal(check("f:x != hello", known("\"hell\"...")), WHERE_UNKNOWN);
	assert_int_equal(check("f:x == other", known("\"hell\"...")), WHERE_NO);
	assert_int_equal(check("f:x == hello", number("0x4020f8", 0x4020f8, false)), WHERE_UNKNOWN);
	assert_int_equal(check("f:x != hello", number("0x0", 0, false)), WHERE_YES);
	assert_int_equal(check("f:x == hello", known("{a = \"hello\"}")), WHERE_INCOMPARABLE);
}

TEST(unknown_values_are_counted)
{
	struct reel_frame_value values[] = {
		number("5", 5, false),
		{ .request = 1, .state = REEL_VALUE_OPTIMIZED_OUT, .text = "" },
		/* Of an outer call: it does not count. */
		{ .request = 1, .frame = 3, .text = "2", .is_number = true, .number = 2 },
	};
	struct reel_trace trace = { .values = values, .n_values = 3 };
	struct where_counts counts[2] = { 0 };
	struct where_list list = { 0 };
	char *note;

	assert_null(where_add(&list, "f:x == 5"));
	assert_null(where_add(&list, "f:y == 2"));
	assert_int_equal(where_check_all(&list, &trace, 0, counts), WHERE_UNKNOWN);
	assert_int_equal(counts[1].left_out[REEL_VALUE_OPTIMIZED_OUT], 1);
	assert_null(where_note(&list.items[0], &counts[0]));
	note = where_note(&list.items[1], &counts[1]);
	assert_string_equal(note, "--where 'f:y == 2' leaves out 1 sample of f whose value is "
				  "unknown (optimized out: 1, not captured: 0)");
	free(note);
	/* The other condition does not hold, whatever this one's value is. */
	values[0].number = 6;
	assert_int_equal(where_check_all(&list, &trace, 0, counts), WHERE_NO);
	assert_int_equal(counts[1].left_out[REEL_VALUE_OPTIMIZED_OUT], 1);
	trace.n_values = 0;
	assert_int_equal(where_check_all(&list, &trace, 0, counts), WHERE_NO);
	where_free(&list);
	assert_int_equal(check("f:x is optimized-out", values[1]), WHERE_NO);
	values[1].request = 0;
	assert_int_equal(check("f:x is optimized-out", values[1]), WHERE_YES);
	assert_int_equal(check("f:x is known", values[1]), WHERE_NO);
}

RUN_TESTS()
