/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a perf.data, of a file or of a pipe, compressed or not: visits them in the file's
 * order, and reads single ones again.  Decompressed records go to an unlinked temporary file.
 */
#ifndef REPLAY_IMPORT_PERF_STREAM_H
#define REPLAY_IMPORT_PERF_STREAM_H

#include "format/source.h"
#include "format/perf/perf_abi.h"
#include "format/perf/perf_cursor.h"

#define PERF_RECORD_SIZE_MAX 65535

/* A part of a file named in its header. */
struct perf_section {
	uint64_t offset, size;
};

struct perf_stream {
	struct reel_source file;
	bool big_endian;
	bool is_pipe; /* attributes and features are records */
	/* For a file; empty for a pipe. */
	struct perf_section attrs;
	uint64_t attr_size;
	struct perf_section features[PERF_FEATURES];
	struct perf_section data;
	/* perf was killed before it wrote the size of the data: use all of the file. */
	bool unfinished;
	struct reel_source spool;
	bool has_spool;
};

/* Where to find a record again.  Records read earlier have a smaller `order`. */
struct perf_position {
	uint64_t order;
	uint64_t offset : 63;
	uint64_t in_spool : 1;
};

struct perf_record {
	struct perf_position position;
	uint32_t type;
	uint16_t misc;
	uint16_t size;	      /* with its header */
	const uint8_t *bytes; /* from the header on; borrowed until the next record */
};

/* NOT_A_CAPTURE if it is not a perf.data. */
struct reel_error *reel_perf_stream_open(const char *path, struct perf_stream *ret) REEL_MUST_CHECK;
void reel_perf_stream_close(struct perf_stream *stream);

/*
 * Calls `visit` for every record.  An error of the file (CORRUPT, TRUNCATED)
 * is returned after all records before the damage were visited.
 */
struct reel_error *reel_perf_stream_visit(
	struct perf_stream *stream,
	struct reel_error *(*visit)(void *context, const struct perf_record *record),
	void (*progress)(void *context, uint64_t done, uint64_t total),
	void *context) REEL_MUST_CHECK;

/* Reads a visited record again, into `buffer` of PERF_RECORD_SIZE_MAX bytes. */
struct reel_error *reel_perf_stream_read(const struct perf_stream *stream,
					 struct perf_position position, uint8_t *buffer,
					 struct perf_record *ret) REEL_MUST_CHECK;
/* A section of the file; the caller frees *bytes_ret. */
struct reel_error *reel_perf_stream_section(const struct perf_stream *stream,
					    const struct perf_section *section,
					    uint8_t **bytes_ret) REEL_MUST_CHECK;

/* The bytes after a record's header. */
struct perf_cursor reel_perf_record_payload(const struct perf_stream *stream,
					    const struct perf_record *record);
/* CORRUPT, naming the record. */
struct reel_error *reel_perf_record_error(const struct perf_stream *stream,
					  const struct perf_record *record, const char *format, ...)
	__attribute__((format(printf, 3, 4), returns_nonnull));

#endif
