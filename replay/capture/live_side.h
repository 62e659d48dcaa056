/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the side records of processes and threads that ended before the oldest sample of an
 * endless stream; otherwise every look at the newest samples would read them all.
 */
#ifndef REPLAY_CAPTURE_LIVE_SIDE_H
#define REPLAY_CAPTURE_LIVE_SIDE_H

#include "format/source.h"

/*
 * Rewrites `side`, which begins with the file header and has side blocks only, for samples from
 * `from` on; *n_blocks_ret is the number of its blocks then.  If it has others, or is damaged, it
 * stays as it is, and *n_blocks_ret is 0.
 */
struct reel_error *reel_live_side_compact(struct reel_source *side, uint64_t from,
					  uint32_t *n_blocks_ret) REEL_MUST_CHECK;

#endif
