/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/files.h"
#include "base/output_file.h"
#include "base/sized.h"
#include "format/cipher.h"
#include "format/schema.h"
#include "replay/rewrite/images.h"
#include "replay/rewrite/rewrite.h"

/* Compression may take some time. */
#define LEVEL 9

struct rewrite {
	struct reel_rewrite_job *job;
	const struct reel_rewrite_rules *rules;
	struct reel_block_reader *block_reader;
	struct reel_writer *writer;
	uint64_t n_samples, n_samples_dropped; /* read; omitted on purpose */
	/* Side records omitted and added on purpose. */
	uint64_t n_side_dropped, n_side_added;
	size_t n_blocks_passed; /* outside the times */
	/* The last END record; written last, after everything that it counts. */
	bool has_end;
	struct reel_record end;
	/* The parts of a copied sample. */
	struct reel_rewrite_sample copy;
	struct reel_region regions[REEL_REGIONS_MAX];
	uint64_t values[REEL_REGISTERS_MAX];
	uint8_t known[REEL_REGISTERS_MAX / 8];
	uint8_t *bytes;
	size_t capacity;
};

/* ---- samples ------------------------------------------------------------------ */

static struct reel_error *reserve(struct rewrite *rewrite, const struct reel_sample *sample)
{
	size_t size = 0;

	for (size_t i = 0; i < sample->n_regions; i++)
		size += sample->regions[i].size;
	return REEL_FIT(rewrite->bytes, size, rewrite->capacity);
}

static void copy_registers(struct rewrite *rewrite, const struct reel_sample *from)
{
	struct reel_rewrite_sample *copy = &rewrite->copy;
	size_t n = from->layout ? from->layout->n_slots : 0;

	if (n) {
		memcpy(rewrite->values, from->values, n * sizeof(*rewrite->values));
		memcpy(rewrite->known, from->known, (n + 7) / 8);
	}
	copy->sample.values = copy->values = rewrite->values;
	copy->sample.known = copy->known = rewrite->known;
}

/* The decoder needs its own bytes for the samples that follow. */
static struct reel_error *copy_sample(struct rewrite *rewrite, const struct reel_sample *from)
{
	struct reel_rewrite_sample *copy = &rewrite->copy;
	uint8_t *bytes;

	TRY(reserve(rewrite, from));
	bytes = rewrite->bytes;
	copy->sample = *from;
	copy_registers(rewrite, from);
	for (size_t i = 0; i < from->n_regions; i++) {
		rewrite->regions[i] = from->regions[i];
		copy->bytes[i] = bytes;
		if (!from->regions[i].size)
			continue;
		memcpy(bytes, from->regions[i].bytes, from->regions[i].size);
		rewrite->regions[i].bytes = bytes;
		bytes += from->regions[i].size;
	}
	copy->sample.regions = rewrite->regions;
	return NULL;
}

static struct reel_error *write_sample(struct rewrite *rewrite, const struct reel_sample *sample)
{
	struct reel_error *error = NULL;
	bool is_kept = true;

	if (rewrite->rules->keep)
		error = rewrite->rules->keep(rewrite->rules->context, sample, &is_kept);
	if (error || !is_kept) {
		rewrite->n_samples_dropped++;
		return error;
	}
	rewrite->job->counts.samples++;
	if (!rewrite->rules->sample)
		return reel_writer_sample(rewrite->writer, sample);
	TRY(copy_sample(rewrite, sample));
	TRY(rewrite->rules->sample(rewrite->rules->context, &rewrite->copy));
	return reel_writer_sample(rewrite->writer, &rewrite->copy.sample);
}

/* ---- records ------------------------------------------------------------------ */

static struct reel_error *write_record(struct rewrite *rewrite, uint16_t block_type,
				       struct reel_block_item *item)
{
	enum reel_rewrite_record what = REEL_REWRITE_COPY;

	if (rewrite->rules->record)
		what = rewrite->rules->record(rewrite->rules->context, &item->record);
	if (what == REEL_REWRITE_DROP ||
	    (rewrite->rules->images &&
	     reel_images_replace(rewrite->rules->images, &item->record))) {
		rewrite->n_side_dropped++;
		return NULL;
	}
	/* END's are about the old file. */
	if (item->record.has_more &&
	    (what == REEL_REWRITE_CHANGED || rewrite->rules->drop_unknown ||
	     item->record.id == REEL_RECORD_END)) {
		rewrite->job->counts.unknown++;
		what = REEL_REWRITE_CHANGED;
	}
	if (item->record.id == REEL_RECORD_END) {
		/* The last END is used; earlier ones are not copied. */
		rewrite->n_side_dropped += rewrite->has_end;
		rewrite->has_end = true;
		rewrite->end = item->record;
		return NULL;
	}
	if (what == REEL_REWRITE_CHANGED)
		return reel_writer_record(rewrite->writer, &item->record);
	return reel_writer_copy(rewrite->writer, block_type, &item->frame, &item->record);
}

