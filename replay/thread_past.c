/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "replay/thread_past.h"

/* Frames that are kept at most, of all threads: some 40 MB.  Beyond that all are forgotten. */
#define FRAMES_MAX (1u << 20)

static void past_free(struct reel_thread_past *past)
{
	free(past->addresses);
	free(past->lookups);
	free(past->steps);
	free(past->named);
	free(past->runs);
	*past = (struct reel_thread_past){ 0 };
}

void reel_thread_pasts_free(struct reel_thread_pasts *pasts)
{
	for (size_t i = 0; i < pasts->n; i++)
		past_free(&pasts->list[i]);
	free(pasts->list);
	*pasts = (struct reel_thread_pasts){ 0 };
}

struct reel_error *reel_thread_pasts_get(struct reel_thread_pasts *pasts, uint32_t thread_index,
					 struct reel_thread_past **ret)
{
	if (thread_index >= pasts->n) {
		size_t n = pasts->n ? pasts->n * 2 : 16;
		struct reel_thread_past *list;

		while (n <= thread_index)
			n *= 2;
		list = reallocarray(pasts->list, n, sizeof(*list));
		if (!list)
			return reel_error_no_memory();
		memset(list + pasts->n, 0, (n - pasts->n) * sizeof(*list));
		pasts->list = list;
		pasts->n = n;
	}
	*ret = &pasts->list[thread_index];
	return NULL;
}

size_t reel_thread_past_common(const struct reel_thread_past *past,
			       const struct reel_unwind_frames *frames)
{
	size_t limit = past->n < frames->n ? past->n : frames->n, n = 0;

	for (size_t i = frames->n; n < limit; n++) {
		i--;
		if (frames->addresses[i] != past->addresses[n] ||
		    frames->lookups[i] != past->lookups[n] || frames->steps[i] != past->steps[n])
			break;
	}
	return n;
}

static struct reel_error *reserve(struct reel_thread_past *past, size_t n)
{
	size_t capacity = past->capacity ? past->capacity : 32;
	uint64_t **words[] = { &past->addresses, &past->lookups };
	size_t *named;
	uint8_t *steps;

	while (capacity < n)
		capacity *= 2;
	/* What has grown when another fails is larger than it need be, no more. */
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint64_t *array = reallocarray(*words[i], capacity, sizeof(*array));

		if (!array)
			return reel_error_no_memory();
		*words[i] = array;
	}
	named = reallocarray(past->named, capacity, sizeof(*named));
	if (named)
		past->named = named;
	steps = realloc(past->steps, capacity);
	if (steps)
		past->steps = steps;
	if (!named || !steps)
		return reel_error_no_memory();
	past->capacity = capacity;
	return NULL;
}

/* Too many threads with deep stacks: only this one's frames are kept. */
static void forget_others(struct reel_thread_pasts *pasts, const struct reel_thread_past *kept)
{
	for (size_t i = 0; i < pasts->n; i++) {
		if (&pasts->list[i] != kept)
			past_free(&pasts->list[i]);
	}
	pasts->frames = kept->capacity;
}

struct reel_error *reel_thread_past_cut(struct reel_thread_pasts *pasts,
					struct reel_thread_past *past, size_t n_kept, size_t n)
{
	past->n = n_kept;
	while (past->n_runs > 1 && past->runs[past->n_runs - 2].end >= n_kept)
		past->n_runs--;
	if (past->n_runs && past->runs[past->n_runs - 1].end > n_kept)
		past->runs[past->n_runs - 1].end = n_kept;
	if (!n_kept)
		past->n_runs = 0;
	if (n > past->capacity) {
		size_t before = past->capacity;
		struct reel_error *error = reserve(past, n);

		if (error)
			return error;
		pasts->frames += past->capacity - before;
		if (pasts->frames > FRAMES_MAX)
			forget_others(pasts, past);
	}
	return NULL;
}

static struct reel_error *add_to_runs(struct reel_thread_past *past, size_t module)
{
	struct reel_past_run *last = past->n_runs ? &past->runs[past->n_runs - 1] : NULL;

	if (last && last->module == module) {
		last->end++;
		return NULL;
	}
	if (past->n_runs == past->runs_capacity) {
		size_t capacity = past->runs_capacity ? past->runs_capacity * 2 : 8;
		struct reel_past_run *runs = reallocarray(past->runs, capacity, sizeof(*runs));

		if (!runs)
			return reel_error_no_memory();
		past->runs = runs;
		past->runs_capacity = capacity;
	}
	past->runs[past->n_runs++] = (struct reel_past_run){ module, past->n + 1 };
	return NULL;
}

struct reel_error *reel_thread_past_add(struct reel_thread_past *past,
					const struct reel_unwind_frames *frames, size_t index,
					size_t module, size_t n_named)
{
	size_t n = past->n;
	struct reel_error *error = add_to_runs(past, module);

	if (error)
		return error;
	past->addresses[n] = frames->addresses[index];
	past->lookups[n] = frames->lookups[index];
	past->steps[n] = frames->steps[index];
	past->named[n] = (n ? past->named[n - 1] : 0) + n_named;
	past->n = n + 1;
	return NULL;
}
