/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules that a writer knows, and their ids: one for each identity (SPEC.md, section 5).
 *
 * A build-id is a file's own claim, and any file can make it: so kind, build-id and path must
 * agree, and device, inode and generation where both are known.  Anyone who can map files can
 * choose paths and build-ids, so look-ups hash with a secret key.
 */
#ifndef FORMAT_TIMELINE_MODULE_SET_H
#define FORMAT_TIMELINE_MODULE_SET_H

#include "base/error.h"
#include "format/record.h"
#include "base/id_table.h"

struct reel_known_module {
	struct reel_id_entry by_id, by_name, by_file;
	bool has_name, has_file;	  /* found by these */
	struct reel_record_module record; /* its texts follow the struct */
	size_t size;			  /* bytes of memory, without the image */
	/* The caller's. */
	bool is_written, is_used, is_counted;
	uint64_t jit_list; /* struct reel_file_hints */
	uint8_t *image;	   /* freed with the module */
	size_t image_size;
};

struct reel_module_set;

struct reel_error *reel_module_set_create(struct reel_module_set **ret) REEL_MUST_CHECK;
void reel_module_set_destroy(struct reel_module_set *set);

/* For callers that keep files, before any module is added: a module with unknown file numbers never
 * matches one with known numbers. */
void reel_module_set_keep_apart(struct reel_module_set *set);

/* The module of this identity, new if unknown; identity->id is ignored. */
struct reel_error *reel_module_set_add(struct reel_module_set *set,
				       const struct reel_record_module *identity,
				       struct reel_known_module **ret) REEL_MUST_CHECK;
/* NULL if missing. */
struct reel_known_module *reel_module_set_find(const struct reel_module_set *set, uint64_t id);
/* The module's id is not reused. */
void reel_module_set_remove(struct reel_module_set *set, struct reel_known_module *module);
/* `visit` may remove the module passed to it. */
void reel_module_set_visit(struct reel_module_set *set,
			   void (*visit)(void *context, struct reel_known_module *module),
			   void *context);

/*
 * The kind of a process's executable memory, by its name in /proc/PID/maps and the kernel's mmap
 * records (mm/, fs/proc/task_mmu.c, kernel/events/core.c).
 */
enum reel_module_kind reel_module_kind_of_name(const char *name);

#endif
