/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"
#include "record/turns.h"

/* Samples of a CPU that a turn waits for. */
#define SAMPLES 10
/* A job that cron starts each minute stays known. */
#define CALM (90 * REEL_NS_PER_SECOND)

int reel_turn_length(const struct reel_turn_needs *needs)
{
	uint64_t ms;

	if (needs->is_prompt || !needs->frequency)
		return REEL_TURN_MIN;
	if (needs->may_be_long && needs->without_news >= CALM)
		return REEL_TURN_CALM;
	ms = SAMPLES * 1000 / needs->frequency;
	return ms < REEL_TURN_MIN ? REEL_TURN_MIN : ms > REEL_TURN_MAX ? REEL_TURN_MAX : (int)ms;
}
