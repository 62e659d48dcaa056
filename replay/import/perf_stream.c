/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "replay/import/perf_stream.h"

#define CHUNK	    (1u << 20)
#define OUTPUT_SIZE (256u << 10)
#define WINDOW_LOG  27 /* zstd's own default limit: 128 MiB */
/* The limit for attributes and features; the build-ids of 100,000 files have 10 MB. */
#define SECTION_SIZE_MAX (256u << 20)
/* perf's stacks shrink to a 500th at best, and a compressed byte never holds two records.  A file
 * beyond these limits is not a recording. */
#define EXPANSION_MAX	   4096
#define EXPANSION_FREE_MAX (256ull << 20)
#define DENSITY_MAX	   2 /* records for each byte */
#define DENSITY_FREE_MAX   (1u << 20)

/* ---- the header ------------------------------------------------------------------------ */

static struct reel_error *check_magic(const uint8_t *bytes, size_t size)
{
	uint64_t magic = size >= 8 ? reel_load64(bytes) : 0;

	if (size >= 8 && !memcmp(bytes, "PERFFILE", 8))
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "written by a perf older than Linux 2.6.38");
	if (magic != PERF_MAGIC && magic != PERF_MAGIC_SWAPPED)
		return reel_error_create(REEL_ERROR_NOT_A_CAPTURE,
					 "not a perf.data file (no PERFILE2 at the beginning)");
	if (size < PERF_PIPE_HEADER_SIZE)
		return reel_error_create(REEL_ERROR_TRUNCATED, "file ends within its header");
	return NULL;
}

static const struct reel_source_kind perf_kind = { PERF_PIPE_HEADER_SIZE, check_magic };

static bool fits(const struct perf_stream *stream, const struct perf_section *section)
{
	return section->offset <= stream->file.size &&
	       section->size <= stream->file.size - section->offset;
}

static struct perf_section read_section(struct perf_cursor *cursor)
{
	uint64_t offset = perf_cursor_u64(cursor);

	return (struct perf_section){ offset, perf_cursor_u64(cursor) };
}

static bool has_bit(const uint64_t *words, unsigned int bit)
{
	return words[bit / 64] >> bit % 64 & 1;
}

/* The sections of the features follow the data, one for each bit, ascending. */
static struct reel_error *read_features(struct perf_stream *stream, const uint64_t *bits)
{
	uint8_t bytes[16];
	uint64_t at = stream->data.offset + stream->data.size;

	for (unsigned int feature = 0; feature < PERF_FEATURES; feature++) {
		struct perf_cursor cursor = perf_cursor(bytes, sizeof(bytes), stream->big_endian);
		struct perf_section section;

		if (!has_bit(bits, feature))
			continue;
		if (at > stream->file.size || stream->file.size - at < sizeof(bytes))
			return reel_error_create(REEL_ERROR_TRUNCATED,
						 "%s: file ends within the list of features",
						 stream->file.name);
		TRY(reel_source_read(&stream->file, at, bytes, sizeof(bytes)));
		at += sizeof(bytes);
		section = read_section(&cursor);
		if (!fits(stream, &section))
			return reel_error_create(REEL_ERROR_TRUNCATED,
						 "%s: feature %u exceeds the file",
						 stream->file.name, feature);
		stream->features[feature] = section;
	}
	return NULL;
}

static struct reel_error *read_header(struct perf_stream *stream)
{
	uint8_t bytes[PERF_FILE_HEADER_SIZE];
	struct perf_cursor cursor;
	uint64_t size, bits[PERF_FEATURES / 64];

	TRY(reel_source_read(&stream->file, 0, bytes, PERF_PIPE_HEADER_SIZE));
	stream->big_endian = reel_load64(bytes) == PERF_MAGIC_SWAPPED;
	cursor = perf_cursor(bytes + 8, 8, stream->big_endian);
	size = perf_cursor_u64(&cursor);
	if (size == PERF_PIPE_HEADER_SIZE) {
		stream->is_pipe = true;
		stream->data = (struct perf_section){ size, stream->file.size - size };
		return NULL;
	}
	if (size < PERF_FILE_HEADER_SIZE)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "%s: offset 8: a header of %llu bytes, not 16 or 104",
					 stream->file.name, (unsigned long long)size);
	if (stream->file.size < sizeof(bytes))
		return reel_error_create(REEL_ERROR_TRUNCATED, "%s: file ends within its header",
					 stream->file.name);
	TRY(reel_source_read(&stream->file, 0, bytes, sizeof(bytes)));
	cursor = perf_cursor(bytes + 16, sizeof(bytes) - 16, stream->big_endian);
	stream->attr_size = perf_cursor_u64(&cursor);
	stream->attrs = read_section(&cursor);
	stream->data = read_section(&cursor);
	(void)read_section(&cursor); /* event types, obsolete */
	for (size_t i = 0; i < PERF_FEATURES / 64; i++)
		bits[i] = perf_cursor_u64(&cursor);
	/* A big-endian 32-bit host wrote words of 32 bits; a perf of any age has this feature. */
	if (stream->big_endian && !has_bit(bits, PERF_FEATURE_HOSTNAME))
		for (size_t i = 0; i < PERF_FEATURES / 64; i++)
			bits[i] = bits[i] >> 32 | bits[i] << 32;
	if (stream->data.offset > stream->file.size)
		return reel_error_create(REEL_ERROR_TRUNCATED, "%s: file ends before its data",
					 stream->file.name);
	if (!stream->data.size && stream->file.size > stream->data.offset) {
		stream->unfinished = true;
		stream->data.size = stream->file.size - stream->data.offset;
		return NULL;
	}
	return fits(stream, &stream->data) ? read_features(stream, bits) : NULL;
}

