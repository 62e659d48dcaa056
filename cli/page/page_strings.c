/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/page/page_strings.h"
#include "cli/print/json.h"
#include "cli/print/memory.h"

void page_strings_free(struct page_strings *strings)
{
	for (uint32_t i = 0; i < strings->n; i++)
		free(strings->items[i]);
	free(strings->items);
	reel_hash_index_free(&strings->index);
}

/* FNV-1a. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return hash;
}

uint32_t page_strings_get(struct page_strings *strings, const char *text)
{
	uint64_t hash = hash_of(text);
	uint32_t found = REEL_HASH_FIND(&strings->index, hash, i, !strcmp(strings->items[i], text));

	if (found != REEL_HASH_NONE)
		return found;
	strings->items = memory_reserve(strings->items, &strings->capacity, strings->n,
					sizeof(*strings->items));
	strings->items[strings->n] = memory_print("%s", text);
	if (!reel_hash_index_add(&strings->index, hash, strings->n))
		memory_check(NULL);
	return strings->n++;
}

void page_strings_add_names(struct page_strings *strings, const struct symbol *symbol,
			    struct column *names, struct column *shorts)
{
	uint32_t number = page_strings_get(strings, symbol->name);

	column_add_difference(names, number);
	column_add_signed(shorts,
			  (int64_t)page_strings_get(strings, symbol_shown(symbol, true)) - number);
}

void page_strings_print(const struct page_strings *strings, FILE *file)
{
	fputs("\"strings\":[", file);
	for (uint32_t i = 0; i < strings->n; i++) {
		fputs(i ? ",\n" : "", file);
		json_escaped_text(strings->items[i], file);
	}
	fputs("],\n", file);
}
