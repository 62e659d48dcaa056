/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that writes blocks, so that filling them does not wait for the compressor or the disk.
 * The caller checks how much is waiting and reacts when it becomes too much; nothing here blocks
 * for room.
 *
 * After the first error everything is dropped; reel_block_queue_check reports the error.
 */
#ifndef FORMAT_BLOCK_QUEUE_H
#define FORMAT_BLOCK_QUEUE_H

#include "format/block_file.h"

struct reel_block_queue;

/* Starts the thread, which first calls `enter` unless NULL; an error from it is the thread's. */
struct reel_error *reel_block_queue_create(struct reel_error *(*enter)(void),
					   struct reel_block_queue **ret) REEL_MUST_CHECK;
/*
 * Drops the waiting jobs, and ends the thread once it has written the current block.  `abandon`
 * does not wait for the thread, which may block for ever if the reader of our output has stopped.
 */
void reel_block_queue_destroy(struct reel_block_queue *queue, bool abandon);

/* Calls reel_block_file_begin in the thread; likewise the next four. */
struct reel_error *reel_block_queue_begin(struct reel_block_queue *queue,
					  struct reel_block_file *file) REEL_MUST_CHECK;
/* Takes over the block's bytes and leaves it empty. */
struct reel_error *reel_block_queue_write(struct reel_block_queue *queue,
					  struct reel_block_file *file,
					  struct reel_raw_block *block) REEL_MUST_CHECK;
struct reel_error *reel_block_queue_finish(struct reel_block_queue *queue,
					   struct reel_block_file *file) REEL_MUST_CHECK;
struct reel_error *reel_block_queue_copy(struct reel_block_queue *queue,
					 struct reel_block_file *ring,
					 struct reel_block_file *copy) REEL_MUST_CHECK;
struct reel_error *reel_block_queue_end_copy(struct reel_block_queue *queue,
					     struct reel_block_file *ring,
					     const struct reel_record_end *end) REEL_MUST_CHECK;

/* The contents of all files of this queue. */
struct reel_block_file_counts reel_block_queue_counts(struct reel_block_queue *queue);
/* Raw bytes not yet written.  Cheap enough to call for each sample. */
size_t reel_block_queue_waiting(const struct reel_block_queue *queue);
/* The thread's error. */
struct reel_error *reel_block_queue_check(struct reel_block_queue *queue) REEL_MUST_CHECK;
/* True if everything is written, or an error ended it; waits up to `timeout_ms`. */
bool reel_block_queue_wait(struct reel_block_queue *queue, unsigned int timeout_ms);

#endif
