/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/image_patch.h"
#include "replay/names/living_roots.h"
#include "replay/names/module.h"
#include "cfi/module_cfi.h"

/* SPEC.md 5, MAP. */
#define PROTECTION_EXECUTE 4

/* SPEC.md, section 9. */
#define IMAGE_SIZE_MAX (16u << 20)
/* For all images: a vDSO has two to four pages, and a host a few vDSOs. */
#define IMAGES_SIZE_MAX (64u << 20)

/* Captures of one recording share open files until so many modules are open. */
#define SHARED_MAX 1024

/* The open files of a module, and the result of a search without one. */
struct opened {
	struct reel_id_entry by_id;
	struct reel_id_entry by_file; /* for those that own what they have */
	struct opened *same_key;
	struct opened *older; /* with an earlier image */
	bool is_complete;     /* no error ended its opening */
	/* As each module that borrows from it. */
	struct reel_module module;
	pthread_mutex_t naming;
	struct reel_address_ranges code_read;
	char *local_path, *debug_path;
};

/* The open files of all captures of one recording. */
struct pool {
	atomic_uint references;
	pthread_mutex_t lock; /* held while a module is opened */
	struct reel_module_search *search;
	struct reel_kernel_search *kernel_search;
	struct reel_id_table by_id, by_file;
	size_t n; /* opened ones, also with earlier images */
	/* An opened one with unreliable rows; NULL: none. */
	void *_Atomic failed;
};

struct reel_modules {
	struct reel_module *all; /* ascending by id */
	size_t n;
	uint64_t images_size; /* the sum of their stated sizes */
	struct pool *pool;
	/* To look for files of living processes; info is NULL if disabled, and once done. */
	const struct reel_timeline *timeline;
	const struct reel_capture_info *info;
	struct reel_strings living_roots;
	bool no_host_files;
	bool keeps_hits;
	const struct reel_arch *kernel_arch;
	struct reel_symbolizer_options symbolizer_options;
};

/* ---- open files ----------------------------------------------------------------------------- */

static struct opened *container(struct reel_id_entry *entry, size_t offset)
{
	return entry ? (void *)((char *)entry - offset) : NULL;
}

/* In this order: each uses those freed after it. */
static void free_opened(void *context, struct reel_id_entry *entry)
{
	struct opened *older, *opened = container(entry, offsetof(struct opened, by_id));

	(void)context;
	for (; opened; opened = older) {
		struct reel_module *module = &opened->module;

		older = opened->older;
		if (!module->is_shared) {
			reel_symbolizer_destroy(module->symbolizer);
			reel_synthesis_destroy(module->synthesis);
			reel_rows_destroy(module->rows);
			reel_cfi_destroy(module->cfi);
			reel_module_files_free(&module->files);
			reel_elf_file_close(module->image_file);
		}
		free(opened->local_path);
		free(opened->debug_path);
		reel_module_image_destroy(module->image);
		reel_address_ranges_free(&opened->code_read);
		pthread_mutex_destroy(&opened->naming);
		free(opened);
	}
}

static void release_pool(struct pool *pool)
{
	if (!pool || atomic_fetch_sub(&pool->references, 1) > 1)
		return;
	reel_id_table_visit(&pool->by_id, free_opened, NULL);
	reel_id_table_free(&pool->by_id);
	reel_id_table_free(&pool->by_file);
	reel_module_search_destroy(pool->search);
	reel_kernel_search_destroy(pool->kernel_search);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static struct reel_error *create_pool(const struct reel_capture_options *options,
				      const char *kernel_release, struct pool **ret)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	*ret = pool;
	if (!pool)
		return reel_error_no_memory();
	atomic_init(&pool->references, 1);
	pthread_mutex_init(&pool->lock, NULL);
	TRY(reel_module_search_create(options, &pool->search));
	return reel_kernel_search_create(options, kernel_release, &pool->kernel_search);
}

/* NULL if it has grown large, or some of it is not usable. */
static struct pool *share_pool(struct reel_modules *previous)
{
	struct pool *pool = previous ? previous->pool : NULL;
	bool is_small;

	if (!pool || previous->keeps_hits || atomic_load(&pool->failed))
		return NULL;
	pthread_mutex_lock(&pool->lock);
	is_small = pool->n < SHARED_MAX;
	pthread_mutex_unlock(&pool->lock);
	if (is_small)
		atomic_fetch_add(&pool->references, 1);
	return is_small ? pool : NULL;
}

