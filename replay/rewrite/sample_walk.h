/* SPDX-License-Identifier: Apache-2.0 */
/* Iterates the samples of a capture and their traces. */
#ifndef REPLAY_REWRITE_SAMPLE_WALK_H
#define REPLAY_REWRITE_SAMPLE_WALK_H

#include "replay/traces/sample_unwinder.h"

struct reel_sample_walk {
	struct reel_capture *capture;
	struct reel_block_reader *block_reader;
	struct reel_sample_unwinder *unwinder;
	uint64_t from, to;
	size_t block;
	bool loaded;
};

/* For the blocks that may have samples of these times (0, UINT64_MAX: all).  Free the walk even if
 * this fails. */
struct reel_error *reel_sample_walk_create(struct reel_capture *capture, uint64_t from, uint64_t to,
					   struct reel_sample_walk *ret) REEL_MUST_CHECK;
void reel_sample_walk_free(struct reel_sample_walk *walk);
#define _cleanup_sample_walk_ __attribute__((cleanup(reel_sample_walk_free)))
/* *found_ret is false after the last one.  Damage is skipped: rewriting a block reports it. */
struct reel_error *reel_sample_walk_next(struct reel_sample_walk *walk, struct reel_block_item *ret,
					 bool *found_ret) REEL_MUST_CHECK;
struct reel_error *reel_sample_walk_unwind(struct reel_sample_walk *walk,
					   const struct reel_sample *sample,
					   const struct reel_unwind_frames **ret,
					   enum reel_stop *stop_ret) REEL_MUST_CHECK;

#endif