static bool is_directory(const char *path)
{
	struct stat status;

	return strcmp(path, "-") != 0 && !stat(path, &status) && S_ISDIR(status.st_mode);
}

struct reel_error *reel_perf_stream_open(const char *path, struct perf_stream *ret)
{
	struct perf_stream stream = { 0 };
	uint8_t bytes[PERF_PIPE_HEADER_SIZE];
	struct reel_error *error;
	size_t size;

	if (is_directory(path))
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: is a directory; for 'perf record --kcore', import "
					 "%s/data; recordings with --threads are not supported",
					 path, path);
	TRY(reel_source_open(path, &perf_kind, &stream.file));
	size = stream.file.size < sizeof(bytes) ? (size_t)stream.file.size : sizeof(bytes);
	error = reel_source_read(&stream.file, 0, bytes, size);
	if (!error) {
		error = check_magic(bytes, size);
		if (error)
			error = reel_error_prefix(error, "%s", stream.file.name);
	}
	if (!error)
		error = read_header(&stream);
	/* Missing features are no reason to drop the samples. */
	if (error && reel_error_code(error) == REEL_ERROR_TRUNCATED && stream.data.size) {
		reel_error_destroy(error);
		error = NULL;
		stream.unfinished = true;
	}
	if (error)
		reel_perf_stream_close(&stream);
	else
		*ret = stream;
	return error;
}

void reel_perf_stream_close(struct perf_stream *stream)
{
	reel_source_close(&stream->file);
	if (stream->has_spool)
		reel_source_close(&stream->spool);
}

/* ---- records --------------------------------------------------------------------------- */

struct perf_cursor reel_perf_record_payload(const struct perf_stream *stream,
					    const struct perf_record *record)
{
	return perf_cursor(record->bytes + PERF_RECORD_HEADER,
			   record->size - (size_t)PERF_RECORD_HEADER, stream->big_endian);
}

struct reel_error *reel_perf_record_error(const struct perf_stream *stream,
					  const struct perf_record *record, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return reel_error_create(REEL_ERROR_CORRUPT,
				 "%s: record %llu (type %u) at %soffset %llu: %s",
				 stream->file.name, (unsigned long long)record->position.order,
				 record->type, record->position.in_spool ? "decompressed " : "",
				 (unsigned long long)record->position.offset, text);
}

static struct perf_record record_at(const struct perf_stream *stream, const uint8_t *bytes)
{
	struct perf_cursor cursor = perf_cursor(bytes, PERF_RECORD_HEADER, stream->big_endian);
	struct perf_record record = { .bytes = bytes };

	record.type = perf_cursor_u32(&cursor);
	record.misc = perf_cursor_u16(&cursor);
	record.size = perf_cursor_u16(&cursor);
	return record;
}

/* The state of a walk through the records. */
struct walk {
	struct perf_stream *stream;
	struct reel_error *(*visit)(void *context, const struct perf_record *record);
	void *context;
	uint64_t order;
	uint64_t compressed_bytes;
	ZSTD_DCtx *zstd;
	/* Decompressed bytes that do not yet form a whole record. */
	struct reel_buffer pending;
};

static struct reel_error *too_short(const struct walk *walk, const struct perf_record *record)
{
	return reel_perf_record_error(walk->stream, record,
				      "a size of %u bytes, less than a header's", record->size);
}

/* Visits the whole records in `pending`, copies them to the spool, and keeps the rest. */
static struct reel_error *visit_pending(struct walk *walk)
{
	struct perf_stream *stream = walk->stream;
	uint64_t base = stream->spool.size;
	size_t at = 0;
	struct reel_error *error = NULL;