static struct reel_error *write_item(struct rewrite *rewrite, uint16_t block_type,
				     struct reel_block_item *item)
{
	switch (item->kind) {
	case REEL_ITEM_SAMPLE:
		return write_sample(rewrite, &item->sample);
	case REEL_ITEM_RECORD:
		return write_record(rewrite, block_type, item);
	case REEL_ITEM_UNKNOWN:
		if (rewrite->rules->drop_unknown && !reel_record_is_safe_to_copy(item->frame.id)) {
			rewrite->job->counts.unknown++;
			rewrite->n_side_dropped += block_type == REEL_BLOCK_SIDE;
			return NULL;
		}
		return reel_writer_copy(rewrite->writer, block_type, &item->frame, NULL);
	/* The writer makes its own from the samples. */
	case REEL_ITEM_LAYOUT:
	case REEL_ITEM_END:
		break;
	}
	return NULL;
}

/* ---- blocks ------------------------------------------------------------------- */

static struct reel_error *rewrite_block(struct rewrite *rewrite, const struct reel_block *block)
{
	struct reel_error *damage = reel_block_reader_load(rewrite->block_reader, block);
	struct reel_block_counts counts;

	while (!damage) {
		struct reel_block_item item;

		damage = reel_block_reader_next(rewrite->block_reader, &item);
		if (damage || item.kind == REEL_ITEM_END)
			break;
		TRY(write_item(rewrite, block->header.type, &item));
	}
	counts = reel_block_reader_counts(rewrite->block_reader);
	rewrite->n_samples += counts.samples;
	rewrite->n_side_dropped += counts.refused;
	rewrite->job->counts.unneeded += counts.refused;
	return reel_capture_end_block(rewrite->job->capture, rewrite->block_reader, damage);
}

static bool is_sound(struct reel_capture *capture)
{
	size_t n;

	(void)reel_capture_problems(capture, &n);
	return !n;
}

static bool is_of_other_times(const struct rewrite *rewrite, const struct reel_block *block)
{
	const struct reel_rewrite_rules *rules = rewrite->rules;

	return block->header.type == REEL_BLOCK_SAMPLES && rules->to &&
	       !reel_block_overlaps(&block->header, rules->from, rules->to);
}

static bool is_rewritten(const struct rewrite *rewrite, const struct reel_block *block)
{
	const struct reel_rewrite_rules *rules = rewrite->rules;

	return block->header.type != REEL_BLOCK_INDEX && block->header.type != REEL_BLOCK_KEYS &&
	       (!rules->block || rules->block(rules->context, block));
}

/* All blocks outside the times, or all inside. */
static struct reel_error *rewrite_some(struct rewrite *rewrite, bool of_other_times)
{
	struct reel_capture *capture = rewrite->job->capture;
	const struct reel_open_options *options = &capture->options;
	size_t n_blocks;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n_blocks);

	for (size_t i = 0; i < n_blocks; i++) {
		const struct reel_block *block = &blocks[i];

		if (!is_rewritten(rewrite, block))
			continue;
		if (is_of_other_times(rewrite, block) != of_other_times) {
			rewrite->n_blocks_passed++;
			continue;
		}
		rewrite->job->counts.unknown += !reel_block_is_known(&block->header);
		if (options->progress)
			options->progress(options->progress_context, block->offset,
					  capture->info.file_size);
		TRY(rewrite_block(rewrite, block));
	}
	return NULL;
}

/*
 * Blocks outside the times are read only if parts of the capture are missing: END has to count
 * their samples, so that the new capture misses the same number.
 */
static struct reel_error *rewrite_blocks(struct rewrite *rewrite)
{
	struct reel_capture *capture = rewrite->job->capture;

	TRY(rewrite_some(rewrite, false));
	if (rewrite->n_blocks_passed && is_sound(capture))
		return NULL;
	if (rewrite->n_blocks_passed)
		TRY(rewrite_some(rewrite, true));
	rewrite->n_blocks_passed = 0;
	return reel_capture_check_samples(capture, rewrite->n_samples);
}

