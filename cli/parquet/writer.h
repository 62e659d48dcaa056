/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a Parquet file as its rows arrive (github.com/apache/parquet-format: parquet.thrift,
 * Encodings.md, LogicalTypes.md). It needs memory for a row group, and a few kilobytes for the footer
 * for each that was written. The same rows make the same bytes.
 */
#ifndef CLI_PARQUET_WRITER_H
#define CLI_PARQUET_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARQUET_ID_SIZE 16

enum parquet_type {
	PARQUET_BOOLEAN,
	PARQUET_INT32,
	PARQUET_INT64,
	PARQUET_TIME, /* ns since 1970, UTC */
	PARQUET_TEXT, /* UTF-8 */
	PARQUET_ID,   /* PARQUET_ID_SIZE bytes */
};

enum parquet_shape {
	PARQUET_FLAT,
	PARQUET_LIST,	 /* of values */
	PARQUET_STRUCTS, /* a list of structs; a column is a member */
	PARQUET_MAP,	 /* two columns: keys and values */
};

struct parquet_column {
	const char *name;
	enum parquet_type type;
	bool is_optional; /* may be null */
	enum parquet_shape shape;
	/* The list or map that the column belongs to; columns of the same one are consecutive. It
	 * may be empty, but not null. */
	const char *group;
};

/* Rows of a group at most: as DuckDB writes them. Fewer if its lists or texts are long. */
#define PARQUET_ROWS_MAX 122880

struct parquet;

/* `fd` and `columns` belong to the caller. */
struct parquet *parquet_create(int fd, const struct parquet_column *columns, size_t n_columns);
/*
 * Adds to the current row: once for each flat column, any number of times for a list's, and then
 * equally often for all columns of the list. An optional flat column may be left out, which is null.
 * Numbers are unsigned or in two's complement.
 */
void parquet_number(struct parquet *file, size_t column, uint64_t value);
void parquet_text(struct parquet *file, size_t column, const char *text); /* NULL: null */
void parquet_id(struct parquet *file, size_t column, const uint8_t *id);
/* False if a write failed. */
bool parquet_end_row(struct parquet *file);
/* Completes the file. Returns 0, or the errno of the first write that failed. */
int parquet_finish(struct parquet *file);
void parquet_destroy(struct parquet *file);

/* For tests: the RLE and bit-packing hybrid of `n` values of `width` bits. */
struct reel_buffer;
void parquet_encode_hybrid(struct reel_buffer *out, const uint32_t *values, size_t n,
			   unsigned int width);

#endif
