/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/page/columns.h"
#include "cli/print/memory.h"

/* Of a number of 64 bits. */
#define BYTES_MAX 10

void columns_add(struct columns *columns, struct column column)
{
	columns->items = memory_resize(columns->items, columns->count + 1, sizeof(*columns->items));
	columns->items[columns->count++] = column;
}

void columns_free(struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++)
		free(columns->items[i].bytes);
	free(columns->items);
}

void column_add(struct column *column, uint64_t value)
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

void column_add_signed(struct column *column, int64_t value)
{
	column_add(column, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void column_add_difference(struct column *column, int64_t value)
{
	column_add_signed(column, (int64_t)((uint64_t)value - (uint64_t)column->last));
	column->last = value;
}

void columns_print_table(const struct columns *columns, FILE *file)
{
	fputc('[', file);
	for (size_t i = 0; i < columns->count; i++)
		fprintf(file, "%s[\"%s\",%" PRIu64 ",%zu]", i ? "," : "", columns->items[i].name,
			columns->items[i].count, columns->items[i].size);
	fputc(']', file);
}

void columns_write(const struct columns *columns, FILE *file)
{
	for (size_t i = 0; i < columns->count; i++) {
		if (columns->items[i].size)
			fwrite(columns->items[i].bytes, 1, columns->items[i].size, file);
	}
}
