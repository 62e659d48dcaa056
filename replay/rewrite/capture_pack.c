/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a capture that needs no files: with what its own traces ask of its modules. */
#include <stdlib.h>

#include "base/output_file.h"
#include "base/sized.h"
#include "replay/rewrite/module_image.h"
#include "replay/rewrite/rewrite.h"
#include "replay/rewrite/sample_walk.h"

/* A record of an image has so many bytes of it. */
#define PIECE_SIZE (1u << 20)
/* What a reader takes of all images (replay/module.c). */
#define IMAGES_SIZE_MAX (64u << 20)

struct packed {
	const struct reel_module *module; /* NULL: it has no file here */
	struct reel_address_ranges addresses;
	struct reel_buffer image; /* empty: it was left out */
};

struct pack {
	struct reel_capture *capture;
	struct reel_pack_options options;
	struct packed *modules; /* by their index */
	size_t n;
	uint64_t images_size;
	struct reel_pack_counts counts;
	struct reel_error *error; /* of visiting modules */
};

/* ---- what is asked for -------------------------------------------------------------------- */

static void note_address(struct pack *pack, struct reel_code_map *map, uint64_t lookup)
{
	const struct reel_code_range *range = reel_code_map_find(map, lookup);
	uint64_t address = lookup - range->bias;

	if (range->module && range->module->record->kind == REEL_MODULE_FILE)
		reel_address_ranges_add(&pack->modules[range->module->index].addresses, address,
					address + 1);
}

static struct reel_error *ask_for_sample(struct pack *pack, struct reel_sample_walk *walk,
					 const struct reel_sample *sample)
{
	struct reel_code_map *map = reel_sample_unwinder_code_map(walk->unwinder);
	const struct reel_unwind_frames *frames;
	enum reel_stop stop;
	struct reel_error *error = reel_sample_walk_unwind(walk, sample, &frames, &stop);

	for (size_t i = 0; !error && i < frames->n; i++) {
		if (frames->steps[i] != REEL_STEP_GAP)
			note_address(pack, map, frames->lookups[i]);
	}
	return error;
}

static struct reel_error *ask_for_all(struct pack *pack)
{
	struct reel_sample_walk walk;
	struct reel_block_item item;
	struct reel_error *error = reel_sample_walk_create(pack->capture, &walk);
	bool found = true;

	while (!error && found) {
		error = reel_sample_walk_next(&walk, &item, &found);
		if (!error && found)
			error = ask_for_sample(pack, &walk, &item.sample);
	}
	reel_sample_walk_free(&walk);
	return error;
}

/* ---- images ------------------------------------------------------------------------------- */

/* For reel_modules_visit. */
static void make_image(void *context, const struct reel_module *module)
{
	struct pack *pack = context;
	struct packed *packed = &pack->modules[module->index];
	struct reel_error *error;

	if (pack->error || module->record->kind != REEL_MODULE_FILE || !module->opened)
		return;
	if (!module->files.file) {
		pack->counts.missing++;
		return;
	}
	packed->module = module;
	error = reel_module_image_make(
		module,
		pack->options.no_symbols ? NULL : reel_modules_search(pack->capture->modules),
		&packed->addresses, &packed->image);
	if (!error && packed->image.size > IMAGES_SIZE_MAX - pack->images_size)
		error = reel_error_create(REEL_ERROR_UNSUPPORTED, "there are too many modules");
	if (error && reel_error_code(error) != REEL_ERROR_UNSUPPORTED) {
		pack->error = error;
		return;
	}
	if (error) {
		packed->image.size = 0;
		pack->counts.left_out++;
	} else {
		pack->counts.modules++;
	}
	pack->images_size += packed->image.size;
	reel_error_destroy(error);
}

