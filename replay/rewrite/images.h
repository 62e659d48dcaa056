/* SPDX-License-Identifier: Apache-2.0 */
/* Images of modules for a new capture, with the parts of files that its traces use. */
#ifndef REPLAY_REWRITE_IMAGES_H
#define REPLAY_REWRITE_IMAGES_H

#include "elf/address_ranges.h"
#include "format/writer.h"
#include "replay/names/module.h"
#include "replay/rewrite/proof.h"
#include "replay/rewrite/rewrite.h"
#include "replay/traces/sample_unwinder.h"

/* ---- one image (module_image.c) ------------------------------------------------------------- */

struct reel_module_image_options {
	/* Omit names, inlined calls and lines. */
	bool no_names;
	/* Omit the parts of the file that unwinding uses. */
	bool names_alone;
	/* Add what values of variables need: debug information of functions, and constants. */
	bool values;
};

/*
 * For a module with a file, after all its look-ups.  *problem_ret gets the reason, a new string, if
 * values are not in the image though options.values asks for them; else NULL.  `addresses` are the frames' addresses as
 * looked up.  Requires reel_modules_expect_images.  UNSUPPORTED if the image is larger than images
 * may be.
 */
struct reel_error *reel_module_image_make(const struct reel_module *module,
					  const struct reel_module_image_options *options,
					  struct reel_address_ranges *addresses,
					  struct reel_buffer *ret,
					  char **problem_ret) REEL_MUST_CHECK;

/* ---- all images ----------------------------------------------------------------------------- */

struct reel_image_of_module {
	uint64_t id;			  /* the module's, if it is a file; else 0 */
	const struct reel_module *module; /* NULL: no file here */
	struct reel_address_ranges addresses;
	struct reel_buffer image; /* empty: omitted */
};

struct reel_images {
	/* Its `problem` is told of files with no image or an incomplete one; images are counted. */
	struct reel_rewrite_job *job;
	struct reel_module_image_options options;
	struct reel_image_of_module *all; /* by the modules' indexes */
	size_t n, n_without_values;	  /* all; those whose values cannot be kept */
	struct reel_error *error;	  /* of visiting modules */
};

/* Call before iterating the capture's traces, with job and options set in `ret`.  Free `ret` even
 * if this fails. */
struct reel_error *reel_images_create(struct reel_images *ret) REEL_MUST_CHECK;
void reel_images_free(struct reel_images *images);
/* Adds the addresses of a trace; `map` is for the sample's space. */
void reel_images_use(struct reel_images *images, struct reel_code_map *map,
		     const struct reel_unwind_frames *frames);
/* Unless `names_alone`: makes the images of all samples' traces. */
struct reel_error *reel_images_prepare(struct reel_images *images) REEL_MUST_CHECK;
/* Whether the record is an old image of a module's file that must not be copied, because a new one
 * replaces it or because it has more than names. */
bool reel_images_replace(const struct reel_images *images, const struct reel_record *record);
/* After the last trace: writes the images, which with `names_alone` are made now. */
struct reel_error *reel_images_append(struct reel_images *images, struct reel_writer *writer,
				      uint64_t *n_records_ret) REEL_MUST_CHECK;

/* Options to open the new capture with its images as the only module files. */
struct reel_open_options reel_images_alone(const struct reel_capture *capture);
/*
 * Compares the traces of the original capture with the new one's, which has these images.
 * The original's hits were recorded, so only one thread may use its modules.
 */
struct reel_error *reel_images_prove(const struct reel_images *images,
				     struct reel_capture *written) REEL_MUST_CHECK;

#endif
