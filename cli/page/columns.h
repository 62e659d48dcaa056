/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of numbers as bytes: LEB128, signed ones in zigzag order (0, -1, 1, -2 …).  A page reads
 * them with cli/page/web/bytes.js.
 */
#ifndef CLI_PAGE_COLUMNS_H
#define CLI_PAGE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* All zero but for the name is empty. */
struct column {
	const char *name;
	uint8_t *bytes;
	size_t size, capacity;
	uint64_t count;
	int64_t last; /* of column_add_difference */
};

struct columns {
	struct column *items;
	size_t count;
};

/* Takes ownership of the column; its name must outlive it. */
void columns_add(struct columns *columns, struct column column);
void columns_free(struct columns *columns);

void column_add(struct column *column, uint64_t value);
void column_add_signed(struct column *column, int64_t value);
/* The difference to the last value that this function added. */
void column_add_difference(struct column *column, int64_t value);

/* [["name", count, bytes], …]. */
void columns_print_table(const struct columns *columns, FILE *file);
/* All bytes, one column after the other. */
void columns_write(const struct columns *columns, FILE *file);

#endif
