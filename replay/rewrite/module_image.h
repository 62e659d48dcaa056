/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the image of a module's file with which a capture is replayed without that. */
#ifndef REPLAY_REWRITE_MODULE_IMAGE_H
#define REPLAY_REWRITE_MODULE_IMAGE_H

#include "replay/elf/address_ranges.h"
#include "replay/module.h"

/*
 * Of a module with a file whose hits were kept (reel_modules_keep_hits), when all was asked for
 * that will be: `addresses` are those that frames are of, as they are looked up.  Without `search`,
 * which is where split debug information is looked for, names are left out. UNSUPPORTED if it is
 * larger than an image may be.
 */
struct reel_error *reel_module_image_make(const struct reel_module *module,
					  const struct reel_module_search *search,
					  struct reel_address_ranges *addresses,
					  struct reel_buffer *ret) REEL_MUST_CHECK;

#endif
