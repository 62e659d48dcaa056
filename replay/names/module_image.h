/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module's image from IMAGE records.  Most images are not needed, since the file is here: changes
 * to one wait until it is.
 */
#ifndef REPLAY_NAMES_MODULE_IMAGE_H
#define REPLAY_NAMES_MODULE_IMAGE_H

#include "base/bytes.h"
#include "base/error.h"

struct reel_module_image {
	uint8_t *bytes; /* those present */
	size_t size;
	uint64_t number;
	/* Those that wait, in the order of their numbers. */
	struct reel_image_change {
		struct reel_image_change *next;
		uint64_t number, base;
		uint8_t *patch;
		size_t size;
	} * changes, **end;
	size_t changes_size; /* memory, of all */
	/* After all changes. */
	uint64_t newest;
	size_t newest_size;
};

/* Takes the bytes; NULL if out of memory. */
struct reel_module_image *reel_module_image_create(uint8_t *bytes, size_t size, uint64_t number);
void reel_module_image_destroy(struct reel_module_image *image);

/* Takes the patch of `change` on success.  It makes an image of `size` bytes. */
struct reel_error *reel_module_image_add(struct reel_module_image *image,
					 const struct reel_image_change *change,
					 size_t size) REEL_MUST_CHECK;

/* Applies what waits.  CORRUPT if a change is damaged: the image before it stays.  Only one thread
 * may do so. */
struct reel_error *reel_module_image_need(struct reel_module_image *image) REEL_MUST_CHECK;

#endif
