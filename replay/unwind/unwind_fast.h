/* SPDX-License-Identifier: Apache-2.0 */
/* The fast path: FAST_PATH.md.  Internal to unwind*.c. */
#ifndef REPLAY_UNWIND_UNWIND_FAST_H
#define REPLAY_UNWIND_UNWIND_FAST_H

#include "replay/unwind/unwind_parts.h"

/*
 * From the frame that was appended last, takes steps for as long as frames are plain
 * (unwind_cache.h) and appends them, up to `max_frames` and to the frames' capacity; the walk and
 * its state are then as if they had been taken one by one.  True: the last frame has no caller.
 * False: its step is still to be taken.
 */
bool reel_walk_fast(struct reel_walk *walk, struct reel_unwind_frames *frames, size_t max_frames);

#endif
