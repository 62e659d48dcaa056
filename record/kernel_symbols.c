/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "include/stackreel.h"
#include "record/kernel_symbols.h"

struct symbol {
	uint64_t address;
	uint32_t name;	 /* offset in names */
	uint32_t module; /* index in module_names; 0 is the kernel itself */
};

struct reel_kernel_symbols {
	const struct reel_target *target;
	struct reel_module_table *modules;
	struct symbol *symbols; /* ascending by address */
	size_t count, capacity;
	bool *written; /* a flag each */
	struct reel_buffer names;
	/* Kernel modules in order of appearance; their ids are made when they are needed. */
	char **module_names;
	uint64_t *module_ids;
	size_t n_modules;
};

void reel_kernel_symbols_destroy(struct reel_kernel_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->n_modules; i++)
		free(symbols->module_names[i]);
	free(symbols->module_names);
	free(symbols->module_ids);
	free(symbols->symbols);
	free(symbols->written);
	reel_buffer_free(&symbols->names);
	free(symbols);
}

/* The index of the module's name; they come in runs, so the last one is looked at first. */
static struct reel_error *module_index(struct reel_kernel_symbols *symbols, const char *name,
				       uint32_t *ret)
{
	char **names;
	uint64_t *ids;

	for (size_t i = symbols->n_modules; i-- > 0;) {
		if (!strcmp(symbols->module_names[i], name)) {
			*ret = (uint32_t)i;
			return NULL;
		}
	}
	names = reallocarray(symbols->module_names, symbols->n_modules + 1, sizeof(*names));
	if (!names)
		return reel_error_no_memory();
	symbols->module_names = names;
	ids = reallocarray(symbols->module_ids, symbols->n_modules + 1, sizeof(*ids));
	if (!ids)
		return reel_error_no_memory();
	symbols->module_ids = ids;
	names[symbols->n_modules] = strdup(name);
	if (!names[symbols->n_modules])
		return reel_error_no_memory();
	ids[symbols->n_modules] = 0;
	*ret = (uint32_t)symbols->n_modules++;
	return NULL;
}

static struct reel_error *add_symbol(struct reel_kernel_symbols *symbols, uint64_t address,
				     const char *name, const char *module)
{
	struct symbol *symbol;
	struct reel_error *error;

	if (symbols->count == symbols->capacity) {
		size_t capacity = symbols->capacity ? 2 * symbols->capacity : 65536;
		struct symbol *grown = reallocarray(symbols->symbols, capacity, sizeof(*grown));

		if (!grown)
			return reel_error_no_memory();
		symbols->symbols = grown;
		symbols->capacity = capacity;
	}
	symbol = &symbols->symbols[symbols->count];
	symbol->address = address;
	symbol->name = (uint32_t)symbols->names.size;
	error = module_index(symbols, module, &symbol->module);
	if (error)
		return error;
	reel_buffer_append(&symbols->names, name, strlen(name) + 1);
	if (symbols->names.failed || symbols->names.size > UINT32_MAX / 2)
		return reel_error_no_memory();
	symbols->count++;
	return NULL;
}

/* "ffffffff81000000 T _text" or "ffffffffc0001000 t foo\t[nf_tables]" */
static struct reel_error *parse_line(struct reel_kernel_symbols *symbols, char *line)
{
	char *type, *name, *module;
	uint64_t address = strtoull(line, &type, 16);

	if (*type != ' ' || !type[1] || type[2] != ' ' || !strchr("tTwW", type[1]) || !address)
		return NULL;
	name = type + 3;
	name[strcspn(name, "\n")] = '\0';
	module = strchr(name, '\t');
	if (module) {
		*module++ = '\0';
		/* "[name]", as perf writes it too. */
		return add_symbol(symbols, address, name, module);
	}
	return add_symbol(symbols, address, name, "[kernel.kallsyms]");
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static struct reel_error *read_symbols(struct reel_kernel_symbols *symbols)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	struct reel_error *error = NULL;
	char *line = NULL;
	size_t size = 0;
	uint32_t kernel;