/* ---- all modules ---------------------------------------------------------------------------- */

struct reel_error *reel_modules_create(const struct reel_timeline *timeline,
				       const struct reel_capture_options *options,
				       const char *kernel_release, struct reel_modules *previous,
				       struct reel_modules **ret)
{
	const struct reel_record_module *const *records;
	struct reel_modules *modules = calloc(1, sizeof(*modules));
	struct reel_error *error;

	if (!modules)
		return reel_error_no_memory();
	records = reel_timeline_modules(timeline, &modules->n);
	modules->all = calloc(modules->n + 1, sizeof(*modules->all));
	if (!modules->all) {
		free(modules);
		return reel_error_no_memory();
	}
	for (size_t i = 0; i < modules->n; i++) {
		modules->all[i].record = records[i];
		modules->all[i].index = i;
	}
	modules->timeline = timeline;
	modules->no_host_files = options->no_host_files;
	modules->symbolizer_options.no_inlines = options->no_inlines;
	modules->symbolizer_options.no_demangle = options->no_demangle;
	modules->pool = share_pool(previous);
	error = modules->pool ? NULL : create_pool(options, kernel_release, &modules->pool);
	if (error) {
		reel_modules_destroy(modules);
		return error;
	}
	modules->symbolizer_options.search = modules->pool->search;
	*ret = modules;
	return NULL;
}

void reel_modules_destroy(struct reel_modules *modules)
{
	if (!modules)
		return;
	for (size_t i = 0; i < modules->n; i++) {
		if (!modules->all[i].image_is_lent)
			reel_module_image_destroy(modules->all[i].image);
		free(modules->all[i].newer_image.bytes);
	}
	release_pool(modules->pool);
	reel_strings_free(&modules->living_roots);
	free(modules->all);
	free(modules);
}

static struct reel_module *module_by_id(struct reel_modules *modules, uint64_t id)
{
	size_t low = REEL_PARTITION_POINT(modules->n, i, modules->all[i].record->id < id);

	return low < modules->n && modules->all[low].record->id == id ? &modules->all[low] : NULL;
}

static struct reel_error *images_exceed(uint64_t module)
{
	return reel_error_create(REEL_ERROR_CORRUPT,
				 "image of module %llu: images exceed 64 MiB in total",
				 (unsigned long long)module);
}

static struct reel_error *make_room_for(struct reel_modules *modules,
					const struct reel_record_image *image, uint8_t **ret)
{
	if (image->total_size > IMAGES_SIZE_MAX - modules->images_size)
		return images_exceed(image->module);
	modules->images_size += image->total_size;
	*ret = calloc(1, image->total_size + 1);
	return *ret ? NULL : reel_error_no_memory();
}

static void drop_newer(struct reel_modules *modules, struct reel_newer_image *newer)
{
	free(newer->bytes);
	modules->images_size -= newer->size;
	*newer = (struct reel_newer_image){ 0 };
}

/* Without the image that it changes, because its block is damaged, the module keeps the one that it
 * has. */
static struct reel_error *add_change(struct reel_modules *modules, struct reel_module *module)
{
	struct reel_newer_image *newer = &module->newer_image;
	struct reel_module_image *image = module->image;
	const struct reel_image_change change = { NULL, newer->number, newer->base, newer->bytes,
						  newer->size };
	size_t size, others = modules->images_size - newer->size - image->newest_size;

	if (newer->base != image->newest + 1) {
		drop_newer(modules, newer);
		return NULL;
	}
	TRY(reel_image_patch_size((struct reel_bytes){ newer->bytes, newer->size }, &size));
	if (size > IMAGES_SIZE_MAX - others)
		return images_exceed(module->record->id);
	TRY(reel_module_image_add(image, &change, size));
	*newer = (struct reel_newer_image){ 0 };
	modules->images_size = others + size;
	/* What waits is not larger than the image. */
	return image->changes_size > size ? reel_module_image_need(image) : NULL;
}

