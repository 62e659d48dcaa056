/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of a part of a block, as one thread makes them and another one reads
 * them.  A trace holds the frames only that it has not in common, from the
 * root on, with an earlier one of its batch.
 */
#ifndef REPLAY_BATCH_H
#define REPLAY_BATCH_H

#include "format/error.h"
#include "include/stackreel.h"

#define REEL_BATCH_NONE UINT32_MAX
/*
 * A batch with as much as one of these is full; one trace may exceed them.  Frames that are there
 * again, for a batch stands for itself, do not count up to FRAMES_MAX: where the threads' stacks
 * alone fill a batch, no two traces would share one.
 */
#define REEL_BATCH_TRACES     4096u
#define REEL_BATCH_FRAMES     32768u
#define REEL_BATCH_FRAMES_MAX 262144u

struct reel_batch_trace {
	struct reel_trace trace; /* without frames; frame_chain is none of the batch's */
	/* The frames that are its own, leaf first: positions in the batch's arrays. */
	size_t own, n_own;
	/* The root's side: the outermost `n_shared` frames of an earlier trace, which has more
	 * frames of its own than these alone.  0: REEL_BATCH_NONE. */
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
	uint64_t n_samples; /* read in the blocks that end in it, whether there are traces of them
			       or not */
	size_t n_repeated;  /* of the frames: those that the batch before had; its owner's */
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
 * Whole traces again, one after the other.  Arrays are filled from their ends, so that a trace
 * leaves the root's side where it is if the one before had the same.
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
/* Forgets what it has of a batch: before that is cleared. */
void reel_batch_view_reset(struct reel_batch_view *view);
/* Makes view->trace the batch's trace `index`: it lives until the next call. */
struct reel_error *reel_batch_view_set(struct reel_batch_view *view, const struct reel_batch *batch,
				       uint32_t index) REEL_MUST_CHECK;

#endif
