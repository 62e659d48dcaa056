/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of a recording: ids by identity (module_set.h), build-ids from files if the
 * kernel gave none, and whether each is already in the current file.  Modules that are not
 * mapped any more are forgotten when there are many.
 */
#ifndef RECORD_PROCESSES_MODULE_TABLE_H
#define RECORD_PROCESSES_MODULE_TABLE_H

#include "base/elf_identity.h"
#include "record/helper/inspector.h"
#include "format/record.h"

/* Takes a side record, as reel_output_record does. */
struct reel_record_sink {
	struct reel_error *(*put)(void *context, const struct reel_record *record);
	void *context;
};

struct reel_module_table;

/* `inspector`: NULL to read no files. */
struct reel_error *reel_module_table_create(struct reel_inspector *inspector,
					    struct reel_module_table **ret) REEL_MUST_CHECK;
void reel_module_table_destroy(struct reel_module_table *table);

/* Requests the files themselves; call before adding modules. `take` gets each file that is mapped,
 * possibly one of a known module, and copies the descriptor if it needs it. */
void reel_module_table_give_files(struct reel_module_table *table,
				  void (*take)(void *context, uint64_t module, int fd),
				  void *context);

/* As reel_module_set_add: the id of the module, a new one for a new module. */
struct reel_error *reel_module_table_add(struct reel_module_table *table,
					 const struct reel_record_module *identity,
					 uint64_t *id_ret) REEL_MUST_CHECK;

/*
 * The module of a mapping of `pid` at `time`.  `build_id` and `generation` are from the kernel, or
 * empty.
 * `hints_ret` is as in struct reel_proc_file, or all zero if the file cannot be read.
 */
struct reel_error *reel_module_table_add_mapped(struct reel_module_table *table, uint32_t pid,
						const struct reel_proc_map *map,
						const struct reel_build_id *build_id,
						uint64_t generation, uint64_t time,
						struct reel_file_hints *hints_ret,
						uint64_t *id_ret) REEL_MUST_CHECK;

/* When a new file was last mapped that can only be read while its process lives (a container's, a
 * deleted one), or one that could not be read, as its process had ended. */
uint64_t reel_module_table_news(const struct reel_module_table *table);

/* Whether reel_module_table_add_mapped would read the file. */
bool reel_module_table_asks(const struct reel_module_table *table, const struct reel_proc_map *map,
			    const struct reel_build_id *build_id);

/* Closes files that no mapping has needed for a while.  Call it from time to time. */
void reel_module_table_close_unused(struct reel_module_table *table, uint64_t now);

/* NULL if unknown; valid until the table is changed. */
const struct reel_record_module *reel_module_table_find(const struct reel_module_table *table,
							uint64_t id);

/* Where the file has a JIT's list (struct reel_file_hints); 0: nowhere. */
uint64_t reel_module_table_jit_list(const struct reel_module_table *table, uint64_t id);

/* Sets the image of a module that is in no file; the bytes are copied. */
struct reel_error *reel_module_table_set_image(struct reel_module_table *table, uint64_t id,
					       const uint8_t *bytes, size_t size) REEL_MUST_CHECK;

/*
 * Whether to look for unused modules: call reel_module_table_use for each module of a living
 * mapping, then reel_module_table_forget_unused.  A forgotten module that is mapped again gets a
 * new id.
 */
bool reel_module_table_is_full(const struct reel_module_table *table);
void reel_module_table_use(struct reel_module_table *table, uint64_t id);
void reel_module_table_forget_unused(struct reel_module_table *table);
/* Memory used. */
size_t reel_module_table_bytes(const struct reel_module_table *table);

/* Puts MODULE (and IMAGE) unless the current file has it. */
struct reel_error *reel_module_table_write(struct reel_module_table *table, uint64_t id,
					   const struct reel_record_sink *sink) REEL_MUST_CHECK;
/* About as many bytes, of texts, would that take now. */
uint64_t reel_module_table_unwritten(const struct reel_module_table *table, uint64_t id);
/* A new file begins, without any modules. */
void reel_module_table_restart(struct reel_module_table *table);

#endif