/* A newer image replaces the older one when it is complete. */
static struct reel_error *add_newer(struct reel_modules *modules, struct reel_module *module,
				    const struct reel_record_image *record)
{
	struct reel_newer_image *newer = &module->newer_image;
	struct reel_module_image *image;

	if (newer->bytes && record->number > newer->number)
		drop_newer(modules, newer);
	if (!newer->bytes) {
		TRY(make_room_for(modules, record, &newer->bytes));
		newer->size = record->total_size;
		newer->number = record->number;
		newer->base = record->base;
	}
	if (record->number < newer->number || record->total_size != newer->size)
		return NULL;
	if (record->bytes.size)
		memcpy(newer->bytes + record->offset, record->bytes.data, record->bytes.size);
	newer->n_taken += record->bytes.size;
	if (newer->n_taken < newer->size)
		return NULL;
	if (newer->base) {
		struct reel_error *error = add_change(modules, module);

		if (error)
			drop_newer(modules, newer);
		return error;
	}
	image = reel_module_image_create(newer->bytes, newer->size, newer->number);
	if (!image)
		return reel_error_no_memory();
	*newer = (struct reel_newer_image){ 0 };
	modules->images_size -= module->image->newest_size;
	reel_module_image_destroy(module->image);
	module->image = image;
	return NULL;
}

struct reel_error *reel_modules_add_image(struct reel_modules *modules,
					  const struct reel_record_image *image)
{
	struct reel_module *module = module_by_id(modules, image->module);

	if (!module)
		return NULL; /* its definition was lost with a damaged block */
	if (image->total_size > IMAGE_SIZE_MAX || image->offset > image->total_size ||
	    image->bytes.size > image->total_size - image->offset)
		return reel_error_create(
			REEL_ERROR_CORRUPT,
			"image of module %llu: %zu bytes at %llu exceed its size of %llu",
			(unsigned long long)image->module, image->bytes.size,
			(unsigned long long)image->offset, (unsigned long long)image->total_size);
	if (module->image && image->number > module->image->newest)
		return add_newer(modules, module, image);
	if (image->base)
		return NULL; /* the image that it changes was lost with a damaged block */
	if (!module->image) {
		uint8_t *bytes;

		TRY(make_room_for(modules, image, &bytes));
		module->image = reel_module_image_create(bytes, image->total_size, image->number);
		if (!module->image) {
			free(bytes);
			return reel_error_no_memory();
		}
	}
	/* The first record gives the size of the image. */
	if (module->image->number == image->number && module->image->size == image->total_size &&
	    image->bytes.size)
		memcpy(module->image->bytes + image->offset, image->bytes.data, image->bytes.size);
	return NULL;
}

/* Stores the error's text as the reason why the module is unusable; NO_MEMORY stays an error. */
static struct reel_error *module_broken(struct reel_module *module, struct reel_error *error)
{
	if (reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return module->files.file
			       ? reel_error_prefix(error, "%s",
						   reel_elf_file_path(module->files.file))
			       : error;
	free(module->files.problem);
	module->files.problem = strdup(reel_error_message(error));
	module->files.state = REEL_MODULE_BROKEN;
	reel_error_destroy(error);
	return module->files.problem ? NULL : reel_error_no_memory();
}

void reel_modules_omit_names(struct reel_modules *modules)
{
	modules->symbolizer_options.no_names = true;
}

void reel_modules_set_host(struct reel_modules *modules, const struct reel_capture_info *info)
{
	modules->info = modules->no_host_files ? NULL : info;
}

struct reel_error *reel_modules_expect_images(struct reel_modules *modules, bool keeps_hits)
{
	if (modules->pool->by_id.count)
		return reel_error_create(
			REEL_ERROR_INVALID,
			"the capture's traces were already requested; open it again");
	modules->keeps_hits = keeps_hits;
	modules->symbolizer_options.no_demangle = true;
	return NULL;
}

void reel_modules_set_kernel_arch(struct reel_modules *modules, const struct reel_arch *arch)
{
	modules->kernel_arch = arch;
}

static struct reel_error *find_kernel_file(struct reel_modules *modules, struct reel_module *module)
{
	const struct reel_arch *arch = modules->kernel_arch;
	const struct reel_record_module *record = module->record;
	struct reel_elf_file *file;
	struct reel_error *error;

