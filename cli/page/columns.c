/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/page/columns.h"
#include "cli/print/json.h"
#include "cli/print/text.h"

/* Of a number of 64 bits. */
#define BYTES_MAX 10

struct column {
	struct columns *columns;
	const char *name;
	uint8_t *bytes;
	size_t size, capacity;
	uint64_t count;
	int64_t last; /* of column_append_difference */
};

void columns_free(struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++) {
		free(columns->items[i]->bytes);
		free(columns->items[i]);
	}
	for (uint32_t i = 0; i < columns->n_texts; i++)
		free(columns->texts[i]);
	free(columns->items);
	free(columns->texts);
	reel_hash_index_free(&columns->by_text);
}

struct column *column_make(struct columns *columns, const char *name)
{
	struct column *column = memory_get(sizeof(*column));

	*column = (struct column){ .columns = columns, .name = name };
	columns->items = memory_resize(columns->items, columns->count + 1, sizeof(*columns->items));
	columns->items[columns->count++] = column;
	return column;
}

uint32_t columns_text(struct columns *columns, const char *text)
{
	uint64_t hash = reel_bytes_hash(REEL_HASH_BEGIN, reel_bytes_of_string(text));
	uint32_t found =
		REEL_HASH_FIND(&columns->by_text, hash, i, !strcmp(columns->texts[i], text));

	if (found != REEL_HASH_NONE)
		return found;
	columns->texts = memory_reserve(columns->texts, &columns->texts_capacity, columns->n_texts,
					sizeof(*columns->texts));
	columns->texts[columns->n_texts] = memory_print("%s", text);
	if (!reel_hash_index_add(&columns->by_text, hash, columns->n_texts))
		memory_check(NULL);
	return columns->n_texts++;
}

/* ---- appending ----------------------------------------------------------------------------- */

void column_append(struct column *column, uint64_t value)
{
	if (column->capacity - column->size < BYTES_MAX) {
		column->capacity = column->capacity * 2 + 1024;
		column->bytes = memory_resize(column->bytes, column->capacity, 1);
	}
	for (; value > 0x7f; value >>= 7)
		column->bytes[column->size++] = (uint8_t)(value | 0x80);
	column->bytes[column->size++] = (uint8_t)value;
	column->count++;
}

void column_append_signed(struct column *column, int64_t value)
{
	column_append(column, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void column_append_difference(struct column *column, int64_t value)
{
	column_append_signed(column, (int64_t)((uint64_t)value - (uint64_t)column->last));
	column->last = value;
}

void column_append_text(struct column *column, const char *text)
{
	column_append_difference(column, columns_text(column->columns, text));
}

void column_append_raw_text(struct column *column, const char *text)
{
	_cleanup_free_ char *escaped = text_escape(text, "");

	column_append_text(column, escaped);
}

void column_append_names(struct column *names, struct column *shorts, const struct symbol *symbol)
{
	uint32_t number = columns_text(names->columns, symbol->name);

	column_append_difference(names, number);
	column_append_signed(
		shorts, (int64_t)columns_text(names->columns, symbol_shown(symbol, true)) - number);
}

/* ---- writing ------------------------------------------------------------------------------- */

void columns_print_tables(const struct columns *columns, FILE *file)
{
	fputs("\"strings\":[", file);
	for (uint32_t i = 0; i < columns->n_texts; i++) {
		fputs(i ? ",\n" : "", file);
		json_escaped_text(columns->texts[i], file);
	}
	fputs("],\n\"columns\":[", file);
	for (size_t i = 0; i < columns->count; i++)
		fprintf(file, "%s[\"%s\",%" PRIu64 ",%zu]", i ? "," : "", columns->items[i]->name,
			columns->items[i]->count, columns->items[i]->size);
	fputc(']', file);
}

void columns_write(const struct columns *columns, FILE *file)
{
	for (size_t i = 0; i < columns->count; i++) {
		if (columns->items[i]->size)
			fwrite(columns->items[i]->bytes, 1, columns->items[i]->size, file);
	}
}
