/* SPDX-License-Identifier: Apache-2.0 */
/* Notes when the wall clock is set, and when the host sleeps. */
#ifndef RECORD_HOST_WALL_CLOCK_H
#define RECORD_HOST_WALL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, and the part of it that was sleep, in ns. */
struct reel_wall_clock {
	int64_t ahead, slept;
};

struct reel_wall_clock_jump {
	int64_t set;	/* ns that the clock was set forward */
	uint64_t slept; /* ns */
};

/* False if this thread was interrupted meanwhile, so that it is not exact. */
bool reel_wall_clock_read(struct reel_wall_clock *ret);
/* What happened between two readings; false: nothing of a millisecond or more. */
bool reel_wall_clock_compare(const struct reel_wall_clock *before,
			     const struct reel_wall_clock *now, struct reel_wall_clock_jump *ret);
void reel_wall_clock_jump_print(const struct reel_wall_clock_jump *jump, char text[128]);

#endif
