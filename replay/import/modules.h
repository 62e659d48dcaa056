/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of an imported recording: one id for one identity, written when it is new. */
#ifndef REPLAY_IMPORT_MODULES_H
#define REPLAY_IMPORT_MODULES_H

#include "format/writer.h"

struct reel_import_modules;

struct reel_error *reel_import_modules_create(struct reel_import_modules **ret) REEL_MUST_CHECK;
void reel_import_modules_destroy(struct reel_import_modules *modules);
/* Sets where they are written; call it before the first reel_import_modules_add. */
void reel_import_modules_write_to(struct reel_import_modules *modules, struct reel_writer *writer);

/* Adds build-ids by name, for mappings without one of their own; the first one counts. */
struct reel_error *reel_import_modules_name(struct reel_import_modules *modules,
					    struct reel_bytes name,
					    struct reel_bytes build_id) REEL_MUST_CHECK;
/* Size 0 if unknown. */
struct reel_bytes reel_import_modules_build_id(const struct reel_import_modules *modules,
					       struct reel_bytes name);

/*
 * The id of a module; module->id is ignored.  A module without a build-id gets the one listed for
 * its name.
 */
struct reel_error *reel_import_modules_add(struct reel_import_modules *modules,
					   struct reel_record_module module,
					   uint64_t *id_ret) REEL_MUST_CHECK;

#endif