	if (!file)
		return reel_error_os(errno, "reading the kernel's symbols: /proc/kallsyms");
	error = module_index(symbols, "[kernel.kallsyms]", &kernel);
	while (!error && getline(&line, &size, file) > 0)
		error = parse_line(symbols, line);
	free(line);
	fclose(file);
	if (!error && !symbols->count)
		error = reel_error_create(
			REEL_ERROR_PERMISSION,
			"the kernel hides its symbols (kptr_restrict): kernel frames "
			"will have addresses only; run as root or with CAP_SYSLOG");
	return error;
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
	error = read_symbols(symbols);
	if (!error) {
		qsort(symbols->symbols, symbols->count, sizeof(*symbols->symbols), compare);
		symbols->written = calloc(symbols->count, sizeof(*symbols->written));
		if (!symbols->written)
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

static struct reel_error *module_id(struct reel_kernel_symbols *symbols, uint32_t index,
				    uint64_t *ret)
{
	struct reel_module_identity identity = {
		.kind = index ? REEL_MODULE_KERNEL_MODULE : REEL_MODULE_KERNEL,
		.path = symbols->module_names[index],
	};
	struct reel_error *error = NULL;

	if (!symbols->module_ids[index]) {
		if (index)
			read_module_build_id(identity.path, symbols->target->elf.byte_order,
					     &identity.build_id);
		else
			identity.build_id = symbols->target->kernel_build_id;
		error = reel_module_table_add(symbols->modules, &identity,
					      &symbols->module_ids[index]);
	}
	*ret = symbols->module_ids[index];
	return error;
}

/* The first of the symbols with the largest address at or below `address`; NULL if there is none.
 */
static struct symbol *find(const struct reel_kernel_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	/* Aliases have one address: always the same one of them. */
	for (low--; low && symbols->symbols[low - 1].address == symbols->symbols[low].address;)
		low--;
	return &symbols->symbols[low];
}

static struct reel_error *write_symbol(struct reel_kernel_symbols *symbols,
				       const struct symbol *symbol,
				       const struct reel_record_sink *sink)
{
	const struct symbol *end = symbols->symbols + symbols->count, *next = symbol + 1;
	struct reel_record record = { .id = REEL_RECORD_KERNEL_SYMBOL };
	struct reel_error *error;

	while (next < end && next->address == symbol->address)
		next++;
	record.kernel_symbol = (struct reel_record_kernel_symbol){
		.address = symbol->address,
		.size = next < end && next->module == symbol->module
				? next->address - symbol->address
				: 0,
		.name = reel_bytes_of_string((const char *)symbols->names.bytes + symbol->name),
	};
	error = module_id(symbols, symbol->module, &record.kernel_symbol.module);
	if (!error)
		error = reel_module_table_write(symbols->modules, record.kernel_symbol.module,
						sink);
	return error ? error : sink->put(sink->context, &record);
}

struct reel_error *reel_kernel_symbols_write(struct reel_kernel_symbols *symbols,
					     const uint64_t *chain, size_t count,
					     const struct reel_record_sink *sink)
{
	struct reel_error *error = NULL;

	for (size_t i = 0; i < count && !error; i++) {
		const struct symbol *candidates[2] = {
			find(symbols, chain[i]),
			/* A return address behind a call that ends a function belongs to that
			   function. */
			i ? find(symbols, chain[i] - 1) : NULL,
		};

		for (size_t j = 0; j < 2 && !error; j++) {
			bool *written;

			if (!candidates[j])
				continue;
			written = &symbols->written[candidates[j] - symbols->symbols];
			if (*written)
				continue;
			*written = true;
			error = write_symbol(symbols, candidates[j], sink);
		}
	}
	return error;
}

void reel_kernel_symbols_restart(struct reel_kernel_symbols *symbols)
{
	memset(symbols->written, 0, symbols->count * sizeof(*symbols->written));
}
