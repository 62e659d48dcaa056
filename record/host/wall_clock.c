/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/quantity.h"
#include "record/host/wall_clock.h"

#define LEAST ((int64_t)REEL_NS_PER_MS)

bool reel_wall_clock_read(struct reel_wall_clock *ret)
{
	uint64_t before = reel_now(), wall = reel_clock_now(CLOCK_REALTIME);
	uint64_t boot = reel_clock_now(CLOCK_BOOTTIME), after = reel_now();
	uint64_t middle = before + (after - before) / 2;

	ret->ahead = (int64_t)(wall - middle);
	ret->slept = (int64_t)(boot - middle);
	return after - before < (uint64_t)LEAST / 2;
}

bool reel_wall_clock_compare(const struct reel_wall_clock *before,
			     const struct reel_wall_clock *now, struct reel_wall_clock_jump *ret)
{
	int64_t slept = now->slept - before->slept, set = now->ahead - before->ahead - slept;

	*ret = (struct reel_wall_clock_jump){ llabs(set) < LEAST ? 0 : set,
					      slept < LEAST ? 0 : (uint64_t)slept };
	return ret->set || ret->slept;
}

void reel_wall_clock_jump_print(const struct reel_wall_clock_jump *jump, char text[128])
{
	int n = 0;

	text[0] = '\0';
	if (jump->slept)
		n = snprintf(text, 128, "the host slept for %.3f s",
			     (double)jump->slept / (double)REEL_NS_PER_SECOND);
	if (jump->set)
		snprintf(text + n, 128 - (size_t)n, "%sthe wall clock was set %s by %.3f s",
			 n ? ", and " : "", jump->set > 0 ? "forward" : "back",
			 (double)llabs(jump->set) / (double)REEL_NS_PER_SECOND);
}
