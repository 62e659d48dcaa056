/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/bytes.h"
#include "space/kallsyms.h"

struct symbol {
	uint64_t address;
	uint32_t name;	 /* offset in names */
	uint32_t module; /* index in module_names; 0 is the kernel itself */
};

struct reel_kallsyms {
	struct symbol *symbols; /* ascending by address */
	size_t count, capacity;
	bool *visited; /* a flag each */
	struct reel_buffer names;
	/* Kernel modules in order of appearance. */
	char **module_names;
	size_t n_modules;
};

void reel_kallsyms_destroy(struct reel_kallsyms *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->n_modules; i++)
		free(symbols->module_names[i]);
	free(symbols->module_names);
	free(symbols->symbols);
	free(symbols->visited);
	reel_buffer_free(&symbols->names);
	free(symbols);
}

uint64_t reel_kallsyms_address(const struct reel_kallsyms *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->count; i++) {
		const struct symbol *symbol = &symbols->symbols[i];

		if (!symbol->module &&
		    !strcmp((const char *)symbols->names.bytes + symbol->name, name))
			return symbol->address;
	}
	return 0;
}

size_t reel_kallsyms_module_count(const struct reel_kallsyms *symbols)
{
	return symbols->n_modules;
}

/* The index of the module's name; they come in runs, so the last one is looked at first. */
static struct reel_error *module_index(struct reel_kallsyms *symbols, const char *name,
				       uint32_t *ret)
{
	char **names;

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
	names[symbols->n_modules] = strdup(name);
	if (!names[symbols->n_modules])
		return reel_error_no_memory();
	*ret = (uint32_t)symbols->n_modules++;
	return NULL;
}

static struct reel_error *add_symbol(struct reel_kallsyms *symbols, uint64_t address,
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
static struct reel_error *parse_line(struct reel_kallsyms *symbols, char *line)
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
	return add_symbol(symbols, address, name, REEL_KALLSYMS_KERNEL);
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static struct reel_error *read_symbols(struct reel_kallsyms *symbols, const char *path)
{
	FILE *file = fopen(path, "re");
	struct reel_error *error;
	char *line = NULL;
	size_t size = 0;
	uint32_t kernel;

	if (!file)
		return reel_error_os(errno, "reading the kernel's symbols: %s", path);
	error = module_index(symbols, REEL_KALLSYMS_KERNEL, &kernel);
	while (!error && getline(&line, &size, file) > 0)
		error = parse_line(symbols, line);
	if (!error && ferror(file))
		error = reel_error_os(errno, "reading the kernel's symbols: %s", path);
	free(line);
	fclose(file);
	if (!error && !symbols->count)
		error = reel_error_create(REEL_ERROR_NOT_FOUND, "%s: no symbols with an address",
					  path);
	return error;
}

struct reel_error *reel_kallsyms_load(const char *path, struct reel_kallsyms **ret)
{
	struct reel_kallsyms *symbols = calloc(1, sizeof(*symbols));
	struct reel_error *error;

	if (!symbols)
		return reel_error_no_memory();
	error = read_symbols(symbols, path);
	if (!error) {
		qsort(symbols->symbols, symbols->count, sizeof(*symbols->symbols), compare);
		symbols->visited = calloc(symbols->count, sizeof(*symbols->visited));
		if (!symbols->visited)
			error = reel_error_no_memory();
	}
	if (error) {
		reel_kallsyms_destroy(symbols);
		return error;
	}
	*ret = symbols;
	return NULL;
}

/* The first of the symbols with the largest address at or below `address`; NULL if there is none.
 */
static struct symbol *find(const struct reel_kallsyms *symbols, uint64_t address)
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

static struct reel_kallsym describe(const struct reel_kallsyms *symbols,
				    const struct symbol *symbol)
{
	const struct symbol *end = symbols->symbols + symbols->count, *next = symbol + 1;

	while (next < end && next->address == symbol->address)
		next++;
	return (struct reel_kallsym){
		.address = symbol->address,
		.size = next < end && next->module == symbol->module
				? next->address - symbol->address
				: 0,
		.name = (const char *)symbols->names.bytes + symbol->name,
		.module = symbols->module_names[symbol->module],
		.module_index = symbol->module,
	};
}

struct reel_error *reel_kallsyms_visit_new(
	struct reel_kallsyms *symbols, const uint64_t *chain, size_t count,
	struct reel_error *(*visit)(void *context, const struct reel_kallsym *symbol),
	void *context)
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
			struct reel_kallsym symbol;
			bool *visited;

			if (!candidates[j])
				continue;
			visited = &symbols->visited[candidates[j] - symbols->symbols];
			if (*visited)
				continue;
			*visited = true;
			symbol = describe(symbols, candidates[j]);
			error = visit(context, &symbol);
		}
	}
	return error;
}

void reel_kallsyms_restart(struct reel_kallsyms *symbols)
{
	memset(symbols->visited, 0, symbols->count * sizeof(*symbols->visited));
}
