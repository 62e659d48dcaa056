/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a block's threads were unwound to before.  A thread's next stack mostly has the same
 * callers, so its frames are kept root first: what is in common stays where it is.
 */
#ifndef REPLAY_THREAD_PAST_H
#define REPLAY_THREAD_PAST_H

#include "format/error.h"
#include "replay/unwind.h"

/* Frames of one module, one after the other. */
struct reel_past_run {
	size_t module; /* an index of reel_modules; SIZE_MAX: of none */
	size_t end;    /* how many frames, from the root on, are of this run or before it */
};

struct reel_thread_past {
	/* The frames are valid for what was unwound last in the block of this number... */
	uint64_t block;
	uint64_t generation; /* ...with these mappings. */
	/* Root first, as in struct reel_unwind_frames otherwise. */
	uint64_t *addresses, *lookups;
	uint8_t *steps;
	/* How many named frames these and all before make; an address may be of several inlined
	 * functions. */
	size_t *named;
	size_t n, capacity;
	struct reel_past_run *runs;
	size_t n_runs, runs_capacity;
	/* Where the trace is: its number in the batch of this number. */
	uint64_t batch;
	uint32_t trace;
};

/* Pasts by struct reel_sample's thread_index; zeroed, it is empty. */
struct reel_thread_pasts {
	struct reel_thread_past *list;
	size_t n;
	size_t frames; /* the sum of capacities */
};

void reel_thread_pasts_free(struct reel_thread_pasts *pasts);
/* The thread's, mostly of another block yet. It lives until the next call. */
struct reel_error *reel_thread_pasts_get(struct reel_thread_pasts *pasts, uint32_t thread_index,
					 struct reel_thread_past **ret) REEL_MUST_CHECK;

/* How many frames, from the root on, the new ones have in common with it. */
size_t reel_thread_past_common(const struct reel_thread_past *past,
			       const struct reel_unwind_frames *frames);
/* Forgets all frames but the first `n_kept`, and makes room for `n` in all. */
struct reel_error *reel_thread_past_cut(struct reel_thread_pasts *pasts,
					struct reel_thread_past *past, size_t n_kept,
					size_t n) REEL_MUST_CHECK;
/* Adds the frame `index` of `frames`, which has `n_named` named ones. There must be room. */
struct reel_error *reel_thread_past_add(struct reel_thread_past *past,
					const struct reel_unwind_frames *frames, size_t index,
					size_t module, size_t n_named) REEL_MUST_CHECK;

#endif
