/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies a capture: reads all its bytes, in addition to opening it, and reports for each problem
 * its place and the lost data.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sized.h"
#include "base/text.h"
#include "format/references.h"
#include "format/schema.h"
#include "replay/capture/capture.h"

typedef unsigned long long ull;

/* Facts about a problem in addition to its text. */
struct place {
	char *message; /* the problem's */
	uint64_t offset;
	char *lost;
};

/* A module's IMAGE records with the newest number. */
struct image_bytes {
	struct reel_id_entry by_module;
	uint64_t number, total, taken;
};

struct verify {
	struct reel_capture *capture;
	struct reel_verify_options options;
	struct reel_block_reader *block_reader;
	struct reel_references *references;
	struct reel_id_table images;
	struct place *places;
	size_t n_places, places_capacity;
	struct reel_verify_counts counts;
	bool has_digest;
	/* For the block being read. */
	uint64_t n_items;
	struct reel_error *error; /* of visiting */
};

/* ---- where problems are ---------------------------------------------------------------------- */

static struct reel_error *add_place(struct verify *verify, const char *message, uint64_t offset,
				    char *lost)
{
	char *copy = strdup(message);

	if (copy && lost && verify->n_places > REEL_PROBLEMS_MAX) {
		/* More problems are not listed. */
		free(copy);
		free(lost);
		return NULL;
	}
	if (copy && lost &&
	    reel_array_reserve(&verify->places, verify->n_places, &verify->places_capacity,
			       sizeof(*verify->places))) {
		verify->places[verify->n_places++] = (struct place){ copy, offset, lost };
		return NULL;
	}
	free(copy);
	free(lost);
	return reel_error_no_memory();
}

/* Takes over the error. */
static struct reel_error *add_damage(struct verify *verify, struct reel_error *damage,
				     uint64_t offset, char *lost)
{
	struct reel_error *error = add_place(verify, reel_error_message(damage), offset, lost);

	if (!error)
		return reel_capture_add_problem(verify->capture, damage);
	reel_error_destroy(damage);
	return error;
}

static const struct place *find_place(const struct verify *verify, const char *message)
{
	for (size_t i = 0; i < verify->n_places; i++)
		if (!strcmp(verify->places[i].message, message))
			return &verify->places[i];
	return NULL;
}

static bool has_place(const struct verify *verify, uint64_t offset)
{
	for (size_t i = 0; i < verify->n_places; i++)
		if (verify->places[i].offset == offset)
			return true;
	return false;
}

/* Since the first sample, as in --time. */
static double seconds(const struct verify *verify, uint64_t time)
{
	const struct reel_capture_info *info = &verify->capture->info;
	uint64_t begin = info->first_sample_time ? info->first_sample_time : info->start_time;

	return time < begin ? 0.0 : (double)(time - begin) / 1e9;
}

/* "the samples of 1.5 s to 2.5 s", after those read. */
static char *lost_of_block(const struct verify *verify, const struct reel_block *block)
{
	const struct reel_block_header *header = &block->header;
	bool are_samples = header->type == REEL_BLOCK_SAMPLES;
	_cleanup_free_ char *read = NULL;

	if (header->type == REEL_BLOCK_INDEX)
		return reel_text_print("nothing: blocks are found without an index");
	if (header->type == REEL_BLOCK_KEYS)
		return reel_text_print("nothing, if the other key block is intact");
	if (verify->n_items)
		read = reel_text_print(" after the first %llu,", (ull)verify->n_items);
	return reel_text_print("the %s%s from %.3f s to %.3f s",
			       are_samples ? "samples" : "records of processes, files and mappings",
			       read ? read : "", seconds(verify, header->time_first),
			       seconds(verify, header->time_last));
}

/* For damage between blocks, by the blocks on both sides. */
static char *lost_between(const struct verify *verify, uint64_t offset)
{
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(verify->capture->reader, &n);
	const struct reel_block *before = NULL, *behind = NULL;

	for (size_t i = 0; i < n; i++) {
		if (blocks[i].header.type != REEL_BLOCK_SAMPLES &&
		    blocks[i].header.type != REEL_BLOCK_SIDE)
			continue;
		if (blocks[i].offset < offset)
			before = &blocks[i];
		else if (!behind)
			behind = &blocks[i];
	}
	if (before && behind)
		return reel_text_print("all data from %.3f s to %.3f s",
				       seconds(verify, before->header.time_last),
				       seconds(verify, behind->header.time_first));
	if (before)
		return reel_text_print("all data after %.3f s",
				       seconds(verify, before->header.time_last));
	if (behind)
		return reel_text_print("all data before %.3f s",
				       seconds(verify, behind->header.time_first));
	return reel_text_print("all");
}

