/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a MARK of kind 4: how far the wall clock may have been off (SPEC.md). */
#ifndef FORMAT_CLOCK_TEXT_H
#define FORMAT_CLOCK_TEXT_H

#include "base/bytes.h"

#define REEL_CLOCK_TEXT_SIZE 128

struct reel_clock_state {
	bool is_synchronized;
	uint64_t error; /* us at most */
	int64_t offset; /* us that the kernel still has to add */
};

void reel_clock_text_print(const struct reel_clock_state *state, char text[REEL_CLOCK_TEXT_SIZE]);
/* False if it is another text. */
bool reel_clock_text_parse(struct reel_bytes text, struct reel_clock_state *ret);

#endif
