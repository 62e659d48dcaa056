/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A perf.data as what its records are, of a file or of a pipe, compressed or
 * not: goes through them in the file's order, and fetches single ones again.
 * What was compressed goes to an unlinked temporary file.
 */
#ifndef IMPORT_PERF_STREAM_H
#define IMPORT_PERF_STREAM_H

#include "format/source.h"
#include "import/perf_abi.h"
#include "target/perf_cursor.h"

#define PERF_RECORD_SIZE_MAX 65535

/* Bytes of a file that its header tells of. */
struct perf_section {
	uint64_t offset, size;
};

struct perf_stream {
	struct reel_source file;
	bool big_endian;
	bool is_pipe; /* attributes and features come as records */
	/* Of a file; of a pipe all is empty. */
	struct perf_section attrs;
	uint64_t attr_size;
	struct perf_section features[PERF_FEATURES];
	struct perf_section data;
	/* perf was killed before it wrote how long the data is: all of the file is taken. */
	bool unfinished;
	struct reel_source spool;
	bool has_spool;
};

/* Where a record can be found again. Of two records, the one that was read first has the smaller
 * `order`. */
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

/* NOT_A_CAPTURE: it is no perf.data. */
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

/* A record that was visited, with its bytes in `buffer` of PERF_RECORD_SIZE_MAX bytes. */
struct reel_error *reel_perf_stream_read(const struct perf_stream *stream,
					 struct perf_position position, uint8_t *buffer,
					 struct perf_record *ret) REEL_MUST_CHECK;
/* A section of the file; *bytes_ret is the caller's. */
struct reel_error *reel_perf_stream_section(const struct perf_stream *stream,
					    const struct perf_section *section,
					    uint8_t **bytes_ret) REEL_MUST_CHECK;

/* What follows a record's header. */
struct perf_cursor reel_perf_record_payload(const struct perf_stream *stream,
					    const struct perf_record *record);
/* CORRUPT, at the record. */
struct reel_error *reel_perf_record_error(const struct perf_stream *stream,
					  const struct perf_record *record, const char *format, ...)
	__attribute__((format(printf, 3, 4), returns_nonnull));

#endif
