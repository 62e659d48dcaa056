/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that make traces of blocks in advance, in the file's order.  The result does not depend
 * on which thread makes which block.
 *
 * Memory: each thread has a block and its maker's data.  Finished batches take at most
 * REEL_QUEUED_MAX bytes, less with few threads, plus one or two batches per thread.
 */
#ifndef REPLAY_TRACES_TRACE_WORKERS_H
#define REPLAY_TRACES_TRACE_WORKERS_H

#include "replay/traces/trace_maker.h"

#define REEL_QUEUED_MAX ((size_t)24 << 20)
/*
 * Traces of one block take some 2 to 12 MB: as much as a thread makes while the preceding block is
 * read.  More room would be filled only occasionally, when a thread is late, and increasingly in
 * longer captures.
 */
#define REEL_QUEUED_OF_THREAD ((size_t)8 << 20)

struct reel_trace_workers;

/*
 * `blocks` and `makers`, one per thread, are borrowed; threads start immediately.  If the system
 * allows only fewer threads, those are used; *ret is NULL if there are none.
 */
struct reel_error *reel_trace_workers_create(const struct reel_block *const *blocks,
					     size_t n_blocks,
					     struct reel_trace_maker *const *makers,
					     size_t n_makers,
					     struct reel_trace_workers **ret) REEL_MUST_CHECK;
/* Stops the threads, whatever they are doing. */
void reel_trace_workers_destroy(struct reel_trace_workers *workers);

/*
 * Waits for the next batch; NULL after the last one.  *block_ret is the index of its block.  The
 * batch is borrowed until it is given back.
 */
struct reel_error *reel_trace_workers_next(struct reel_trace_workers *workers,
					   struct reel_batch **ret,
					   size_t *block_ret) REEL_MUST_CHECK;
void reel_trace_workers_give_back(struct reel_trace_workers *workers, struct reel_batch *batch);

#endif
