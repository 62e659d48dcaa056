/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_strings.h"

void reel_json_strings_begin(struct reel_json_strings *json, struct reel_bytes text)
{
	*json = (struct reel_json_strings){ .text = reel_cursor(text.data, text.size) };
}

/* After its first quote; false if it does not end. */
static bool take_string(struct reel_cursor *text, struct reel_bytes *ret)
{
	const uint8_t *start = text->at;

	for (; text->at < text->end; text->at++) {
		if (*text->at == '"') {
			*ret = (struct reel_bytes){ start, (size_t)(text->at++ - start) };
			return true;
		}
		/* The next byte is not the end, whatever it is. */
		if (*text->at == '\\' && text->at + 1 < text->end)
			text->at++;
	}
	return false;
}

bool reel_json_strings_next(struct reel_json_strings *json, struct reel_bytes *ret)
{
	struct reel_cursor *text = &json->text;

	while (text->at < text->end) {
		struct reel_json_level *level = json->depth ? &json->levels[json->depth - 1] : NULL;
		uint8_t byte = *text->at++;

		switch (byte) {
		case '{':
		case '[':
			if (json->depth == REEL_JSON_DEPTH)
				return false;
			json->levels[json->depth++] =
				(struct reel_json_level){ .is_object = byte == '{' };
			break;
		case '}':
		case ']':
			if (!level)
				return false;
			json->depth--;
			break;
		case ':':
			if (level)
				level->has_key = true;
			break;
		case ',':
			if (level)
				level->has_key = false;
			break;
		case '"':
			if (!take_string(text, ret))
				return false;
			if (!level || !level->is_object || level->has_key)
				return true;
			level->key = *ret;
			break;
		default: /* white space, numbers, true, false, null */
			break;
		}
	}
	return false;
}

bool reel_json_strings_is_at(const struct reel_json_strings *json, const char *const *keys)
{
	size_t n = 0;

	for (; keys[n]; n++) {
		const struct reel_json_level *level = &json->levels[n];

		if (n == json->depth || !level->is_object || level->key.size != strlen(keys[n]) ||
		    memcmp(level->key.data, keys[n], level->key.size) != 0)
			return false;
	}
	return n == json->depth;
}
