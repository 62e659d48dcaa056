/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/files.h"
#include "base/hash_index.h"
#include "cli/parquet/thrift.h"
#include "cli/parquet/writer.h"
#include "cli/print/memory.h"
#include "include/stackreel.h"

/* A group ends with the row that reaches one of these: values of a column, and bytes of different
 * values. */
#define ENTRIES_MAX (1 << 19)
#define BYTES_MAX   (32 << 20)
/* Bytes of a column's different values in a row group, whatever a single row has: pages and offsets
 * have 31 bits. */
#define CHUNK_MAX (1 << 30)
/* Longer texts are not bounds in statistics. */
#define BOUND_MAX 64

#define ZSTD_LEVEL 3

static const char magic[] = "PAR1";

/* parquet.thrift: Type, Encoding, CompressionCodec, PageType, FieldRepetitionType, ConvertedType. */
enum {
	TYPE_BOOLEAN = 0,
	TYPE_INT32 = 1,
	TYPE_INT64 = 2,
	TYPE_BYTE_ARRAY = 6,
	TYPE_FIXED_LEN_BYTE_ARRAY = 7,
	ENCODING_PLAIN = 0,
	ENCODING_RLE = 3,
	ENCODING_RLE_DICTIONARY = 8,
	CODEC_ZSTD = 6,
	PAGE_DATA = 0,
	PAGE_DICTIONARY = 2,
	REQUIRED = 0,
	OPTIONAL = 1,
	REPEATED = 2,
	CONVERTED_UTF8 = 0,
	CONVERTED_MAP = 1,
	CONVERTED_LIST = 3,
	/* Members of the union LogicalType. */
	LOGICAL_STRING = 1,
	LOGICAL_MAP = 2,
	LOGICAL_LIST = 3,
	LOGICAL_TIMESTAMP = 8,
};

static const int physical_types[] = {
	[PARQUET_BOOLEAN] = TYPE_BOOLEAN, [PARQUET_INT32] = TYPE_INT32,
	[PARQUET_INT64] = TYPE_INT64,	  [PARQUET_TIME] = TYPE_INT64,
	[PARQUET_TEXT] = TYPE_BYTE_ARRAY, [PARQUET_ID] = TYPE_FIXED_LEN_BYTE_ARRAY,
};

/* A column's values in this row group. */
struct chunk {
	const struct parquet_column *column;
	/* The different values in order of arrival, in PLAIN encoding (booleans: a byte each), and
	 * where each begins. */
	struct reel_buffer values;
	uint32_t *starts;
	size_t n_values, starts_capacity;
	struct reel_hash_index index;
	/* All values but nulls. */
	uint32_t *numbers;
	size_t n_numbers, numbers_capacity;
	/* Of all entries, nulls and empty lists included; bit 7 is the repetition level. */
	uint8_t *levels;
	size_t n_levels, levels_capacity;
	bool is_in_row;
};

#define REPEATS 0x80

struct parquet {
	int fd, errnum;
	struct chunk *chunks;
	size_t n_columns;
	/* Of this group. */
	size_t n_rows, n_entries, n_bytes;
	uint64_t offset, n_all_rows;
	/* The footer's row groups so far. */
	struct thrift groups;
	size_t n_groups;
	ZSTD_CCtx *zstd;
	/* Reused by pages. */
	struct reel_buffer page, packed;
	uint32_t *scratch;
	size_t scratch_capacity;
};

struct parquet *parquet_create(int fd, const struct parquet_column *columns, size_t n_columns)
{
	struct parquet *file = memory_get(sizeof(*file));

