/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/traces/previous_trace.h"

/* Limit of cached frames of all threads: some 40 MB.  Beyond it, all are dropped. */
#define FRAMES_MAX (1u << 20)

static void previous_free(struct reel_previous_trace *previous)
{
	free(previous->addresses);
	free(previous->lookups);
	free(previous->steps);
	free(previous->named);
	free(previous->runs);
	*previous = (struct reel_previous_trace){ 0 };
}

void reel_previous_traces_free(struct reel_previous_traces *traces)
{
	for (size_t i = 0; i < traces->n; i++)
		previous_free(&traces->list[i]);
	free(traces->list);
	*traces = (struct reel_previous_traces){ 0 };
}

struct reel_error *reel_previous_traces_get(struct reel_previous_traces *traces,
					    uint32_t thread_index, struct reel_previous_trace **ret)
{
	if (thread_index >= traces->n) {
		size_t before = traces->n;

		TRY(REEL_FIT(traces->list, (size_t)thread_index + 1, traces->n));
		memset(traces->list + before, 0, (traces->n - before) * sizeof(*traces->list));
	}
	*ret = &traces->list[thread_index];
	return NULL;
}

size_t reel_previous_trace_common(const struct reel_previous_trace *previous,
				  const struct reel_unwind_frames *frames)
{
	size_t limit = previous->n < frames->n ? previous->n : frames->n, n = 0;

	for (size_t i = frames->n; n < limit; n++) {
		i--;
		if (frames->addresses[i] != previous->addresses[n] ||
		    frames->lookups[i] != previous->lookups[n] ||
		    frames->steps[i] != previous->steps[n])
			break;
	}
	return n;
}

static struct reel_error *reserve(struct reel_previous_trace *previous, size_t n)
{
	size_t capacity = previous->capacity;

	TRY(REEL_FIT(previous->addresses, n, (size_t){ capacity }));
	TRY(REEL_FIT(previous->lookups, n, (size_t){ capacity }));
	TRY(REEL_FIT(previous->named, n, (size_t){ capacity }));
	return REEL_FIT(previous->steps, n, previous->capacity);
}

/* Too many threads with deep stacks: keeps only this thread's frames. */
static void forget_others(struct reel_previous_traces *traces,
			  const struct reel_previous_trace *kept)
{
	for (size_t i = 0; i < traces->n; i++) {
		if (&traces->list[i] != kept)
			previous_free(&traces->list[i]);
	}
	traces->frames = kept->capacity;
}

struct reel_error *reel_previous_trace_cut(struct reel_previous_traces *traces,
					   struct reel_previous_trace *previous, size_t n_kept,
					   size_t n)
{
	previous->n = n_kept;
	while (previous->n_runs > 1 && previous->runs[previous->n_runs - 2].end >= n_kept)
		previous->n_runs--;
	if (previous->n_runs && previous->runs[previous->n_runs - 1].end > n_kept)
		previous->runs[previous->n_runs - 1].end = n_kept;
	if (!n_kept)
		previous->n_runs = 0;
	if (n > previous->capacity) {
		size_t before = previous->capacity;

		TRY(reserve(previous, n));
		traces->frames += previous->capacity - before;
		if (traces->frames > FRAMES_MAX)
			forget_others(traces, previous);
	}
	return NULL;
}

static struct reel_error *add_to_runs(struct reel_previous_trace *previous, size_t module)
{
	struct reel_previous_run *last =
		previous->n_runs ? &previous->runs[previous->n_runs - 1] : NULL;

	if (last && last->module == module) {
		last->end++;
		return NULL;
	}
	return REEL_APPEND(previous->runs, previous->n_runs, previous->runs_capacity,
			   (struct reel_previous_run){ module, previous->n + 1 });
}

struct reel_error *reel_previous_trace_add(struct reel_previous_trace *previous,
					   const struct reel_unwind_frames *frames, size_t index,
					   size_t module, size_t n_named)
{
	size_t n = previous->n;

	TRY(add_to_runs(previous, module));
	previous->addresses[n] = frames->addresses[index];
	previous->lookups[n] = frames->lookups[index];
	previous->steps[n] = frames->steps[index];
	previous->named[n] = (n ? previous->named[n - 1] : 0) + n_named;
	previous->n = n + 1;
	return NULL;
}
