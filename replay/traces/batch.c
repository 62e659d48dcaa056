/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/traces/batch.h"

/* Bytes that a cleared batch may keep. */
#define KEPT_MAX (8u << 20)

struct reel_error *reel_batch_create(struct reel_batch **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : reel_error_no_memory();
}

static void free_arrays(struct reel_batch *batch)
{
	free(batch->traces);
	free(batch->frames);
	free(batch->addresses);
	free(batch->steps);
	free(batch->chains);
	free(batch->sps);
	free(batch->labels);
	free(batch->values);
	free(batch->texts);
	free(batch->counts);
	free(batch->problems);
}

static void free_errors(struct reel_batch *batch)
{
	while (batch->n_problems)
		reel_error_destroy(batch->problems[--batch->n_problems]);
	reel_error_destroy(batch->error);
	batch->error = NULL;
}

void reel_batch_destroy(struct reel_batch *batch)
{
	if (!batch)
		return;
	free_errors(batch);
	free_arrays(batch);
	free(batch);
}

static size_t frames_size(const struct reel_batch *batch, size_t n)
{
	return n * (sizeof(*batch->frames) + sizeof(*batch->addresses) + sizeof(*batch->steps));
}

void reel_batch_clear(struct reel_batch *batch)
{
	free_errors(batch);
	if (frames_size(batch, batch->frames_capacity) +
		    batch->traces_capacity * sizeof(*batch->traces) +
		    batch->chains_capacity * sizeof(*batch->chains) +
		    batch->sps_capacity * sizeof(*batch->sps) +
		    batch->labels_capacity * sizeof(*batch->labels) + batch->texts_capacity +
		    batch->counts_capacity * sizeof(*batch->counts) >
	    KEPT_MAX) {
		free_arrays(batch);
		*batch = (struct reel_batch){ 0 };
	}
	batch->next = NULL;
	batch->n_traces = batch->n_frames = batch->n_chains = batch->n_counts = 0;
	batch->n_labels = batch->n_values = batch->n_sps = batch->texts_size = 0;
	batch->n_repeated = 0;
	batch->n_samples = 0;
}

bool reel_batch_is_full(const struct reel_batch *batch)
{
	size_t n = batch->n_frames + batch->n_chains + batch->n_sps;

	return batch->n_traces >= REEL_BATCH_TRACES || n >= REEL_BATCH_FRAMES_MAX ||
	       batch->texts_size >= REEL_BATCH_TEXTS || n - batch->n_repeated >= REEL_BATCH_FRAMES;
}

size_t reel_batch_size(const struct reel_batch *batch)
{
	return sizeof(*batch) + frames_size(batch, batch->n_frames) +
	       batch->n_traces * sizeof(*batch->traces) + batch->n_chains * sizeof(*batch->chains) +
	       batch->n_labels * sizeof(*batch->labels) + batch->texts_size +
	       batch->n_values * sizeof(*batch->values) + batch->n_sps * sizeof(*batch->sps) +
	       batch->n_counts * sizeof(*batch->counts);
}

/* ---- writing ----------------------------------------------------------------------- */

struct reel_error *reel_batch_reserve_frames(struct reel_batch *batch, size_t n)
{
	size_t wanted = batch->n_frames + n, capacity = batch->frames_capacity;

	TRY(REEL_FIT(batch->frames, wanted, (size_t){ capacity }));
	TRY(REEL_FIT(batch->addresses, wanted, (size_t){ capacity }));
	return REEL_FIT(batch->steps, wanted, batch->frames_capacity);
}

static struct reel_error *add_text(struct reel_batch *batch, const char *text, size_t *ret)
{
	size_t size = strlen(text) + 1;

	TRY(REEL_FIT(batch->texts, batch->texts_size + size, batch->texts_capacity));
	*ret = batch->texts_size;
	memcpy(batch->texts + batch->texts_size, text, size);
	batch->texts_size += size;
	return NULL;
}

static struct reel_error *add_label(struct reel_batch *batch, const struct reel_label *label)
{
	struct reel_batch_label added = { *label, 0 };