	while (!error && walk->pending.size - at >= PERF_RECORD_HEADER) {
		struct perf_record record = record_at(stream, walk->pending.bytes + at);

		record.position = (struct perf_position){ walk->order, base + at, true };
		if (record.size < PERF_RECORD_HEADER)
			error = too_short(walk, &record);
		else if (record.type >= PERF_RECORD_USER_START)
			error = reel_perf_record_error(stream, &record,
						       "this type of record cannot be compressed");
		if (error || record.size > walk->pending.size - at)
			break;
		walk->order++;
		error = walk->visit(walk->context, &record);
		at += record.size;
	}
	if (at) {
		struct reel_error *failed =
			reel_source_append(&stream->spool, walk->pending.bytes, at);

		if (error)
			reel_error_destroy(failed);
		else
			error = failed;
		memmove(walk->pending.bytes, walk->pending.bytes + at, walk->pending.size - at);
		walk->pending.size -= at;
	}
	return error;
}

static struct reel_error *start_decompression(struct walk *walk)
{
	walk->zstd = ZSTD_createDCtx();
	if (!walk->zstd)
		return reel_error_no_memory();
	ZSTD_DCtx_setParameter(walk->zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
	if (!walk->stream->has_spool)
		TRY(reel_source_create(&walk->stream->spool));
	walk->stream->has_spool = true;
	return NULL;
}

static bool is_bomb(const struct walk *walk)
{
	uint64_t spooled = walk->stream->spool.size;

	return (spooled > EXPANSION_FREE_MAX && spooled / EXPANSION_MAX > walk->compressed_bytes) ||
	       (walk->order > DENSITY_FREE_MAX &&
		walk->order / DENSITY_MAX > walk->stream->file.size);
}

/* perf's compressed records are pieces of one zstd stream, flushed at the end of each. */
static struct reel_error *decompress(struct walk *walk, const struct perf_record *record)
{
	struct perf_cursor cursor = reel_perf_record_payload(walk->stream, record);
	ZSTD_inBuffer in = { 0 };
	ZSTD_outBuffer out = { .size = OUTPUT_SIZE };
	struct reel_error *error;

