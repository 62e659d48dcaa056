/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of a recording that is imported: one id for one identity, written when it is new. */
#ifndef IMPORT_MODULES_H
#define IMPORT_MODULES_H

#include "format/writer.h"

struct reel_import_modules;

struct reel_error *reel_import_modules_create(struct reel_import_modules **ret) REEL_MUST_CHECK;
void reel_import_modules_destroy(struct reel_import_modules *modules);
/* Where they are written; before the first reel_import_modules_add. */
void reel_import_modules_write_to(struct reel_import_modules *modules, struct reel_writer *writer);

/* A list of build-ids by name, for mappings that have none of their own; the first one counts. */
struct reel_error *reel_import_modules_name(struct reel_import_modules *modules,
					    struct reel_bytes name,
					    struct reel_bytes build_id) REEL_MUST_CHECK;
/* Size 0: none. */
struct reel_bytes reel_import_modules_build_id(const struct reel_import_modules *modules,
					       struct reel_bytes name);

/*
 * The id of a module; module->id is not looked at.  Without a build-id, it has the one that was
 * given for its name.
 */
struct reel_error *reel_import_modules_add(struct reel_import_modules *modules,
					   struct reel_record_module module,
					   uint64_t *id_ret) REEL_MUST_CHECK;

#endif
