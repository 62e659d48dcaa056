/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of numbers as bytes: LEB128, signed ones in zigzag order (0, -1, 1, -2 …); and the texts
 * that numbers name, each once.  A page reads them with cli/page/web/bytes.js.
 */
#ifndef CLI_PAGE_COLUMNS_H
#define CLI_PAGE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hash_index.h"
#include "cli/profile/symbols.h"

struct column;

/* All zero is empty. */
struct columns {
	struct column **items;
	size_t count;
	char **texts;
	uint32_t n_texts;
	size_t texts_capacity;
	struct reel_hash_index by_text;
};

void columns_free(struct columns *columns);
/* Makes the next column, which lives as long as the columns; so must its name. */
struct column *column_make(struct columns *columns, const char *name);
/* The number of an escaped text (text_escape), from 0 on. */
uint32_t columns_text(struct columns *columns, const char *text);

void column_append(struct column *column, uint64_t value);
void column_append_signed(struct column *column, int64_t value);
/* The difference to the last value that this function appended. */
void column_append_difference(struct column *column, int64_t value);
/* The same of a text's number; the text is escaped, or will be. */
void column_append_text(struct column *column, const char *text);
void column_append_raw_text(struct column *column, const char *text);
/* The number of the symbol's name, and how far its short name's is from it: 0 if they are equal. */
void column_append_names(struct column *names, struct column *shorts, const struct symbol *symbol);

/* "strings":["…",…],"columns":[["name", count, bytes], …] */
void columns_print_tables(const struct columns *columns, FILE *file);
/* All bytes, one column after the other. */
void columns_write(const struct columns *columns, FILE *file);

#endif
