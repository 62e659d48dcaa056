/* SPDX-License-Identifier: Apache-2.0 */
/* The short way up: frames of the usual kind, by what is remembered of their code. Internal to
 * unwind*.c. */
#ifndef REPLAY_UNWIND_CLIMB_H
#define REPLAY_UNWIND_CLIMB_H

#include "replay/unwind_code.h"

/*
 * From the frame that was appended last, takes steps for as long as frames are plain
 * (unwind_cache.h) and appends them, up to `max_frames` and to the frames' capacity; the walk and
 * its state are then as if they had been taken one by one.  True: the last frame has no caller.
 * False: its step is still to be taken.
 */
bool reel_walk_climb(struct reel_walk *walk, struct reel_unwind_frames *frames, size_t max_frames);

#endif
