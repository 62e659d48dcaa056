/* SPDX-License-Identifier: Apache-2.0 */
/* --activate: samples are taken in windows of the wall clock, so that all hosts have the same. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "include/commands.h"
#include "base/quantity.h"
#include "record/recording_internal.h"

/* Counts the time up to now. */
static void account(struct recording *recording)
{
	struct recording_activation *activation = &recording->activation;
	uint64_t now = reel_now();

	if (!activation->rests)
		activation->active += now - activation->since;
	activation->since = now;
}

/* The clock may have been set since the last look, or the host may have slept. */
static bool is_outside(struct recording *recording)
{
	const struct reel_options *options = recording->options;
	uint64_t at = reel_clock_now(CLOCK_REALTIME) % options->activate_period;
	bool is_inside = at < options->activate_time;

	recording->activation.next =
		reel_now() + (is_inside ? options->activate_time : options->activate_period) - at;
	return !is_inside;
}

void recording_begin_activation(struct recording *recording)
{
	struct recording_activation *activation = &recording->activation;

	if (!recording->options->activate_time)
		return;
	activation->since = reel_now();
	activation->rests = is_outside(recording);
	recording_set_pause(recording);
}

void recording_watch_activation(struct recording *recording)
{
	struct recording_activation *activation = &recording->activation;
	bool rests = recording->options->activate_time && is_outside(recording);

	if (rests == activation->rests)
		return;
	account(recording);
	activation->rests = rests;
	recording_set_pause(recording);
	reel_sampler_rest(recording->sampler, rests);
}

void recording_describe_activation(struct recording *recording, char text[128])
{
	struct recording_activation *activation = &recording->activation;
	uint64_t time;

	account(recording);
	time = activation->since - recording->stream.part_begin;
	snprintf(text, 128,
		 "--activate: samples were taken in %.2f %% of the time, %.1f s of %.1f s",
		 time ? 100 * (double)activation->active / (double)time : 0,
		 (double)activation->active / (double)REEL_NS_PER_SECOND,
		 (double)time / (double)REEL_NS_PER_SECOND);
	activation->active = 0;
}
