/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules of a merged capture that are the same program or library: each capture may have brought
 * an image of its own, and each kernel lies elsewhere, but their functions are the same ones.
 */
#ifndef REPLAY_MODULE_CLASSES_H
#define REPLAY_MODULE_CLASSES_H

#include "base/error.h"
#include "target/space.h"

struct reel_module_classes;

/* The timeline is sealed. */
struct reel_error *reel_module_classes_create(const struct reel_timeline *timeline,
					      struct reel_module_classes **ret) REEL_MUST_CHECK;
void reel_module_classes_destroy(struct reel_module_classes *classes);
/* The least id of those that are the same as this one; `classes` may be NULL: they all differ. */
uint64_t reel_module_class(const struct reel_module_classes *classes, uint64_t id);

#endif
