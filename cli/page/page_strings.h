/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of a page, each once. */
#ifndef CLI_PAGE_PAGE_STRINGS_H
#define CLI_PAGE_PAGE_STRINGS_H

#include <stdint.h>
#include <stdio.h>

#include "base/hash_index.h"
#include "cli/page/columns.h"
#include "cli/profile/symbols.h"

/* All zero is empty. */
struct page_strings {
	char **items;
	uint32_t n;
	size_t capacity;
	struct reel_hash_index index;
};

void page_strings_free(struct page_strings *strings);
/* The number of an escaped text (text_escape), from 0 on. */
uint32_t page_strings_get(struct page_strings *strings, const char *text);
/* The number of the symbol's name, and how far its short name's is from it: 0 if they are equal. */
void page_strings_add_names(struct page_strings *strings, const struct symbol *symbol,
			    struct column *names, struct column *shorts);
/* "strings":["…",…], with a comma at the end. */
void page_strings_print(const struct page_strings *strings, FILE *file);

#endif