/* Whether the block repeats an earlier number; a copy of a block loses nothing. */
static bool is_of_block(const struct verify *verify, uint64_t offset)
{
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(verify->capture->reader, &n);
	uint64_t next = 0;

	for (size_t i = 0; i < n; i++) {
		if (blocks[i].offset == offset)
			return blocks[i].header.sequence <= next;
		if (blocks[i].header.sequence >= next)
			next = (uint64_t)blocks[i].header.sequence + 1;
	}
	return false;
}

static char *lost_at(const struct verify *verify, uint64_t offset)
{
	if (offset < REEL_FILE_HEADER_SIZE)
		return reel_text_print("the file's id, except 4 bytes");
	return is_of_block(verify, offset) ? reel_text_print("nothing")
					   : lost_between(verify, offset);
}

static struct reel_error *place_frames(struct verify *verify)
{
	size_t n;
	const struct reel_problem *problems = reel_reader_problems(verify->capture->reader, &n);

	for (size_t i = 0; i < n; i++)
		TRY(add_place(verify, problems[i].message, problems[i].offset,
			      lost_at(verify, problems[i].offset)));
	return NULL;
}

static struct reel_error *place_passed_over(struct verify *verify)
{
	size_t n;
	const struct reel_problem *problems = reel_block_reader_problems(verify->block_reader, &n);

	for (size_t i = 0; i < n; i++)
		TRY(add_place(verify, problems[i].message, problems[i].offset,
			      reel_text_print("that item")));
	return NULL;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Several records may form one image; a record with a greater number replaces it. */
static struct reel_error *add_image(struct verify *verify, const struct reel_record_image *record)
{
	struct image_bytes *image =
		(struct image_bytes *)reel_id_table_find(&verify->images, record->module);

	if (!image) {
		image = reel_id_table_add(&verify->images, record->module, sizeof(*image));
		if (!image)
			return reel_error_no_memory();
		image->number = record->number;
		image->total = record->total_size;
	}
	if (record->number > image->number) {
		image->number = record->number;
		image->total = record->total_size;
		image->taken = 0;
	}
	if (record->number == image->number && record->total_size == image->total)
		image->taken += record->bytes.size;
	return NULL;
}

static struct reel_error *check_digest(struct verify *verify, const struct reel_block *block,
				       const struct reel_record_digest *digest)
{
	const struct reel_reader *reader = verify->capture->reader;
	uint8_t sha256[REEL_SHA256_SIZE];
	struct reel_error *problem;

	/* To compare each of many would take hours. */
	if (verify->has_digest)
		return add_damage(verify,
				  reel_error_create(REEL_ERROR_CORRUPT,
						    "%s: more than one DIGEST",
						    reel_reader_name(reader)),
				  block->offset, reel_text_print("nothing"));
	verify->has_digest = true;
	TRY(reel_reader_sha256(reader, block->offset, sha256));
	if (!memcmp(sha256, digest->sha256.data, sizeof(sha256))) {
		verify->counts.digests++;
		return NULL;
	}
	problem = reel_error_create(REEL_ERROR_CORRUPT,
				    "%s: the first %llu bytes do not have the file's SHA-256",
				    reel_reader_name(reader), (ull)block->offset);
	return add_damage(verify, problem, block->offset,
			  reel_text_print("nothing that other problems do not name"));
}

static struct reel_error *check_item(struct verify *verify, const struct reel_block *block,
				     const struct reel_block_item *item)
{
	TRY(reel_references_add(verify->references, block, item));
	verify->counts.unknown_records += item->kind == REEL_ITEM_UNKNOWN;
	verify->counts.unknown_numbers +=
		(item->kind == REEL_ITEM_RECORD && reel_record_unlisted(&item->record)) ||
		(item->kind == REEL_ITEM_SAMPLE && reel_sample_has_unlisted(&item->sample));
	verify->n_items += item->kind == REEL_ITEM_SAMPLE || item->kind == REEL_ITEM_RECORD;
	if (item->kind == REEL_ITEM_RECORD && item->record.id == REEL_RECORD_IMAGE)
		return add_image(verify, &item->record.image);
	if (item->kind == REEL_ITEM_RECORD && item->record.id == REEL_RECORD_DIGEST)
		return check_digest(verify, block, &item->record.digest);
	return NULL;
}

static bool may_be_damage(const struct reel_error *error)
{
	return reel_error_code(error) != REEL_ERROR_NO_MEMORY;
}

static struct reel_error *end_block(struct verify *verify, const struct reel_block *block,
				    struct reel_error *damage)
{
	struct reel_block_counts counts = reel_block_reader_counts(verify->block_reader);
	struct reel_error *error = place_passed_over(verify);

