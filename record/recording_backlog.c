/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles a file that is slower than the recording, as on a slow disk or with a slow reader: data
 * waits in memory, up to a limit.  First the compressor hurries (format/block_queue.c), then the
 * stacks of new samples are cut, ever shorter; then samples are dropped.  Process events are kept,
 * since no later sample can be placed without them: if they alone exceed the limit, the recording
 * ends, with all data kept.
 */
#include <limits.h>

#include "include/commands.h"
#include "base/quantity.h"
#include "record/recording_internal.h"

/* Waiting bytes (listed in docs/man/stackreel-record.1, MEMORY). */
#define BACKLOG_DROP (48u << 20)
/* From here on, the limits for events of one process are lower (tracker_limits.c). */
#define BACKLOG_CALM	  (24u << 20)
#define BACKLOG_CALM_MORE (40u << 20)
#define BACKLOG_END	  (128u << 20)
/* The shortest that stacks are cut to: the innermost frames. */
#define STACK_MIN 4096

/* From `waiting` bytes on, stacks are limited to their usual length divided by `divisor`. */
static const struct {
	size_t waiting;
	uint32_t divisor;
} steps[] = {
	{ 40u << 20, 64 },
	{ 32u << 20, 16 },
	{ 24u << 20, 4 },
};

/* With --memory-limit, BACKLOG_END is its share. */
static size_t waiting_now(const struct recording *recording)
{
	uint64_t limit = recording->options->memory_limit / RECORDING_MEMORY_SHARE;
	size_t waiting = reel_output_waiting(recording->output);

	return limit && limit < BACKLOG_END
		       ? (size_t)((double)waiting * BACKLOG_END / (double)limit)
		       : waiting;
}

static uint32_t stack_limit(uint32_t max_stack, size_t waiting)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		uint32_t limit = max_stack / steps[i].divisor;

		if (waiting < steps[i].waiting)
			continue;
		if (limit < STACK_MIN)
			limit = STACK_MIN;
		return limit < max_stack ? limit : max_stack;
	}
	return max_stack;
}

void recording_relieve(struct recording *recording)
{
	struct recording_backlog *backlog = &recording->backlog;
	size_t waiting = waiting_now(recording);
	uint32_t limit = stack_limit((uint32_t)recording->options->max_stack, waiting);

	reel_tracker_set_backlog(recording->tracker, recording->memory.level >= MEMORY_PLACES
							     ? UINT_MAX
						     : waiting >= BACKLOG_CALM_MORE ? 2
						     : waiting >= BACKLOG_CALM	    ? 1
										    : 0);
	if (limit == backlog->stack_limit)
		return;
	if (backlog->stack_limit == recording->options->max_stack) {
		recording_note(recording, "output is slower than recording: cutting stacks");
		backlog->limited_from = reel_now();
		backlog->limited_to = UINT64_MAX;
	}
	backlog->stack_limit = limit;
	reel_sampler_limit_stack(recording->sampler, limit);
	if (limit == recording->options->max_stack)
		backlog->limited_to = reel_now();
}

bool recording_limited_at(const struct recording *recording, uint64_t time)
{
	return time >= recording->backlog.limited_from && time <= recording->backlog.limited_to;
}

bool recording_drops(struct recording *recording)
{
	if (waiting_now(recording) < BACKLOG_DROP)
		return false;
	if (!recording->backlog.n_dropped)
		recording_note(recording, "output is slower than recording: dropping samples");
	recording->backlog.n_dropped++;
	return true;
}

bool recording_is_overrun(const struct recording *recording)
{
	return waiting_now(recording) >= BACKLOG_END;
}

/* ---- all limits together ------------------------------------------------------------------ */

void recording_set_pause(struct recording *recording)
{
	reel_sampler_pause(recording->sampler, recording->governor.paused ||
						       recording->activation.rests ||
						       recording->memory.level >= MEMORY_SAMPLES);
}

void recording_cap_stacks(struct recording *recording)
{
	uint32_t cap = recording->governor.n_ticks ? recording->governor.max_stack
						   : (uint32_t)recording->options->max_stack;

	if (recording->memory.level >= MEMORY_STACKS && cap > REEL_GOVERNOR_STACK_MIN)
		cap = REEL_GOVERNOR_STACK_MIN;
	reel_sampler_cap_stack(recording->sampler, cap);
	reel_sampler_limit_stack(recording->sampler, recording->backlog.stack_limit);
}
