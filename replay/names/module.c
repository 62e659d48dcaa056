/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/names/living_roots.h"
#include "replay/names/module.h"
#include "module/module_cfi.h"

/* SPEC.md, section 9. */
#define IMAGE_SIZE_MAX (16u << 20)
/* For all images: a vDSO has two to four pages, and a host a few vDSOs. */
#define IMAGES_SIZE_MAX (64u << 20)

struct reel_modules {
	struct reel_module *all; /* ascending by id */
	size_t n;
	uint64_t images_size; /* the sum of their stated sizes */
	struct reel_module_search *search;
	struct reel_kernel_search *kernel_search;
	/* To look for files of living processes; info is NULL if disabled, and once done. */
	const struct reel_timeline *timeline;
	const struct reel_capture_info *info;
	struct reel_strings living_roots;
	bool no_host_files;
	bool keeps_hits;
	pthread_mutex_t lock;	      /* held while a module is opened */
	struct reel_id_table by_file; /* opened modules with files of their own */
	const struct reel_arch *kernel_arch;
	struct reel_symbolizer_options symbolizer_options;
	/* A module with unreliable rows; NULL: none. */
	void *_Atomic failed;
};

struct reel_error *reel_modules_create(const struct reel_timeline *timeline,
				       const struct reel_capture_options *options,
				       const char *kernel_release, struct reel_modules **ret)
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
	pthread_mutex_init(&modules->lock, NULL);
	for (size_t i = 0; i < modules->n; i++) {
		modules->all[i].record = records[i];
		modules->all[i].index = i;
		pthread_mutex_init(&modules->all[i].own_naming, NULL);
		modules->all[i].naming = &modules->all[i].own_naming;
	}
	modules->timeline = timeline;
	modules->no_host_files = options->no_host_files;
	modules->symbolizer_options.no_inlines = options->no_inlines;
	modules->symbolizer_options.no_demangle = options->no_demangle;
	error = reel_module_search_create(options, &modules->search);
	modules->symbolizer_options.search = modules->search;
	if (!error)
		error = reel_kernel_search_create(options, kernel_release, &modules->kernel_search);
	if (error) {
		reel_modules_destroy(modules);
		return error;
	}
	*ret = modules;
	return NULL;
}

/* In this order: each uses those freed after it. */
static void free_files(struct reel_module *module)
{
	reel_symbolizer_destroy(module->symbolizer);
	reel_synthesis_destroy(module->synthesis);
	reel_rows_destroy(module->rows);
	reel_cfi_destroy(module->cfi);
	reel_module_files_free(&module->files);
	reel_elf_file_close(module->image_file);
}

void reel_modules_destroy(struct reel_modules *modules)
{
	if (!modules)
		return;
	for (size_t i = 0; i < modules->n; i++) {
		struct reel_module *module = &modules->all[i];

		if (!module->is_shared)
			free_files(module);
		free(module->local_path);
		free(module->debug_path);
		free(module->image);
		free(module->newer_image.bytes);
		reel_address_ranges_free(&module->own_code_read);
		pthread_mutex_destroy(&module->own_naming);
	}
	reel_id_table_free(&modules->by_file);
	pthread_mutex_destroy(&modules->lock);
	reel_module_search_destroy(modules->search);
	reel_kernel_search_destroy(modules->kernel_search);
	reel_strings_free(&modules->living_roots);
	free(modules->all);
	free(modules);
}

static struct reel_module *module_by_id(struct reel_modules *modules, uint64_t id)
{
	size_t low = REEL_PARTITION_POINT(modules->n, i, modules->all[i].record->id < id);

	return low < modules->n && modules->all[low].record->id == id ? &modules->all[low] : NULL;
}

static struct reel_error *make_room_for(struct reel_modules *modules,
					const struct reel_record_image *image, uint8_t **ret)
{
	if (image->total_size > IMAGES_SIZE_MAX - modules->images_size)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "image of module %llu: images exceed 64 MiB in total",
					 (unsigned long long)image->module);
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

