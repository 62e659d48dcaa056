/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that make traces of blocks, ahead of whoever takes these, in the
 * file's order.  Which thread makes what does not show in what comes out.
 *
 * Memory: each thread has a block and what its maker needs; finished batches are at most
 * REEL_QUEUED_MAX bytes, or less of few threads, and one or two of each thread beyond that.
 */
#ifndef REPLAY_TRACES_TRACE_WORKERS_H
#define REPLAY_TRACES_TRACE_WORKERS_H

#include "replay/traces/trace_maker.h"

#define REEL_QUEUED_MAX ((size_t)24 << 20)
/*
 * Traces of one block have some 2 to 12 MB: as much as a thread makes while the block before its
 * own is read.  Room for more would be filled only now and then, when a thread lags behind, and
 * the longer the capture, the more of it.
 */
#define REEL_QUEUED_OF_THREAD ((size_t)8 << 20)

struct reel_trace_workers;

/*
 * `blocks` and `makers`, one a thread, are borrowed; threads begin at once.  Fewer come into being
 * where the system has no more: *ret is NULL if not even one does.
 */
struct reel_error *reel_trace_workers_create(const struct reel_block *const *blocks,
					     size_t n_blocks,
					     struct reel_trace_maker *const *makers,
					     size_t n_makers,
					     struct reel_trace_workers **ret) REEL_MUST_CHECK;
/* Stops the threads, whatever they are at. */
void reel_trace_workers_destroy(struct reel_trace_workers *workers);

/*
 * Waits for the next batch; NULL behind the last one.  *block_ret is the index of its block.  It
 * is borrowed until it is given back.
 */
struct reel_error *reel_trace_workers_take(struct reel_trace_workers *workers,
					   struct reel_batch **ret,
					   size_t *block_ret) REEL_MUST_CHECK;
void reel_trace_workers_give_back(struct reel_trace_workers *workers, struct reel_batch *batch);

#endif
