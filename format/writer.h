/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a capture.  Collects side records and samples in two open blocks; reel_writer_flush writes
 * the side block first, then the samples, so that a sample follows everything it needs.
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
	int level;   /* zstd's; 0 means 3 */
	bool digest; /* write a DIGEST */
	struct reel_sample_target target;
	/* Close the sample block at this many expanded bytes (0: 64 MiB). */
	uint64_t block_expanded;
	/* Encrypt to these; NULL or empty: do not encrypt.  Used by reel_writer_create only. */
	const struct reel_public_keys *recipients;
	/*
	 * The queue whose thread compresses and writes, or NULL: the caller's thread does.  With a
	 * queue only reel_block_queue_check reports write errors.
	 */
	struct reel_block_queue *queue;
	/* The writer owns the descriptor and closes it, even if creating the writer fails. */
	bool owns_fd;
	/* As in struct reel_block_file_options. */
	bool (*make_room)(void *context, int fd, size_t size);
	struct reel_error *(*finished)(void *context, int fd);
	void *context;
	/* Not 0: write nothing until reel_writer_begin_copy (format/block_ring.h).  Needs a queue. */
	uint64_t ring_time, ring_size;
};

struct reel_writer_counts {
	uint64_t samples;
	uint64_t stack_bytes; /* of all regions */
	/* In the file so far: complete blocks and the frames around them. */
	uint64_t file_bytes;
};

/*
 * Writes to `fd`, which the caller keeps and which need not be seekable; `name` is for messages.
 * Writes the file header at once, with `file_id`, or a random id if that is NULL.
 */
struct reel_error *reel_writer_create(int fd, const char *name,
				      const struct reel_writer_options *options,
				      const uint8_t *file_id,
				      struct reel_writer **ret) REEL_MUST_CHECK;
/* Frees the writer without writing any more: the file stays incomplete. */
void reel_writer_destroy(struct reel_writer *writer);
/* Copies the file's key so that its writer can read it again; *ret is NULL if not encrypted. */
struct reel_error *reel_writer_copy_cipher(const struct reel_writer *writer,
					   struct reel_cipher **ret) REEL_MUST_CHECK;
const uint8_t *reel_writer_file_id(const struct reel_writer *writer);

/*
 * Writes a side record.  The caller must keep times from falling behind a flushed sample's time.
 * END is written when the writer finishes: with the number of blocks, and with the number of side
 * records unless it already has one.
 */
struct reel_error *reel_writer_record(struct reel_writer *writer,
				      const struct reel_record *record) REEL_MUST_CHECK;
/* Writes a sample; the caller sets sample->id, in ascending order.  Flushes by itself when the
 * block is full. */
struct reel_error *reel_writer_sample(struct reel_writer *writer,
				      const struct reel_sample *sample) REEL_MUST_CHECK;
/*
 * Writes a record of another capture, byte for byte, to a side or a sample block: either one with a
 * schema, in `record`, or one that this version does not know, with `record` NULL.
 */
struct reel_error *reel_writer_copy(struct reel_writer *writer, uint16_t block_type,
				    const struct reel_record_frame *frame,
				    const struct reel_record *record) REEL_MUST_CHECK;
/* Writes the open blocks: a side block, then a sample block. */
struct reel_error *reel_writer_flush(struct reel_writer *writer) REEL_MUST_CHECK;
/* Flushes, then writes index and trailer.  The caller adds the END record before this. */
struct reel_error *reel_writer_finish(struct reel_writer *writer) REEL_MUST_CHECK;

/*
 * With a ring: begins a round.  The caller writes the file's head and flushes, then states anew
 * what later samples need.
 */
struct reel_error *reel_writer_begin_round(struct reel_writer *writer) REEL_MUST_CHECK;
/*
 * Writes the ring to `fd`, which it owns, and all that follows until reel_writer_end_copy, which
 * adds `end` with the counts of the copy.
 */
struct reel_error *reel_writer_begin_copy(struct reel_writer *writer, int fd, const char *name,
					  const struct reel_public_keys *recipients)
	REEL_MUST_CHECK;
struct reel_error *reel_writer_end_copy(struct reel_writer *writer,
					const struct reel_record_end *end) REEL_MUST_CHECK;

struct reel_writer_counts reel_writer_counts(const struct reel_writer *writer);

#endif
