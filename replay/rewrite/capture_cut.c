/* SPDX-License-Identifier: Apache-2.0 */
/* Copies some samples of a capture to a new one. */
#include "base/array.h"
#include "base/text.h"
#include "replay/rewrite/needs.h"
#include "replay/rewrite/rewrite.h"
#include "replay/rewrite/sample_walk.h"
#include "replay/traces/sample_filter.h"

struct cut {
	struct reel_rewrite_job job;
	struct reel_sample_filter filter;
	struct reel_needs *needs;
	struct reel_trace_labels labels;
};

static bool is_wanted_event(const struct cut *cut, uint32_t id)
{
	const struct reel_capture *capture = cut->job.capture;

	if (!cut->job.options.event)
		return true;
	/* If events share an id, the first one is used. */
	for (size_t i = 0; i < capture->n_events; i++)
		if (capture->events[i].id == id)
			return reel_text_matches(capture->events[i].name, cut->job.options.event);
	return false;
}

static bool is_listed(const struct cut *cut, uint64_t id)
{
	const uint64_t *all = cut->job.options.samples;
	size_t n = cut->job.options.n_samples, at = REEL_PARTITION_POINT(n, i, all[i] < id);

	return !all || (at < n && all[at] == id);
}

static struct reel_error *is_wanted(struct cut *cut, const struct reel_sample *sample,
				    const struct reel_space_state *space, bool *ret)
{
	const struct reel_capture *capture = cut->job.capture;
	struct reel_trace trace;
	struct reel_error *error = reel_sample_describe(
		capture, sample, space, reel_origins_of_sample(capture->origins, sample->id),
		&cut->labels, &trace);

	*ret = !error && is_wanted_event(cut, trace.event) && is_listed(cut, trace.id) &&
	       reel_sample_filter_passes(&cut->filter, &trace);
	return error;
}

static const struct reel_space_state *space_of(const struct cut *cut,
					       const struct reel_sample *sample)
{
	const struct reel_timeline *timeline = cut->job.capture->timeline;

	return reel_timeline_space(
		timeline, reel_timeline_thread_space(timeline, sample->thread, sample->time));
}

/* The first walk: what the samples need. */
static struct reel_error *add_needs(void *context)
{
	struct cut *cut = context;
	_cleanup_sample_walk_ struct reel_sample_walk walk = { 0 };
	struct reel_block_item item;

	TRY(reel_sample_walk_create(cut->job.capture, cut->filter.from, cut->filter.to, &walk));
	for (;;) {
		const struct reel_space_state *space;
		bool found, wanted;

		TRY(reel_sample_walk_next(&walk, &item, &found));
		if (!found)
			return reel_needs_seal(cut->needs);
		space = space_of(cut, &item.sample);
		TRY(is_wanted(cut, &item.sample, space, &wanted));
		if (wanted)
			TRY(reel_needs_add(cut->needs, &item.sample, space));
	}
}

static struct reel_error *keep(void *context, const struct reel_sample *sample, bool *ret)
{
	struct cut *cut = context;

	return is_wanted(cut, sample, space_of(cut, sample), ret);
}

static enum reel_rewrite_record choose(void *context, struct reel_record *record)
{
	struct cut *cut = context;

	if (reel_needs_record(cut->needs, record))
		return REEL_REWRITE_COPY;
	cut->job.counts.unneeded++;
	return REEL_REWRITE_DROP;
}

static bool wants(const void *context, const struct reel_record_frame *frame)
{
	const struct cut *cut = context;

	return reel_needs_frame(cut->needs, frame);
}

static struct reel_error *check_any(void *context)
{
	const struct cut *cut = context;

	return cut->job.counts.samples
		       ? NULL
		       : reel_error_create(REEL_ERROR_NOT_FOUND,
					   "%s: no samples match the selection",
					   reel_reader_name(cut->job.capture->reader));
}

static void cut_free(struct cut *cut)
{
	reel_sample_filter_free(&cut->filter);
	reel_trace_labels_free(&cut->labels);
	reel_needs_destroy(cut->needs);
	reel_rewrite_free(&cut->job);
}
#define _cleanup_cut_ __attribute__((cleanup(cut_free)))

struct reel_error *reel_capture_cut(struct reel_capture *capture, const char *output,
				    const struct reel_rewrite_options *options,
				    struct reel_rewrite_counts *counts)
{
	_cleanup_cut_ struct cut cut = { 0 };
	const struct reel_walk_options *lists = &cut.filter.lists;
	struct reel_rewrite_rules rules = {
		.keep = keep,
		.record = choose,
		.wants = wants,
		.prepare = add_needs,
		.finish = check_any,
		.context = &cut,
	};

	TRY(reel_rewrite_begin(capture, options, &cut.job));
	TRY(reel_sample_filter_copy(cut.job.options.filter, &cut.filter));
	if (lists->shards)
		return reel_error_create(REEL_ERROR_INVALID,
					 "shards select traces; cut by time instead");
	TRY(reel_needs_create(capture, cut.filter.from, cut.filter.to, &cut.needs));
	rules.from = cut.filter.from;
	rules.to = cut.filter.to;
	return reel_rewrite_to(&cut.job, output, &rules, counts);
}
