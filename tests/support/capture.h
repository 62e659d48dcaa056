/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures in memory, for tests: written by format/writer.c, split into blocks of raw bytes, and
 * joined again with valid checksums, however invalid the rest has become.
 */
#ifndef TESTS_SUPPORT_CAPTURE_H
#define TESTS_SUPPORT_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "format/codec/samples.h"
#include "format/reader.h"
#include "format/writer.h"

/* Ends the program with the error's message, for calls that a test expects to succeed. */
static inline void must(struct reel_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "unexpected error: %s\n", reel_error_message(error));
	abort();
}

static inline void must_be(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "unexpected: not %s\n", what);
	abort();
}

static inline int memory_file(const void *bytes, size_t size)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	must_be(fd >= 0, "memfd_create");
	must_be(write(fd, bytes, size) == (ssize_t)size, "written");
	return fd;
}

/* Appends the file's content. */
static inline void file_content(int fd, struct reel_buffer *ret)
{
	struct stat status;
	size_t size;

	must_be(!fstat(fd, &status), "fstat");
	size = (size_t)status.st_size;
	must_be(reel_buffer_reserve(ret, size) != NULL, "memory");
	must_be(pread(fd, ret->bytes + ret->size, size, 0) == (ssize_t)size, "read");
	ret->size += size;
}

static inline struct reel_error *open_bytes(const void *bytes, size_t size,
					    struct reel_reader **ret)
{
	return reel_reader_open_fd(memory_file(bytes, size), "test.reel", NULL, ret);
}

#define PARTS_MAX 32

struct part {
	struct reel_block_header header;
	struct reel_buffer raw;
	/* Bytes before the block's header. */
	struct reel_buffer junk;
	/* Used as the payload if not empty. */
	struct reel_buffer payload;
	/* Keep header.raw_size and payload_crc as they are. */
	bool keep_raw_size, keep_crc;
};

struct parts {
	uint8_t file_header[REEL_FILE_HEADER_SIZE];
	uint8_t id[REEL_FILE_ID_SIZE];
	struct part parts[PARTS_MAX];
	size_t n;
	bool has_trailer;
	/* Leave sequence numbers as they are. */
	bool keep_sequence;
};

static inline void parts_free(struct parts *parts)
{
	for (size_t i = 0; i < parts->n; i++) {
		reel_buffer_free(&parts->parts[i].raw);
		reel_buffer_free(&parts->parts[i].junk);
		reel_buffer_free(&parts->parts[i].payload);
	}
	parts->n = 0;
}

/* Splits a whole capture into its blocks, without the index. */
static inline void parts_split(const struct reel_buffer *bytes, struct parts *ret)
{
	size_t at = REEL_FILE_HEADER_SIZE;

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->file_header, bytes->bytes, REEL_FILE_HEADER_SIZE);
	memcpy(ret->id, bytes->bytes + 24, REEL_FILE_ID_SIZE);
	while (bytes->size - at >= REEL_BLOCK_HEADER_SIZE) {
		struct part *part = &ret->parts[ret->n];
		uint8_t *raw;

		must_be(reel_block_header_load(bytes->bytes + at, ret->id, &part->header),
			"a block header");
		at += REEL_BLOCK_HEADER_SIZE;
		if (part->header.type != REEL_BLOCK_INDEX) {
			raw = reel_buffer_reserve(&part->raw, part->header.raw_size);
			must_be(ZSTD_decompress(raw, part->header.raw_size, bytes->bytes + at,
						part->header.stored_size) == part->header.raw_size,
				"a payload");
			part->raw.size = part->header.raw_size;
			must_be(++ret->n < PARTS_MAX, "few blocks");
		}
		at += part->header.stored_size;
	}
	ret->has_trailer = bytes->size - at == REEL_TRAILER_SIZE;
}

static inline void part_join(const struct parts *parts, const struct part *part, size_t i,
			     struct reel_buffer *ret)
{
	struct reel_block_header header = part->header;
	uint8_t bytes[REEL_BLOCK_HEADER_SIZE];
	struct reel_buffer payload = { 0 };

	reel_buffer_append(ret, part->junk.bytes, part->junk.size);
	if (part->payload.size) {
		reel_buffer_append(&payload, part->payload.bytes, part->payload.size);
	} else {
		size_t bound = ZSTD_compressBound(part->raw.size);
		uint8_t *room = reel_buffer_reserve(&payload, bound);

		payload.size = ZSTD_compress(room, bound, part->raw.bytes, part->raw.size, 3);
		must_be(!ZSTD_isError(payload.size), "compressed");
	}
	if (!parts->keep_sequence)
		header.sequence = (uint32_t)i;
	if (!part->keep_raw_size)
		header.raw_size = (uint32_t)part->raw.size;
	if (!part->keep_crc)
		header.payload_crc = (uint32_t)crc32(0, payload.bytes, (uInt)payload.size);
	header.stored_size = (uint32_t)payload.size;
	reel_block_header_store(&header, parts->id, bytes);
	reel_buffer_append(ret, bytes, sizeof(bytes));
	reel_buffer_append(ret, payload.bytes, payload.size);
	reel_buffer_free(&payload);
}

/* Joins the capture again, without an index. */
static inline void parts_join(const struct parts *parts, struct reel_buffer *ret)
{
	uint8_t trailer[REEL_TRAILER_SIZE];

	ret->size = 0;
	reel_buffer_append(ret, parts->file_header, sizeof(parts->file_header));
	for (size_t i = 0; i < parts->n; i++)
		part_join(parts, &parts->parts[i], i, ret);
	if (parts->has_trailer) {
		reel_trailer_store(0, parts->id, trailer);
		reel_buffer_append(ret, trailer, sizeof(trailer));
	}
}

/* Sets the CRC-32 in the last four bytes of a header. */
static inline void fix_crc(uint8_t *bytes, size_t size)
{
	reel_store32(bytes + size - 4, (uint32_t)crc32(0, bytes, (uInt)(size - 4)));
}

/* xorshift64*: the same numbers everywhere. */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545F4914F6CDD1Du;
}

#endif
