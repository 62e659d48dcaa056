/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the labels that are an event's values: its fields' names. */
#ifndef REPLAY_CAPTURE_VALUE_KEYS_H
#define REPLAY_CAPTURE_VALUE_KEYS_H

#include "base/error.h"
#include "base/id_table.h"
#include "base/text.h"
#include "format/record.h"
#include "include/commands.h"

struct reel_value_keys {
	struct reel_id_entry entry;	     /* the event's id */
	const char *keys[REEL_EVENT_VALUES]; /* NULL: no name */
};

/* Takes the valid names in EVENT's value_names; `ret` is empty, and refers to `texts`. */
struct reel_error *reel_value_keys_make(struct reel_texts *texts, struct reel_bytes names,
					struct reel_value_keys *ret) REEL_MUST_CHECK;

#endif
