/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime may run functions on a stack of its own while the stack that needs them waits.  How it
 * notes where the waiting stack continues is known only to files that carry the runtime's name.
 */
#ifndef REPLAY_UNWIND_WAITING_STACK_H
#define REPLAY_UNWIND_WAITING_STACK_H

#include "replay/unwind/unwind_internal.h"

/* By the runtime's notes in the walk's input, sets `waiting` and `own`. */
void reel_walk_read_places(struct reel_walk *walk);

/* No stack waits, and this one begins here.  sp must be known. */
bool reel_walk_begins_stack(const struct reel_walk *walk);

/* Where the stack continues that has been entered at `sp` for a place without a pc. */
struct reel_place reel_walk_place_before(const struct reel_walk *walk, uint64_t sp);

#endif
