/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of a capture, opened as traces need them: file, CFI, rules,
 * symbols.
 */
#ifndef REPLAY_MODULE_H
#define REPLAY_MODULE_H

#include "replay/kernel_search.h"
#include "replay/symbolizer.h"
#include "replay/text.h"
#include "replay/unwind.h"
#include "space/space.h"

struct reel_module {
	const struct reel_record_module *record;
	bool opened;
	struct reel_module_files files;
	struct reel_cfi *cfi;
	struct reel_rules *rules;
	struct reel_symbolizer *symbolizer;
	uint64_t frames;
	/* IMAGE records; the bytes that are there. */
	uint8_t *image;
	size_t image_size;
};

struct reel_modules;

/* All are borrowed, and outlive it. `kernel_release` is CAPTURE's. */
struct reel_error *reel_modules_create(const struct reel_timeline *timeline,
				       const struct reel_capture_options *options,
				       const char *kernel_release,
				       struct reel_modules **ret) REEL_MUST_CHECK;
void reel_modules_destroy(struct reel_modules *modules);

/* Bytes of a module that is in no file. */
struct reel_error *reel_modules_add_image(struct reel_modules *modules,
					  const struct reel_record_image *image) REEL_MUST_CHECK;

/*
 * The module with its files open, NULL for an id without a MODULE record.
 * What is not found or broken is the module's state (files.state), not an error.
 * `arch` is that of the space which maps it.  Of the kernel and its modules there is files.debug
 * only, for the symbolizer.
 */
struct reel_error *reel_modules_open(struct reel_modules *modules, uint64_t id,
				     const struct reel_arch *arch,
				     struct reel_module **ret) REEL_MUST_CHECK;

/* For each module in order of ids; opens nothing. */
void reel_modules_visit(struct reel_modules *modules,
			void (*visit)(void *context, const struct reel_module *module),
			void *context);

#endif
