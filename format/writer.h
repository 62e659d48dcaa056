/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a capture.  Side records and samples are collected in two open
 * blocks; reel_writer_flush writes the side block first, then the samples, so
 * that all a sample needs stands before it.
 */
#ifndef FORMAT_WRITER_H
#define FORMAT_WRITER_H

#include "format/block.h"
#include "format/block_queue.h"
#include "format/codec/samples.h"
#include "format/keys.h"
#include "format/record.h"

struct reel_cipher;
struct reel_writer;

struct reel_writer_options {
	int level; /* zstd's; 0 means 3 */
	enum reel_encoding encoding;
	struct reel_sample_target target;
	/* Close the sample block at so many expanded bytes (0: 64 MiB). */
	uint64_t block_expanded;
	/* Encrypt to these; NULL or none: do not. Needed by reel_writer_create only. */
	const struct reel_public_keys *recipients;
	/*
	 * Whose thread compresses and writes, or NULL: the caller's.  With a thread an
	 * error of writing is told by reel_block_queue_check only.
	 */
	struct reel_block_queue *queue;
	/* The descriptor is the writer's, which closes it, also where it is not created. */
	bool owns_fd;
};

struct reel_writer_counts {
	uint64_t samples;
	uint64_t stack_bytes; /* of all regions */
	/* In the file up to now: of whole blocks, and what stands around them. */
	uint64_t file_bytes;
};

/*
 * Writes to `fd`, which stays the caller's and need not be seekable; `name` is
 * for messages.  Writes the file header at once, with `file_id`, or a random
 * one if that is NULL.
 */
struct reel_error *reel_writer_create(int fd, const char *name,
				      const struct reel_writer_options *options,
				      const uint8_t *file_id,
				      struct reel_writer **ret) REEL_MUST_CHECK;
/* Frees without writing anything more: the file stays incomplete. */
void reel_writer_destroy(struct reel_writer *writer);
/* The file's key, for who wrote it to read it again; *ret is NULL if it is not encrypted. */
struct reel_error *reel_writer_copy_cipher(const struct reel_writer *writer,
					   struct reel_cipher **ret) REEL_MUST_CHECK;
const uint8_t *reel_writer_file_id(const struct reel_writer *writer);

/*
 * A side record. Times must not fall behind a flushed sample's time by the caller's care.  END is
 * written when the writer finishes: with the number of blocks, and with that of side records
 * unless it has one.
 */
struct reel_error *reel_writer_record(struct reel_writer *writer,
				      const struct reel_record *record) REEL_MUST_CHECK;
/* A sample; sample->id is set by the caller and ascends. Flushes by itself when the block is full.
 */
struct reel_error *reel_writer_sample(struct reel_writer *writer,
				      const struct reel_sample *sample) REEL_MUST_CHECK;
/*
 * A record as another capture has it, byte for byte, for a side or a sample block: one with a
 * schema, which `record` is, or one that this version does not know, with `record` NULL.
 */
struct reel_error *reel_writer_copy(struct reel_writer *writer, uint16_t block_type,
				    const struct reel_record_frame *frame,
				    const struct reel_record *record) REEL_MUST_CHECK;
/* Writes what is open: a side block, then a sample block. */
struct reel_error *reel_writer_flush(struct reel_writer *writer) REEL_MUST_CHECK;
/* Flushes, then writes index and trailer. The caller writes the END record before. */
struct reel_error *reel_writer_finish(struct reel_writer *writer) REEL_MUST_CHECK;

struct reel_writer_counts reel_writer_counts(const struct reel_writer *writer);

#endif
