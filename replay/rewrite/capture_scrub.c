/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a capture without the recorded programs' data. */
#include "base/output_file.h"
#include "replay/rewrite/rewrite.h"
#include "replay/rewrite/sample_scrub.h"

struct scrub {
	struct reel_rewrite_job job;
	struct reel_scrubber *scrubber;
	struct reel_sample_label labels[REEL_LABELS_MAX]; /* of the sample being written */
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
		default:
			break;
		}
	}
	sample->labels = scrub->labels;
	sample->n_labels = n;
}

static struct reel_error *scrub_sample(void *context, struct reel_rewrite_sample *rewritten)
{
	struct scrub *scrub = context;

	scrub_labels(scrub, &rewritten->sample);
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

static struct reel_error *write_scrubbed(struct scrub *scrub, int fd, const char *output)
{
	const struct reel_rewrite_rules rules = {
		.writer.encoding = REEL_DENSE,
		/* Unknown records may contain anything. */
		.drop_unknown = true,
		.sample = scrub_sample,
		.record = scrub_record,
		.context = scrub,
	};

	TRY(reel_capture_scrubber_create(scrub->job.capture, &scrub->scrubber));
	return reel_rewrite(&scrub->job, fd, output, &rules);
}

static void scrub_free(struct scrub *scrub)
{
	reel_scrubber_destroy(scrub->scrubber);
	reel_rewrite_free(&scrub->job);
}
#define _cleanup_scrub_ __attribute__((cleanup(scrub_free)))

struct reel_error *reel_capture_scrub(struct reel_capture *capture, const char *output,
				      const struct reel_rewrite_options *options,
				      struct reel_rewrite_counts *counts)
{
	_cleanup_scrub_ struct scrub scrub = { 0 };
	struct reel_output_file file;

	TRY(reel_rewrite_begin(capture, options, &scrub.job));
	TRY(reel_output_file_open(output, REEL_PLACE_PRIVATE, reel_reader_fd(capture->reader),
				  &file));
	TRY(reel_output_file_close(&file, write_scrubbed(&scrub, file.fd, output)));
	reel_rewrite_end(&scrub.job, counts);
	return NULL;
}