	TRY(add_text(batch, label->text, &added.text));
	return REEL_APPEND(batch->labels, batch->n_labels, batch->labels_capacity, added);
}

static struct reel_error *add_value(struct reel_batch *batch, const struct reel_frame_value *value)
{
	struct reel_batch_value added = { *value, 0, 0 };

	TRY(add_text(batch, value->name, &added.name));
	TRY(add_text(batch, value->text, &added.text));
	return REEL_APPEND(batch->values, batch->n_values, batch->values_capacity, added);
}

struct reel_error *reel_batch_add_trace(struct reel_batch *batch, const struct reel_trace *trace,
					size_t own, uint32_t base, size_t n_shared)
{
	size_t n_chain = trace->n_frame_chain, labels = batch->n_labels;
	size_t values = batch->n_values, n_own = batch->n_frames - own;
	size_t n_sps = trace->stack_pointers ? n_own + n_shared : 0;

	for (size_t i = 0; i < trace->n_labels; i++)
		TRY(add_label(batch, &trace->labels[i]));
	for (size_t i = 0; i < trace->n_values; i++)
		TRY(add_value(batch, &trace->values[i]));
	TRY(REEL_FIT(batch->traces, batch->n_traces + 1, batch->traces_capacity));
	TRY(REEL_FIT(batch->chains, batch->n_chains + n_chain, batch->chains_capacity));
	TRY(REEL_FIT(batch->sps, batch->n_sps + n_sps, batch->sps_capacity));
	/* Skip traces that also share all of these frames. */
	while (n_shared && batch->traces[base].n_shared >= n_shared)
		base = batch->traces[base].base;
	batch->traces[batch->n_traces++] = (struct reel_batch_trace){
		.trace = *trace,
		.own = own,
		.n_own = n_own,
		.base = n_shared ? base : REEL_BATCH_NONE,
		.n_shared = n_shared,
		.chain = batch->n_chains,
		.labels = labels,
		.values = values,
		.sps = batch->n_sps,
	};
	if (n_chain)
		memcpy(batch->chains + batch->n_chains, trace->frame_chain,
		       n_chain * sizeof(*batch->chains));
	batch->n_chains += n_chain;
	if (n_sps)
		memcpy(batch->sps + batch->n_sps, trace->stack_pointers,
		       n_sps * sizeof(*batch->sps));
	batch->n_sps += n_sps;
	return NULL;
}

struct reel_error *reel_batch_add_count(struct reel_batch *batch, size_t module, uint64_t frames)
{
	return REEL_APPEND(batch->counts, batch->n_counts, batch->counts_capacity,
			   (struct reel_batch_count){ module, frames });
}

struct reel_error *reel_batch_add_problem(struct reel_batch *batch, struct reel_error *problem)
{
	if (reel_error_code(problem) == REEL_ERROR_NO_MEMORY)
		return problem;
	if (!reel_array_reserve(&batch->problems, batch->n_problems, &batch->problems_capacity,
				sizeof(struct reel_error *))) {
		reel_error_destroy(problem);
		return reel_error_no_memory();
	}
	batch->problems[batch->n_problems++] = problem;
	return NULL;
}

/* ---- reading ----------------------------------------------------------------------- */

void reel_batch_view_free(struct reel_batch_view *view)
{
	free(view->frames);
	free(view->addresses);
	free(view->steps);
	free(view->values);
	*view = (struct reel_batch_view){ 0 };
}

void reel_batch_view_reset(struct reel_batch_view *view)
{
	view->batch = NULL;
}

/* A larger array with the old items at its end. */
static void *grow_down(void *items, size_t old, size_t new, size_t size)
{
	uint8_t *grown = reallocarray(NULL, new, size);

	if (grown && old)
		memcpy(grown + (new - old) * size, items, old * size);
	return grown;
}

static struct reel_error *reserve_view(struct reel_batch_view *view, size_t n)
{
	size_t capacity = view->capacity ? view->capacity : 256;
	const struct reel_frame **frames;
	uint64_t *addresses;
	uint8_t *steps;

