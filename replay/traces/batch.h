/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of a part of a block: one thread makes them, another one reads them.  A trace stores only
 * those frames that it does not share, from the root on, with an earlier trace of its batch.
 */
#ifndef REPLAY_TRACES_BATCH_H
#define REPLAY_TRACES_BATCH_H

#include "base/error.h"
#include "include/stackreel.h"

#define REEL_BATCH_NONE UINT32_MAX
/*
 * A batch that has reached one of these limits is full; a single trace may exceed them.  A batch
 * refers to no frames of another one, so each thread's first trace in it repeats frames that the
 * batch before had.  Repeated frames count towards FRAMES_MAX only: else the stacks of many threads
 * would fill a batch before any two traces could share a frame.
 */
#define REEL_BATCH_TRACES     4096u
#define REEL_BATCH_FRAMES     32768u
#define REEL_BATCH_FRAMES_MAX 262144u

struct reel_batch_trace {
	struct reel_trace trace; /* without frames; frame_chain is none of the batch's */
	/* The frames that are its own, leaf first: positions in the batch's arrays. */
	size_t own, n_own;
	/* The other frames are the outermost `n_shared` of the earlier trace `base`;
	 * REEL_BATCH_NONE if n_shared is 0. */
	uint32_t base;
	size_t n_shared;
	size_t chain; /* position of its frame_chain */
};

/* Frames that fell into a module. */
struct reel_batch_count {
	size_t module; /* an index of reel_modules */
	uint64_t frames;
};

struct reel_batch {
	struct reel_batch *next; /* its owner's */
	struct reel_batch_trace *traces;
	size_t n_traces, traces_capacity;
	const struct reel_frame **frames;
	uint64_t *addresses;
	uint8_t *steps;
	size_t n_frames, frames_capacity;
	uint64_t n_samples; /* samples of the blocks that end in this batch, traced or filtered out
			     */
	size_t n_repeated;  /* how many of the frames are repeated from an earlier batch; set by its
			       owner */
	uint64_t *chains;
	size_t n_chains, chains_capacity;
	struct reel_batch_count *counts;
	size_t n_counts, counts_capacity;
	/* What was wrong with the part of the file, in order. */
	struct reel_error **problems;
	size_t n_problems, problems_capacity;
	/* Nothing comes behind it: memory ran out. */
	struct reel_error *error;
};

struct reel_error *reel_batch_create(struct reel_batch **ret) REEL_MUST_CHECK;
void reel_batch_destroy(struct reel_batch *batch);
/* Empties it; memory is kept, unless it is much more than a batch mostly needs. */
void reel_batch_clear(struct reel_batch *batch);
bool reel_batch_is_full(const struct reel_batch *batch);
/* Bytes that it holds. */
size_t reel_batch_size(const struct reel_batch *batch);

/* Room for `n` more frames behind the last one. */
struct reel_error *reel_batch_reserve_frames(struct reel_batch *batch, size_t n) REEL_MUST_CHECK;
/*
 * Adds a trace whose own frames are those from position `own` to the last one, and whose others
 * are the outermost `n_shared` of the batch's trace `base`.  Its frame_chain is copied.
 */
struct reel_error *reel_batch_add_trace(struct reel_batch *batch, const struct reel_trace *trace,
					size_t own, uint32_t base, size_t n_shared) REEL_MUST_CHECK;
struct reel_error *reel_batch_add_count(struct reel_batch *batch, size_t module,
					uint64_t frames) REEL_MUST_CHECK;
/* Takes ownership, of NO_MEMORY too, which it gives back. */
struct reel_error *reel_batch_add_problem(struct reel_batch *batch,
					  struct reel_error *problem) REEL_MUST_CHECK;

/*
 * Puts whole traces together again, one after the other.  Arrays are filled from their ends, so
 * frames that a trace shares with the one before stay where they are.
 */
struct reel_batch_view {
	struct reel_trace trace;
	const struct reel_frame **frames;
	uint64_t *addresses;
	uint8_t *steps;
	size_t capacity;
	const struct reel_batch *batch; /* of `last`; NULL: nothing is in the arrays */
	uint32_t last;
};

void reel_batch_view_free(struct reel_batch_view *view);
/* Forgets what it has of a batch; to be called before the batch is cleared. */
void reel_batch_view_reset(struct reel_batch_view *view);
/* Makes view->trace the batch's trace `index`: it lives until the next call. */
struct reel_error *reel_batch_view_set(struct reel_batch_view *view, const struct reel_batch *batch,
				       uint32_t index) REEL_MUST_CHECK;

#endif
