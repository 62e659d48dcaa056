/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of a capture, opened as traces need them: file, CFI, rows, symbols.
 */
#ifndef REPLAY_NAMES_MODULE_H
#define REPLAY_NAMES_MODULE_H

#include <pthread.h>
#include <stdatomic.h>

#include "replay/files/kernel_search.h"
#include "replay/names/module_image.h"
#include "replay/names/symbolizer.h"
#include "replay/synthesis/synthesis.h"
#include "base/text.h"
#include "replay/unwind/unwind.h"
#include "base/id_table.h"
#include "format/timeline/space.h"

/* Index meaning no module. */
#define REEL_NO_MODULE SIZE_MAX

/*
 * After reel_modules_open has returned it, it changes only under its locks; rows have their own.
 * The files and everything made of them are borrowed: modules with the same file share them, and
 * so do captures of one recording.
 */
struct reel_module {
	const struct reel_record_module *record;
	size_t index; /* among all, in order of ids */
	atomic_bool opened;
	struct reel_module_files files;
	/* Of files.file and its rows.  NULL: no file, or its CPU is not in arch/. */
	const struct reel_arch *arch;
	struct reel_cfi *cfi;
	struct reel_rows *rows;
	struct reel_synthesis *synthesis;
	/* The CPUs of processes that have it mapped: bits by index in reel_arch_all. */
	atomic_uint mapped_by;
	struct reel_symbolizer *symbolizer;
	/* For the symbolizer. */
	pthread_mutex_t *naming;
	/* Its file was opened for a module with another path: these are its own paths. */
	bool is_shared;
	const char *local_path, *debug_path;
	const char *path; /* interned by the frame table, under its lock; NULL until then */
	/* From IMAGE records; NULL: none. */
	struct reel_module_image *image;
	bool image_is_lent; /* to the files, which free it */
	/* From these, in addition to a file without debug information; else NULL. */
	struct reel_elf_file *image_file;
	/* A newer one that is still incomplete. */
	struct reel_newer_image {
		uint8_t *bytes; /* NULL: none */
		size_t size;
		uint64_t number, base, n_taken;
	} newer_image;
	/* Code read from files.file, if hits are recorded. */
	struct reel_address_ranges *code_read;
};

/* NULL if the file is missing, broken or not of that CPU. */
static inline struct reel_rows *reel_module_rows(const struct reel_module *module,
						 const struct reel_arch *arch)
{
	return module->arch == arch ? module->rows : NULL;
}
/* The capture's image of its file, if used for names; else NULL. */
static inline struct reel_elf_file *reel_module_image_file(const struct reel_module *module)
{
	struct reel_elf_file *file = module->files.file;

	if (module->image_file)
		return module->image_file;
	return file && reel_elf_file_is_embedded(file) ? file : NULL;
}
/* Runtime addresses minus ELF addresses; false without a file with the mapping's offset. */
bool reel_module_bias(const struct reel_module *module, const struct reel_mapping *mapping,
		      uint64_t *ret);
/*
 * If the file is of a different CPU than all processes that have it mapped, one of their CPUs;
 * otherwise NULL.
 */
const struct reel_arch *reel_module_mismatch(const struct reel_module *module);

struct reel_modules;

/*
 * All are borrowed and must outlive it, except `previous`: modules of the same recording, whose
 * open files are used as well; or NULL.  `kernel_release` is CAPTURE's.
 */
struct reel_error *reel_modules_create(const struct reel_timeline *timeline,
				       const struct reel_capture_options *options,
				       const char *kernel_release, struct reel_modules *previous,
				       struct reel_modules **ret) REEL_MUST_CHECK;
void reel_modules_destroy(struct reel_modules *modules);
/* Call before opening any: also look for files through processes still alive, unless the options
 * have no_host_files.  `info` must outlive it. */
void reel_modules_set_host(struct reel_modules *modules, const struct reel_capture_info *info);
/* Call before opening any: addresses have no names from files. */
void reel_modules_omit_names(struct reel_modules *modules);
size_t reel_modules_count(const struct reel_modules *modules);

/* Sets the CPU required of files of the kernel and its modules.  Call before opening any. */
void reel_modules_set_kernel_arch(struct reel_modules *modules, const struct reel_arch *arch);
/*
 * Prepares for making images of files; call before opening any (INVALID otherwise).  Symbolizers
 * leave names as in the files.  `keeps_hits` records look-ups in all files opened later: FDEs in
 * their CFI, and bytes of code in `code_read`.  Only one thread may use the modules then.
 */
struct reel_error *reel_modules_expect_images(struct reel_modules *modules,
					      bool keeps_hits) REEL_MUST_CHECK;
/* Adds bytes of a module without a file, or of the image used if its file is not found. */
struct reel_error *reel_modules_add_image(struct reel_modules *modules,
					  const struct reel_record_image *image) REEL_MUST_CHECK;

/* Opens the capture's image of the module, which must have one.  MISMATCH if their build-ids
 * differ. */
struct reel_error *reel_module_open_image(const struct reel_module *module,
					  struct reel_elf_file **ret) REEL_MUST_CHECK;

/*
 * Returns the module with its files open, NULL for an id without a MODULE record.  A missing or
 * broken file is the module's state (files.state), not an error.  `arch` is the mapping
 * space's, NULL for look-ups by the kernel.  Files do not depend on the first caller; several
 * threads may call concurrently.  The kernel and its modules have only files.debug, for the
 * symbolizer.
 */
struct reel_error *reel_modules_open(struct reel_modules *modules, uint64_t id,
				     const struct reel_arch *arch,
				     struct reel_module **ret) REEL_MUST_CHECK;

/* NULL if the module was not opened yet or does not exist. */
const struct reel_module *reel_modules_opened(struct reel_modules *modules, uint64_t id);

/* The reason why traces are wrong, as reel_rows_problem; NULL: none so far. */
struct reel_error *reel_modules_problem(const struct reel_modules *modules) REEL_MUST_CHECK;

/* As reel_capture_has_module_file. */
bool reel_modules_have_file(struct reel_modules *modules, const char *path);

/* Visits modules in order of ids; opens none, and no others may open any meanwhile. */
void reel_modules_visit_one(struct reel_modules *modules, uint64_t id,
			    void (*visit)(void *context, const struct reel_module *module),
			    void *context);
void reel_modules_visit(struct reel_modules *modules,
			void (*visit)(void *context, const struct reel_module *module),
			void *context);

#endif