	/* BPF programs and trampolines ("[bpf]") have no file that could be missing. */
	if (!arch || (record->kind == REEL_MODULE_KERNEL_MODULE && !record->build_id.size))
		return NULL;
	error = reel_kernel_search_find(modules->pool->kernel_search, record, &module->files);
	file = module->files.debug;
	if (error || !file || reel_elf_file_machine(file) == arch->elf_machine)
		return error;
	error = reel_error_create(REEL_ERROR_MISMATCH, "%s: ELF machine %u, the kernel is %s",
				  reel_elf_file_path(file), reel_elf_file_machine(file),
				  arch->name);
	reel_module_files_free(&module->files);
	return module_broken(module, error);
}

/* Looks for the file through living processes; if they do not have it, earlier results stay. */
static struct reel_error *find_living(struct reel_modules *modules, struct reel_module *module)
{
	const struct reel_capture_info *info = modules->info;

	modules->info = NULL;
	if (info)
		TRY(reel_living_roots(modules->timeline, info, &modules->living_roots));
	for (size_t i = 0; i < modules->living_roots.n && !module->files.file; i++) {
		struct reel_module_files found;

		TRY(reel_module_search_find_below(modules->pool->search,
						  modules->living_roots.all[i], module->record,
						  &found));
		if (found.file) {
			reel_module_files_free(&module->files);
			module->files = found;
		} else {
			reel_module_files_free(&found);
		}
	}
	return NULL;
}

struct reel_error *reel_module_open_image(const struct reel_module *module,
					  struct reel_elf_file **ret)
{
	struct reel_bytes path = module->record->path, build_id = module->record->build_id;
	_cleanup_free_ char *name =
		reel_text_print("%.*s (embedded)", (int)path.size, (const char *)path.data);
	struct reel_error *error;

	if (!name)
		return reel_error_no_memory();
	TRY(reel_module_image_need(module->image));
	error = module->record->kind == REEL_MODULE_FILE
			? reel_elf_file_open_embedded(module->image->bytes, module->image->size,
						      name, ret)
			: reel_elf_file_open_memory(module->image->bytes, module->image->size, name,
						    ret);
	if (error || !build_id.size || reel_bytes_are_equal(reel_elf_file_build_id(*ret), build_id))
		return error;
	reel_elf_file_close(*ret);
	return reel_error_create(REEL_ERROR_MISMATCH, "%s: different build-id", name);
}

/*
 * Opens the capture's image of a file missing here.  It was made from the mapped file, unless the
 * whole capture is false; but check that it is not a different module's by mistake.
 */
static struct reel_error *open_embedded(struct reel_module *module)
{
	struct reel_elf_file *file;
	struct reel_error *error = reel_module_open_image(module, &file);

	if (error)
		return module_broken(module, error);
	reel_module_files_free(&module->files);
	module->files.file = file;
	module->files.state = REEL_MODULE_FOUND;
	return NULL;
}

/* Uses names and lines of the capture's image if the local file has lost its own.  An unusable
 * image is ignored. */
static struct reel_error *open_beside(struct reel_module *module)
{
	struct reel_elf_file *file = module->files.file;
	struct reel_error *error;

	if (!module->image || module->record->kind != REEL_MODULE_FILE || module->files.debug ||
	    reel_elf_file_is_embedded(file) || reel_elf_file_has_debug_info(file))
		return NULL;
	error = reel_module_open_image(module, &module->image_file);
	if (!error)
		return NULL;
	module->image_file = NULL;
	if (reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	reel_error_destroy(error);
	return NULL;
}

static struct reel_error *find_module_file(struct reel_modules *modules, struct reel_module *module)
{
	TRY(reel_module_search_find(modules->pool->search, module->record, &module->files));
	if (!module->files.file)
		TRY(find_living(modules, module));
	return !module->files.file && module->image ? open_embedded(module) : NULL;
}

static struct reel_error *find_files(struct reel_modules *modules, struct reel_module *module)
{
	const struct reel_record_module *record = module->record;
	struct reel_error *error;

