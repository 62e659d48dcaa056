/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a capture's image of a module is intact and belongs to the module. */
#ifndef REPLAY_CAPTURE_IMAGE_CHECK_H
#define REPLAY_CAPTURE_IMAGE_CHECK_H

#include "replay/names/module.h"

/* CORRUPT, MISMATCH or the errors of opening ELF files; NULL without an image. */
struct reel_error *reel_image_check(const struct reel_module *module) REEL_MUST_CHECK;

#endif
