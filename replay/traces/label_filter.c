/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/traces/label_filter.h"

/* A shorter value has to be all of an id. */
#define ID_PREFIX_MIN 8

static bool is_number(const struct reel_label *label, const char *value)
{
	bool is_hex = value[0] == '0' && (value[1] == 'x' || value[1] == 'X');
	bool is_minus = value[0] == '-';
	uint64_t number;
	char *end;

	if (label->kind == REEL_LABEL_TEXT || !strchr("0123456789", value[is_minus]) ||
	    (is_minus && label->kind != REEL_LABEL_SIGNED))
		return false;
	errno = 0;
	number = strtoull(value, &end, is_hex ? 16 : 10);
	return !errno && !*end && number == label->number;
}

static bool is_below(const char *path, const char *value)
{
	size_t length;

	while (*path == '/')
		path++;
	while (*value == '/')
		value++;
	length = strlen(value);
	while (length && value[length - 1] == '/')
		length--;
	return !strncmp(path, value, length) && (!length || !path[length] || path[length] == '/');
}

static bool is_id(const struct reel_label *label, const char *value, const struct reel_trace *trace)
{
	size_t size = strlen(value);
	char key[32];
	const struct reel_label *name;

	snprintf(key, sizeof(key), "%s-name", label->key);
	name = reel_trace_label(trace, key);
	if ((name && !strcmp(name->text, value)) || !strcmp(label->text, value))
		return true;
	return size >= ID_PREFIX_MIN && strspn(value, "0123456789abcdef-") == size &&
	       !strncmp(label->text, value, size);
}

bool reel_label_match_passes(const struct reel_label_match *match, const struct reel_trace *trace)
{
	const struct reel_label *label = reel_trace_label(trace, match->key);

	if (!label || !*match->value)
		return !label && !*match->value;
	switch (match->kind) {
	case REEL_MATCH_PREFIX:
		return !strncmp(label->text, match->value, strlen(match->value));
	case REEL_MATCH_BELOW:
		return is_below(label->text, match->value);
	case REEL_MATCH_ID:
		return is_id(label, match->value, trace);
	case REEL_MATCH_VALUE:
		break;
	}
	return !strcmp(label->text, match->value) || is_number(label, match->value);
}

bool reel_label_matches_pass(const struct reel_label_match *matches, size_t n,
			     const struct reel_trace *trace)
{
	for (size_t i = 0; i < n; i++) {
		bool passes = false;

		for (size_t j = 0; j < n && !passes; j++)
			passes = !strcmp(matches[i].key, matches[j].key) &&
				 reel_label_match_passes(&matches[j], trace);
		if (!passes)
			return false;
	}
	return true;
}

void reel_label_matches_free(const struct reel_label_match *matches, size_t n)
{
	for (size_t i = 0; matches && i < n; i++) {
		free((char *)matches[i].key);
		free((char *)matches[i].value);
	}
	free((void *)matches);
}

struct reel_error *reel_label_matches_copy(const struct reel_label_match **matches, size_t n)
{
	const struct reel_label_match *from = *matches;
	struct reel_label_match *copy;
	bool ok = true;

	*matches = NULL;
	if (!n)
		return NULL;
	copy = calloc(n, sizeof(*copy));
	if (!copy)
		return reel_error_no_memory();
	for (size_t i = 0; i < n; i++) {
		copy[i] = (struct reel_label_match){ strdup(from[i].key), strdup(from[i].value),
						     from[i].kind };
		ok = ok && copy[i].key && copy[i].value;
	}
	if (!ok) {
		reel_label_matches_free(copy, n);
		return reel_error_no_memory();
	}
	*matches = copy;
	return NULL;
}