	switch (record->kind) {
	case REEL_MODULE_FILE:
		return find_module_file(modules, module);
	case REEL_MODULE_KERNEL:
	case REEL_MODULE_KERNEL_MODULE:
		return find_kernel_file(modules, module);
	case REEL_MODULE_VDSO:
		if (!module->image)
			break;
		error = reel_module_image_need(module->image);
		if (!error)
			error = reel_elf_file_open_memory(module->image->bytes, module->image->size,
							  "[vdso]", &module->files.file);
		if (error)
			return module_broken(module, error);
		module->files.state = REEL_MODULE_FOUND;
		return NULL;
	default:
		break;
	}
	module->files.state = REEL_MODULE_MISSING;
	if (asprintf(&module->files.problem, "%s is not in a file, and the capture contains %s",
		     record->kind == REEL_MODULE_VDSO ? "the vDSO" : "the mapping",
		     reel_timeline_has_code(modules->timeline, record->id)
			     ? "its code, but no names except from JITs"
			     : "no image or code for it") < 0)
		return reel_error_no_memory();
	return NULL;
}

/* ---- one file under several paths ------------------------------------------------------- */

/* Uses the open files of another module instead of opening them again. */
static void borrow(struct reel_module *module, const struct reel_module *from)
{
	module->files = from->files;
	module->arch = from->arch;
	module->cfi = from->cfi;
	module->rows = from->rows;
	module->synthesis = from->synthesis;
	module->symbolizer = from->symbolizer;
	module->naming = from->naming;
	module->image_file = from->image_file;
	module->code_read = from->code_read;
	module->is_shared = from->is_shared;
	module->local_path = from->local_path;
	module->debug_path = from->debug_path;
}

/* Shares the data of another module with the same files. */
static struct reel_error *share(struct opened *opened, const struct opened *with)
{
	struct reel_module *module = &opened->module;

	opened->local_path = strdup(reel_elf_file_path(module->files.file));
	opened->debug_path =
		module->files.debug ? strdup(reel_elf_file_path(module->files.debug)) : strdup("");
	if (!opened->local_path || !opened->debug_path)
		return reel_error_no_memory();
	reel_module_files_free(&module->files);
	borrow(module, &with->module);
	module->files.problem = NULL;
	module->files.unchecked = false;
	module->image_file = NULL;
	module->local_path = opened->local_path;
	module->debug_path = opened->debug_path;
	module->is_shared = true;
	return NULL;
}

/* The first of the modules whose file may be this one; NULL without one, or without `file`. */
static struct opened *first_of_file(const struct pool *pool, const struct reel_elf_file *file,
				    uint64_t *key_ret)
{
	uint64_t device, inode;

	*key_ret = 0;
	if (!file || !reel_elf_file_identity(file, &device, &inode))
		return NULL;
	*key_ret = inode ^ device << 40;
	return container(reel_id_table_find(&pool->by_file, *key_ret),
			 offsetof(struct opened, by_file));
}

/*
 * Many containers have the same library under different paths, which may all lead to one file here.
 * Device and inode identify it; a build-id does not, since any file can claim it.
 */
static struct reel_error *share_if_same(const struct pool *pool, struct opened *opened)
{
	struct reel_module *module = &opened->module;
	const struct opened *with;
	uint64_t key;

	for (with = first_of_file(pool, module->files.file, &key); with; with = with->same_key) {
		/* Each has its own image. */
		if (with->module.image_file && module->image)
			continue;
		if (reel_elf_files_are_same(with->module.files.file, module->files.file) &&
		    reel_elf_files_are_same(with->module.files.debug, module->files.debug))
			return share(opened, with);
	}
	return NULL;
}

/* Offers the module's data to others. */
static struct reel_error *offer(struct pool *pool, struct opened *opened)
{
	uint64_t key;
	struct opened *first = first_of_file(pool, opened->module.files.file, &key);

	if (first) {
		opened->same_key = first->same_key;
		first->same_key = opened;
		return NULL;
	}
	opened->by_file.id = key;
	return !key || reel_id_table_insert(&pool->by_file, &opened->by_file)
		       ? NULL
		       : reel_error_no_memory();
}

/* ---- opening ---------------------------------------------------------------------------- */

static bool read_code(void *file, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	return reel_elf_file_read(file, address, size, bytes_ret);
}

static void keep_hits(struct opened *opened)
{
	struct reel_module *module = &opened->module;

	module->code_read = &opened->code_read;
	reel_elf_file_keep_reads(module->files.file, module->code_read);
	reel_cfi_keep_hits(module->cfi);
}

static struct reel_error *open_files(struct reel_modules *modules, struct opened *opened)
{
	struct reel_module *module = &opened->module;
	struct reel_elf_file *file;
	struct reel_error *error;
	uint64_t entry;

