/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules that a writer knows, and their ids: one for each identity (SPEC.md, section 5).
 *
 * A build-id is what a file says of itself, and any file can say it: so kind, build-id and path
 * must agree, and device, inode and generation where both are known.  Whoever can map files can
 * choose paths and build-ids, so what is looked up here is hashed with a secret key.
 */
#ifndef TARGET_MODULE_SET_H
#define TARGET_MODULE_SET_H

#include "base/error.h"
#include "format/record.h"
#include "base/id_table.h"

struct reel_known_module {
	struct reel_id_entry by_id, by_name, by_file;
	bool has_name, has_file;	  /* it is what is found by these */
	struct reel_record_module record; /* its texts stand behind the struct */
	size_t size;			  /* bytes of memory, without the image */
	/* The caller's. */
	bool is_written, is_used, is_counted;
	uint8_t *image; /* freed with the module */
	size_t image_size;
};

struct reel_module_set;

struct reel_error *reel_module_set_create(struct reel_module_set **ret) REEL_MUST_CHECK;
void reel_module_set_destroy(struct reel_module_set *set);

/* To be called before any module is added, by who keeps files: one whose numbers are not known is
 * none of those whose numbers are. */
void reel_module_set_keep_apart(struct reel_module_set *set);

/* The module of this identity, a new one if there is none; identity->id is not looked at. */
struct reel_error *reel_module_set_add(struct reel_module_set *set,
				       const struct reel_record_module *identity,
				       struct reel_known_module **ret) REEL_MUST_CHECK;
/* NULL if there is none. */
struct reel_known_module *reel_module_set_find(const struct reel_module_set *set, uint64_t id);
/* Its id is not given again. */
void reel_module_set_remove(struct reel_module_set *set, struct reel_known_module *module);
/* `visit` may remove the module that it is given. */
void reel_module_set_visit(struct reel_module_set *set,
			   void (*visit)(void *context, struct reel_known_module *module),
			   void *context);

#endif
