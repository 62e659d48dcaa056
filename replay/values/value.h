/* SPDX-License-Identifier: Apache-2.0 */
/* Values of variables, and of parts of them, as their types show them. */
#ifndef REPLAY_VALUES_VALUE_H
#define REPLAY_VALUES_VALUE_H

#include "replay/values/location.h"

struct reel_value_result {
	enum reel_knowledge knowledge;
	bool is_number, is_signed; /* of 64 bits, in two's complement */
	uint64_t number;
};

/*
 * The value of a place in a frame, appended as text if it is known.  `path`: what follows the
 * variable's name, such as "->length", ".name[3]"; "": the whole.
 */
struct reel_error *reel_value_print(const struct reel_value_frames *frames, size_t frame,
				    const struct reel_place *place, const char *path,
				    struct reel_buffer *text,
				    struct reel_value_result *ret) REEL_MUST_CHECK;

#endif