	file->fd = fd;
	file->n_columns = n_columns;
	file->chunks = memory_get(n_columns * sizeof(*file->chunks));
	for (size_t i = 0; i < n_columns; i++)
		file->chunks[i].column = &columns[i];
	file->zstd = ZSTD_createCCtx();
	memory_check(file->zstd);
	ZSTD_CCtx_setParameter(file->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	return file;
}

void parquet_destroy(struct parquet *file)
{
	for (size_t i = 0; file && i < file->n_columns; i++) {
		struct chunk *chunk = &file->chunks[i];

		reel_buffer_free(&chunk->values);
		reel_hash_index_free(&chunk->index);
		free(chunk->starts);
		free(chunk->numbers);
		free(chunk->levels);
	}
	if (!file)
		return;
	free(file->chunks);
	reel_buffer_free(&file->groups.buffer);
	reel_buffer_free(&file->page);
	reel_buffer_free(&file->packed);
	free(file->scratch);
	ZSTD_freeCCtx(file->zstd);
	free(file);
}

/* ---- adding -------------------------------------------------------------------------------- */

/* The level of an entry with a value: not null, and not an empty list. */
static uint8_t definition_max(const struct parquet_column *column)
{
	return (uint8_t)((column->shape != PARQUET_FLAT) + column->is_optional);
}

static void add_level(struct parquet *file, struct chunk *chunk, uint8_t level)
{
	chunk->levels = memory_reserve(chunk->levels, &chunk->levels_capacity, chunk->n_levels,
				       sizeof(*chunk->levels));
	chunk->levels[chunk->n_levels++] = level | (chunk->is_in_row ? REPEATS : 0);
	chunk->is_in_row = true;
	if (chunk->n_levels > file->n_entries)
		file->n_entries = chunk->n_levels;
}

static struct reel_bytes value_of(const struct chunk *chunk, size_t i)
{
	size_t end = i + 1 < chunk->n_values ? chunk->starts[i + 1] : chunk->values.size;