	TRY(find_files(modules, module));
	TRY(share_if_same(modules->pool, opened));
	if (module->is_shared)
		return NULL;
	file = module->files.file;
	TRY(reel_symbolizer_create(file, module->files.debug, &modules->symbolizer_options,
				   &module->symbolizer));
	if (!file)
		return NULL;
	module->arch =
		reel_arch_by_machine(reel_elf_file_machine(file), reel_elf_file_word_bits(file));
	if (!module->arch)
		return NULL;
	/* No process begins in the vDSO; i386's names __kernel_vsyscall (vdso32.lds.S). */
	entry = module->record->kind == REEL_MODULE_VDSO ? 0 : reel_elf_file_entry(file);
	error = reel_module_cfi_create(file, module->files.debug, module->arch, &module->cfi);
	if (!error)
		error = reel_rows_create(module->arch, module->cfi, entry, &module->rows);
	if (!error)
		error = reel_synthesis_create(
			&(struct reel_synthesis_input){ .arch = module->arch,
							.read_code = read_code,
							.module = file,
							.find_row = reel_synthesis_cfi_row,
							.rows = module->cfi },
			&module->synthesis);
	if (error)
		return module_broken(module, error);
	reel_symbolizer_set_code(module->symbolizer, module->cfi, module->synthesis);
	TRY(open_beside(module));
	reel_symbolizer_set_image(module->symbolizer, reel_module_image_file(module));
	if (modules->keeps_hits)
		keep_hits(opened);
	reel_rows_tell(module->rows, &modules->pool->failed, opened);
	return offer(modules->pool, opened);
}

/* The files are open already, and the module has no other image by now. */
static bool is_open(const struct opened *opened, const struct reel_module *module)
{
	const struct reel_module_image *a = opened ? opened->module.image : NULL,
				       *b = module->image;

	return opened && opened->is_complete && (a ? a->newest : 0) == (b ? b->newest : 0) &&
	       (a ? a->newest_size : 0) == (b ? b->newest_size : 0);
}

static struct reel_error *add_opened(struct pool *pool, const struct reel_module *module,
				     struct opened **ret)
{
	struct opened *opened = calloc(1, sizeof(*opened));

	if (!opened)
		return reel_error_no_memory();
	opened->by_id.id = module->record->id;
	opened->older = container(reel_id_table_remove(&pool->by_id, opened->by_id.id),
				  offsetof(struct opened, by_id));
	pthread_mutex_init(&opened->naming, NULL);
	opened->module = (struct reel_module){
		.record = module->record,
		.naming = &opened->naming,
		.image = module->image,
	};
	if (!reel_id_table_insert(&pool->by_id, &opened->by_id)) {
		opened->module.image = NULL;
		free_opened(NULL, &opened->by_id);
		return reel_error_no_memory();
	}
	pool->n++;
	*ret = opened;
	return NULL;
}

static struct reel_error *open_module(struct reel_modules *modules, struct reel_module *module)
{
	struct pool *pool = modules->pool;
	struct opened *opened = container(reel_id_table_find(&pool->by_id, module->record->id),
					  offsetof(struct opened, by_id));