/*
 * END keeps the counts of the original capture, adjusted for intentional omissions and additions.
 * So its readers see missing samples or records if the original was not completely readable.  An
 * older END has different counts, or none (format/end_counts.c): then the writer's own count.
 */
static struct reel_error *write_end(struct rewrite *rewrite)
{
	struct reel_record_end *end = &rewrite->end.end;
	const struct reel_rewrite_rules *rules = rewrite->rules;

	if (rules->end) {
		TRY(rules->end(rules->context, rewrite->writer, &rewrite->end));
		return reel_writer_record(rewrite->writer, &rewrite->end);
	}
	if (!rewrite->has_end)
		return NULL;
	end->samples = rewrite->n_blocks_passed || !end->blocks
			       ? rewrite->job->counts.samples
			       : end->samples - rewrite->n_samples_dropped;
	if (!end->blocks)
		end->side_records = 0;
	else if (end->side_records)
		end->side_records += rewrite->n_side_added - rewrite->n_side_dropped;
	return reel_writer_record(rewrite->writer, &rewrite->end);
}

struct reel_error *reel_rewrite_recipients(const struct reel_reader *reader,
					   const struct reel_rewrite_options *options,
					   struct reel_public_keys *ret)
{
	const struct reel_file_header *header = reel_reader_header(reader);

	TRY(reel_public_keys_add_list(ret, options->recipients));
	if (ret->n && options->decrypt)
		return reel_error_create(REEL_ERROR_INVALID,
					 "--decrypt and --encrypt-to cannot be combined");
	if (ret->n || options->decrypt || !(header->features & REEL_FEATURE_ENCRYPTED))
		return NULL;
	return reel_error_create(REEL_ERROR_INVALID,
				 "%s: encrypted, but the new capture would not be; use "
				 "--encrypt-to PUBLIC_KEY, or --decrypt to let anyone read it",
				 reel_reader_name(reader));
}

struct reel_error *reel_rewrite_begin(struct reel_capture *capture,
				      const struct reel_rewrite_options *options,
				      struct reel_rewrite_job *ret)
{
	ret->capture = capture;
	reel_sized_take(&ret->options, sizeof(ret->options), options);
	return reel_rewrite_recipients(capture->reader, &ret->options, &ret->recipients);
}

void reel_rewrite_free(struct reel_rewrite_job *job)
{
	reel_public_keys_free(&job->recipients);
}

static void rewrite_destroy(struct rewrite **rewrite)
{
	if (!*rewrite)
		return;
	reel_writer_destroy((*rewrite)->writer);
	reel_block_reader_destroy((*rewrite)->block_reader);
	free((*rewrite)->bytes);
	free(*rewrite);
}
#define _cleanup_rewrite_ __attribute__((cleanup(rewrite_destroy)))

struct reel_error *reel_rewrite(struct reel_rewrite_job *job, int fd, const char *name,
				const struct reel_rewrite_rules *rules)
{
	struct reel_writer_options writer = rules->writer;
	_cleanup_rewrite_ struct rewrite *rewrite = calloc(1, sizeof(*rewrite));
	struct reel_writer_counts written;

	if (!rewrite)
		return reel_error_no_memory();
	rewrite->job = job;
	rewrite->rules = rules;
	writer.digest = true;
	if (!writer.level)
		writer.level = LEVEL;
	writer.target = (struct reel_sample_target){ .word_bits = job->capture->word_bits,
						     .big_endian = job->capture->info.big_endian };
	writer.recipients = &job->recipients;
	if (rules->prepare)
		TRY(rules->prepare(rules->context));
	if (rules->images)
		TRY(reel_images_prepare(rules->images));
	TRY(reel_capture_check_covers(job->capture, rules->from,
				      rules->to ? rules->to : UINT64_MAX));
	TRY(reel_block_reader_create(job->capture->reader, &rewrite->block_reader));
	if (rules->wants)
		reel_block_reader_choose(rewrite->block_reader, rules->wants, rules->context);
	TRY(reel_writer_create(fd, name, &writer, NULL, &rewrite->writer));
	if (rules->cipher_ret)
		TRY(reel_writer_copy_cipher(rewrite->writer, rules->cipher_ret));
	TRY(rewrite_blocks(rewrite));
	if (rules->append)
		TRY(rules->append(rules->context, rewrite->writer, &rewrite->n_side_added));
	if (rules->images)
		TRY(reel_images_append(rules->images, rewrite->writer, &rewrite->n_side_added));
	TRY(write_end(rewrite));
	TRY(reel_writer_finish(rewrite->writer));
	written = reel_writer_counts(rewrite->writer);
	job->counts.bytes_read = job->capture->info.file_size;
	job->counts.bytes_written = written.file_bytes;
	job->counts.stack_bytes = written.stack_bytes;
	return rules->finish ? rules->finish(rules->context) : NULL;
}