	return (struct reel_bytes){ chunk->values.bytes + chunk->starts[i],
				    end - chunk->starts[i] };
}

static bool is_value(const struct chunk *chunk, size_t i, struct reel_bytes wanted)
{
	struct reel_bytes value = value_of(chunk, i);

	return value.size == wanted.size && !memcmp(value.data, wanted.data, wanted.size);
}

/* The number of the value that was appended to the chunk's values from `start` on. */
static uint32_t value_number(struct chunk *chunk, size_t start)
{
	struct reel_bytes added = { chunk->values.bytes + start, chunk->values.size - start };
	uint32_t number = chunk->n_numbers ? chunk->numbers[chunk->n_numbers - 1] : 0;
	bool is_repeated;
	uint64_t hash;

	/* Ends the last value, if only for comparisons. */
	chunk->starts = memory_reserve(chunk->starts, &chunk->starts_capacity, chunk->n_values,
				       sizeof(*chunk->starts));
	chunk->starts[chunk->n_values++] = (uint32_t)start;
	is_repeated = chunk->n_numbers && is_value(chunk, number, added);
	hash = is_repeated ? 0 : reel_bytes_hash(REEL_HASH_BEGIN, added);
	if (!is_repeated)
		number = REEL_HASH_FIND(&chunk->index, hash, i, is_value(chunk, i, added));
	if (number != REEL_HASH_NONE) {
		chunk->n_values--;
		chunk->values.size = start;
		return number;
	}
	number = (uint32_t)chunk->n_values - 1;
	if (!reel_hash_index_add(&chunk->index, hash, number))
		memory_check(NULL);
	return number;
}

static void add_value(struct parquet *file, size_t column, const void *length, const void *bytes,
		      size_t size)
{
	struct chunk *chunk = &file->chunks[column];
	size_t start = chunk->values.size;
	uint32_t number;

	if (size > CHUNK_MAX - 4 || start > CHUNK_MAX - 4 - size) {
		file->errnum = file->errnum ? file->errnum : EFBIG;
		return;
	}
	if (length)
		reel_buffer_append(&chunk->values, length, sizeof(uint32_t));
	reel_buffer_append(&chunk->values, bytes, size);
	if (chunk->values.failed)
		memory_check(NULL);
	chunk->numbers = memory_reserve(chunk->numbers, &chunk->numbers_capacity, chunk->n_numbers,
					sizeof(*chunk->numbers));
	number = value_number(chunk, start);
	chunk->numbers[chunk->n_numbers++] = number;
	file->n_bytes += chunk->values.size - start;
	add_level(file, chunk, definition_max(chunk->column));
}

void parquet_number(struct parquet *file, size_t column, uint64_t value)
{
	enum parquet_type type = file->chunks[column].column->type;
	uint8_t bytes[8];

	reel_store64(bytes, value);
	add_value(file, column, NULL, bytes,
		  type == PARQUET_BOOLEAN ? 1
		  : type == PARQUET_INT32 ? 4
					  : 8);
}

void parquet_text(struct parquet *file, size_t column, const char *text)
{
	struct chunk *chunk = &file->chunks[column];
	size_t size = text ? strlen(text) : 0;
	uint8_t length[4];

	if (!text) {
		add_level(file, chunk, (uint8_t)(definition_max(chunk->column) - 1));
		return;
	}
	reel_store32(length, (uint32_t)size);
	add_value(file, column, length, text, size);
}

void parquet_id(struct parquet *file, size_t column, const uint8_t *id)
{
	add_value(file, column, NULL, id, PARQUET_ID_SIZE);
}

/* ---- encoding -------------------------------------------------------------------------------- */

static size_t run_length(const uint32_t *values, size_t n, size_t max)
{
	size_t run = 1;

	while (run < n && run < max && values[run] == values[0])
		run++;
	return run;
}

static void pack_eight(struct reel_buffer *out, const uint32_t *values, size_t n,
		       unsigned int width)
{
	uint64_t bits = 0;
	unsigned int used = 0;

	for (size_t i = 0; i < 8; i++) {
		bits |= (uint64_t)(i < n ? values[i] : 0) << used;
		for (used += width; used >= 8; used -= 8, bits >>= 8)
			reel_buffer_u8(out, (uint8_t)bits);
	}
}

/* Encodings.md, "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)": eight equal values or more are
 * a run, all others are packed in groups of eight. */
void parquet_encode_hybrid(struct reel_buffer *out, const uint32_t *values, size_t n,
			   unsigned int width)
{
	for (size_t i = 0; i < n;) {
		size_t run = run_length(values + i, n - i, n), end = i;
		uint8_t value[4];

		if (run >= 8) {
			reel_buffer_uleb(out, run << 1);
			reel_store32(value, values[i]);
			reel_buffer_append(out, value, (width + 7) / 8);
			i += run;
			continue;
		}
		while (end < n && run_length(values + end, n - end, 8) < 8)
			end += 8;
		reel_buffer_uleb(out, (end - i) / 8 << 1 | 1);
		for (; i < n && i < end; i += 8)
			pack_eight(out, values + i, n - i, width);
	}
}

static unsigned int bits_of(size_t largest)
{
	return largest ? 64 - (unsigned int)__builtin_clzll(largest) : 1;
}

/* Of a data page of version 1: the levels, with their size before them. */
static void encode_levels(struct parquet *file, const struct chunk *chunk, uint8_t mask,
			  unsigned int shift, unsigned int width)
{
	size_t at = file->page.size;

	file->scratch = memory_reserve(file->scratch, &file->scratch_capacity, chunk->n_levels,
				       sizeof(*file->scratch));
	for (size_t i = 0; i < chunk->n_levels; i++)
		file->scratch[i] = (uint32_t)(chunk->levels[i] & mask) >> shift;
	reel_buffer_u32(&file->page, 0);
	parquet_encode_hybrid(&file->page, file->scratch, chunk->n_levels, width);
	if (!file->page.failed)
		reel_store32(file->page.bytes + at, (uint32_t)(file->page.size - at - 4));
}

static void encode_plain(struct reel_buffer *out, const struct chunk *chunk)
{
	uint8_t bits = 0;

	for (size_t i = 0; i < chunk->n_numbers; i++) {
		struct reel_bytes value = value_of(chunk, chunk->numbers[i]);

		if (chunk->column->type != PARQUET_BOOLEAN) {
			reel_buffer_append(out, value.data, value.size);
			continue;
		}
		bits |= (uint8_t)(value.data[0] << i % 8);
		if (i % 8 == 7 || i + 1 == chunk->n_numbers) {
			reel_buffer_u8(out, bits);
			bits = 0;
		}
	}
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void write_bytes(struct parquet *file, const void *bytes, size_t size)
{
	if (!file->errnum)
		file->errnum = reel_write_all(file->fd, bytes, size, NULL);
	file->offset += size;
}

/* Writes file->page; returns the bytes it has uncompressed, with its header. */
static uint64_t write_page(struct parquet *file, int type, size_t n, int encoding)
{
	size_t bound = ZSTD_compressBound(file->page.size), size;
	struct thrift header = { 0 };
	uint64_t raw = file->page.size;

	file->packed.size = 0;
	if (file->page.failed || !reel_buffer_reserve(&file->packed, bound))
		memory_check(NULL);
	size = ZSTD_compress2(file->zstd, file->packed.bytes, bound, file->page.bytes,
			      file->page.size);
	/* The output fits, so memory ran out. */
	if (ZSTD_isError(size))
		memory_check(NULL);
	thrift_begin(&header);
	thrift_i32(&header, 1, type);
	thrift_i32(&header, 2, (int32_t)file->page.size);
	thrift_i32(&header, 3, (int32_t)size);
	thrift_struct(&header, type == PAGE_DATA ? 5 : 7);
	thrift_i32(&header, 1, (int32_t)n);
	thrift_i32(&header, 2, encoding);
	if (type == PAGE_DATA) {
		thrift_i32(&header, 3, ENCODING_RLE);
		thrift_i32(&header, 4, ENCODING_RLE);
	}
	thrift_end(&header);
	thrift_end(&header);
	if (header.buffer.failed)
		memory_check(NULL);
	raw += header.buffer.size;
	write_bytes(file, header.buffer.bytes, header.buffer.size);
	write_bytes(file, file->packed.bytes, size);
	reel_buffer_free(&header.buffer);
	return raw;
}

/* A dictionary pays if it and the numbers are smaller than the values. */
static bool wants_dictionary(const struct chunk *chunk, unsigned int width)
{
	uint64_t plain = 0;

	if (chunk->column->type == PARQUET_BOOLEAN || !chunk->n_numbers)
		return false;
	for (size_t i = 0; i < chunk->n_numbers; i++)
		plain += value_of(chunk, chunk->numbers[i]).size;
	return chunk->values.size + chunk->n_numbers * width / 8 < plain;
}

static int compare_values(enum parquet_type type, struct reel_bytes a, struct reel_bytes b)
{
	size_t size = a.size < b.size ? a.size : b.size;
	int64_t x, y;
	int order;

	if (type == PARQUET_TEXT) {
		order = memcmp(a.data, b.data, size);
		return order ? order : (a.size > b.size) - (a.size < b.size);
	}
	x = size == 4 ? (int32_t)reel_load32(a.data) : (int64_t)reel_load64(a.data);
	y = size == 4 ? (int32_t)reel_load32(b.data) : (int64_t)reel_load64(b.data);
	return (x > y) - (x < y);
}

/* A value as in statistics: without the length. */
static struct reel_bytes bound_of(const struct chunk *chunk, size_t i)
{
	struct reel_bytes value = value_of(chunk, i);
	size_t length = chunk->column->type == PARQUET_TEXT ? 4 : 0;

	return (struct reel_bytes){ value.data + length, value.size - length };
}

static void write_statistics(struct thrift *out, const struct chunk *chunk)
{
	enum parquet_type type = chunk->column->type;
	struct reel_bytes min = { 0 }, max = { 0 };

	/* The order of ids means nothing. */
	for (size_t i = 0; i < chunk->n_values && type != PARQUET_BOOLEAN && type != PARQUET_ID;
	     i++) {
		struct reel_bytes value = bound_of(chunk, i);

		if (!i || compare_values(type, value, min) < 0)
			min = value;
		if (!i || compare_values(type, value, max) > 0)
			max = value;
	}
	thrift_struct(out, 12);
	thrift_i64(out, 3, chunk->n_levels - chunk->n_numbers);
	if (max.data && min.size <= BOUND_MAX && max.size <= BOUND_MAX) {
		thrift_binary(out, 5, max);
		thrift_binary(out, 6, min);
	}
	thrift_end(out);
}

/* ---- the footer's parts --------------------------------------------------------------------- */

/* The names of the groups between a list or map and its values; LogicalTypes.md, "Lists", "Maps". */
static size_t path_of(const struct parquet_column *column, const char *path[4])
{
	size_t n = 0;

	if (column->shape != PARQUET_FLAT) {
		path[n++] = column->group;
		path[n++] = column->shape == PARQUET_MAP ? "key_value" : "list";
	}
	if (column->shape == PARQUET_STRUCTS)
		path[n++] = "element";
	path[n++] = column->name;
	return n;
}

static void write_metadata(struct thrift *out, const struct chunk *chunk, uint64_t raw,
			   uint64_t start, uint64_t data, uint64_t end)
{
	const char *path[4];
	size_t n_path = path_of(chunk->column, path);
	bool has_dictionary = data != start;

	thrift_begin(out);
	thrift_i64(out, 2, 0);
	thrift_struct(out, 3);
	thrift_i32(out, 1, physical_types[chunk->column->type]);
	thrift_list(out, 2, THRIFT_I32, has_dictionary ? 3 : 2);
	reel_buffer_zigzag(&out->buffer, ENCODING_PLAIN);
	reel_buffer_zigzag(&out->buffer, ENCODING_RLE);
	if (has_dictionary)
		reel_buffer_zigzag(&out->buffer, ENCODING_RLE_DICTIONARY);
	thrift_list(out, 3, THRIFT_BINARY, n_path);
	for (size_t i = 0; i < n_path; i++)
		thrift_bytes(out, reel_bytes_of_string(path[i]));
	thrift_i32(out, 4, CODEC_ZSTD);
	thrift_i64(out, 5, chunk->n_levels);
	thrift_i64(out, 6, raw);
	thrift_i64(out, 7, end - start);
	thrift_i64(out, 9, data);
	if (has_dictionary)
		thrift_i64(out, 11, start);
	write_statistics(out, chunk);
	thrift_end(out);
	thrift_end(out);
}

/* Returns the bytes of the chunk uncompressed. */
static uint64_t write_chunk(struct parquet *file, struct chunk *chunk)
{
	uint8_t definition = definition_max(chunk->column);
	unsigned int width = bits_of(chunk->n_values ? chunk->n_values - 1 : 0);
	bool has_dictionary = wants_dictionary(chunk, width);
	uint64_t start = file->offset, data, raw = 0;

	file->page.size = 0;
	if (has_dictionary) {
		reel_buffer_append(&file->page, chunk->values.bytes, chunk->values.size);
		raw = write_page(file, PAGE_DICTIONARY, chunk->n_values, ENCODING_PLAIN);
		file->page.size = 0;
	}
	data = file->offset;
	if (chunk->column->shape != PARQUET_FLAT)
		encode_levels(file, chunk, REPEATS, 7, 1);
	if (definition)
		encode_levels(file, chunk, REPEATS - 1, 0, bits_of(definition));
	if (has_dictionary) {
		reel_buffer_u8(&file->page, (uint8_t)width);
		parquet_encode_hybrid(&file->page, chunk->numbers, chunk->n_numbers, width);
	} else {
		encode_plain(&file->page, chunk);
	}
	raw += write_page(file, PAGE_DATA, chunk->n_levels,
			  has_dictionary ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN);
	write_metadata(&file->groups, chunk, raw, start, data, file->offset);
	reel_hash_index_free(&chunk->index);
	chunk->values.size = 0;
	chunk->n_values = chunk->n_numbers = chunk->n_levels = 0;
	return raw;
}

static void write_group(struct parquet *file)
{
	uint64_t raw = 0, start;

	if (!file->offset)
		write_bytes(file, magic, 4);
	if (!file->n_rows)
		return;
	start = file->offset;
	thrift_begin(&file->groups);
	thrift_list(&file->groups, 1, THRIFT_STRUCT, file->n_columns);
	for (size_t i = 0; i < file->n_columns; i++)
		raw += write_chunk(file, &file->chunks[i]);
	thrift_i64(&file->groups, 2, raw);
	thrift_i64(&file->groups, 3, file->n_rows);
	thrift_i64(&file->groups, 5, start);
	thrift_i64(&file->groups, 6, file->offset - start);
	thrift_end(&file->groups);
	if (file->groups.buffer.failed)
		memory_check(NULL);
	file->n_groups++;
	file->n_all_rows += file->n_rows;
	file->n_rows = file->n_entries = file->n_bytes = 0;
}

bool parquet_end_row(struct parquet *file)
{
	for (size_t i = 0; i < file->n_columns; i++) {
		struct chunk *chunk = &file->chunks[i];

		/* A null, or an empty list. */
		if (!chunk->is_in_row)
			add_level(file, chunk, 0);
		chunk->is_in_row = false;
	}
	file->n_rows++;
	if (file->n_rows >= PARQUET_ROWS_MAX || file->n_entries >= ENTRIES_MAX ||
	    file->n_bytes >= BYTES_MAX)
		write_group(file);
	return !file->errnum;
}

/* An inner node of the schema. `converted`: negative for none; it and `logical` mean the same, for
 * older and for newer readers. */
static size_t write_node(struct thrift *out, const char *name, int repetition, size_t n_children,
			 int converted, uint8_t logical)
{
	thrift_begin(out);
	if (repetition >= 0)
		thrift_i32(out, 3, repetition);
	thrift_binary(out, 4, reel_bytes_of_string(name));
	thrift_i32(out, 5, (int32_t)n_children);
	if (converted >= 0) {
		thrift_i32(out, 6, converted);
		thrift_struct(out, 10);
		thrift_struct(out, logical);
		thrift_end(out);
		thrift_end(out);
	}
	thrift_end(out);
	return 1;
}

static size_t write_leaf(struct thrift *out, const struct parquet_column *column)
{
	enum parquet_type type = column->type;

	thrift_begin(out);
	thrift_i32(out, 1, physical_types[type]);
	if (type == PARQUET_ID)
		thrift_i32(out, 2, PARQUET_ID_SIZE);
	thrift_i32(out, 3, column->is_optional ? OPTIONAL : REQUIRED);
	thrift_binary(out, 4, reel_bytes_of_string(column->name));
	if (type == PARQUET_TEXT) {
		thrift_i32(out, 6, CONVERTED_UTF8);
		thrift_struct(out, 10);
		thrift_struct(out, LOGICAL_STRING);
		thrift_end(out);
		thrift_end(out);
	} else if (type == PARQUET_TIME) {
		thrift_struct(out, 10);
		thrift_struct(out, LOGICAL_TIMESTAMP);
		thrift_field(out, 1, THRIFT_TRUE); /* isAdjustedToUTC */
		thrift_struct(out, 2);
		thrift_struct(out, 3); /* NANOS */
		thrift_end(out);
		thrift_end(out);
		thrift_end(out);
		thrift_end(out);
	}
	thrift_end(out);
	return 1;
}

/* Returns the number of nodes. */
static size_t write_schema(struct thrift *out, const struct parquet *file)
{
	const char *group = NULL;
	size_t n = 0, n_children = 0, end;

	for (size_t i = 0; i < file->n_columns; i++) {
		const struct parquet_column *column = file->chunks[i].column;

		n_children += column->shape == PARQUET_FLAT || column->group != group;
		group = column->group;
	}
	n += write_node(out, "schema", -1, n_children, -1, 0);
	group = NULL;
	for (size_t i = 0; i < file->n_columns; i++) {
		const struct parquet_column *column = file->chunks[i].column;
		bool is_map = column->shape == PARQUET_MAP;

		for (end = i; end < file->n_columns && file->chunks[end].column->group &&
			      file->chunks[end].column->group == column->group;)
			end++;
		if (column->shape != PARQUET_FLAT && column->group != group) {
			n += write_node(out, column->group, REQUIRED, 1,
					is_map ? CONVERTED_MAP : CONVERTED_LIST,
					is_map ? LOGICAL_MAP : LOGICAL_LIST);
			n += write_node(out, is_map ? "key_value" : "list", REPEATED,
					is_map ? 2 : 1, -1, 0);
			if (column->shape == PARQUET_STRUCTS)
				n += write_node(out, "element", REQUIRED, end - i, -1, 0);
		}
		group = column->group;
		n += write_leaf(out, column);
	}
	return n;
}

int parquet_finish(struct parquet *file)
{
	struct thrift schema = { 0 }, footer = { 0 };
	size_t n;

	write_group(file);
	n = write_schema(&schema, file);
	thrift_begin(&footer);
	thrift_i32(&footer, 1, 1);
	thrift_list(&footer, 2, THRIFT_STRUCT, n);
	reel_buffer_append(&footer.buffer, schema.buffer.bytes, schema.buffer.size);
	thrift_i64(&footer, 3, file->n_all_rows);
	thrift_list(&footer, 4, THRIFT_STRUCT, file->n_groups);
	reel_buffer_append(&footer.buffer, file->groups.buffer.bytes, file->groups.buffer.size);
	thrift_binary(&footer, 6, reel_bytes_of_string("stackreel version " REEL_VERSION_STRING));
	/* Each column has its type's order: without this, statistics of texts are ignored. */
	thrift_list(&footer, 7, THRIFT_STRUCT, file->n_columns);
	for (size_t i = 0; i < file->n_columns; i++) {
		thrift_begin(&footer);
		thrift_struct(&footer, 1);
		thrift_end(&footer);
		thrift_end(&footer);
	}
	thrift_end(&footer);
	reel_buffer_u32(&footer.buffer, (uint32_t)footer.buffer.size);
	reel_buffer_append(&footer.buffer, magic, 4);
	if (schema.buffer.failed || footer.buffer.failed)
		memory_check(NULL);
	write_bytes(file, footer.buffer.bytes, footer.buffer.size);
	reel_buffer_free(&schema.buffer);
	reel_buffer_free(&footer.buffer);
	return file->errnum;
}