	if (!is_open(opened, module)) {
		struct reel_error *error;

		TRY(add_opened(pool, module, &opened));
		error = open_files(modules, opened);
		opened->module.record = NULL;
		if (error) {
			opened->module.image = NULL;
			return error;
		}
		opened->is_complete = true;
		module->image_is_lent = true;
	}
	borrow(module, &opened->module);
	return NULL;
}

static unsigned bit_of(const struct reel_arch *arch)
{
	unsigned i = 0;

	while (reel_arch_all[i] && reel_arch_all[i] != arch)
		i++;
	return 1u << i;
}

const struct reel_arch *reel_module_mismatch(const struct reel_module *module)
{
	unsigned mapped_by = atomic_load_explicit(&module->mapped_by, memory_order_relaxed);

	if (!module->files.file || (module->arch && mapped_by & bit_of(module->arch)))
		return NULL;
	for (size_t i = 0; reel_arch_all[i]; i++) {
		if (mapped_by >> i & 1)
			return reel_arch_all[i];
	}
	return NULL;
}

/* From the segment with the mapping's file offset: p_vaddr and p_offset may differ (lld, mold). */
bool reel_module_bias(const struct reel_module *module, const struct reel_mapping *mapping,
		      uint64_t *ret)
{
	uint64_t address;

	if (!module->files.file ||
	    !reel_elf_file_address_of_offset(module->files.file, mapping->offset,
					     mapping->protection & PROTECTION_EXECUTE, &address))
		return false;
	*ret = mapping->address - address;
	return true;
}

struct reel_error *reel_modules_open(struct reel_modules *modules, uint64_t id,
				     const struct reel_arch *arch, struct reel_module **ret)
{
	struct reel_module *module = module_by_id(modules, id);
	struct reel_error *error = NULL;

	*ret = module;
	if (module && arch)
		atomic_fetch_or_explicit(&module->mapped_by, bit_of(arch), memory_order_relaxed);
	if (!module || atomic_load_explicit(&module->opened, memory_order_acquire))
		return NULL;
	pthread_mutex_lock(&modules->pool->lock);
	if (!atomic_load_explicit(&module->opened, memory_order_relaxed)) {
		error = open_module(modules, module);
		atomic_store_explicit(&module->opened, !error, memory_order_release);
	}
	pthread_mutex_unlock(&modules->pool->lock);
	return error;
}

const struct reel_module *reel_modules_opened(struct reel_modules *modules, uint64_t id)
{
	const struct reel_module *module = module_by_id(modules, id);

	if (!module || !atomic_load_explicit(&module->opened, memory_order_acquire))
		return NULL;
	return module;
}

struct reel_error *reel_modules_problem(const struct reel_modules *modules)
{
	const struct opened *opened =
		atomic_load_explicit(&modules->pool->failed, memory_order_acquire);

	if (!opened)
		return NULL;
	return reel_error_prefix(reel_rows_problem(opened->module.rows), "%s",
				 reel_elf_file_path(opened->module.files.file));
}

size_t reel_modules_count(const struct reel_modules *modules)
{
	return modules->n;
}

/* Only open files have names to read. */
static void visit_locked(const struct reel_module *module,
			 void (*visit)(void *context, const struct reel_module *module),
			 void *context)
{
	if (module->naming)
		pthread_mutex_lock(module->naming);
	visit(context, module);
	if (module->naming)
		pthread_mutex_unlock(module->naming);
}

void reel_modules_visit_one(struct reel_modules *modules, uint64_t id,
			    void (*visit)(void *context, const struct reel_module *module),
			    void *context)
{
	const struct reel_module *module = module_by_id(modules, id);

	if (!module)
		return;
	pthread_mutex_lock(&modules->pool->lock);
	visit_locked(module, visit, context);
	pthread_mutex_unlock(&modules->pool->lock);
}

void reel_modules_visit(struct reel_modules *modules,
			void (*visit)(void *context, const struct reel_module *module),
			void *context)
{
	pthread_mutex_lock(&modules->pool->lock);
	for (size_t i = 0; i < modules->n; i++)
		visit_locked(&modules->all[i], visit, context);
	pthread_mutex_unlock(&modules->pool->lock);
}

/* ---- files named for modules by the user ---------------------------------------------------- */

struct named {
	const char *path;
	struct reel_bytes build_id;
	bool is_used;
};

static bool is_at(const struct reel_elf_file *file, const char *path)
{
	return file && !strcmp(reel_elf_file_path(file), path);
}

static bool serves(const struct reel_elf_file *file, const char *path)
{
	return is_at(file, path) || (file && is_at(reel_elf_file_alternate(file), path));
}

static void check_named(void *context, const struct reel_module *module)
{
	struct named *named = context;
	struct reel_bytes build_id = module->record->build_id;

	named->is_used |= (build_id.size && reel_bytes_are_equal(build_id, named->build_id)) ||
			  serves(module->files.file, named->path) ||
			  serves(module->files.debug, named->path) ||
			  (module->is_shared && (!strcmp(module->local_path, named->path) ||
						 !strcmp(module->debug_path, named->path)));
}

bool reel_modules_have_file(struct reel_modules *modules, const char *path)
{
	struct named named = { path, reel_module_search_build_id(modules->pool->search, path),
			       false };

	reel_modules_visit(modules, check_named, &named);
	return named.is_used;
}
