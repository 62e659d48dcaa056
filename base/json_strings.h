/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strings of a JSON text (RFC 8259), which may be hostile, with the keys that lead to each.
 * Nothing is unescaped: a string with a backslash is given as it is written, so that a caller who
 * looks for plain names compares bytes.  Texts are not checked: of an invalid one, some strings are
 * found, or none.
 */
#ifndef BASE_JSON_STRINGS_H
#define BASE_JSON_STRINGS_H

#include "base/bytes.h"

/* Text nested deeper than this ends the search. */
#define REEL_JSON_DEPTH 32

struct reel_json_strings {
	struct reel_cursor text;
	size_t depth;
	struct reel_json_level {
		bool is_object, has_key;
		struct reel_bytes key;
	} levels[REEL_JSON_DEPTH];
};

/* Starts at the beginning of the text, which must live as long. */
void reel_json_strings_begin(struct reel_json_strings *json, struct reel_bytes text);
/* The next string that is not a key; false at the end. */
bool reel_json_strings_next(struct reel_json_strings *json, struct reel_bytes *ret);
/* Whether exactly these keys of nested objects lead to the string; the list ends with NULL. */
bool reel_json_strings_is_at(const struct reel_json_strings *json, const char *const *keys);

#endif
