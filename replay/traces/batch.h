/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of a part of a block: one thread makes them, another reads them.  A trace stores only the
 * frames that it does not share, from the root on, with an earlier trace of its batch.
 */
#ifndef REPLAY_TRACES_BATCH_H
#define REPLAY_TRACES_BATCH_H

#include "base/error.h"
#include "include/commands.h"
#include "replay/traces/trace_labels.h"

#define REEL_BATCH_NONE UINT32_MAX
/*
 * A batch that has reached one of these limits is full; a single trace may exceed them.  Batches do
 * not refer to each other's frames, so each thread's first trace in a batch repeats frames of the
 * previous batch.  Repeated frames count only towards FRAMES_MAX: otherwise, the stacks of many
 * threads would fill a batch before any two traces could share a frame.
 */
#define REEL_BATCH_TRACES     4096u
#define REEL_BATCH_FRAMES     32768u
#define REEL_BATCH_FRAMES_MAX 262144u
#define REEL_BATCH_TEXTS      (1u << 20) /* bytes of labels */

struct reel_batch_trace {
	struct reel_trace trace; /* without frames, frame_chain and labels */
	/* Its own frames, leaf first: positions in the batch's arrays. */
	size_t own, n_own;
	/* The other frames are the outermost `n_shared` of the earlier trace `base`;
	 * REEL_BATCH_NONE if n_shared is 0. */
	uint32_t base;
	size_t n_shared;
	size_t chain;  /* position of its frame_chain */
	size_t labels; /* and of its first label */
	size_t values; /* and value */
	size_t sps;    /* position of its stack_pointers */
};

struct reel_batch_label {
	struct reel_label label; /* without its text */
	size_t text;		 /* position in the batch's texts */
};

struct reel_batch_value {
	struct reel_frame_value value; /* without its texts */
	size_t name, text;	       /* positions in the batch's texts */
};

/* The number of frames in a module. */
struct reel_batch_count {
	size_t module; /* index in reel_modules */
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
	struct reel_batch_label *labels;
	size_t n_labels, labels_capacity;
	struct reel_batch_value *values;
	size_t n_values, values_capacity;
	uint64_t *sps;
	size_t n_sps, sps_capacity;
	char *texts;
	size_t texts_size, texts_capacity;
	struct reel_batch_count *counts;
	size_t n_counts, counts_capacity;
	/* Problems of the part of the file, in order. */
	struct reel_error **problems;
	size_t n_problems, problems_capacity;
	/* No more batches follow: memory ran out. */
	struct reel_error *error;
};

struct reel_error *reel_batch_create(struct reel_batch **ret) REEL_MUST_CHECK;
void reel_batch_destroy(struct reel_batch *batch);
/* Empties it but keeps its memory unless that is much more than batches usually need. */
void reel_batch_clear(struct reel_batch *batch);
bool reel_batch_is_full(const struct reel_batch *batch);
/* The bytes in use. */
size_t reel_batch_size(const struct reel_batch *batch);

/* Reserves room for `n` more frames. */
struct reel_error *reel_batch_reserve_frames(struct reel_batch *batch, size_t n) REEL_MUST_CHECK;
/*
 * Adds a trace whose own frames are from position `own` to the last one, and whose other frames are
 * the outermost `n_shared` of the batch's trace `base`.  Its frame_chain, labels and values are
 * copied, and its stack_pointers, if any: one for each frame.
 */
struct reel_error *reel_batch_add_trace(struct reel_batch *batch, const struct reel_trace *trace,
					size_t own, uint32_t base, size_t n_shared) REEL_MUST_CHECK;
struct reel_error *reel_batch_add_count(struct reel_batch *batch, size_t module,
					uint64_t frames) REEL_MUST_CHECK;
/* Takes ownership of the error; NO_MEMORY is returned instead. */
struct reel_error *reel_batch_add_problem(struct reel_batch *batch,
					  struct reel_error *problem) REEL_MUST_CHECK;

/*
 * Reassembles complete traces, one after the other.  Arrays are filled from their ends, so frames
 * shared with the previous trace stay in place.
 */
struct reel_batch_view {
	struct reel_trace trace;
	const struct reel_frame **frames;
	uint64_t *addresses;
	uint8_t *steps;
	size_t capacity;
	const struct reel_batch *batch; /* of `last`; NULL: the arrays are empty */
	uint32_t last;
	struct reel_label labels[REEL_TRACE_LABELS_MAX];
	struct reel_frame_value *values;
	size_t values_capacity;
};

void reel_batch_view_free(struct reel_batch_view *view);
/* Drops data of a batch; call before clearing the batch. */
void reel_batch_view_reset(struct reel_batch_view *view);
/* Sets view->trace to the batch's trace `index`, which lives until the next call. */
struct reel_error *reel_batch_view_set(struct reel_batch_view *view, const struct reel_batch *batch,
				       uint32_t index) REEL_MUST_CHECK;

#endif
