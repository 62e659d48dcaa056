/* SPDX-License-Identifier: Apache-2.0 */
/* The images of a capture's modules that a new one gets: of what its traces ask of their files. */
#ifndef REPLAY_REWRITE_IMAGES_H
#define REPLAY_REWRITE_IMAGES_H

#include "format/writer.h"
#include "replay/rewrite/module_image.h"
#include "replay/rewrite/proof.h"
#include "replay/traces/sample_unwinder.h"

struct reel_image_of_module {
	uint64_t id;			  /* of the module, if it is a file's; else 0 */
	const struct reel_module *module; /* NULL: it has no file here */
	struct reel_address_ranges addresses;
	struct reel_buffer image; /* empty: it was left out */
};

struct reel_images {
	struct reel_capture *capture;
	struct reel_module_image_options options;
	/* Called for a file that has no image, or not all of it.  May be NULL. */
	void (*problem)(void *context, const char *path, const char *what);
	void *context;
	struct reel_image_of_module *all; /* by the modules' indexes */
	size_t n;
	/* Bytes of all; modules that have one; whose file was not found; that would be too large.
	 */
	uint64_t size, modules, missing, left_out;
	struct reel_error *error; /* of visiting modules */
};

/* Before traces of the capture are asked for; `ret` has capture, options and problem already. To be
 * freed even where it fails. */
struct reel_error *reel_images_create(struct reel_images *ret) REEL_MUST_CHECK;
void reel_images_free(struct reel_images *images);
/* The addresses of a trace are asked for; `map` is that of the sample's space. */
void reel_images_note(struct reel_images *images, struct reel_code_map *map,
		      const struct reel_unwind_frames *frames);
/* Unwinds all samples, for that. */
struct reel_error *reel_images_note_all(struct reel_images *images) REEL_MUST_CHECK;
/* Behind the last of them. */
struct reel_error *reel_images_make(struct reel_images *images) REEL_MUST_CHECK;
/* Whether the record is an image that the capture had of a module's file, and that is not to be in
 * the new one: another one will be; or it has more than names. */
bool reel_images_replace(const struct reel_images *images, const struct reel_record *record);
struct reel_error *reel_images_append(const struct reel_images *images, struct reel_writer *writer,
				      uint64_t *n_records_ret) REEL_MUST_CHECK;

void reel_images_count(const struct reel_images *images, struct reel_pack_counts *ret);

/* How to read the new capture so that nothing but its images serves for a module's file. */
struct reel_capture_options reel_images_alone(const struct reel_capture *capture);
/*
 * Compares the traces of a capture with those of the one that was made of it, which has these
 * images.  Hits were kept of the former, so its modules are one thread's.
 */
struct reel_error *reel_images_prove(const struct reel_images *images,
				     struct reel_capture *written) REEL_MUST_CHECK;

#endif
