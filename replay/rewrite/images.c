/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "replay/rewrite/images.h"
#include "replay/rewrite/sample_walk.h"

/* Image bytes in one record. */
#define PIECE_SIZE (1u << 20)
/* A reader's limit for all images (replay/names/module.c). */
#define IMAGES_SIZE_MAX (64u << 20)

/* For reel_modules_visit. */
static void set_id(void *context, const struct reel_module *module)
{
	struct reel_images *images = context;

	if (module->record->kind == REEL_MODULE_FILE)
		images->all[module->index].id = module->record->id;
}

struct reel_error *reel_images_create(struct reel_images *ret)
{
	ret->n = reel_modules_count(ret->job->capture->modules);
	ret->all = calloc(ret->n + 1, sizeof(*ret->all));
	if (!ret->all)
		return reel_error_no_memory();
	reel_modules_visit(ret->job->capture->modules, set_id, ret);
	return reel_modules_expect_images(ret->job->capture->modules, !ret->options.names_alone);
}

void reel_images_free(struct reel_images *images)
{
	for (size_t i = 0; i < images->n; i++) {
		reel_address_ranges_free(&images->all[i].addresses);
		reel_buffer_free(&images->all[i].image);
	}
	free(images->all);
}

void reel_images_use(struct reel_images *images, struct reel_code_map *map,
		     const struct reel_unwind_frames *frames)
{
	for (size_t i = 0; i < frames->n; i++) {
		const struct reel_code_range *range;
		uint64_t address;

		if (frames->steps[i] == REEL_STEP_GAP)
			continue;
		range = reel_code_map_find(map, frames->lookups[i]);
		address = frames->lookups[i] - range->bias;
		if (range->module && range->module->record->kind == REEL_MODULE_FILE)
			reel_address_ranges_add(&images->all[range->module->index].addresses,
						address, address + 1);
	}
}

static struct reel_error *use_sample(struct reel_images *images, struct reel_sample_walk *walk,
				     const struct reel_sample *sample)
{
	const struct reel_unwind_frames *frames;
	enum reel_stop stop;

	TRY(reel_sample_walk_unwind(walk, sample, &frames, &stop));
	reel_images_use(images, reel_sample_unwinder_code_map(walk->unwinder), frames);
	return NULL;
}

static struct reel_error *use_all(struct reel_images *images)
{
	_cleanup_sample_walk_ struct reel_sample_walk walk = { 0 };
	struct reel_block_item item;
	bool found;

	TRY(reel_sample_walk_create(images->job->capture, 0, UINT64_MAX, &walk));
	for (;;) {
		TRY(reel_sample_walk_next(&walk, &item, &found));
		if (!found)
			return NULL;
		TRY(use_sample(images, &walk, &item.sample));
	}
}

/* ---- making images -------------------------------------------------------------------------- */

static struct reel_error *report(const struct reel_images *images, const struct reel_module *module,
				 const char *what)
{
	const struct reel_rewrite_options *options = &images->job->options;
	struct reel_bytes path = module->record->path;
	_cleanup_free_ char *text = NULL;

	if (!options->problem || !what)
		return NULL;
	text = reel_text_print("%.*s", (int)path.size, (const char *)path.data);
	if (!text)
		return reel_error_no_memory();
	options->problem(options->context, text, what);
	return NULL;
}

/* Omits the image and reports the reason, `error`. */
static struct reel_error *leave_out(struct reel_images *images, struct reel_image_of_module *image,
				    struct reel_error *error)
{
	struct reel_error *telling = report(images, image->module, reel_error_message(error));

	reel_error_destroy(error);
	image->image.size = 0;
	images->job->counts.images_too_large++;
	return telling;
}

static struct reel_error *make_image(struct reel_images *images, const struct reel_module *module)
{
	struct reel_image_of_module *image = &images->all[module->index];
	_cleanup_free_ char *no_values = NULL;
	struct reel_error *error;

