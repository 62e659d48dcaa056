/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "replay/import/kernel_names.h"
#include "include/commands.h"
#include "base/elf_identity.h"
#include "format/perf/kallsyms.h"

#define NOTES_MAX (64u << 10)

struct reel_kernel_names {
	struct reel_writer *writer;
	struct reel_import_modules *modules;
	const struct reel_recorded_kernel *kernel;
	struct reel_kallsyms *kallsyms; /* NULL: no list */
	uint64_t *module_ids;		/* by the symbols' module_index; 0: not yet used */
	bool placed;
};

char *reel_perf_cache_path(const char *name, struct reel_bytes build_id, const char *file)
{
	const char *home = getenv("HOME");
	char hex[2 * REEL_BUILD_ID_MAX + 1] = "", *path;

	if (!home || !build_id.size || build_id.size > REEL_BUILD_ID_MAX)
		return NULL;
	for (size_t i = 0; i < build_id.size; i++)
		sprintf(hex + 2 * i, "%02x", build_id.data[i]);
	return asprintf(&path, "%s/.debug/%s/%s/%s", home, name, hex, file) < 0 ? NULL : path;
}

bool reel_kernel_is_here(struct reel_bytes build_id)
{
	static const enum reel_byte_order orders[] = { REEL_BYTE_ORDER_LITTLE,
						       REEL_BYTE_ORDER_BIG };
	_cleanup_free_ uint8_t *notes = malloc(NOTES_MAX);
	FILE *file = fopen("/sys/kernel/notes", "re");
	struct reel_build_id here;
	size_t size = 0;

	if (file && notes)
		size = fread(notes, 1, NOTES_MAX, file);
	if (file)
		fclose(file);
	for (size_t i = 0; i < 2 && size; i++)
		if (reel_build_id_of_notes(notes, size, orders[i], &here) &&
		    here.size == build_id.size && !memcmp(here.bytes, build_id.data, here.size))
			return true;
	return false;
}

static struct reel_error *load(const char *path, const struct reel_recorded_kernel *kernel,
			       struct reel_kallsyms **ret)
{
	uint64_t address;

	TRY(reel_kallsyms_load(path, ret));
	if (!*kernel->symbol)
		return NULL;
	address = reel_kallsyms_address(*ret, kernel->symbol);
	if (address == kernel->address)
		return NULL;
	reel_kallsyms_destroy(*ret);
	*ret = NULL;
	return reel_error_create(REEL_ERROR_MISMATCH,
				 "%s: from a different kernel or boot: %s is at %#llx there, but "
				 "was at %#llx in the recording",
				 path, kernel->symbol, (unsigned long long)address,
				 (unsigned long long)kernel->address);
}

/* If the user named no file, missing names are not an error. */
static struct reel_error *find_list(const char *path, const struct reel_recorded_kernel *kernel,
				    struct reel_kallsyms **ret)
{
	_cleanup_free_ char *cached = NULL;
	struct reel_error *error = NULL;

	*ret = NULL;
	if (path)
		return load(path, kernel, ret);
	cached = reel_perf_cache_path(REEL_KALLSYMS_KERNEL, kernel->build_id, "kallsyms");
	if (cached && !access(cached, R_OK))
		error = load(cached, kernel, ret);
	if (!*ret && kernel->is_here) {
		reel_error_destroy(error);
		error = load("/proc/kallsyms", kernel, ret);
	}
	if (error && reel_error_code(error) != REEL_ERROR_NO_MEMORY) {
		reel_error_destroy(error);
		error = NULL;
	}
	return error;
}

struct reel_error *reel_kernel_names_create(const char *path,
					    const struct reel_recorded_kernel *kernel,
					    struct reel_writer *writer,
					    struct reel_import_modules *modules,
					    struct reel_kernel_names **ret)
{
	struct reel_kallsyms *kallsyms;
	struct reel_kernel_names *names;
	size_t n_modules;

	TRY(find_list(path, kernel, &kallsyms));
	n_modules = kallsyms ? reel_kallsyms_module_count(kallsyms) : 1;
	names = calloc(1, sizeof(*names));
	if (names)
		names->module_ids = calloc(n_modules, sizeof(*names->module_ids));
	if (!names || !names->module_ids) {
		reel_kallsyms_destroy(kallsyms);
		free(names);
		return reel_error_no_memory();
	}
	names->kernel = kernel;
	names->kallsyms = kallsyms;
	names->writer = writer;
	names->modules = modules;
	*ret = names;
	return NULL;
}

void reel_kernel_names_destroy(struct reel_kernel_names *names)
{
	if (!names)
		return;
	reel_kallsyms_destroy(names->kallsyms);
	free(names->module_ids);
	free(names);
}

static struct reel_error *write_symbol(void *context, const struct reel_kallsym *symbol)
{
	struct reel_kernel_names *names = context;
	uint64_t *id = &names->module_ids[symbol->module_index];
	struct reel_record record = { .id = REEL_RECORD_KERNEL_SYMBOL };
	struct reel_record_module module = {
		.kind = symbol->module_index ? REEL_MODULE_KERNEL_MODULE : REEL_MODULE_KERNEL,
		.path = reel_bytes_of_string(symbol->module),
	};

	if (!*id)
		TRY(reel_import_modules_add(names->modules, module, id));
	record.kernel_symbol = (struct reel_record_kernel_symbol){
		.address = symbol->address,
		.size = symbol->size,
		.module = *id,
		.name = reel_bytes_of_string(symbol->name),
		.since = REEL_TIME_START,
	};
	return reel_writer_record(names->writer, &record);
}

/*
 * The kernel's address: with it, the kernel's file can name addresses that are not in any list.
 * Bytes after the first may well belong to a different function.
 */
static struct reel_error *write_place(struct reel_kernel_names *names)
{
	const struct reel_kallsym symbol = {
		.address = names->kernel->address,
		.size = 1,
		.name = names->kernel->symbol,
		.module = REEL_KALLSYMS_KERNEL,
	};

	names->placed = true;
	return *symbol.name && symbol.address ? write_symbol(names, &symbol) : NULL;
}

struct reel_error *reel_kernel_names_write(struct reel_kernel_names *names, const uint64_t *chain,
					   size_t count)
{
	if (!names->placed)
		TRY(write_place(names));
	return names->kallsyms
		       ? reel_kallsyms_visit_new(names->kallsyms, chain, count, write_symbol, names)
		       : NULL;
}

bool reel_kernel_names_has_list(const struct reel_kernel_names *names)
{
	return names->kallsyms;
}
