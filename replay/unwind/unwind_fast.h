/* SPDX-License-Identifier: Apache-2.0 */
/* The fast path: FAST_PATH.md.  Internal to unwind*.c. */
#ifndef REPLAY_UNWIND_UNWIND_FAST_H
#define REPLAY_UNWIND_UNWIND_FAST_H

#include "replay/unwind/unwind_internal.h"

/*
 * Takes steps from the last appended frame while frames are plain (unwind_cache.h) and appends
 * them, up to `max_frames` and the frames' capacity.  The walk and its state become as if the steps
 * had been taken one by one.  True: the last frame has no caller.  False: continue with its step.
 */
bool reel_walk_fast(struct reel_walk *walk, struct reel_unwind_frames *frames, size_t max_frames);

#endif