	/* A damaged index was already reported when the file was opened. */
	if (damage && block->header.type == REEL_BLOCK_INDEX && has_place(verify, block->offset)) {
		reel_error_destroy(damage);
		return error;
	}
	if (!error && damage)
		error = add_place(verify, reel_error_message(damage), block->offset,
				  lost_of_block(verify, block));
	if (error) {
		reel_error_destroy(damage);
		return error;
	}
	verify->counts.damaged_blocks += damage != NULL;
	verify->counts.samples += counts.samples;
	verify->counts.side_records += counts.side_records;
	reel_references_end_block(verify->references, block, !damage);
	return reel_capture_end_block(verify->capture, verify->block_reader, damage);
}

static struct reel_error *check_block(struct verify *verify, const struct reel_block *block)
{
	struct reel_error *error = NULL, *damage;

	verify->counts.unknown_blocks += !reel_block_is_known(&block->header);
	verify->n_items = 0;
	damage = reel_block_reader_load(verify->block_reader, block);
	while (!damage && !error) {
		struct reel_block_item item;

		damage = reel_block_reader_next(verify->block_reader, &item);
		if (damage || item.kind == REEL_ITEM_END)
			break;
		error = check_item(verify, block, &item);
	}
	if (error)
		return error;
	if (damage && !may_be_damage(damage))
		return damage;
	return end_block(verify, block, damage);
}

/* Without its key, checks only the checksum, which anyone can forge. */
static struct reel_error *check_locked_block(struct verify *verify, const struct reel_block *block)
{
	struct reel_error *damage;

	damage = reel_block_reader_check_payload(verify->block_reader, block);
	if (!damage)
		return NULL;
	if (!may_be_damage(damage))
		return damage;
	verify->counts.damaged_blocks++;
	return add_damage(verify, damage, block->offset,
			  reel_text_print("the contents of that block"));
}

static struct reel_error *check_blocks(struct verify *verify)
{
	struct reel_capture *capture = verify->capture;
	const struct reel_open_options *options = &capture->options;
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n);

	verify->counts.blocks = n;
	for (size_t i = 0; i < n; i++) {
		if (options->progress)
			options->progress(options->progress_context, blocks[i].offset,
					  capture->info.file_size);
		TRY(capture->locked && blocks[i].header.flags & REEL_BLOCK_ENCRYPTED
			    ? check_locked_block(verify, &blocks[i])
			    : check_block(verify, &blocks[i]));
	}
	return capture->locked ? NULL
				    : reel_capture_check_samples(capture, verify->counts.samples);
}

/* ---- images ---------------------------------------------------------------------------------- */

static bool is_whole(const struct verify *verify, const struct reel_module *module)
{
	const struct image_bytes *image =
		(const struct image_bytes *)reel_id_table_find(&verify->images, module->record->id);

	return !image || image->taken >= image->total;
}

static struct reel_error *report_bad_image(struct verify *verify, const struct reel_module *module,
					   struct reel_error *problem)
{
	struct reel_error *error;

	problem = reel_error_prefix(problem, "%s: image of module %llu",
				    reel_reader_name(verify->capture->reader),
				    (ull)module->record->id);
	error = add_place(verify, reel_error_message(problem), UINT64_MAX,
			  reel_text_print("the file's names and unwind information"));
	if (!error && verify->options.bad_image)
		verify->options.bad_image(verify->options.context, module->record->id);
	if (!error)
		return reel_capture_add_problem(verify->capture, problem);
	reel_error_destroy(problem);
	return error;
}

static void check_image(void *context, const struct reel_module *module)
{
	struct verify *verify = context;
	struct reel_error *problem;

	if (verify->error || !module->image)
		return;
	verify->counts.images++;
	/* The rest of the image was lost with a block, or never written. */
	if (!is_whole(verify, module)) {
		verify->counts.cut_images++;
		return;
	}
	problem = reel_image_check(module);
	if (problem && may_be_damage(problem))
		verify->error = report_bad_image(verify, module, problem);
	else
		verify->error = problem;
}

static struct reel_error *check_images(struct verify *verify)
{
	if (verify->capture->modules)
		reel_modules_visit(verify->capture->modules, check_image, verify);
	return verify->error;
}

/* ---- the report ------------------------------------------------------------------------------ */

static void report(struct verify *verify, const struct reel_finding *finding)
{
	if (finding->is_remark)
		verify->counts.remarks++;
	else
		verify->counts.problems++;
	if (verify->options.found)
		verify->options.found(verify->options.context, finding);
}

