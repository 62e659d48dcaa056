/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records to bytes and back (SPEC.md, "Records").  A block's raw bytes are
 * records one after the other: LEB128 tag (id << 1 | critical), LEB128 size,
 * payload.
 */
#ifndef FORMAT_RECORD_CODER_H
#define FORMAT_RECORD_CODER_H

#include "base/bytes.h"
#include "format/record.h"

/* The size of a record that has a schema, tag and size included. */
size_t reel_record_encoded_size(const struct reel_record *record);
/* Appends a record that has a schema. */
void reel_record_encode(struct reel_buffer *buffer, const struct reel_record *record);

/* A record's frame within a block. */
struct reel_record_frame {
	uint64_t id;
	bool critical;
	size_t offset; /* of the tag in the block's raw bytes */
	struct reel_cursor payload;
};

/*
 * Reads the next record's frame from `cursor`; ret->id is 0 after the last.  Fails (CORRUPT) for a
 * frame that does not fit.
 */
struct reel_error *reel_record_frame_next(struct reel_cursor *cursor,
					  struct reel_record_frame *ret) REEL_MUST_CHECK;

/* Appends an unchanged record from another block. */
void reel_record_frame_append(struct reel_buffer *buffer, const struct reel_record_frame *frame);

/*
 * Decodes a record that has a schema.  Ignores bytes after the fields that this version knows.
 * Fails (CORRUPT) if the payload is too short.
 */
struct reel_error *reel_record_decode(const struct reel_record_frame *frame,
				      struct reel_record *ret) REEL_MUST_CHECK;

#endif
