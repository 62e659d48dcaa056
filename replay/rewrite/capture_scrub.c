/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a capture without the recorded programs' data. */
#include "replay/rewrite/rewrite.h"
#include "replay/traces/kept_values.h"

struct scrub {
	struct reel_rewrite_job job;
	struct reel_scrubber *scrubber;
	struct reel_sample_label labels[REEL_LABELS_MAX]; /* of the sample being written */
	struct reel_traces *traces;			  /* with the values to keep; or NULL */
	struct reel_kept_writer kept;
};

/* Drops a probe's values, which are data of the program, and labels that may be. */
static void scrub_labels(struct scrub *scrub, struct reel_sample *sample)
{
	size_t n = 0;

	for (size_t i = 0; i < sample->n_labels; i++) {
		switch (sample->labels[i].key) {
		case REEL_LABEL_LOCK:
		case REEL_LABEL_LOCK_OWNER:
		case REEL_LABEL_WAKER:
		case REEL_LABEL_WAKER_TID:
		case REEL_LABEL_WAKER_SAMPLE:
		case REEL_LABEL_SERVICE:
		case REEL_LABEL_ENVIRONMENT:
			scrub->labels[n++] = sample->labels[i];
			break;
		case REEL_LABEL_ARG1 ... REEL_LABEL_ARG6:
		case REEL_LABEL_TRACE:
		case REEL_LABEL_SPAN:
		case REEL_LABEL_VALUES ... REEL_LABEL_VALUES_LAST:
			break;
		default:
			scrub->job.counts.unknown++;
		}
	}
	sample->labels = scrub->labels;
	sample->n_labels = n;
}

/* Traces are of the same blocks, in the same order. */
static struct reel_error *keep_values(struct scrub *scrub, struct reel_sample *sample)
{
	const struct reel_rewrite_options *options = &scrub->job.options;
	const struct reel_trace *trace;

	TRY(reel_traces_next(scrub->traces, &trace));
	if (!trace || trace->id != sample->id)
		return reel_error_create(REEL_ERROR_CORRUPT, "sample %llu has no trace",
					 (unsigned long long)sample->id);
	return reel_kept_values_write(&scrub->kept, trace, options->keep, options->n_keep,
				      scrub->labels, &sample->n_labels);
}

static struct reel_error *scrub_sample(void *context, struct reel_rewrite_sample *rewritten)
{
	struct scrub *scrub = context;

	scrub_labels(scrub, &rewritten->sample);
	if (scrub->traces)
		TRY(keep_values(scrub, &rewritten->sample));
	return reel_capture_scrub_sample(scrub->job.capture, scrub->scrubber, &rewritten->sample);
}

static enum reel_rewrite_record scrub_record(void *context, struct reel_record *record)
{
	const struct scrub *scrub = context;

	if (record->id != REEL_RECORD_CAPTURE || !scrub->job.options.no_command_line)
		return REEL_REWRITE_COPY;
	record->capture.command_line = (struct reel_bytes){ 0 };
	return REEL_REWRITE_CHANGED;
}

static struct reel_error *prepare(void *context)
{
	struct scrub *scrub = context;
	const struct reel_rewrite_options *options = &scrub->job.options;
	const struct reel_walk_options walk = { .values = options->keep,
						.n_values = options->n_keep };

	TRY(reel_capture_scrubber_create(scrub->job.capture, &scrub->scrubber));
	for (size_t i = 0; i < options->n_keep; i++) {
		const struct reel_value_request *value = &options->keep[i];

		if (strlen(value->function) + strlen(value->expression) > REEL_KEPT_NAMES_MAX)
			return reel_error_create(REEL_ERROR_INVALID,
						 "%s:%s is longer than %d bytes", value->function,
						 value->expression, REEL_KEPT_NAMES_MAX);
	}
	return options->n_keep ? reel_traces_create_with(scrub->job.capture, &walk, &scrub->traces)
			       : NULL;
}

/* A misspelt name must not end in a capture without its values. */
static struct reel_error *check_kept(void *context)
{
	struct scrub *scrub = context;
	const struct reel_rewrite_options *options = &scrub->job.options;

	scrub->job.counts.values_left_out = scrub->kept.left_out;
	for (size_t i = 0; i < options->n_keep; i++) {
		if (!scrub->kept.counts || !scrub->kept.counts[i])
			return reel_error_create(
				REEL_ERROR_INVALID, "no sample has a known value of %s:%s",
				options->keep[i].function, options->keep[i].expression);
	}
	return NULL;
}

static void scrub_free(struct scrub *scrub)
{
	reel_traces_destroy(scrub->traces);
	reel_kept_writer_free(&scrub->kept);
	reel_scrubber_destroy(scrub->scrubber);
	reel_rewrite_free(&scrub->job);
}
#define _cleanup_scrub_ __attribute__((cleanup(scrub_free)))

struct reel_error *reel_capture_scrub(struct reel_capture *capture, const char *output,
				      const struct reel_rewrite_options *options,
				      struct reel_rewrite_counts *counts)
{
	_cleanup_scrub_ struct scrub scrub = { 0 };
	const struct reel_rewrite_rules rules = {
		/* Unknown records may contain anything. */
		.drop_unknown = true,
		.sample = scrub_sample,
		.record = scrub_record,
		.prepare = prepare,
		.finish = check_kept,
		.context = &scrub,
	};

	TRY(reel_rewrite_begin(capture, options, &scrub.job));
	return reel_rewrite_to(&scrub.job, output, &rules, counts);
}