struct located {
	struct reel_finding finding;
	size_t number;
};

static int compare_offsets(const void *a, const void *b)
{
	const struct located *x = a, *y = b;

	if (x->finding.offset != y->finding.offset)
		return x->finding.offset < y->finding.offset ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* In the file's order; problems without a place are last. */
static struct reel_error *report_problems(struct verify *verify)
{
	size_t n;
	const struct reel_capture_problem *problems = reel_capture_problems(verify->capture, &n);
	_cleanup_free_ struct located *all = calloc(n + 1, sizeof(*all));

	if (!all)
		return reel_error_no_memory();
	for (size_t i = 0; i < n; i++) {
		const struct place *place = find_place(verify, problems[i].message);

		all[i].number = i;
		all[i].finding = (struct reel_finding){
			.code = problems[i].code,
			.message = problems[i].message,
			.offset = place ? place->offset : UINT64_MAX,
			.lost = place ? place->lost : "",
		};
	}
	qsort(all, n, sizeof(*all), compare_offsets);
	for (size_t i = 0; i < n; i++)
		report(verify, &all[i].finding);
	return NULL;
}

static struct reel_error *report_remark(struct verify *verify, uint64_t offset, char *message)
{
	const struct reel_finding remark = { .code = REEL_ERROR_INVALID,
					     .is_remark = true,
					     .message = message,
					     .offset = offset,
					     .lost = "" };

	if (!message)
		return reel_error_no_memory();
	report(verify, &remark);
	free(message);
	return NULL;
}

static struct reel_error *report_remarks(struct verify *verify)
{
	for (int i = 0; i < REEL_REFERENCE_COUNT; i++) {
		struct reel_reference_count count =
			reel_references_count(verify->references, (enum reel_reference)i);

		if (count.n)
			TRY(report_remark(
				verify, count.first.offset,
				reel_text_print(
					"%llu %s (first %llu, in block %" PRIu32 " at offset %llu)",
					(ull)count.n, reel_reference_name((enum reel_reference)i),
					(ull)count.id, count.first.header.sequence,
					(ull)count.first.offset)));
	}
	if (verify->counts.unknown_records + verify->counts.unknown_blocks)
		TRY(report_remark(
			verify, UINT64_MAX,
			reel_text_print(
				"%llu records and %llu blocks are from a newer version: only "
				"checksums of the records were checked, and nothing of the blocks",
				(ull)verify->counts.unknown_records,
				(ull)verify->counts.unknown_blocks)));
	if (verify->counts.unknown_numbers)
		TRY(report_remark(
			verify, UINT64_MAX,
			reel_text_print("%llu records and samples have numbers of a newer "
					"version, such as a kind or a cause",
					(ull)verify->counts.unknown_numbers)));
	if (verify->counts.cut_images)
		TRY(report_remark(
			verify, UINT64_MAX,
			reel_text_print("%llu module images are incomplete and unusable: the "
					"recorder was killed, or a block was lost",
					(ull)verify->counts.cut_images)));
	return NULL;
}

static void free_verify(struct verify *verify)
{
	reel_block_reader_destroy(verify->block_reader);
	reel_references_destroy(verify->references);
	reel_id_table_free_all(&verify->images);
	for (size_t i = 0; i < verify->n_places; i++) {
		free(verify->places[i].message);
		free(verify->places[i].lost);
	}
	free(verify->places);
}

static void give_counts(struct verify *verify, struct reel_verify_counts *counts)
{
	const struct reel_capture *capture = verify->capture;

	/* Older files have different counts in END, or none (format/end_counts.c). */
	if (capture->end_counts.has_end && capture->end_counts.end.blocks) {
		verify->counts.has_end = true;
		verify->counts.expected_samples = capture->end_counts.end.samples;
		verify->counts.expected_side_records = capture->end_counts.end.side_records;
	}
	reel_sized_give(counts, sizeof(verify->counts), &verify->counts);
}

struct reel_error *reel_capture_verify(struct reel_capture *capture,
				       const struct reel_verify_options *options,
				       struct reel_verify_counts *counts)
{
	__attribute__((cleanup(free_verify))) struct verify verify = { .capture = capture };

	reel_sized_take(&verify.options, sizeof(verify.options), options);
	TRY(reel_block_reader_create(capture->reader, &verify.block_reader));
	TRY(reel_references_create(&verify.references));
	TRY(place_frames(&verify));
	TRY(check_blocks(&verify));
	TRY(check_images(&verify));
	TRY(report_problems(&verify));
	TRY(report_remarks(&verify));
	give_counts(&verify, counts);
	return NULL;
}