static struct reel_error *make_images(struct pack *pack)
{
	for (size_t i = 0; i < pack->n; i++) {
		if (pack->modules[i].addresses.failed)
			return reel_error_no_memory();
	}
	reel_modules_visit(pack->capture->modules, make_image, pack);
	pack->counts.image_bytes = pack->images_size;
	return pack->error;
}

/* An image that the capture had of a module that has another one now. */
static enum reel_rewrite_record drop_image(void *context, struct reel_record *record)
{
	const struct pack *pack = context;

	for (size_t i = 0; record->id == REEL_RECORD_IMAGE && i < pack->n; i++) {
		const struct reel_module *module = pack->modules[i].module;

		if (module && module->record->id == record->image.module)
			return REEL_REWRITE_DROP;
	}
	return REEL_REWRITE_COPY;
}

static struct reel_error *append_image(const struct packed *packed, struct reel_writer *writer,
				       uint64_t *n_records_ret)
{
	const struct reel_buffer *image = &packed->image;
	struct reel_error *error = NULL;

	for (size_t at = 0; at < image->size && !error; at += PIECE_SIZE) {
		size_t left = image->size - at;
		const struct reel_record record = {
			.id = REEL_RECORD_IMAGE,
			.image = { .module = packed->module->record->id,
				   .offset = at,
				   .total_size = image->size,
				   .bytes = { image->bytes + at,
					      left < PIECE_SIZE ? left : PIECE_SIZE } },
		};

		error = reel_writer_record(writer, &record);
		++*n_records_ret;
	}
	return error;
}

static struct reel_error *append_images(void *context, struct reel_writer *writer,
					uint64_t *n_records_ret)
{
	struct pack *pack = context;
	struct reel_error *error = NULL;

	for (size_t i = 0; i < pack->n && !error; i++)
		error = append_image(&pack->modules[i], writer, n_records_ret);
	return error;
}

/* ---- files -------------------------------------------------------------------------------- */

static struct reel_error *write_packed(struct pack *pack, const char *output,
				       const struct reel_public_keys *recipients)
{
	const struct reel_rewrite_options options = {
		.writer = { .recipients = recipients, .encoding = REEL_DENSE },
		.record = drop_image,
		.append = append_images,
		.context = pack,
	};
	struct reel_rewrite_counts written = { 0 };
	struct reel_output_file file;
	struct reel_error *error;

	error = reel_output_file_open(output, reel_reader_fd(pack->capture->reader), &file);
	if (error)
		return error;
	error = reel_modules_keep_hits(pack->capture->modules);
	if (!error)
		error = ask_for_all(pack);
	if (!error)
		error = make_images(pack);
	if (!error)
		error = reel_rewrite(pack->capture, file.fd, output, &options, &written);
	pack->counts.samples = written.samples;
	pack->counts.bytes_written = written.bytes;
	return reel_output_file_close(&file, error);
}

static void pack_free(struct pack *pack)
{
	for (size_t i = 0; i < pack->n; i++) {
		reel_address_ranges_free(&pack->modules[i].addresses);
		reel_buffer_free(&pack->modules[i].image);
	}
	free(pack->modules);
}

struct reel_error *reel_capture_pack(struct reel_capture *capture, const char *output,
				     const struct reel_pack_options *options,
				     struct reel_pack_counts *counts)
{
	_cleanup_public_keys_ struct reel_public_keys recipients = { 0 };
	struct pack pack = { .capture = capture, .n = reel_modules_count(capture->modules) };
	struct reel_error *error;

	reel_sized_take(&pack.options, sizeof(pack.options), options);
	error = reel_rewrite_recipients(capture, pack.options.recipients, pack.options.decrypt,
					&recipients);
	if (error)
		return error;
	pack.modules = calloc(pack.n + 1, sizeof(*pack.modules));
	if (!pack.modules)
		return reel_error_no_memory();
	error = write_packed(&pack, output, &recipients);
	pack_free(&pack);
	if (!error)
		reel_sized_give(counts, sizeof(*counts), &pack.counts);
	return error;
}
