/* SPDX-License-Identifier: Apache-2.0 */
/* Frame-pointer walks, compared with whole stacks: literal chains, leaf first. */
#include "cli/report/frame_compare.h"
#include "tests/support/test.h"

#define LIST(...)                                                                                  \
	(const uint64_t[]){ __VA_ARGS__ },                                                         \
		sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

/*
 * A break per line: "frame lost wrong", with "." where the chain ends; then the sums.  "=" is a
 * chain without a break, "~" one cut at its limit.
 */
static void check_at(const char *file, int line, const uint64_t *stack, size_t n_stack,
		     const uint64_t *chain, size_t n_chain, bool at_limit, const char *wanted)
{
	static struct frame_comparison comparison;
	char text[256] = "", *at = text;
	size_t lost = 0, wrong = 0;

	frame_compare(&comparison, stack, n_stack, chain, n_chain, at_limit);
	for (size_t i = 0; i < comparison.n_breaks; i++) {
		const struct frame_break *found = &comparison.breaks[i];

		at += sprintf(at, "%s%zu %zu %zu%s", i ? ", " : "", found->frame, found->lost,
			      found->wrong, found->resumes ? "" : ".");
		lost += found->lost;
		wrong += found->wrong;
	}
	if (!comparison.n_breaks)
		at += sprintf(at, "=");
	if (comparison.cut)
		sprintf(at, "~");
	_assert_string_equal(text, wanted, file, line);
	_assert_int_equal(lost, comparison.lost, file, line);
	_assert_int_equal(wrong, comparison.wrong, file, line);
	frame_comparison_free(&comparison);
}

#define check(...) check_at(__FILE__, __LINE__, __VA_ARGS__)

TEST(test_same)
{
	check(LIST(1, 2, 3, 4), LIST(1, 2, 3, 4), false, "=");
	check(LIST(1), LIST(1), false, "=");
	/* As many as the limit allows, which happens to be the whole stack. */
	check(LIST(1, 2, 3, 4), LIST(1, 2, 3, 4), true, "=");
}

TEST(test_leaf)
{
	/*
	 * The leaf has not stored its frame record yet: rbp is still its caller's, whose caller
	 * comes next.
	 */
	check(LIST(1, 2, 3, 4), LIST(1, 3, 4), false, "0 1 0");
	/* So its caller has none. */
	check(LIST(1, 2, 3, 4), LIST(1, 4), false, "0 2 0");
	/* And where the leaf's caller is the outermost function, nothing follows. */
	check(LIST(1, 2), LIST(1), false, "0 1 0.");
}

TEST(test_middle)
{
	check(LIST(1, 2, 3, 4, 5), LIST(1, 2, 4, 5), false, "1 1 0");
	check(LIST(1, 2, 3, 4, 5, 6, 7), LIST(1, 3, 4, 7), false, "0 1 0, 3 2 0");
}

TEST(test_end)
{
	check(LIST(1, 2, 3, 4), LIST(1, 2), false, "1 2 0.");
	check(LIST(1, 2, 3, 4), LIST(1), false, "0 3 0.");
	check(LIST(1, 2, 3, 4, 5), LIST(1, 3), false, "0 1 0, 2 2 0.");
}

TEST(test_limit)
{
	check(LIST(1, 2, 3, 4), LIST(1, 2), true, "=~");
	check(LIST(1, 2, 3, 4, 5), LIST(1, 3), true, "0 1 0~");
	check(LIST(1, 2, 3, 3, 3, 3, 4), LIST(1, 3, 3), true, "0 1 0~");
	check(LIST(1, 2, 2, 2, 3, 4), LIST(1, 2, 2, 3), true, "0 1 0~");
	/* A frame record that points to itself: rbp leads nowhere else, up to the limit. */
	check(LIST(1, 2, 3, 4), LIST(1, 2, 3, 3, 3, 3), true, "2 1 3.");
	check(LIST(1, 2, 3, 4), LIST(1, 2, 3, 2, 3, 2), true, "2 1 3.");
}

