/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/hash_index.h"
#include "base/text.h"

struct text {
	size_t size;
	char bytes[];
};

struct reel_texts {
	struct text **all;
	size_t capacity;
	struct reel_hash_index index;
};

struct reel_texts *reel_texts_create(void)
{
	return calloc(1, sizeof(struct reel_texts));
}

void reel_texts_destroy(struct reel_texts *texts)
{
	if (!texts)
		return;
	for (size_t i = 0; i < texts->index.n; i++)
		free(texts->all[i]);
	free(texts->all);
	reel_hash_index_free(&texts->index);
	free(texts);
}

const char *reel_texts_add(struct reel_texts *texts, const void *bytes, size_t size)
{
	const void *nul = size ? memchr(bytes, 0, size) : NULL;
	struct text **all = texts->all, *text;
	uint32_t n = (uint32_t)texts->index.n, known;
	uint64_t hash;

	if (nul)
		size = (size_t)((const char *)nul - (const char *)bytes);
	if (!size)
		return "";
	hash = reel_bytes_hash(REEL_HASH_BEGIN, (struct reel_bytes){ bytes, size });
	known = REEL_HASH_FIND(&texts->index, hash, i,
			       all[i]->size == size && !memcmp(all[i]->bytes, bytes, size));
	if (known != REEL_HASH_NONE)
		return all[known]->bytes;
	text = malloc(sizeof(*text) + size + 1);
	if (!text || n == REEL_HASH_NONE ||
	    !reel_array_reserve(&texts->all, n, &texts->capacity, sizeof(*texts->all)) ||
	    !reel_hash_index_add(&texts->index, hash, n)) {
		free(text);
		return NULL;
	}
	text->size = size;
	memcpy(text->bytes, bytes, size);
	text->bytes[size] = 0;
	texts->all[n] = text;
	return text->bytes;
}

const char *reel_texts_add_string(struct reel_texts *texts, const char *string)
{
	return reel_texts_add(texts, string, strlen(string));
}

const char *reel_texts_add_hex(struct reel_texts *texts, struct reel_bytes bytes)
{
	static const char digits[] = "0123456789abcdef";
	char hex[2 * 64];
	size_t n = bytes.size < sizeof(hex) / 2 ? bytes.size : sizeof(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		hex[2 * i] = digits[bytes.data[i] >> 4];
		hex[2 * i + 1] = digits[bytes.data[i] & 15];
	}
	return reel_texts_add(texts, hex, 2 * n);
}

char *reel_text_print(const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return n < 0 ? NULL : text;
}

/* Whether a byte is a control character, or its end; within other characters of UTF-8, 0x80 to 0x9f
 * follow another byte above 0x7f. */
static bool is_control(uint8_t before, uint8_t byte)
{
	return byte < ' ' || byte == 0x7f ||
	       (byte >= 0x80 && byte <= 0x9f && (before < 0x80 || before == 0xc2));
}

void reel_text_clean(char *bytes, size_t size)
{
	char before = 0;

	for (size_t i = 0; i < size; i++) {
		char byte = bytes[i];

		if (byte && is_control((uint8_t)before, (uint8_t)byte)) {
			bytes[i] = '?';
			if ((uint8_t)before == 0xc2)
				bytes[i - 1] = '?';
		}
		before = byte;
	}
}

bool reel_text_is_clean(const char *text)
{
	for (char before = 0; *text; before = *text++) {
		if (is_control((uint8_t)before, (uint8_t)*text))
			return false;
	}
	return true;
}

bool reel_text_matches(const char *text, const char *pattern)
{
	/* Where the last * is, and the text that follows what it is now. */
	const char *star = NULL, *rest = NULL;

	while (*text || *pattern) {
		if (*pattern == '*') {
			star = pattern++;
			rest = text;
		} else if (*text && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star && *rest) {
			pattern = star + 1;
			text = ++rest;
		} else {
			return false;
		}
	}
	return true;
}
