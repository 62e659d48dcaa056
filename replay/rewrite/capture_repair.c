/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an intact capture of the readable parts of a damaged one. */
#include <stdlib.h>

#include "base/id_table.h"
#include "base/text.h"
#include "replay/rewrite/rewrite.h"

struct repair {
	struct reel_rewrite_job job;
	struct reel_id_table bad_images; /* struct reel_id_entry, by module */
	struct reel_id_table met;	 /* struct met_block */
	/* Something is from a newer version, and this one cannot tell whether it is damaged. */
	bool is_too_new, is_short_of_memory;
	/* Of the last sample written. */
	bool has_last_id;
	uint64_t last_id;
};

/* ---- problems -------------------------------------------------------------------------------- */

static void record_finding(void *context, const struct reel_finding *finding)
{
	struct repair *repair = context;

	repair->is_too_new |= !finding->is_remark && finding->code == REEL_ERROR_UNSUPPORTED;
	if (repair->job.options.found)
		repair->job.options.found(repair->job.options.context, finding);
}

static void record_bad_image(void *context, uint64_t module)
{
	struct repair *repair = context;

	if (!reel_id_table_find(&repair->bad_images, module) &&
	    !reel_id_table_add(&repair->bad_images, module, sizeof(struct reel_id_entry)))
		repair->is_short_of_memory = true;
}

static struct reel_error *examine(struct repair *repair)
{
	const REEL_SIZED(reel_verify_options, options, .found = record_finding,
			 .bad_image = record_bad_image, .context = repair);
	REEL_SIZED(reel_verify_counts, counts);
	const char *name = reel_reader_name(repair->job.capture->reader);

	TRY(reel_capture_verify(repair->job.capture, &options, &counts));
	if (repair->is_short_of_memory)
		return reel_error_no_memory();
	if (repair->is_too_new)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: contains data unknown to this version, which would "
					 "be lost; repair it with a newer stackreel",
					 name);
	if (!repair->job.capture->has_capture_record)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "%s: cannot repair: the CAPTURE record, which describes "
					 "the recorded host, is lost, and replay requires it",
					 name);
	repair->job.counts.problems = counts.problems;
	repair->job.counts.tells_losses = counts.has_end;
	if (counts.has_end && counts.expected_samples > counts.samples)
		repair->job.counts.lost_samples = counts.expected_samples - counts.samples;
	if (counts.has_end && counts.expected_side_records > counts.side_records)
		repair->job.counts.lost_side_records =
			counts.expected_side_records - counts.side_records;
	return NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A block already seen, by its number and the payload's checksum. */
struct met_block {
	struct reel_id_entry by_number;
	struct reel_block_header header;
};

static bool are_same(const struct reel_block_header *a, const struct reel_block_header *b)
{
	return a->type == b->type && a->codec == b->codec && a->flags == b->flags &&
	       a->stored_size == b->stored_size && a->raw_size == b->raw_size &&
	       a->records == b->records && a->time_first == b->time_first &&
	       a->time_last == b->time_last;
}

/* Skips a duplicate block, with an identical header. */
static bool is_new_block(void *context, const struct reel_block *block)
{
	struct repair *repair = context;
	const struct reel_block_header *header = &block->header;
	uint64_t number = (uint64_t)header->sequence << 32 | header->payload_crc;
	struct met_block *met = (struct met_block *)reel_id_table_find(&repair->met, number);

	if (met)
		return !are_same(&met->header, header);
	met = reel_id_table_add(&repair->met, number, sizeof(*met));
	if (met)
		met->header = *header;
	else
		repair->is_short_of_memory = true;
	return true;
}

/* Writers number samples in ascending order; swapped blocks break it, so renumber. */
static struct reel_error *number_sample(void *context, struct reel_rewrite_sample *rewritten)
{
	struct repair *repair = context;
	struct reel_sample *sample = &rewritten->sample;

	if (repair->has_last_id && sample->id <= repair->last_id)
		sample->id = repair->last_id + 1;
	repair->has_last_id = true;
	repair->last_id = sample->id;
	return NULL;
}

static enum reel_rewrite_record choose(void *context, struct reel_record *record)
{
	const struct repair *repair = context;

	if (record->id == REEL_RECORD_IMAGE &&
	    reel_id_table_find(&repair->bad_images, record->image.module))
		return REEL_REWRITE_DROP;
	return REEL_REWRITE_COPY;
}

static struct reel_error *write_loss(struct reel_writer *writer, uint64_t time,
				     enum reel_loss cause, uint64_t count)
{
	const struct reel_record record = {
		.id = REEL_RECORD_LOSS,
		.loss = { .time = time, .cpu = UINT32_MAX, .cause = cause, .count = count },
	};

	return count ? reel_writer_record(writer, &record) : NULL;
}

/* The new capture must report its losses itself. */
static struct reel_error *end(void *context, struct reel_writer *writer, struct reel_record *ret)
{
	struct repair *repair = context;
	uint64_t time = repair->job.capture->info.last_sample_time;

	if (ret->id != REEL_RECORD_END)
		*ret = (struct reel_record){
			.id = REEL_RECORD_END,
			.end = { .time = time, .reason = REEL_END_ERROR },
		};
	TRY(write_loss(writer, time, REEL_LOSS_RECORDER, repair->job.counts.lost_samples));
	TRY(write_loss(writer, time, REEL_LOSS_PROCESS_EVENTS,
		       repair->job.counts.lost_side_records));
	/* The writer counts side records by default. */
	ret->end.samples = repair->job.counts.samples;
	ret->end.side_records = 0;
	return NULL;
}

static struct reel_error *check_memory(void *context)
{
	const struct repair *repair = context;

	return repair->is_short_of_memory ? reel_error_no_memory() : NULL;
}

/* ---- the proof ------------------------------------------------------------------------------- */

static void keep_first(void *context, const struct reel_finding *finding)
{
	char **first = context;

	if (!finding->is_remark && !*first)
		*first = reel_text_print("%s", finding->message);
}

static struct reel_error *prove(void *context, struct reel_capture *written)
{
	const struct repair *repair = context;
	_cleanup_free_ char *first = NULL;
	const REEL_SIZED(reel_verify_options, options, .found = keep_first, .context = &first);
	REEL_SIZED(reel_verify_counts, counts);

	TRY(reel_capture_verify(written, &options, &counts));
	if (!counts.problems)
		return NULL;
	return reel_error_create(REEL_ERROR_CORRUPT,
				 "%s: cannot repair: the readable data is inconsistent: %s",
				 reel_reader_name(repair->job.capture->reader), first ? first : "");
}

static void repair_free(struct repair *repair)
{
	reel_rewrite_free(&repair->job);
	reel_id_table_free_all(&repair->bad_images);
	reel_id_table_free_all(&repair->met);
}
#define _cleanup_repair_ __attribute__((cleanup(repair_free)))

struct reel_error *reel_capture_repair(struct reel_capture *capture, const char *output,
				       const struct reel_rewrite_options *options,
				       struct reel_rewrite_counts *counts)
{
	_cleanup_repair_ struct repair repair = { 0 };
	const struct reel_rewrite_rules rules = {
		.block = is_new_block,
		.sample = number_sample,
		.record = choose,
		.end = end,
		.finish = check_memory,
		.prove = prove,
		.context = &repair,
	};

	TRY(reel_rewrite_begin(capture, options, &repair.job));
	TRY(examine(&repair));
	return reel_rewrite_to(&repair.job, output, &rules, counts);
}
