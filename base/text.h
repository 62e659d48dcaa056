/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings that live as long as their owner: equal strings are one pointer. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/bytes.h"

struct reel_texts;

struct reel_texts *reel_texts_create(void);
void reel_texts_destroy(struct reel_texts *texts);
/* A NUL-terminated copy; NULL if memory runs out.  Bytes after a NUL are dropped. */
const char *reel_texts_add(struct reel_texts *texts, const void *bytes, size_t size);
const char *reel_texts_add_string(struct reel_texts *texts, const char *string);
/* Lower-case hexadecimal. */
const char *reel_texts_add_hex(struct reel_texts *texts, struct reel_bytes bytes);

/*
 * Replaces control characters by '?', but NULs: a terminal must not obey them.  Also those of
 * Latin-1, U+0080 to U+009F, in one byte or in UTF-8's two.
 */
void reel_text_clean(char *bytes, size_t size);
bool reel_text_is_clean(const char *text);

/* A new string, which the caller frees; NULL if memory runs out. */
char *reel_text_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether a text is a pattern's, in which * is any characters and ? is one; all others, [ too, are
 * themselves. */
bool reel_text_matches(const char *text, const char *pattern);

#endif
