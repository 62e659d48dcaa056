/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules mapped at the sample's time.  Captures record mappings of code only.  Where the file
 * is known, its other segments follow from its program headers; the bytes of writable ones are not
 * in the file.
 */
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/id_set.h"
#include "replay/core/core_state.h"

/* PROT_WRITE of MAP, and PF_W of ELF. */
#define PROTECTION_WRITE 2

struct mapped {
	struct reel_core *core;
	struct reel_id_set modules;
	struct reel_error *error;
};

/* ---- NT_FILE -------------------------------------------------------------------------------- */

/* Rounded to pages, as mapped; not over one of the first `n_recorded` files. */
static struct reel_error *add_segment(struct reel_core *core, size_t n_recorded,
				      const GElf_Phdr *segment, uint64_t bias, const char *path)
{
	uint64_t page = core->page_size, before = segment->p_vaddr % page;
	struct reel_core_file file = {
		.begin = bias + segment->p_vaddr - before,
		.end = (bias + segment->p_vaddr + segment->p_filesz + page - 1) / page * page,
		.offset = segment->p_offset - before,
		.path = path,
	};

	size_t next = REEL_PARTITION_POINT(n_recorded, i, core->files[i].end <= file.begin);

	if (segment->p_offset < before || file.end <= file.begin ||
	    (next < n_recorded && core->files[next].begin < file.end))
		return NULL;
	return REEL_APPEND(core->files, core->n_files, core->files_capacity, file);
}

static struct reel_error *add_segments(struct reel_core *core, size_t n_recorded,
				       const struct reel_module *module, uint64_t bias,
				       const char *path)
{
	Elf *elf = reel_elf_file_handle(module->files.file);
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    segment.p_filesz && !(segment.p_flags & PF_W))
			TRY(add_segment(core, n_recorded, &segment, bias, path));
	}
	return NULL;
}

/* ---- the executable ------------------------------------------------------------------------- */

/* An executable at fixed addresses, or one marked as position-independent by its linker. */
static bool is_program(const struct reel_module *module, const GElf_Ehdr *header)
{
	uint64_t flags;

	return header->e_type == ET_EXEC ||
	       (reel_elf_file_dynamic(module->files.file, DT_FLAGS_1, &flags) && flags & DF_1_PIE);
}

static void set_program(struct reel_core *core, const struct reel_module *module,
			struct reel_core_module *mapped, const char *path)
{
	Elf *elf = reel_elf_file_handle(module->files.file);
	uint64_t headers;
	GElf_Ehdr header;
	size_t n;

	if (core->program.path || !gelf_getehdr(elf, &header) || !is_program(module, &header) ||
	    elf_getphdrnum(elf, &n) ||
	    !reel_elf_file_address_of_offset(module->files.file, header.e_phoff, true, &headers))
		return;
	mapped->is_program = true;
	core->program = (struct reel_core_program){
		.path = path,
		.entry = mapped->bias + header.e_entry,
		.headers = mapped->bias + headers,
		.header_size = header.e_phentsize,
		.n_headers = (uint32_t)n,
		.flags = header.e_flags,
	};
}

/* ---- modules -------------------------------------------------------------------------------- */

/* Debuggers open files by the paths in NT_FILE, from any folder, so a different file must not have
 * that path. */
static struct reel_error *path_of(struct reel_core *core, uint64_t id, const char **ret)
{
	REEL_SIZED(reel_module_info, info);
	_cleanup_free_ char *path = NULL, *folder = NULL;

	TRY(reel_capture_module(core->capture, id, &info));
	/* realpath() would leave another root, as in /proc/PID/root. */
	if (*info.local_path && *info.local_path != '/')
		folder = getcwd(NULL, 0);
	if (*info.local_path)
		path = reel_text_print("%s%s%s", folder ? folder : "", folder ? "/" : "",
				       info.local_path);
	else
		path = reel_text_print("%s (missing)", info.path);
	*ret = path ? reel_texts_add_string(core->texts, path) : NULL;
	return *ret ? NULL : reel_error_no_memory();
}

static struct reel_error *add_module(struct reel_core *core, const struct reel_mapping *mapping,
				     const struct reel_module *module)
{
	struct reel_core_module mapped = {
		.id = mapping->module,
		.address = mapping->address,
	};

	mapped.has_bias = reel_module_bias(module, mapping, &mapped.bias);
	return REEL_APPEND(core->modules, core->n_modules, core->modules_capacity, mapped);
}

/* The rest of a module's file that is mapped. */
static struct reel_error *complete_module(struct reel_core *core, size_t n_recorded,
					  struct reel_core_module *mapped)
{
	const struct reel_module *module = reel_modules_opened(core->capture->modules, mapped->id);
	const char *path;

	if (!mapped->has_bias || reel_elf_file_is_embedded(module->files.file))
		return NULL;
	TRY(path_of(core, mapped->id, &path));
	set_program(core, module, mapped, path);
	return add_segments(core, n_recorded, module, mapped->bias, path);
}

static struct reel_error *add_vdso(struct reel_core *core, const struct reel_mapping *mapping,
				   const struct reel_module *module)
{
	uint64_t left = module->image ? module->image->size : 0;

	if (mapping->offset >= left)
		return NULL;
	left -= mapping->offset;
	return reel_core_add_piece(core, core->n_pieces, mapping->address,
				   module->image->bytes + mapping->offset,
				   left < mapping->size ? left : mapping->size);
}

static struct reel_error *add_mapping(struct mapped *mapped, const struct reel_mapping *mapping)
{
	struct reel_core *core = mapped->core;
	struct reel_module *module;
	struct reel_core_file file = {
		.begin = mapping->address,
		.end = mapping->address + mapping->size,
		.offset = mapping->offset,
	};

	TRY(reel_modules_open(core->capture->modules, mapping->module, core->arch, &module));
	if (module && module->record->kind == REEL_MODULE_VDSO) {
		TRY(add_vdso(core, mapping, module));
		reel_core_sort_pieces(core);
	}
	if (!module || module->record->kind != REEL_MODULE_FILE)
		return NULL;
	TRY(path_of(core, mapping->module, &file.path));
	/* The program may have changed its code. */
	if (!(mapping->protection & PROTECTION_WRITE))
		TRY(REEL_APPEND(core->files, core->n_files, core->files_capacity, file));
	if (reel_id_set_has(&mapped->modules, mapping->module))
		return NULL;
	if (!reel_id_set_add(&mapped->modules, mapping->module))
		return reel_error_no_memory();
	return add_module(core, mapping, module);
}

static void visit_mapping(void *context, const struct reel_mapping *mapping)
{
	struct mapped *mapped = context;

	if (!mapped->error)
		mapped->error = add_mapping(mapped, mapping);
}

static int compare_files(const void *a, const void *b)
{
	const struct reel_core_file *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

struct reel_error *reel_core_add_modules(struct reel_core *core, uint64_t space)
{
	struct mapped mapped = { .core = core };
	size_t n_recorded;

	reel_timeline_visit(core->capture->timeline, space, core->info.time, 0, UINT64_MAX,
			    visit_mapping, &mapped);
	reel_id_set_free(&mapped.modules);
	n_recorded = core->n_files;
	for (size_t i = 0; i < core->n_modules && !mapped.error; i++)
		mapped.error = complete_module(core, n_recorded, &core->modules[i]);
	if (!mapped.error && core->n_files)
		qsort(core->files, core->n_files, sizeof(*core->files), compare_files);
	return mapped.error;
}
