/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of names, against fnmatch(3). */
#include <fnmatch.h>

#include "base/text.h"
#include "tests/support/test.h"

TEST(patterns_are_those_of_fnmatch)
{
	static const char *const letters[] = { "", "a", "b", "*", "?", "ab", "*a", "a*", "?b" };
	static const size_t n = sizeof(letters) / sizeof(*letters);
	size_t n_matches = 0;

	for (size_t i = 0; i < n * n * n; i++) {
		for (size_t j = 0; j < 81; j++) {
			char pattern[8], text[8];
			bool matches;

			snprintf(pattern, sizeof(pattern), "%s%s%s", letters[i % n],
				 letters[i / n % n], letters[i / n / n]);
			for (size_t at = 0, rest = j; at < 4; at++, rest /= 3)
				text[at] = "ab\0"[rest % 3];
			text[4] = 0;
			matches = reel_text_matches(text, pattern);
			assert_int_equal(matches, !fnmatch(pattern, text, FNM_NOESCAPE));
			n_matches += matches;
		}
	}
	assert_in_range(n_matches, 1000, n * n * n * 81 - 1000);
}

TEST(brackets_are_themselves)
{
	assert_true(reel_text_matches("[kworker/0:1]", "[kworker/*]"));
	assert_false(reel_text_matches("k", "[kworker]"));
}

RUN_TESTS()
