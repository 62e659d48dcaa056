/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime may run functions on a stack of its own while the stack that needs them waits.  How it
 * notes where the waiting stack continues is known only to files that carry the runtime's name.
 */
#ifndef REPLAY_UNWIND_WAITING_STACK_H
#define REPLAY_UNWIND_WAITING_STACK_H

#include "replay/unwind/unwind_internal.h"

/*
 * By the runtime's note in the walk's input: CALLER if *ret is where the waiting stack continues,
 * ROOT if no stack waits and this one begins here, STOP if unknown.  sp must be known.
 */
enum reel_next reel_walk_find_waiting(const struct reel_walk *walk, struct reel_unwind_state *ret);

#endif
