/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/clock_text.h"

void reel_clock_text_print(const struct reel_clock_state *state, char text[REEL_CLOCK_TEXT_SIZE])
{
	snprintf(text, REEL_CLOCK_TEXT_SIZE,
		 "%s, error at most %" PRIu64 " us, offset %" PRId64 " us",
		 state->is_synchronized ? "synchronized" : "not synchronized", state->error,
		 state->offset);
}

bool reel_clock_text_parse(struct reel_bytes text, struct reel_clock_state *ret)
{
	char copy[REEL_CLOCK_TEXT_SIZE], again[REEL_CLOCK_TEXT_SIZE];
	const char *error;

	if (text.size >= sizeof(copy))
		return false;
	snprintf(copy, sizeof(copy), "%.*s", (int)text.size, (const char *)text.data);
	error = strstr(copy, ", error");
	ret->is_synchronized = !strncmp(copy, "sync", 4);
	if (!error || sscanf(error, ", error at most %15" SCNu64 " us, offset %15" SCNd64,
			     &ret->error, &ret->offset) != 2)
		return false;
	reel_clock_text_print(ret, again);
	return !strcmp(copy, again);
}