TEST(test_wrong)
{
	check(LIST(1, 2, 3, 4), LIST(1, 2, 90), false, "1 2 1.");
	check(LIST(1, 2, 3, 4), LIST(1, 90, 91), false, "0 3 2.");
	/* Instead of a frame, and between two. */
	check(LIST(1, 2, 3, 4), LIST(1, 90, 3, 4), false, "0 1 1");
	check(LIST(1, 2, 3, 4), LIST(1, 2, 90, 3, 4), false, "1 0 1");
	/* Past the root. */
	check(LIST(1, 2, 3), LIST(1, 2, 3, 90), false, "2 0 1.");
	/* On the stack, but not at that position. */
	check(LIST(1, 2, 3, 4), LIST(1, 3, 2, 4), false, "0 1 0, 2 0 1");
	/* Not even for this pc. */
	check(LIST(1, 2, 3), LIST(90, 2, 3), false, "0 1 1");
	check(LIST(1, 2, 3), LIST(3), false, "0 2 0");
	check(LIST(1, 2, 3), LIST(2), false, "0 1 0, 1 1 0.");
	check(LIST(1, 2, 3), LIST(90), false, "0 3 1.");
}

/* Any of a recursion's addresses could be the missing one: choose the leaf's caller. */
TEST(test_recursion)
{
	check(LIST(1, 2, 2, 2, 2, 3, 4), LIST(1, 2, 2, 2, 3, 4), false, "0 1 0");
	/* The same, with a program entry that has no frame pointer. */
	check(LIST(1, 2, 2, 2, 2, 3, 4, 5), LIST(1, 2, 2, 2, 3), false, "0 1 0, 5 2 0.");
	/* But addresses that match from the leaf on count as matching. */
	check(LIST(1, 2, 2, 2, 2, 3, 4), LIST(1, 2, 2), false, "2 4 0.");
	check(LIST(2, 2, 2, 2), LIST(2, 2, 2), false, "2 1 0.");
	check(LIST(1, 7, 2, 2, 2, 2, 3), LIST(1, 2, 2, 2, 2, 3), false, "0 1 0");
	/* Mutual. */
	check(LIST(1, 2, 3, 2, 3, 2, 3, 4), LIST(1, 3, 2, 3, 2, 3, 4), false, "0 1 0");
	/* A gap farther up counts as well. */
	check(LIST(1, 2, 2, 2, 5, 6, 2, 2, 7), LIST(1, 2, 2, 2, 2, 2, 7), false, "3 2 0");
}

/* For every chain that omits frames, the result must be the number of omitted frames. */
TEST(test_random)
{
	uint64_t random = 88172645463325252;

	for (unsigned int round = 0; round < 20000; round++) {
		static struct frame_comparison comparison;
		uint64_t stack[24], chain[24];
		size_t n_stack = 2 + round % 22, n_chain = 0, kept = 0;

		for (size_t i = 0; i < n_stack; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* Few addresses, so that they repeat. */
			stack[i] = random % 5;
			if (!i || random >> 32 & 3)
				chain[n_chain++] = stack[i];
		}
		frame_compare(&comparison, stack, n_stack, chain, n_chain, false);
		assert_int_equal(comparison.wrong, 0);
		assert_int_equal(comparison.lost, n_stack - n_chain);
		for (size_t i = 0; i < comparison.n_breaks; i++) {
			/* In order, not adjacent, and within the stack. */
			assert_true(comparison.breaks[i].frame >= kept);
			assert_true(comparison.breaks[i].lost);
			kept = comparison.breaks[i].frame + comparison.breaks[i].lost + 1;
			assert_true(kept <= n_stack);
			assert_int_equal(comparison.breaks[i].resumes, kept < n_stack);
		}
		frame_comparison_free(&comparison);
	}
}

RUN_TESTS()
