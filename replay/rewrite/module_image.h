/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the image that replaces a module's file when a capture is replayed. */
#ifndef REPLAY_REWRITE_MODULE_IMAGE_H
#define REPLAY_REWRITE_MODULE_IMAGE_H

#include "elf/address_ranges.h"
#include "replay/names/module.h"

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

#endif
