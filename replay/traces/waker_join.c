/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/traces/waker_join.h"

#include <stdlib.h>

#include "base/array.h"

/* Waits come within seconds. */
#define BYTES_MAX ((size_t)32 << 20)

struct waker {
	struct reel_id_entry entry; /* id: the sample's */
	size_t n;
	struct waker_frame {
		const struct reel_frame *frame;
		uint64_t address;
		uint8_t step;
	} frames[];
};

void reel_waker_join_free(struct reel_waker_join *join)
{
	reel_id_table_free_all(&join->newest);
	reel_id_table_free_all(&join->earlier);
	free(join->frames);
	free(join->addresses);
	free(join->steps);
}

struct reel_error *reel_waker_join_keep(struct reel_waker_join *join,
					const struct reel_trace *trace)
{
	size_t size = sizeof(struct waker) + trace->n_frames * sizeof(struct waker_frame);
	struct waker *waker;

	if (reel_id_table_find(&join->newest, trace->id))
		return NULL;
	if (join->bytes > BYTES_MAX) {
		reel_id_table_free_all(&join->earlier);
		join->earlier = join->newest;
		join->newest = (struct reel_id_table){ 0 };
		join->bytes = 0;
	}
	waker = malloc(size);
	if (!waker)
		return reel_error_no_memory();
	*waker = (struct waker){ .entry.id = trace->id, .n = trace->n_frames };
	for (size_t i = 0; i < trace->n_frames; i++)
		waker->frames[i] = (struct waker_frame){ trace->frames[i], trace->addresses[i],
							 trace->steps[i] };
	if (!reel_id_table_insert(&join->newest, &waker->entry)) {
		free(waker);
		return reel_error_no_memory();
	}
	join->bytes += size;
	return NULL;
}

static struct reel_error *reserve(struct reel_waker_join *join, size_t n)
{
	size_t capacity = join->capacity;

	TRY(REEL_FIT(join->frames, n, (size_t){ capacity }));
	TRY(REEL_FIT(join->addresses, n, (size_t){ capacity }));
	return REEL_FIT(join->steps, n, join->capacity);
}

static void set_frame(struct reel_waker_join *join, size_t at, const struct waker_frame *frame)
{
	join->frames[at] = frame->frame;
	join->addresses[at] = frame->address;
	join->steps[at] = frame->step;
}

static struct reel_error *join_frames(struct reel_waker_join *join, struct reel_capture *capture,
				      const struct waker *waker, struct reel_trace *trace)
{
	static const char woken_by[] = "[woken by]";
	struct reel_address_frames mark;
	size_t n = waker->n;

	TRY(reel_frame_table_text(capture->frames, woken_by, &mark));
	TRY(reserve(join, n + 1 + trace->n_frames));
	for (size_t i = 0; i < n; i++)
		set_frame(join, i, &waker->frames[n - 1 - i]);
	set_frame(join, n, &(struct waker_frame){ mark.frames[0], 0, REEL_STEP_SAMPLE });
	for (size_t i = 0; i < trace->n_frames; i++)
		set_frame(join, n + 1 + i,
			  &(struct waker_frame){ trace->frames[i], trace->addresses[i],
						 trace->steps[i] });
	trace->frames = join->frames;
	trace->addresses = join->addresses;
	trace->steps = join->steps;
	trace->n_frames += n + 1;
	/* They are not at the front any more. */
	trace->n_kernel_frames = 0;
	return NULL;
}

struct reel_error *reel_waker_join_apply(struct reel_waker_join *join, struct reel_capture *capture,
					 struct reel_trace *trace)
{
	const struct reel_label *label = reel_trace_label(trace, "waker-sample");
	struct waker *waker =
		label ? (void *)reel_id_table_remove(&join->newest, label->number) : NULL;
	struct reel_error *error;

	if (label && !waker)
		waker = (void *)reel_id_table_remove(&join->earlier, label->number);
	if (!waker)
		return NULL;
	error = join_frames(join, capture, waker, trace);
	free(waker);
	return error;
}
