/* SPDX-License-Identifier: Apache-2.0 */
/* Copies some samples of a capture to a new one. */
#include "base/output_file.h"
#include "base/sized.h"
#include "replay/rewrite/needs.h"
#include "replay/rewrite/rewrite.h"
#include "replay/rewrite/sample_walk.h"
#include "replay/traces/sample_filter.h"

struct cut {
	struct reel_capture *capture;
	struct reel_cut_options options;
	struct reel_sample_filter filter;
	struct reel_needs *needs;
	struct reel_cut_counts counts;
};

static bool is_wanted_event(const struct cut *cut, uint32_t id)
{
	const struct reel_capture *capture = cut->capture;

	if (!cut->options.event)
		return true;
	/* If events share an id, the first one is used. */
	for (size_t i = 0; i < capture->n_events; i++)
		if (capture->events[i].id == id)
			return !strcmp(capture->events[i].name, cut->options.event);
	return false;
}

static struct reel_error *is_wanted(const struct cut *cut, const struct reel_sample *sample,
				    const struct reel_space_state *space, bool *ret)
{
	const struct reel_capture *capture = cut->capture;
	struct reel_trace trace;
	struct reel_error *error =
		reel_sample_describe(capture, sample, space,
				     reel_origins_of_sample(capture->origins, sample->id), &trace);

	*ret = !error && is_wanted_event(cut, trace.event) &&
	       reel_sample_filter_passes(&cut->filter, &trace);
	return error;
}

static const struct reel_space_state *space_of(const struct cut *cut,
					       const struct reel_sample *sample)
{
	const struct reel_timeline *timeline = cut->capture->timeline;

	return reel_timeline_space(
		timeline, reel_timeline_thread_space(timeline, sample->thread, sample->time));
}

/* The first walk: what the samples need. */
static struct reel_error *ask_for_all(struct cut *cut)
{
	_cleanup_sample_walk_ struct reel_sample_walk walk = { 0 };
	struct reel_block_item item;

	TRY(reel_sample_walk_create(cut->capture, cut->filter.from, cut->filter.to, &walk));
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
	const struct cut *cut = context;

	return is_wanted(cut, sample, space_of(cut, sample), ret);
}

static enum reel_rewrite_record choose(void *context, struct reel_record *record)
{
	struct cut *cut = context;

	if (reel_needs_record(cut->needs, record))
		return REEL_REWRITE_COPY;
	cut->counts.left_out++;
	return REEL_REWRITE_DROP;
}

static bool wants(const void *context, const struct reel_record_frame *frame)
{
	const struct cut *cut = context;

	return reel_needs_frame(cut->needs, frame);
}

static struct reel_error *write_cut(struct cut *cut, int fd, const char *output,
				    const struct reel_public_keys *recipients)
{
	const struct reel_rewrite_options options = {
		.writer = { .recipients = recipients, .encoding = REEL_DENSE },
		.keep = keep,
		.record = choose,
		.from = cut->filter.from,
		.to = cut->filter.to,
		.wants = wants,
		.context = cut,
	};
	struct reel_rewrite_counts written = { 0 };

	TRY(reel_rewrite(cut->capture, fd, output, &options, &written));
	cut->counts.samples = written.samples;
	cut->counts.left_out += written.refused;
	cut->counts.bytes_written = written.bytes;
	if (!written.samples)
		return reel_error_create(REEL_ERROR_NOT_FOUND, "%s: no samples match the selection",
					 reel_reader_name(cut->capture->reader));
	return NULL;
}

static struct reel_error *cut_to(struct cut *cut, const char *output)
{
	const struct reel_filter *lists = &cut->filter.lists;
	_cleanup_public_keys_ struct reel_public_keys recipients = { 0 };
	struct reel_output_file file;
	struct reel_error *error;

	TRY(reel_rewrite_recipients(cut->capture->reader, cut->options.recipients,
				    cut->options.decrypt, &recipients));
	TRY(reel_needs_create(cut->capture, lists->from ? cut->filter.from : 0, cut->filter.to,
			      &cut->needs));
	TRY(reel_output_file_open(output, REEL_PLACE_PRIVATE, reel_reader_fd(cut->capture->reader),
				  &file));
	error = ask_for_all(cut);
	if (!error)
		error = write_cut(cut, file.fd, output, &recipients);
	return reel_output_file_close(&file, error);
}

static void cut_free(struct cut *cut)
{
	reel_sample_filter_free(&cut->filter);
	reel_needs_destroy(cut->needs);
}
#define _cleanup_cut_ __attribute__((cleanup(cut_free)))

struct reel_error *reel_capture_cut(struct reel_capture *capture, const char *output,
				    const struct reel_cut_options *options,
				    struct reel_cut_counts *counts)
{
	_cleanup_cut_ struct cut cut = { .capture = capture };

	reel_sized_take(&cut.options, sizeof(cut.options), options);
	TRY(reel_sample_filter_copy(cut.options.filter, capture->info.first_sample_time,
				    &cut.filter));
	if (cut.filter.lists.shards)
		return reel_error_create(REEL_ERROR_INVALID,
					 "shards select traces; cut by time instead");
	TRY(cut_to(&cut, output));
	reel_sized_give(counts, sizeof(*counts), &cut.counts);
	return NULL;
}
