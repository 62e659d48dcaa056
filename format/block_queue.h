/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that writes blocks: whoever fills them does not wait for the
 * compressor or the disk.  The caller looks at how much waits, and does what is
 * to be done where it becomes too much; nothing here waits for room.
 *
 * After the first error all that comes is dropped; reel_block_queue_check tells of it.
 */
#ifndef FORMAT_BLOCK_QUEUE_H
#define FORMAT_BLOCK_QUEUE_H

#include "format/block_file.h"

struct reel_block_queue;

/* Starts the thread, which calls `enter` first, unless that is NULL; its error is the thread's. */
struct reel_error *reel_block_queue_create(struct reel_error *(*enter)(void),
					   struct reel_block_queue **ret) REEL_MUST_CHECK;
/*
 * Drops what waits, and ends the thread when it has written the block that it is
 * at.  `abandon`: does not wait for that, which may never end: whoever reads our output may have
 * stopped.
 */
void reel_block_queue_destroy(struct reel_block_queue *queue, bool abandon);

/* reel_block_file_begin, in the thread, and so the next two. */
struct reel_error *reel_block_queue_begin(struct reel_block_queue *queue,
					  struct reel_block_file *file) REEL_MUST_CHECK;
/* Takes the block's bytes over, and leaves an empty one. */
struct reel_error *reel_block_queue_write(struct reel_block_queue *queue,
					  struct reel_block_file *file,
					  struct reel_raw_block *block) REEL_MUST_CHECK;
struct reel_error *reel_block_queue_finish(struct reel_block_queue *queue,
					   struct reel_block_file *file) REEL_MUST_CHECK;

/* What is in files: of all that the queue had. */
struct reel_block_file_counts reel_block_queue_counts(struct reel_block_queue *queue);
/* Raw bytes that are not written yet. Cheap enough to be asked for each sample. */
size_t reel_block_queue_waiting(const struct reel_block_queue *queue);
/* The thread's error. */
struct reel_error *reel_block_queue_check(struct reel_block_queue *queue) REEL_MUST_CHECK;
/* True if all is written, or an error ended it; waits for that up to `timeout_ms`. */
bool reel_block_queue_wait(struct reel_block_queue *queue, unsigned int timeout_ms);

#endif
