/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trial walks: does a possible caller lead to the root?  The walk then goes the same way, as a rule,
 * and so do trials of other callers.  So the last trial that reached the root is kept, with its states
 * in frames that need steps of their own: a walk of the same trace that comes to one of these states
 * has the same rest.
 */
#ifndef REPLAY_UNWIND_UNWIND_TRIAL_H
#define REPLAY_UNWIND_UNWIND_TRIAL_H

#include "replay/unwind/unwind_internal.h"

/* NULL: no memory. */
struct reel_trials *reel_trials_create(void);
void reel_trials_destroy(struct reel_trials *trials);

/* Another trace begins. */
void reel_trials_begin(struct reel_trials *trials);

/* The frames of a trial that begins now. */
struct reel_unwind_frames *reel_trials_next(struct reel_trials *trials);
/* It has reached the root without a guess. */
void reel_trials_keep(struct reel_trials *trials, const struct reel_walk *trial);

/*
 * To be called before a step that the fast path does not take.  True: the walk reaches the root without
 * a further guess, and the frames up to there are appended.  A trial's state is kept.
 */
bool reel_trials_know_rest(struct reel_walk *walk, struct reel_unwind_frames *frames,
			   size_t max_frames);

#endif