	if (!walk->zstd)
		TRY(start_decompression(walk));
	if (record->type == PERF_RECORD_COMPRESSED2) {
		/* The record is padded to 8 bytes, so it contains the size. */
		uint64_t size = perf_cursor_u64(&cursor);

		if (size > perf_cursor_left(&cursor))
			return reel_perf_record_error(walk->stream, record,
						      "claims to hold %llu compressed bytes",
						      (unsigned long long)size);
		in.size = (size_t)size;
	} else {
		in.size = perf_cursor_left(&cursor);
	}
	in.src = perf_cursor_take(&cursor, in.size);
	walk->compressed_bytes += in.size;
	do {
		size_t result;

		out.dst = reel_buffer_reserve(&walk->pending, OUTPUT_SIZE);
		out.pos = 0;
		if (!out.dst)
			return reel_error_no_memory();
		result = ZSTD_decompressStream(walk->zstd, &out, &in);
		if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
			return reel_error_no_memory();
		if (ZSTD_isError(result))
			return reel_perf_record_error(walk->stream, record, "zstd: %s",
						      ZSTD_getErrorName(result));
		walk->pending.size += out.pos;
		error = visit_pending(walk);
		if (!error && is_bomb(walk))
			error = reel_perf_record_error(
				walk->stream, record,
				"expands to more data than any recording has");
		/* More may be left after a full buffer. */
	} while (!error && (in.pos < in.size || out.pos == out.size));
	return error;
}

/* Bytes that follow a record but are not counted in its size. */
static struct reel_error *size_behind(const struct walk *walk, const struct perf_record *record,
				      uint64_t *ret)
{
	struct perf_cursor cursor = reel_perf_record_payload(walk->stream, record);

	*ret = 0;
	if (record->type == PERF_RECORD_TRACING_DATA)
		*ret = ((uint64_t)perf_cursor_u32(&cursor) + 7) & ~7ull;
	else if (record->type == PERF_RECORD_AUXTRACE)
		*ret = perf_cursor_u64(&cursor);
	return cursor.bytes.failed
		       ? reel_perf_record_error(walk->stream, record, "ends within its first field")
		       : NULL;
}

static struct reel_error *visit_record(struct walk *walk, const struct perf_record *record,
				       uint64_t *behind_ret)
{
	TRY(size_behind(walk, record, behind_ret));
	walk->order++;
	if (record->type == PERF_RECORD_COMPRESSED || record->type == PERF_RECORD_COMPRESSED2)
		return decompress(walk, record);
	return walk->visit(walk->context, record);
}

static struct reel_error *cut(const struct perf_stream *stream, uint64_t offset)
{
	return reel_error_create(REEL_ERROR_TRUNCATED,
				 "%s: file ends within the record at offset %llu",
				 stream->file.name, (unsigned long long)offset);
}

struct window {
	uint8_t *bytes;
	uint64_t offset;
	size_t size;
};

/* Makes `size` existing bytes at `offset` visible; also later ones, if it has to read. */
static struct reel_error *make_visible(const struct perf_stream *stream, struct window *window,
				       uint64_t offset, size_t size, uint64_t end)
{
	if (offset >= window->offset && offset - window->offset <= window->size &&
	    window->size - (size_t)(offset - window->offset) >= size)
		return NULL;
	window->offset = offset;
	window->size = end - offset < CHUNK ? (size_t)(end - offset) : CHUNK;
	return reel_source_read(&stream->file, offset, window->bytes, window->size);
}

static struct reel_error *walk_file(struct walk *walk, struct window *window,
				    void (*progress)(void *context, uint64_t done, uint64_t total))
{
	struct perf_stream *stream = walk->stream;
	uint64_t at = stream->data.offset, end = at + stream->data.size;

	if (end < at || end > stream->file.size)
		end = stream->file.size;
	while (at < end) {
		struct perf_record record;
		uint64_t behind;

		if (end - at < PERF_RECORD_HEADER)
			return cut(stream, at);
		TRY(make_visible(stream, window, at, PERF_RECORD_HEADER, end));
		record = record_at(stream, window->bytes + (at - window->offset));
		record.position = (struct perf_position){ walk->order, at, false };
		if (record.size < PERF_RECORD_HEADER)
			return too_short(walk, &record);
		if (end - at < record.size)
			return cut(stream, at);
		if (progress && window->offset == at)
			progress(walk->context, at, end);
		TRY(make_visible(stream, window, at, record.size, end));
		record.bytes = window->bytes + (at - window->offset);
		TRY(visit_record(walk, &record, &behind));
		at += record.size;
		if (behind > end - at)
			return cut(stream, at - record.size);
		at += behind;
	}
	if (walk->pending.size)
		return reel_error_create(REEL_ERROR_TRUNCATED,
					 "%s: the compressed data ends within a record",
					 stream->file.name);
	if (end < stream->data.offset + stream->data.size)
		return reel_error_create(
			REEL_ERROR_TRUNCATED, "%s: file ends at offset %llu, but its data at %llu",
			stream->file.name, (unsigned long long)end,
			(unsigned long long)(stream->data.offset + stream->data.size));
	return NULL;
}

struct reel_error *reel_perf_stream_visit(
	struct perf_stream *stream,
	struct reel_error *(*visit)(void *context, const struct perf_record *record),
	void (*progress)(void *context, uint64_t done, uint64_t total), void *context)
{
	struct walk walk = { .stream = stream, .visit = visit, .context = context };
	struct window window = { .bytes = malloc(CHUNK) };
	struct reel_error *error;

	error = window.bytes ? walk_file(&walk, &window, progress) : reel_error_no_memory();
	free(window.bytes);
	ZSTD_freeDCtx(walk.zstd);
	reel_buffer_free(&walk.pending);
	return error;
}

struct reel_error *reel_perf_stream_read(const struct perf_stream *stream,
					 struct perf_position position, uint8_t *buffer,
					 struct perf_record *ret)
{
	const struct reel_source *source = position.in_spool ? &stream->spool : &stream->file;

	TRY(reel_source_read(source, position.offset, buffer, PERF_RECORD_HEADER));
	*ret = record_at(stream, buffer);
	ret->position = position;
	/* Its size was valid when it was visited. */
	if (ret->size < PERF_RECORD_HEADER)
		return reel_perf_record_error(stream, ret, "the file changed while reading it");
	return reel_source_read(source, position.offset + PERF_RECORD_HEADER,
				buffer + PERF_RECORD_HEADER,
				ret->size - (size_t)PERF_RECORD_HEADER);
}

struct reel_error *reel_perf_stream_section(const struct perf_stream *stream,
					    const struct perf_section *section, uint8_t **bytes_ret)
{
	struct reel_error *error;

	*bytes_ret = NULL;
	if (section->size > SECTION_SIZE_MAX)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: a section of %llu bytes at offset %llu, more than %u",
					 stream->file.name, (unsigned long long)section->size,
					 (unsigned long long)section->offset, SECTION_SIZE_MAX);
	*bytes_ret = malloc(section->size ? (size_t)section->size : 1);
	if (!*bytes_ret)
		return reel_error_no_memory();
	error = reel_source_read(&stream->file, section->offset, *bytes_ret, (size_t)section->size);
	if (error) {
		free(*bytes_ret);
		*bytes_ret = NULL;
	}
	return error;
}
