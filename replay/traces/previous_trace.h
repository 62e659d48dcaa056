/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The previous trace of each thread of a block.  A thread's next stack mostly has the same outer
 * callers, so frames are kept root first: common ones stay in place.
 */
#ifndef REPLAY_TRACES_PREVIOUS_TRACE_H
#define REPLAY_TRACES_PREVIOUS_TRACE_H

#include "base/error.h"
#include "replay/unwind/unwind.h"

/* Frames of one module, one after the other. */
struct reel_previous_run {
	size_t module; /* index in reel_modules; SIZE_MAX: none */
	size_t end;    /* number of frames from the root through this run */
};

struct reel_previous_trace {
	/* The frames are valid for the last trace in the block of this number... */
	uint64_t block;
	uint64_t generation;	      /* ...with these mappings... */
	const void *code, *next_code; /* ...and this recorded code... */
	uint32_t moment;	      /* ...and these names of JITs. */
	/* As in struct reel_unwind_frames, but root first. */
	uint64_t *addresses, *lookups;
	uint8_t *steps;
	/* Number of named frames up to each address, which may have several inlined functions. */
	size_t *named;
	size_t n, capacity;
	struct reel_previous_run *runs;
	size_t n_runs, runs_capacity;
	/* The place of the trace: its number in the batch of this number. */
	uint64_t batch;
	uint32_t trace;
};

/* By struct reel_sample's thread_index; all zero: empty. */
struct reel_previous_traces {
	struct reel_previous_trace *list;
	size_t n;
	size_t frames; /* the sum of capacities */
};

void reel_previous_traces_free(struct reel_previous_traces *traces);
/* The thread's previous trace; at its first sample in a block, another block's.  It lives
 * until the next call. */
struct reel_error *reel_previous_traces_get(struct reel_previous_traces *traces,
					    uint32_t thread_index,
					    struct reel_previous_trace **ret) REEL_MUST_CHECK;

/* The number of frames, from the root on, in common with the new ones. */
size_t reel_previous_trace_common(const struct reel_previous_trace *previous,
				  const struct reel_unwind_frames *frames);
/* Drops all frames except the first `n_kept`, and makes room for `n` in total. */
struct reel_error *reel_previous_trace_cut(struct reel_previous_traces *traces,
					   struct reel_previous_trace *previous, size_t n_kept,
					   size_t n) REEL_MUST_CHECK;
/* Adds frame `index` of `frames`, with `n_named` named ones.  There must be room. */
struct reel_error *reel_previous_trace_add(struct reel_previous_trace *previous,
					   const struct reel_unwind_frames *frames, size_t index,
					   size_t module, size_t n_named) REEL_MUST_CHECK;

#endif