/* ---- files -------------------------------------------------------------------- */

/* Opens the capture written to `fd`; takes ownership of its key, which may be NULL. */
static struct reel_error *open_written(const struct reel_rewrite_job *job,
				       const struct reel_rewrite_rules *rules, int fd,
				       struct reel_cipher *cipher, struct reel_capture **ret)
{
	const struct reel_reader_options reading = { .cipher = cipher };
	struct reel_open_options options =
		rules->images ? reel_images_alone(job->capture) : job->capture->options;
	struct reel_reader *reader;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0) {
		struct reel_error *error = reel_error_os(errno, "reading the new capture");

		reel_cipher_destroy(cipher);
		return error;
	}
	options.progress = NULL;
	TRY(reel_reader_open_fd(copy, "the new capture", &reading, &reader));
	return reel_capture_open_reader(reader, &options, ret);
}

static struct reel_error *write_and_prove(struct reel_rewrite_job *job,
					  const struct reel_rewrite_rules *given, int fd,
					  const char *output)
{
	struct reel_rewrite_rules rules = *given;
	struct reel_cipher *cipher = NULL;
	struct reel_capture *written;
	struct reel_error *error;

	rules.cipher_ret = &cipher;
	error = reel_rewrite(job, fd, output, &rules);
	if (error) {
		reel_cipher_destroy(cipher);
		return error;
	}
	TRY(open_written(job, &rules, fd, cipher, &written));
	error = rules.prove ? rules.prove(rules.context, written)
			    : reel_images_prove(rules.images, written);
	reel_capture_close(written);
	return error;
}

/* Output to a pipe is final, so it is written only after the proof. */
static struct reel_error *write_to(struct reel_rewrite_job *job,
				   const struct reel_rewrite_rules *rules,
				   const struct reel_output_file *file, const char *output)
{
	_cleanup_fd_ int spool = -1;
	int errnum;

	if (rules->no_check || (!rules->prove && !rules->images))
		return reel_rewrite(job, file->fd, output, rules);
	if (file->is_new)
		return write_and_prove(job, rules, file->fd, output);
	TRY(reel_temporary_file(&spool));
	TRY(write_and_prove(job, rules, spool, output));
	errnum = reel_copy_all(spool, file->fd);
	return errnum ? reel_error_os(errnum, "writing %s", output) : NULL;
}

struct reel_error *reel_rewrite_to(struct reel_rewrite_job *job, const char *output,
				   const struct reel_rewrite_rules *rules,
				   struct reel_rewrite_counts *counts)
{
	struct reel_output_file file;

	TRY(reel_output_file_open(output, REEL_PLACE_PRIVATE, reel_reader_fd(job->capture->reader),
				  &file));
	TRY(reel_output_file_close(&file, write_to(job, rules, &file, output)));
	reel_sized_give(counts, sizeof(job->counts), &job->counts);
	return NULL;
}

/* ---- scrubbing ---------------------------------------------------------------- */

struct reel_error *reel_capture_scrubber_create(const struct reel_capture *capture,
						struct reel_scrubber **ret)
{
	const struct reel_elf_kind native = {
		.machine = capture->machine,
		.word_bits = (uint8_t)capture->word_bits,
		.byte_order =
			capture->info.big_endian ? REEL_BYTE_ORDER_BIG : REEL_BYTE_ORDER_LITTLE,
	};

	return reel_scrubber_create(&native, ret);
}

struct reel_error *reel_capture_scrub_sample(const struct reel_capture *capture,
					     struct reel_scrubber *scrubber,
					     struct reel_sample *sample)
{
	const struct reel_timeline *timeline = capture->timeline;
	uint64_t space = reel_timeline_thread_space(timeline, sample->thread, sample->time);
	struct reel_space_view view = reel_timeline_view(timeline, space, sample->time);

	return reel_scrub_sample(scrubber, &view, sample);
}
