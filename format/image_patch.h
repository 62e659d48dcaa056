/* SPDX-License-Identifier: Apache-2.0 */
/* An image as its difference from the previous one (SPEC.md, IMAGE's `base`). */
#ifndef FORMAT_IMAGE_PATCH_H
#define FORMAT_IMAGE_PATCH_H

#include "base/bytes.h"
#include "base/error.h"

/* With an empty base, a quickly compressed image. */
struct reel_error *reel_image_patch_make(struct reel_bytes base, struct reel_bytes image,
					 struct reel_buffer *ret) REEL_MUST_CHECK;

/* The size of the patch's image; CORRUPT if it is unknown, or larger than an image may be. */
struct reel_error *reel_image_patch_size(struct reel_bytes patch, size_t *ret) REEL_MUST_CHECK;
/* `ret` has room for that size.  CORRUPT also if the patch is of another base. */
struct reel_error *reel_image_patch_apply(struct reel_bytes base, struct reel_bytes patch,
					  uint8_t *ret, size_t size) REEL_MUST_CHECK;

#endif
