/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "replay/capture/resolved.h"

void reel_resolved_free(struct reel_resolved *resolved)
{
	free(resolved->all);
	reel_buffer_free(&resolved->bytes);
}

/* Ids are bounded (format/record_check.c), and so is the memory for them. */
static bool make_room(struct reel_resolved *resolved, size_t id)
{
	if (!reel_array_fit(&resolved->all, id + 1, &resolved->capacity, sizeof(*resolved->all)))
		return false;
	for (; resolved->n <= id; resolved->n++)
		resolved->all[resolved->n] = (struct reel_resolved_steps){ 0 };
	return true;
}

struct reel_error *reel_resolved_add(struct reel_resolved *resolved,
				     const struct reel_record_trace_steps *record)
{
	/* One of a newer version: why the chain ends is unknown. */
	uint64_t stop = record->stop < REEL_STOP_COUNT ? record->stop : REEL_STOP_RECORDED_END;
	struct reel_resolved_steps *steps;

	if (!make_room(resolved, (size_t)record->id))
		return reel_error_no_memory();
	steps = &resolved->all[record->id];
	if (steps->stop)
		return NULL;
	*steps = (struct reel_resolved_steps){ .at = resolved->bytes.size,
					       .size = (uint32_t)record->steps.size,
					       .stop = (uint32_t)stop + 1 };
	reel_buffer_append(&resolved->bytes, record->steps.data, record->steps.size);
	return resolved->bytes.failed ? reel_error_no_memory() : NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

static const struct reel_resolved_steps *steps_of(const struct reel_resolved *resolved,
						  const struct reel_sample *sample)
{
	uint64_t id = sample->steps;

	return id < resolved->n && resolved->all[id].stop ? &resolved->all[id] : NULL;
}

static void add_frame(struct reel_unwind_frames *frames, uint64_t address, uint64_t kind)
{
	size_t n = frames->n++;
	bool is_exact = kind & 1;

	frames->addresses[n] = address;
	frames->lookups[n] = is_exact ? address : address - 1;
	frames->sps[n] = 0;
	frames->steps[n] =
		kind >> 1 <= REEL_STEP_OTHER_STACK ? (uint8_t)(kind >> 1) : REEL_STEP_RECORDED;
}

static uint64_t kind_of(enum reel_step step, bool is_exact)
{
	return (uint64_t)step << 1 | is_exact;
}

static void unwind_recorded(const struct reel_sample *sample, struct reel_unwind_frames *ret)
{
	for (size_t i = 0; i < sample->n_frame_chain; i++)
		add_frame(ret, sample->frame_chain[i], kind_of(REEL_STEP_RECORDED, !i));
}

static void unwind_by(const struct reel_sample *sample, struct reel_cursor *steps,
		      struct reel_unwind_frames *ret)
{
	while (reel_cursor_left(steps)) {
		uint64_t kind = reel_cursor_uleb(steps), left = sample->n_frame_chain - ret->n;
		uint64_t n = reel_cursor_uleb(steps);

		for (n = n && n < left ? n : left; n; n--)
			add_frame(ret, sample->frame_chain[ret->n], kind);
	}
}

struct reel_error *reel_resolved_unwind(const struct reel_resolved *resolved,
					const struct reel_sample *sample, uint32_t max_frames,
					struct reel_unwind_frames *ret, enum reel_stop *stop_ret,
					size_t *n_chain_ret)
{
	const struct reel_resolved_steps *steps = steps_of(resolved, sample);

	ret->n = 0;
	TRY(reel_unwind_frames_fit(ret, sample->n_frame_chain));
	if (steps) {
		struct reel_cursor bytes = reel_cursor(
			steps->size ? resolved->bytes.bytes + steps->at : NULL, steps->size);

		unwind_by(sample, &bytes, ret);
		*stop_ret = (enum reel_stop)(steps->stop - 1);
	} else {
		unwind_recorded(sample, ret);
		*stop_ret = REEL_STOP_RECORDED_END;
	}
	*n_chain_ret = ret->n;
	if (max_frames && ret->n > max_frames) {
		ret->n = max_frames;
		*stop_ret = REEL_STOP_DEPTH_LIMIT;
	}
	return NULL;
}

/* ---- writing -------------------------------------------------------------------------------- */

void reel_resolved_steps(const struct reel_unwind_frames *frames, bool is_whole,
			 struct reel_buffer *ret)
{
	size_t begin = 0;

	for (size_t i = 0; i < frames->n; i++) {
		uint64_t kind =
			kind_of(frames->steps[i], frames->addresses[i] == frames->lookups[i]);
		uint64_t next =
			i + 1 < frames->n
				? kind_of(frames->steps[i + 1],
					  frames->addresses[i + 1] == frames->lookups[i + 1])
				: UINT64_MAX;

		if (kind == next)
			continue;
		reel_buffer_uleb(ret, kind);
		reel_buffer_uleb(ret, next == UINT64_MAX && is_whole ? 0 : i + 1 - begin);
		begin = i + 1;
	}
}
