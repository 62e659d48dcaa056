/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "replay/rewrite/proof.h"

/* Frames are interned, so most pairs repeat. */
#define KNOWN_BITS 12

struct comparison {
	struct reel_same_traces *same;
	struct {
		const struct reel_frame *a, *b;
	} known[1 << KNOWN_BITS];
};

static bool are_alike(const struct reel_frame *a, const struct reel_frame *b, bool names)
{
	if (a->module_id != b->module_id || a->module_address != b->module_address ||
	    a->exact != b->exact)
		return false;
	return !names || (!strcmp(a->function, b->function) && !strcmp(a->file, b->file) &&
			  a->line == b->line && a->column == b->column && a->is_fde == b->is_fde &&
			  a->function_offset == b->function_offset && a->inlined == b->inlined);
}

static bool are_known(struct comparison *comparison, const struct reel_frame *a,
		      const struct reel_frame *b)
{
	uint64_t hash = (uint64_t)(uintptr_t)a * 0x9e3779b97f4a7c15;
	size_t slot = hash >> (64 - KNOWN_BITS);

	if (comparison->known[slot].a == a && comparison->known[slot].b == b)
		return true;
	if (!are_alike(a, b, comparison->same->names))
		return false;
	comparison->known[slot].a = a;
	comparison->known[slot].b = b;
	return true;
}

/* The index of the next user frame to compare, from `at` on; n_frames: none. */
static size_t next_frame(const struct comparison *comparison, const struct reel_trace *trace,
			 size_t at)
{
	while (!comparison->same->names && at < trace->n_frames && trace->frames[at]->inlined)
		at++;
	return at;
}

/* An address that scrubbing removed because it is outside code counts as equal. */
static bool is_same_frame(struct comparison *comparison, const struct reel_trace *a, size_t i,
			  const struct reel_trace *b, size_t j)
{
	if (comparison->same->scrubbed && b->addresses[j] == 1 && !b->frames[j]->module_id)
		return true;
	return a->addresses[i] == b->addresses[j] &&
	       are_known(comparison, a->frames[i], b->frames[j]);
}

static bool are_same(struct comparison *comparison, const struct reel_trace *a,
		     const struct reel_trace *b)
{
	size_t i = next_frame(comparison, a, a->n_kernel_frames);
	size_t j = next_frame(comparison, b, b->n_kernel_frames);

	if (a->id != b->id || a->time != b->time || a->thread != b->thread || a->stop != b->stop)
		return false;
	while (i < a->n_frames && j < b->n_frames) {
		if (a->steps[i] != b->steps[j] || !is_same_frame(comparison, a, i, b, j))
			return false;
		i = next_frame(comparison, a, i + 1);
		j = next_frame(comparison, b, j + 1);
	}
	return i == a->n_frames && j == b->n_frames;
}

static bool are_same_values(const struct reel_trace *a, const struct reel_trace *b)
{
	if (a->n_values != b->n_values)
		return false;
	for (size_t i = 0; i < a->n_values; i++) {
		const struct reel_frame_value *x = &a->values[i], *y = &b->values[i];

		if (x->frame != y->frame || x->state != y->state || strcmp(x->name, y->name) != 0 ||
		    strcmp(x->text, y->text) != 0)
			return false;
	}
	return true;
}

static bool is_lost(const struct reel_same_traces *same, const struct reel_trace *trace)
{
	for (size_t i = trace->n_kernel_frames; same->is_lost && i < trace->n_frames; i++) {
		if (same->is_lost(same->context, trace->frames[i]->module_id))
			return true;
	}
	return false;
}

static struct reel_error *compare_all(struct comparison *comparison, struct reel_traces *a,
				      struct reel_traces *b)
{
	struct reel_same_traces *same = comparison->same;

	for (;;) {
		const struct reel_trace *x, *y;

		TRY(reel_traces_next(a, &x));
		TRY(reel_traces_next(b, &y));
		if (!x && !y)
			return NULL;
		if (!x || !y)
			return reel_error_create(
				REEL_ERROR_MISMATCH,
				"the new capture has a different number of samples and was "
				"discarded; this is a bug, please report it");
		if (is_lost(same, x))
			same->n_lost++;
		else if (are_same(comparison, x, y) && are_same_values(x, y))
			same->n_same++;
		else
			return reel_error_create(REEL_ERROR_MISMATCH,
						 "sample %llu has a different trace in the new "
						 "capture, which was discarded; this is a bug, "
						 "please report it (--no-check keeps the capture)",
						 (unsigned long long)x->id);
	}
}

struct reel_error *reel_same_traces_check(struct reel_capture *a, struct reel_capture *b,
					  struct reel_same_traces *same)
{
	static const struct reel_value_request all = { .locals = true };
	const struct reel_walk_options walk = { .values = &all, .n_values = same->values };
	struct comparison *comparison = calloc(1, sizeof(*comparison));
	struct reel_traces *x = NULL, *y = NULL;
	struct reel_error *error;

	if (!comparison)
		return reel_error_no_memory();
	comparison->same = same;
	error = reel_traces_create_with(a, &walk, &x);
	if (!error)
		error = reel_traces_create_with(b, &walk, &y);
	if (!error)
		error = compare_all(comparison, x, y);
	reel_traces_destroy(x);
	reel_traces_destroy(y);
	free(comparison);
	return error;
}
