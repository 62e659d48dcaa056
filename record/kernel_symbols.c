/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "include/stackreel.h"
#include "record/kernel_symbols.h"
#include "space/kallsyms.h"

struct reel_kernel_symbols {
	const struct reel_target *target;
	struct reel_module_table *modules;
	struct reel_kallsyms *kallsyms;
	uint64_t *module_ids; /* by the symbols' module_index; 0: not needed yet */
	const struct reel_record_sink *sink;
};

void reel_kernel_symbols_destroy(struct reel_kernel_symbols *symbols)
{
	if (!symbols)
		return;
	reel_kallsyms_destroy(symbols->kallsyms);
	free(symbols->module_ids);
	free(symbols);
}

struct reel_error *reel_kernel_symbols_load(const struct reel_target *target,
					    struct reel_module_table *modules,
					    struct reel_kernel_symbols **ret)
{
	struct reel_kernel_symbols *symbols = calloc(1, sizeof(*symbols));
	struct reel_error *error;

	if (!symbols)
		return reel_error_no_memory();
	symbols->target = target;
	symbols->modules = modules;
	error = reel_kallsyms_load("/proc/kallsyms", &symbols->kallsyms);
	if (error && reel_error_code(error) == REEL_ERROR_NOT_FOUND) {
		reel_error_destroy(error);
		error = reel_error_create(
			REEL_ERROR_PERMISSION,
			"the kernel hides its symbols (kptr_restrict): kernel frames "
			"will have addresses only; run as root or with CAP_SYSLOG");
	}
	if (!error) {
		symbols->module_ids = calloc(reel_kallsyms_module_count(symbols->kallsyms),
					     sizeof(*symbols->module_ids));
		if (!symbols->module_ids)
			error = reel_error_no_memory();
	}
	if (error) {
		reel_kernel_symbols_destroy(symbols);
		return error;
	}
	*ret = symbols;
	return NULL;
}

/* All notes of a loaded module lie in files of their own, named as their sections. */
static void read_module_build_id(const char *name, enum reel_byte_order order,
				 struct reel_build_id *ret)
{
	char folder[128], path[512];
	struct dirent *entry;
	DIR *directory;

	snprintf(folder, sizeof(folder), "/sys/module/%.*s/notes", (int)strcspn(name + 1, "]"),
		 name + 1);
	directory = opendir(folder);
	if (!directory)
		return;
	while (!ret->size && (entry = readdir(directory))) {
		_cleanup_buffer_ struct reel_buffer notes = { 0 };

		if (entry->d_name[0] != '.' || !isalpha((unsigned char)entry->d_name[1]))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (reel_proc_read(path, &notes))
			reel_build_id_of_notes(notes.bytes, notes.size, order, ret);
	}
	closedir(directory);
}

static struct reel_error *module_id(struct reel_kernel_symbols *symbols,
				    const struct reel_kallsym *symbol, uint64_t *ret)
{
	uint64_t *id = &symbols->module_ids[symbol->module_index];
	struct reel_module_identity identity = {
		.kind = symbol->module_index ? REEL_MODULE_KERNEL_MODULE : REEL_MODULE_KERNEL,
		.path = symbol->module,
	};
	struct reel_error *error = NULL;

	if (!*id) {
		if (symbol->module_index)
			read_module_build_id(identity.path, symbols->target->elf.byte_order,
					     &identity.build_id);
		else
			identity.build_id = symbols->target->kernel_build_id;
		error = reel_module_table_add(symbols->modules, &identity, id);
	}
	*ret = *id;
	return error;
}

static struct reel_error *write_symbol(void *context, const struct reel_kallsym *symbol)
{
	struct reel_kernel_symbols *symbols = context;
	struct reel_record record = { .id = REEL_RECORD_KERNEL_SYMBOL };
	struct reel_error *error;

	record.kernel_symbol = (struct reel_record_kernel_symbol){
		.address = symbol->address,
		.size = symbol->size,
		.name = reel_bytes_of_string(symbol->name),
	};
	error = module_id(symbols, symbol, &record.kernel_symbol.module);
	if (!error)
		error = reel_module_table_write(symbols->modules, record.kernel_symbol.module,
						symbols->sink);
	return error ? error : symbols->sink->put(symbols->sink->context, &record);
}

struct reel_error *reel_kernel_symbols_write(struct reel_kernel_symbols *symbols,
					     const uint64_t *chain, size_t count,
					     const struct reel_record_sink *sink)
{
	symbols->sink = sink;
	return reel_kallsyms_visit_new(symbols->kallsyms, chain, count, write_symbol, symbols);
}

void reel_kernel_symbols_restart(struct reel_kernel_symbols *symbols)
{
	reel_kallsyms_restart(symbols->kallsyms);
}
