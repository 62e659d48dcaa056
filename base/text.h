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

/* A new string, which the caller frees; NULL if memory runs out. */
char *reel_text_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
