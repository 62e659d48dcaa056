/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of a capture, opened as traces need them: file, CFI, rows,
 * symbols.
 */
#ifndef REPLAY_NAMES_MODULE_H
#define REPLAY_NAMES_MODULE_H

#include <pthread.h>
#include <stdatomic.h>

#include "elf/kernel_search.h"
#include "replay/names/symbolizer.h"
#include "replay/code/synthesis.h"
#include "base/text.h"
#include "replay/unwind/unwind.h"
#include "base/id_table.h"
#include "target/space.h"

/* What stands for the index of a module where there is none. */
#define REEL_NO_MODULE SIZE_MAX

/*
 * Nothing of it changes once reel_modules_open has given it, but under its locks: rows have one
 * of their own.
 */
struct reel_module {
	const struct reel_record_module *record;
	size_t index; /* of all, in order of ids */
	atomic_bool opened;
	struct reel_module_files files;
	/* Of files.file: what its rows are for. NULL: there is no file, or of no CPU in arch/. */
	const struct reel_arch *arch;
	struct reel_cfi *cfi;
	struct reel_rows *rows;
	struct reel_synthesis *synthesis;
	/* For which CPUs processes have it mapped: bits by index in reel_arch_all. */
	atomic_uint mapped_by;
	struct reel_symbolizer *symbolizer;
	/* Of the symbolizer. */
	pthread_mutex_t *naming, own_naming;
	/*
	 * Its file was found to be the one of a module that was opened before it, of another path:
	 * files.file, files.debug, cfi, rows, synthesis and symbolizer are that one's, opened once.
	 */
	bool is_shared;
	char *local_path, *debug_path; /* by which this one found them; else the files tell */
	struct reel_id_entry by_file;  /* of those that share nothing but their own */
	struct reel_module *same_key;
	const char *path; /* interned by the frame table, under its lock; NULL until then */
	/* IMAGE records; the bytes that are there. */
	uint8_t *image;
	size_t image_size;
	/* Of these, beside a file of its own without debug information; else NULL. */
	struct reel_elf_file *image_file;
	uint64_t image_number;
	/* A newer one, of which parts are missing still. */
	struct reel_newer_image {
		uint8_t *bytes; /* NULL: there is none */
		size_t size;
		uint64_t number, n_taken;
	} newer_image;
	/* What was read of files.file's code, once hits are kept. */
	struct reel_address_ranges own_code_read, *code_read;
};

/* NULL where the file is missing, broken or not of that CPU. */
static inline struct reel_rows *reel_module_rows(const struct reel_module *module,
						 const struct reel_arch *arch)
{
	return module->arch == arch ? module->rows : NULL;
}
/* What the capture has of its file, if that is asked for names; else NULL. */
static inline struct reel_elf_file *reel_module_image_file(const struct reel_module *module)
{
	struct reel_elf_file *file = module->files.file;

	if (module->image_file)
		return module->image_file;
	return file && reel_elf_file_is_embedded(file) ? file : NULL;
}
/*
 * The file is of another CPU than every process that has it mapped: gives such a process's; NULL
 * if that is not so.
 */
const struct reel_arch *reel_module_mismatch(const struct reel_module *module);

struct reel_modules;

/* All are borrowed, and outlive it. `kernel_release` is CAPTURE's. */
struct reel_error *reel_modules_create(const struct reel_timeline *timeline,
				       const struct reel_capture_options *options,
				       const char *kernel_release,
				       struct reel_modules **ret) REEL_MUST_CHECK;
void reel_modules_destroy(struct reel_modules *modules);
/* Before any is opened: files are looked for through processes that live still, too, unless
 * options said no_host_files. `info` outlives it. */
void reel_modules_set_host(struct reel_modules *modules, const struct reel_capture_info *info);
size_t reel_modules_count(const struct reel_modules *modules);

/* The CPU that files of the kernel and its modules must be of. Before any is opened. */
void reel_modules_set_kernel_arch(struct reel_modules *modules, const struct reel_arch *arch);
/*
 * Before any is opened (INVALID otherwise): images will be made of their files.  Symbolizers leave
 * names as the files have them.  With `keeps_hits`, of each file that is opened from here on, what
 * is asked for is remembered: FDEs by its CFI, and bytes of code in `code_read`.  Modules are one
 * thread's then.
 */
struct reel_error *reel_modules_expect_images(struct reel_modules *modules,
					      bool keeps_hits) REEL_MUST_CHECK;
/* Bytes of a module that is in no file, or what stands for its file where that is not found. */
struct reel_error *reel_modules_add_image(struct reel_modules *modules,
					  const struct reel_record_image *image) REEL_MUST_CHECK;

/* What the capture has of the module itself, which has an image.  MISMATCH if it has another
 * build-id than the module. */
struct reel_error *reel_module_open_image(const struct reel_module *module,
					  struct reel_elf_file **ret) REEL_MUST_CHECK;

/*
 * The module with its files open, NULL for an id without a MODULE record.
 * What is not found or broken is the module's state (files.state), not an error.
 * `arch` is that of the space which maps it, NULL if it is the kernel that asks.  What is opened
 * does not depend on who asks first; several threads may do so at once.  Of the kernel and its
 * modules there is files.debug only, for the symbolizer.
 */
struct reel_error *reel_modules_open(struct reel_modules *modules, uint64_t id,
				     const struct reel_arch *arch,
				     struct reel_module **ret) REEL_MUST_CHECK;

/* NULL if it was not opened yet, or there is none. */
const struct reel_module *reel_modules_opened(struct reel_modules *modules, uint64_t id);

/* What makes traces wrong, as reel_rows_problem; NULL: nothing did up to now. */
struct reel_error *reel_modules_problem(const struct reel_modules *modules) REEL_MUST_CHECK;

/* As reel_capture_has_module_file. */
bool reel_modules_have_file(struct reel_modules *modules, const char *path);

/* For each module in order of ids; opens nothing, and nothing is opened meanwhile. */
void reel_modules_visit_one(struct reel_modules *modules, uint64_t id,
			    void (*visit)(void *context, const struct reel_module *module),
			    void *context);
void reel_modules_visit(struct reel_modules *modules,
			void (*visit)(void *context, const struct reel_module *module),
			void *context);

#endif
