/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"

struct text {
	struct text *next; /* in the bucket */
	uint64_t hash;
	size_t size;
	char bytes[];
};

struct reel_texts {
	struct text **buckets;
	size_t n_buckets; /* a power of two */
	size_t count;
};

struct reel_texts *reel_texts_create(void)
{
	struct reel_texts *texts = calloc(1, sizeof(*texts));

	if (!texts)
		return NULL;
	texts->n_buckets = 256;
	texts->buckets = calloc(texts->n_buckets, sizeof(*texts->buckets));
	if (!texts->buckets) {
		free(texts);
		return NULL;
	}
	return texts;
}

void reel_texts_destroy(struct reel_texts *texts)
{
	if (!texts)
		return;
	for (size_t i = 0; i < texts->n_buckets; i++) {
		for (struct text *text = texts->buckets[i], *next; text; text = next) {
			next = text->next;
			free(text);
		}
	}
	free(texts->buckets);
	free(texts);
}

static void grow(struct reel_texts *texts)
{
	size_t n = texts->n_buckets * 2;
	struct text **buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return; /* longer chains do no harm */
	for (size_t i = 0; i < texts->n_buckets; i++) {
		for (struct text *text = texts->buckets[i], *next; text; text = next) {
			struct text **bucket = &buckets[text->hash & (n - 1)];

			next = text->next;
			text->next = *bucket;
			*bucket = text;
		}
	}
	free(texts->buckets);
	texts->buckets = buckets;
	texts->n_buckets = n;
}

const char *reel_texts_add(struct reel_texts *texts, const void *bytes, size_t size)
{
	const void *nul = size ? memchr(bytes, 0, size) : NULL;
	struct text *text;
	uint64_t hash;

	if (nul)
		size = (size_t)((const char *)nul - (const char *)bytes);
	if (!size)
		return "";
	hash = reel_bytes_hash(REEL_HASH_BEGIN, (struct reel_bytes){ bytes, size });
	for (text = texts->buckets[hash & (texts->n_buckets - 1)]; text; text = text->next)
		if (text->hash == hash && text->size == size && !memcmp(text->bytes, bytes, size))
			return text->bytes;
	text = malloc(sizeof(*text) + size + 1);
	if (!text)
		return NULL;
	text->hash = hash;
	text->size = size;
	memcpy(text->bytes, bytes, size);
	text->bytes[size] = 0;
	if (++texts->count > texts->n_buckets)
		grow(texts);
	text->next = texts->buckets[hash & (texts->n_buckets - 1)];
	texts->buckets[hash & (texts->n_buckets - 1)] = text;
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
