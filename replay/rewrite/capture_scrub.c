/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a capture without the recorded programs' data. */
#include <stdlib.h>

#include "format/keys.h"
#include "base/output_file.h"
#include "base/sized.h"
#include "replay/rewrite/rewrite.h"
#include "replay/rewrite/sample_scrub.h"

struct scrub {
	struct reel_capture *capture;
	struct reel_scrub_options options;
	struct reel_scrubber *scrubber;
};

static struct reel_error *scrub_sample(void *context, struct reel_rewrite_sample *rewritten)
{
	struct scrub *scrub = context;

	return reel_capture_scrub_sample(scrub->capture, scrub->scrubber, &rewritten->sample);
}

static enum reel_rewrite_record scrub_record(void *context, struct reel_record *record)
{
	const struct scrub *scrub = context;

	if (record->id != REEL_RECORD_CAPTURE || !scrub->options.no_command_line)
		return REEL_REWRITE_COPY;
	record->capture.command_line = (struct reel_bytes){ 0 };
	return REEL_REWRITE_CHANGED;
}

static struct reel_error *write_scrubbed(struct scrub *scrub, int fd, const char *output,
					 const struct reel_public_keys *recipients,
					 struct reel_rewrite_counts *ret)
{
	const struct reel_rewrite_options options = {
		.writer = { .recipients = recipients, .encoding = REEL_DENSE },
		/* Unknown records may contain anything. */
		.drop_unknown = true,
		.sample = scrub_sample,
		.record = scrub_record,
		.context = scrub,
	};

	TRY(reel_capture_scrubber_create(scrub->capture, &scrub->scrubber));
	return reel_rewrite(scrub->capture, fd, output, &options, ret);
}

static void give_counts(const struct reel_rewrite_counts *from, struct reel_scrub_counts *to)
{
	const struct reel_scrub_counts counts = {
		.samples = from->samples,
		.unknown = from->unknown_records + from->unknown_blocks,
		.bytes_written = from->bytes,
	};

	reel_sized_give(to, sizeof(counts), &counts);
}

struct reel_error *reel_capture_scrub(struct reel_capture *capture, const char *output,
				      const struct reel_scrub_options *options,
				      struct reel_scrub_counts *counts)
{
	struct scrub scrub = { .capture = capture };
	_cleanup_public_keys_ struct reel_public_keys recipients = { 0 };
	struct reel_rewrite_counts written = { 0 };
	struct reel_output_file file;
	struct reel_error *error;

	reel_sized_take(&scrub.options, sizeof(scrub.options), options);
	TRY(reel_rewrite_recipients(capture->reader, scrub.options.recipients,
				    scrub.options.decrypt, &recipients));
	TRY(reel_output_file_open(output, REEL_PLACE_PRIVATE, reel_reader_fd(capture->reader),
				  &file));
	error = write_scrubbed(&scrub, file.fd, output, &recipients, &written);
	reel_scrubber_destroy(scrub.scrubber);
	TRY(reel_output_file_close(&file, error));
	give_counts(&written, counts);
	return NULL;
}
