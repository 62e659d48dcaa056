/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the image of a module's file with which a capture is replayed without that. */
#ifndef REPLAY_REWRITE_MODULE_IMAGE_H
#define REPLAY_REWRITE_MODULE_IMAGE_H

#include "elf/address_ranges.h"
#include "replay/names/module.h"

struct reel_module_image_options {
	/* Leave names out, and inlined calls and lines with them. */
	bool no_names;
	/* Leave out what unwinding asks of the file. */
	bool names_alone;
};

/*
 * Of a module with a file, when all was asked for that will be: `addresses` are those that frames
 * are of, as they are looked up.  Images were expected (reel_modules_expect_images).  UNSUPPORTED
 * if it is larger than an image may be.
 */
struct reel_error *reel_module_image_make(const struct reel_module *module,
					  const struct reel_module_image_options *options,
					  struct reel_address_ranges *addresses,
					  struct reel_buffer *ret) REEL_MUST_CHECK;

#endif
