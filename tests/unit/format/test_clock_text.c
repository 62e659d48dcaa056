/* SPDX-License-Identifier: Apache-2.0 */
/* format/clock_text.c */
#include <string.h>

#include "format/clock_text.h"
#include "tests/support/test.h"

static bool parse(const char *text, struct reel_clock_state *ret)
{
	return reel_clock_text_parse(reel_bytes_of_string(text), ret);
}

TEST(text)
{
	struct reel_clock_state state = { true, 12345, -67 };
	char text[REEL_CLOCK_TEXT_SIZE];

	reel_clock_text_print(&state, text);
	assert_string_equal(text, "synchronized, error at most 12345 us, offset -67 us");
	state = (struct reel_clock_state){ 0 };
	assert_true(parse(text, &state) && state.is_synchronized && state.error == 12345 &&
		    state.offset == -67);
	assert_true(parse("not synchronized, error at most 16000000 us, offset 0 us", &state) &&
		    !state.is_synchronized && state.error == 16000000);
	assert_true(!parse("", &state) && !parse("synchronized", &state));
	assert_true(!parse("synchronized, error at most 12345 us, offset -67 us.", &state));
	assert_true(
		!parse("synchronized, error at most 99999999999999999999 us, offset 0 us", &state));
}

RUN_TESTS()
