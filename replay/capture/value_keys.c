/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "replay/capture/value_keys.h"

/* include/trace/events has shorter ones. */
#define NAME_MAX_SIZE 64

/* Names that all samples' other data have somewhere: keys of --by, columns and labels of exports. */
static const char *const taken[] = {
	"address", "comm",   "cpu",  "event",	"function", "guessed", "host",
	"line",	   "module", "pid",  "process", "source",   "state",   "stop",
	"thread",  "tid",    "time", "weight",	NULL,
};

static bool has(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

/* An identifier of C. */
static bool is_name(const char *text)
{
	for (size_t i = 0; text[i]; i++) {
		char c = text[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_' &&
		    !(i && c >= '0' && c <= '9'))
			return false;
	}
	return *text;
}

static bool is_repeated(const struct reel_value_keys *keys, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++) {
		if (keys->keys[i] && !strcmp(keys->keys[i], key))
			return true;
	}
	return false;
}

struct reel_error *reel_value_keys_make(struct reel_texts *texts, struct reel_bytes names,
					struct reel_value_keys *ret)
{
	const char *at = (const char *)names.data, *end = at + names.size;

	for (size_t i = 0; i < REEL_EVENT_VALUES; i++) {
		const char *comma = at < end ? memchr(at, ',', (size_t)(end - at)) : NULL;
		size_t size = (size_t)((comma ? comma : end) - at);
		char key[4 + NAME_MAX_SIZE];

		snprintf(key, sizeof(key), "arg-%.*s", size < NAME_MAX_SIZE ? (int)size : 0, at);
		at += comma ? size + 1 : size;
		if (!is_name(key + 4))
			continue;
		if (!has(taken, key + 4) && !has(reel_label_keys(), key + 4))
			memmove(key, key + 4, size + 1);
		if (is_repeated(ret, i, key))
			continue;
		ret->keys[i] = reel_texts_add_string(texts, key);
		if (!ret->keys[i])
			return reel_error_no_memory();
	}
	return NULL;
}