/* A newer image replaces the older one when it is complete. */
static struct reel_error *take_newer(struct reel_modules *modules, struct reel_module *module,
				     const struct reel_record_image *image)
{
	struct reel_newer_image *newer = &module->newer_image;

	if (newer->bytes && image->number > newer->number)
		drop_newer(modules, newer);
	if (!newer->bytes) {
		TRY(make_room_for(modules, image, &newer->bytes));
		newer->size = image->total_size;
		newer->number = image->number;
	}
	if (image->number < newer->number || image->total_size != newer->size)
		return NULL;
	if (image->bytes.size)
		memcpy(newer->bytes + image->offset, image->bytes.data, image->bytes.size);
	newer->n_taken += image->bytes.size;
	if (newer->n_taken < newer->size)
		return NULL;
	free(module->image);
	modules->images_size -= module->image_size;
	module->image = newer->bytes;
	module->image_size = newer->size;
	module->image_number = newer->number;
	*newer = (struct reel_newer_image){ 0 };
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
	if (module->image && image->number < module->image_number)
		return NULL;
	if (module->image && image->number > module->image_number)
		return take_newer(modules, module, image);
	module->image_number = image->number;
	if (!module->image) {
		TRY(make_room_for(modules, image, &module->image));
		module->image_size = image->total_size;
	}
	/* The first record gives the size of the image. */
	if (module->image_size == image->total_size && image->bytes.size)
		memcpy(module->image + image->offset, image->bytes.data, image->bytes.size);
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

void reel_modules_set_host(struct reel_modules *modules, const struct reel_capture_info *info)
{
	modules->info = modules->no_host_files ? NULL : info;
}

struct reel_error *reel_modules_expect_images(struct reel_modules *modules, bool keeps_hits)
{
	for (size_t i = 0; i < modules->n; i++) {
		if (modules->all[i].opened)
			return reel_error_create(
				REEL_ERROR_INVALID,
				"the capture's traces were already requested; open it again");
	}
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
	error = reel_kernel_search_find(modules->kernel_search, record, &module->files);
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

		TRY(reel_module_search_find_below(modules->search, modules->living_roots.all[i],
						  module->record, &found));
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
	error = module->record->kind == REEL_MODULE_FILE
			? reel_elf_file_open_embedded(module->image, module->image_size, name, ret)
			: reel_elf_file_open_memory(module->image, module->image_size, name, ret);
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
	TRY(reel_module_search_find(modules->search, module->record, &module->files));
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
		error = reel_elf_file_open_memory(module->image, module->image_size, "[vdso]",
						  &module->files.file);
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

static bool is_same_file(const struct reel_elf_file *a, const struct reel_elf_file *b)
{
	uint64_t a_device, a_inode, b_device, b_inode;

	if (!a || !b)
		return a == b;
	return reel_elf_file_identity(a, &a_device, &a_inode) &&
	       reel_elf_file_identity(b, &b_device, &b_inode) && a_device == b_device &&
	       a_inode == b_inode;
}

/* Shares the data of another module with the same files instead of opening them again. */
static struct reel_error *share(struct reel_module *module, const struct reel_module *with)
{
	module->local_path = strdup(reel_elf_file_path(module->files.file));
	module->debug_path =
		module->files.debug ? strdup(reel_elf_file_path(module->files.debug)) : strdup("");
	if (!module->local_path || !module->debug_path)
		return reel_error_no_memory();
	reel_module_files_free(&module->files);
	module->files = (struct reel_module_files){
		.file = with->files.file,
		.debug = with->files.debug,
		.state = with->files.state,
	};
	module->arch = with->arch;
	module->cfi = with->cfi;
	module->rows = with->rows;
	module->synthesis = with->synthesis;
	module->symbolizer = with->symbolizer;
	module->naming = with->naming;
	module->code_read = with->code_read;
	module->is_shared = true;
	return NULL;
}

/* The first of the modules whose file may be this one; NULL without one, or without `file`. */
static struct reel_module *first_of_file(const struct reel_modules *modules,
					 const struct reel_elf_file *file, uint64_t *key_ret)
{
	struct reel_id_entry *entry;
	uint64_t device, inode;

	*key_ret = 0;
	if (!file || !reel_elf_file_identity(file, &device, &inode))
		return NULL;
	*key_ret = inode ^ device << 40;
	entry = reel_id_table_find(&modules->by_file, *key_ret);
	return entry ? (void *)((char *)entry - offsetof(struct reel_module, by_file)) : NULL;
}

/*
 * Many containers have the same library under different paths, which may all lead to one file here.
 * Device and inode identify it; a build-id does not, since any file can claim it.
 */
static struct reel_error *share_if_same(const struct reel_modules *modules,
					struct reel_module *module)
{
	const struct reel_module *with;
	uint64_t key;

	for (with = first_of_file(modules, module->files.file, &key); with; with = with->same_key) {
		/* Each has its own image. */
		if (with->image_file && module->image)
			continue;
		if (is_same_file(with->files.file, module->files.file) &&
		    is_same_file(with->files.debug, module->files.debug))
			return share(module, with);
	}
	return NULL;
}

/* Offers the module's data to others. */
static struct reel_error *offer(struct reel_modules *modules, struct reel_module *module)
{
	uint64_t key;
	struct reel_module *first = first_of_file(modules, module->files.file, &key);

	if (first) {
		module->same_key = first->same_key;
		first->same_key = module;
		return NULL;
	}
	module->by_file.id = key;
	return !key || reel_id_table_insert(&modules->by_file, &module->by_file)
		       ? NULL
		       : reel_error_no_memory();
}

/* ---- opening ---------------------------------------------------------------------------- */

static bool read_code(void *file, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	return reel_elf_file_read(file, address, size, bytes_ret);
}

static void keep_hits(struct reel_module *module)
{
	module->code_read = &module->own_code_read;
	reel_elf_file_keep_reads(module->files.file, module->code_read);
	reel_cfi_keep_hits(module->cfi);
}

static struct reel_error *open_module(struct reel_modules *modules, struct reel_module *module)
{
	struct reel_elf_file *file;
	struct reel_error *error;
	uint64_t entry;

	TRY(find_files(modules, module));
	TRY(share_if_same(modules, module));
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
		keep_hits(module);
	reel_rows_tell(module->rows, &modules->failed, module);
	return offer(modules, module);
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
	    !reel_elf_file_address_of_offset(module->files.file, mapping->offset, &address))
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
	pthread_mutex_lock(&modules->lock);
	if (!atomic_load_explicit(&module->opened, memory_order_relaxed)) {
		error = open_module(modules, module);
		atomic_store_explicit(&module->opened, !error, memory_order_release);
	}
	pthread_mutex_unlock(&modules->lock);
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
	const struct reel_module *module =
		atomic_load_explicit(&modules->failed, memory_order_acquire);

	if (!module)
		return NULL;
	return reel_error_prefix(reel_rows_problem(module->rows), "%s",
				 reel_elf_file_path(module->files.file));
}

size_t reel_modules_count(const struct reel_modules *modules)
{
	return modules->n;
}

void reel_modules_visit_one(struct reel_modules *modules, uint64_t id,
			    void (*visit)(void *context, const struct reel_module *module),
			    void *context)
{
	const struct reel_module *module = module_by_id(modules, id);

	if (!module)
		return;
	pthread_mutex_lock(&modules->lock);
	pthread_mutex_lock(module->naming);
	visit(context, module);
	pthread_mutex_unlock(module->naming);
	pthread_mutex_unlock(&modules->lock);
}

void reel_modules_visit(struct reel_modules *modules,
			void (*visit)(void *context, const struct reel_module *module),
			void *context)
{
	pthread_mutex_lock(&modules->lock);
	for (size_t i = 0; i < modules->n; i++) {
		pthread_mutex_lock(modules->all[i].naming);
		visit(context, &modules->all[i]);
		pthread_mutex_unlock(modules->all[i].naming);
	}
	pthread_mutex_unlock(&modules->lock);
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

static void look_for_named(void *context, const struct reel_module *module)
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
	struct named named = { path, reel_module_search_build_id(modules->search, path), false };

	reel_modules_visit(modules, look_for_named, &named);
	return named.is_used;
}
