/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an image that a capture has of a module is whole, all of it, and the module's. */
#ifndef REPLAY_IMAGE_CHECK_H
#define REPLAY_IMAGE_CHECK_H

#include "replay/names/module.h"

/* CORRUPT, MISMATCH or what opening ELF files gives; NULL if there is no image. */
struct reel_error *reel_image_check(const struct reel_module *module) REEL_MUST_CHECK;

#endif