	if (view->capacity && n <= view->capacity)
		return NULL;
	while (capacity < n)
		capacity *= 2;
	frames = grow_down(view->frames, view->capacity, capacity, sizeof(*frames));
	addresses = grow_down(view->addresses, view->capacity, capacity, sizeof(*addresses));
	steps = grow_down(view->steps, view->capacity, capacity, sizeof(*steps));
	if (!frames || !addresses || !steps) {
		free(frames);
		free(addresses);
		free(steps);
		return reel_error_no_memory();
	}
	free(view->frames);
	free(view->addresses);
	free(view->steps);
	view->frames = frames;
	view->addresses = addresses;
	view->steps = steps;
	view->capacity = capacity;
	return NULL;
}

/* Copies frames of the batch, from position `from` on, to the start of the outermost `end`
 * frames. */
static void copy_frames(struct reel_batch_view *view, const struct reel_batch *batch, size_t from,
			size_t n, size_t end)
{
	size_t to = view->capacity - end;

	memcpy(view->frames + to, batch->frames + from, n * sizeof(*view->frames));
	memcpy(view->addresses + to, batch->addresses + from, n * sizeof(*view->addresses));
	memcpy(view->steps + to, batch->steps + from, n * sizeof(*view->steps));
}

/* Whether the arrays still have the frames that the trace shares. */
static bool is_in_place(const struct reel_batch_view *view, const struct reel_batch *batch,
			const struct reel_batch_trace *trace)
{
	uint32_t last = view->last;

	if (view->batch != batch)
		return false;
	/* Frames that the last trace shares belong to its base, the base's base, and so on. */
	while (last != trace->base && batch->traces[last].n_shared >= trace->n_shared)
		last = batch->traces[last].base;
	return last == trace->base;
}

static void set_labels(struct reel_batch_view *view, const struct reel_batch *batch, size_t first)
{
	for (size_t i = 0; i < view->trace.n_labels; i++) {
		const struct reel_batch_label *label = &batch->labels[first + i];

		view->labels[i] = label->label;
		view->labels[i].text = batch->texts + label->text;
	}
	view->trace.labels = view->labels;
}

static struct reel_error *set_values(struct reel_batch_view *view, const struct reel_batch *batch,
				     size_t first)
{
	size_t n = view->trace.n_values;

	TRY(REEL_FIT(view->values, n, view->values_capacity));
	for (size_t i = 0; i < n; i++) {
		const struct reel_batch_value *value = &batch->values[first + i];

		view->values[i] = value->value;
		view->values[i].name = batch->texts + value->name;
		view->values[i].text = batch->texts + value->text;
	}
	view->trace.values = view->values;
	return NULL;
}

struct reel_error *reel_batch_view_set(struct reel_batch_view *view, const struct reel_batch *batch,
				       uint32_t index)
{
	const struct reel_batch_trace *trace = &batch->traces[index];
	size_t n = trace->n_own + trace->n_shared, shared = trace->n_shared, in_place = 0;
	uint32_t base = trace->base;

	TRY(reserve_view(view, n));
	if (shared && is_in_place(view, batch, trace))
		in_place = shared;
	while (shared > in_place) {
		const struct reel_batch_trace *other = &batch->traces[base];
		size_t n_taken = shared - other->n_shared;

		copy_frames(view, batch, other->own + other->n_own - n_taken, n_taken, shared);
		shared = other->n_shared;
		base = other->base;
	}
	if (trace->n_own)
		copy_frames(view, batch, trace->own, trace->n_own, n);
	view->batch = batch;
	view->last = index;
	view->trace = trace->trace;
	view->trace.frames = view->frames + view->capacity - n;
	view->trace.addresses = view->addresses + view->capacity - n;
	view->trace.steps = view->steps + view->capacity - n;
	view->trace.n_frames = n;
	if (view->trace.n_frame_chain)
		view->trace.frame_chain = batch->chains + trace->chain;
	if (view->trace.stack_pointers)
		view->trace.stack_pointers = batch->sps + trace->sps;
	set_labels(view, batch, trace->labels);
	return set_values(view, batch, trace->values);
}