	image->module = module;
	error = reel_module_image_make(module, &images->options, &image->addresses, &image->image,
				       &no_values);
	if (!error && image->image.size > IMAGES_SIZE_MAX - images->job->counts.image_bytes)
		error = reel_error_create(REEL_ERROR_UNSUPPORTED,
					  "with its image, module images exceed %u MiB in total",
					  IMAGES_SIZE_MAX >> 20);
	if (error && reel_error_code(error) == REEL_ERROR_UNSUPPORTED)
		return leave_out(images, image, error);
	if (error)
		return error;
	images->n_without_values += no_values != NULL;
	TRY(report(images, module, no_values));
	images->job->counts.images++;
	images->job->counts.image_bytes += image->image.size;
	return module->symbolizer
		       ? report(images, module, reel_symbolizer_problem(module->symbolizer))
		       : NULL;
}

/* For reel_modules_visit. */
static void visit(void *context, const struct reel_module *module)
{
	struct reel_images *images = context;

	if (images->error || module->record->kind != REEL_MODULE_FILE || !module->opened)
		return;
	if (module->files.file)
		images->error = make_image(images, module);
	else
		images->job->counts.images_missing++;
}

static struct reel_error *make_all(struct reel_images *images)
{
	for (size_t i = 0; i < images->n; i++) {
		if (images->all[i].addresses.failed)
			return reel_error_no_memory();
	}
	reel_modules_visit(images->job->capture->modules, visit, images);
	return images->error;
}

struct reel_error *reel_images_prepare(struct reel_images *images)
{
	if (images->options.names_alone)
		return NULL;
	TRY(use_all(images));
	return make_all(images);
}

/* ---- records ------------------------------------------------------------------------------- */

bool reel_images_replace(const struct reel_images *images, const struct reel_record *record)
{
	for (size_t i = 0; record->id == REEL_RECORD_IMAGE && i < images->n; i++) {
		const struct reel_image_of_module *image = &images->all[i];

		if (image->id && image->id == record->image.module)
			return image->module || images->options.names_alone;
	}
	return false;
}

static struct reel_error *append_image(const struct reel_image_of_module *of,
				       struct reel_writer *writer, uint64_t *n_records_ret)
{
	const struct reel_buffer *image = &of->image;

	for (size_t at = 0; at < image->size; at += PIECE_SIZE) {
		size_t left = image->size - at;
		const struct reel_record record = {
			.id = REEL_RECORD_IMAGE,
			.image = { .module = of->module->record->id,
				   .offset = at,
				   .total_size = image->size,
				   .bytes = { image->bytes + at,
					      left < PIECE_SIZE ? left : PIECE_SIZE } },
		};

		TRY(reel_writer_record(writer, &record));
		++*n_records_ret;
	}
	return NULL;
}

struct reel_error *reel_images_append(struct reel_images *images, struct reel_writer *writer,
				      uint64_t *n_records_ret)
{
	if (images->options.names_alone)
		TRY(make_all(images));
	for (size_t i = 0; i < images->n; i++)
		TRY(append_image(&images->all[i], writer, n_records_ret));
	return NULL;
}

/* ---- the proof ------------------------------------------------------------------------------ */

struct reel_open_options reel_images_alone(const struct reel_capture *capture)
{
	static const char *const nowhere[] = { NULL };
	struct reel_open_options options = capture->options;
	struct reel_capture_options *common = &options.common;

	common->symfs = common->debug_dirs = common->module_files = nowhere;
	common->no_host_files = true;
	common->no_demangle = true; /* as in reel_modules_expect_images */
	common->debuginfod_cache = NULL;
	return options;
}

/* The module has a file here but no image in the new capture. */
static bool is_lost(void *context, uint64_t module_id)
{
	const struct reel_images *images = context;

	for (size_t i = 0; images->job->counts.images_too_large && i < images->n; i++) {
		const struct reel_image_of_module *image = &images->all[i];

		if (image->module && image->id == module_id)
			return !image->image.size;
	}
	return false;
}

struct reel_error *reel_images_prove(const struct reel_images *images, struct reel_capture *written)
{
	struct reel_capture *capture = images->job->capture;
	struct reel_same_traces same = { .names = !images->options.no_names,
					 .scrubbed = images->options.names_alone,
					 .values = images->options.values &&
						   !images->n_without_values,
					 .is_lost = is_lost,
					 .context = (void *)images };
	uint32_t threads = capture->options.common.threads;
	struct reel_error *error;

	capture->options.common.threads = 1;
	error = reel_same_traces_check(capture, written, &same);
	capture->options.common.threads = threads;
	return error;
}
