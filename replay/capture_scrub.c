/* SPDX-License-Identifier: Apache-2.0 */
/* A capture without what the recorded programs worked with. */
#include <stdlib.h>

#include "format/keys.h"
#include "format/output_file.h"
#include "replay/rewrite.h"
#include "space/scrub.h"

struct scrub {
	struct reel_capture *capture;
	struct reel_scrub_options options;
	struct reel_scrubber *scrubber;
};

/* The words of a process, or the kernel's where nothing is known of it. */
static struct reel_scrub_words words_of(const struct reel_capture *capture,
					const struct reel_space_state *space)
{
	bool is_known = space && space->machine;
	uint16_t machine = is_known ? (uint16_t)space->machine : capture->machine;
	unsigned bits =
		is_known && space->word_bits ? (unsigned)space->word_bits : capture->word_bits;
	const struct reel_arch *arch = reel_arch_by_machine(machine, bits);
	struct reel_scrub_words words = {
		.size = bits == 32 ? 4 : 8,
		.big_endian = space && space->byte_order ? space->byte_order == REEL_BYTE_ORDER_BIG
							 : capture->info.big_endian,
	};

	if (space) {
		words.code_mask = space->code_mask;
		words.data_mask = space->data_mask;
	}
	/* As the unwinder has it. */
	if (!words.code_mask && arch)
		words.code_mask = arch->default_code_mask;

	if (arch && arch->flags & REEL_ARCH_STACK_TRAMPOLINES) {
		for (size_t i = 0; i < arch->n_signal_frames; i++)
			reel_scrub_words_add_code(&words, arch->signal_frames[i].code,
						  arch->signal_frames[i].size);
	}
	return words;
}

static struct reel_error *scrub_sample(void *context, struct reel_rewrite_sample *rewritten)
{
	struct scrub *scrub = context;
	const struct reel_timeline *timeline = scrub->capture->timeline;
	struct reel_sample *sample = &rewritten->sample;
	uint64_t id = reel_timeline_thread_space(timeline, sample->thread, sample->time);
	struct reel_space_view view = reel_timeline_view(timeline, id, sample->time);
	struct reel_scrub_words words = words_of(scrub->capture, reel_timeline_space(timeline, id));

	return reel_scrub_sample(scrub->scrubber, &view, &words, sample);
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
		.writer = { .recipients = recipients, .form = REEL_FORM_CODED },
		/* Nobody knows what is in it. */
		.drop_unknown = true,
		.sample = scrub_sample,
		.record = scrub_record,
		.context = scrub,
	};

	return reel_rewrite(scrub->capture, fd, output, &options, ret);
}

static void give_counts(const struct reel_rewrite_counts *from, struct reel_scrub_counts *to)
{
	struct reel_scrub_counts counts = {
		.size = to->size,
		.samples = from->samples,
		.unknown = from->unknown_records + from->unknown_blocks,
		.bytes_written = from->bytes,
	};

	memcpy(to, &counts, to->size < sizeof(counts) ? to->size : sizeof(counts));
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

	if (options)
		memcpy(&scrub.options, options,
		       options->size < sizeof(*options) ? options->size : sizeof(*options));
	error = reel_rewrite_recipients(capture, scrub.options.recipients, scrub.options.decrypt,
					&recipients);
	if (error)
		return error;
	error = reel_output_file_open(output, reel_reader_fd(capture->reader), &file);
	if (error)
		return error;
	error = reel_scrubber_create(&scrub.scrubber);
	if (!error)
		error = write_scrubbed(&scrub, file.fd, output, &recipients, &written);
	error = reel_output_file_close(&file, error);
	reel_scrubber_destroy(scrub.scrubber);
	if (!error && counts)
		give_counts(&written, counts);
	return error;
}
