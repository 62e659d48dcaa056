/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the stacks of waiting threads with those of the threads that woke them.  A waker's sample
 * is in the file before the sample of the wait, and belongs to that one only.
 */
#ifndef REPLAY_TRACES_WAKER_JOIN_H
#define REPLAY_TRACES_WAKER_JOIN_H

#include "base/id_table.h"
#include "replay/capture/capture.h"

/* An empty one is all zero. */
struct reel_waker_join {
	/* Traces of wakers by sample, until their waits come: the newest, and earlier ones. */
	struct reel_id_table newest, earlier;
	size_t bytes; /* of the newest */
	/* The joined trace: owned. */
	const struct reel_frame **frames;
	uint64_t *addresses;
	uint8_t *steps;
	size_t capacity;
};

void reel_waker_join_free(struct reel_waker_join *join);
/* Keeps a waker's trace; forgets those whose waits did not come for long. */
struct reel_error *reel_waker_join_keep(struct reel_waker_join *join,
					const struct reel_trace *trace) REEL_MUST_CHECK;
/*
 * Puts the waker's frames on top of the trace's, in reverse: from its root, which becomes the leaf,
 * to its leaf, and a mark between both.  The trace then lives until the next call.  Nothing changes
 * without a waker.
 */
struct reel_error *reel_waker_join_apply(struct reel_waker_join *join, struct reel_capture *capture,
					 struct reel_trace *trace) REEL_MUST_CHECK;

#endif
