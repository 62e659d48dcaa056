/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/bytes.h"
#include "format/perf/kallsyms.h"

struct symbol {
	uint64_t address;
	uint64_t size; /* 0: up to the next one */
	uint64_t since;
	uint32_t name;	 /* offset in names */
	uint32_t module; /* index in modules; 0 is the kernel itself */
	bool visited;
	bool kept; /* see reel_kallsyms_inherit */
};

struct module {
	char *name;
	uint64_t end; /* of its memory, 0: unknown */
};

struct reel_kallsyms {
	struct symbol *symbols; /* ascending by address */
	size_t count, capacity;
	struct reel_buffer names;
	struct module *modules; /* in order of appearance */
	size_t n_modules;
};

void reel_kallsyms_destroy(struct reel_kallsyms *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->n_modules; i++)
		free(symbols->modules[i].name);
	free(symbols->modules);
	free(symbols->symbols);
	reel_buffer_free(&symbols->names);
	free(symbols);
}

static const char *name_of(const struct reel_kallsyms *symbols, const struct symbol *symbol)
{
	return (const char *)symbols->names.bytes + symbol->name;
}

static struct symbol *find_name(const struct reel_kallsyms *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->count; i++) {
		struct symbol *symbol = &symbols->symbols[i];

		if (!symbol->module && !strcmp(name_of(symbols, symbol), name))
			return symbol;
	}
	return NULL;
}

uint64_t reel_kallsyms_address(const struct reel_kallsyms *symbols, const char *name)
{
	const struct symbol *symbol = find_name(symbols, name);

	return symbol ? symbol->address : 0;
}

size_t reel_kallsyms_module_count(const struct reel_kallsyms *symbols)
{
	return symbols->n_modules;
}

const char *reel_kallsyms_module_name(const struct reel_kallsyms *symbols, uint32_t index)
{
	return symbols->modules[index].name;
}

/* The index of the module's name; names come in runs, so check the last one first. */
static struct reel_error *module_index(struct reel_kallsyms *symbols, const char *name,
				       uint32_t *ret)
{
	struct module *modules;

	for (size_t i = symbols->n_modules; i-- > 0;) {
		if (!strcmp(symbols->modules[i].name, name)) {
			*ret = (uint32_t)i;
			return NULL;
		}
	}
	modules = reallocarray(symbols->modules, symbols->n_modules + 1, sizeof(*modules));
	if (!modules)
		return reel_error_no_memory();
	symbols->modules = modules;
	modules[symbols->n_modules] = (struct module){ .name = strdup(name) };
	if (!modules[symbols->n_modules].name)
		return reel_error_no_memory();
	*ret = (uint32_t)symbols->n_modules++;
	return NULL;
}

void reel_kallsyms_limit(struct reel_kallsyms *symbols, const char *module, uint64_t end)
{
	for (size_t i = 0; i < symbols->n_modules; i++)
		if (!strcmp(symbols->modules[i].name, module))
			symbols->modules[i].end = end;
}

static struct reel_error *add_symbol(struct reel_kallsyms *symbols, uint64_t address,
				     const char *name, const char *module)
{
	struct symbol *symbol;

	if (!reel_array_reserve(&symbols->symbols, symbols->count, &symbols->capacity,
				sizeof(*symbols->symbols)))
		return reel_error_no_memory();
	symbol = &symbols->symbols[symbols->count];
	*symbol = (struct symbol){ .address = address, .name = (uint32_t)symbols->names.size };
	TRY(module_index(symbols, module, &symbol->module));
	reel_buffer_append(&symbols->names, name, strlen(name) + 1);
	if (symbols->names.failed || symbols->names.size > UINT32_MAX / 2)
		return reel_error_no_memory();
	symbols->count++;
	return NULL;
}

/* Markers at the end of the kernel's code: what follows, up to the next function, has no name. */
static bool is_end(const char *name)
{
	static const char *const ends[] = { "_etext", "_einittext", "__init_end", "__exittext_end",
					    "_end" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (!strcmp(name, ends[i]))
			return true;
	return false;
}

/* Modules' lists contain markers of code and data, and local labels (is_mapping_symbol of the
 * kernel's include/linux/module_symbol.h). */
static bool is_marker(const char *name)
{
	return name[0] == '$' || (name[0] == '.' && name[1] == 'L') ||
	       (name[0] == 'L' && name[1] == '0');
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
	if (is_marker(name))
		return NULL;
	module = strchr(name, '\t');
	if (module) {
		*module++ = '\0';
		/* "[name]", which perf also writes. */
		return add_symbol(symbols, address, name, module);
	}
	return add_symbol(symbols, address, is_end(name) ? "" : name, REEL_KALLSYMS_KERNEL);
}

/* Aliases keep the order of the list. */
static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
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
	if (error) {
		reel_kallsyms_destroy(symbols);
		return error;
	}
	qsort(symbols->symbols, symbols->count, sizeof(*symbols->symbols), compare);
	*ret = symbols;
	return NULL;
}

/* The index of the first symbol above the address. */
static size_t above(const struct reel_kallsyms *symbols, uint64_t address)
{
	size_t low =
		REEL_PARTITION_POINT(symbols->count, i, symbols->symbols[i].address <= address);

	return low;
}

/* Up to the next symbol, within its module's memory; 0 if neither is known. */
static uint64_t size_of(const struct reel_kallsyms *symbols, const struct symbol *symbol)
{
	uint64_t end = symbols->modules[symbol->module].end, size = symbol->size;
	size_t next = above(symbols, symbol->address);

	if (size)
		return size;
	if (next < symbols->count)
		size = symbols->symbols[next].address - symbol->address;
	if (end > symbol->address && (!size || end - symbol->address < size))
		size = end - symbol->address;
	return size;
}

static struct reel_kallsym describe(const struct reel_kallsyms *symbols,
				    const struct symbol *symbol)
{
	return (struct reel_kallsym){
		.address = symbol->address,
		.size = size_of(symbols, symbol),
		.since = symbol->since,
		.name = name_of(symbols, symbol),
		.module = symbols->modules[symbol->module].name,
		.module_index = symbol->module,
	};
}

/* The first of the symbols with the largest address at or below `address` that extend to it. */
static struct symbol *find(const struct reel_kallsyms *symbols, uint64_t address)
{
	size_t i = above(symbols, address);
	struct symbol *symbol;
	uint64_t size;

	if (!i)
		return NULL;
	/* Aliases share an address: always return the same one. */
	for (i--; i && symbols->symbols[i - 1].address == symbols->symbols[i].address;)
		i--;
	symbol = &symbols->symbols[i];
	size = size_of(symbols, symbol);
	return !*name_of(symbols, symbol) || (size && address - symbol->address >= size) ? NULL
											 : symbol;
}

bool reel_kallsyms_knows(const struct reel_kallsyms *symbols, uint64_t address)
{
	return find(symbols, address);
}

static struct reel_error *visit_symbol(const struct reel_kallsyms *symbols, struct symbol *symbol,
				       reel_kallsyms_visitor *visit, void *context)
{
	struct reel_kallsym described;

	if (!symbol || symbol->visited || !*name_of(symbols, symbol))
		return NULL;
	symbol->visited = true;
	described = describe(symbols, symbol);
	return visit(context, &described);
}

struct reel_error *reel_kallsyms_visit_address(struct reel_kallsyms *symbols, uint64_t address,
					       reel_kallsyms_visitor *visit, void *context)
{
	return visit_symbol(symbols, find(symbols, address), visit, context);
}

struct reel_error *reel_kallsyms_visit_new(struct reel_kallsyms *symbols, const uint64_t *chain,
					   size_t count, reel_kallsyms_visitor *visit,
					   void *context)
{
	for (size_t i = 0; i < count; i++) {
		TRY(reel_kallsyms_visit_address(symbols, chain[i], visit, context));
		/* After a call that ends a function, the return address still belongs to it. */
		if (i)
			TRY(reel_kallsyms_visit_address(symbols, chain[i] - 1, visit, context));
	}
	return NULL;
}

struct reel_error *reel_kallsyms_visit_name(struct reel_kallsyms *symbols, const char *name,
					    reel_kallsyms_visitor *visit, void *context)
{
	return visit_symbol(symbols, find_name(symbols, name), visit, context);
}

struct reel_error *reel_kallsyms_visit_all(struct reel_kallsyms *symbols,
					   reel_kallsyms_visitor *visit, void *context)
{
	for (size_t i = 0; i < symbols->count; i++)
		TRY(visit_symbol(symbols, &symbols->symbols[i], visit, context));
	return NULL;
}

void reel_kallsyms_restart(struct reel_kallsyms *symbols)
{
	for (size_t i = 0; i < symbols->count; i++)
		symbols->symbols[i].visited = false;
}

/* ---- changes ------------------------------------------------------------------------ */

static void take_out(struct reel_kallsyms *symbols, size_t from, size_t to)
{
	memmove(&symbols->symbols[from], &symbols->symbols[to],
		(symbols->count - to) * sizeof(*symbols->symbols));
	symbols->count -= to - from;
}

uint64_t reel_kallsyms_room(const struct reel_kallsyms *symbols, uint64_t address, uint64_t size)
{
	size_t next = above(symbols, address);

	if (next < symbols->count && symbols->symbols[next].address - address < size)
		return symbols->symbols[next].address - address;
	return size;
}

bool reel_kallsyms_is_image(const char *name)
{
	return !strncmp(name, "bpf_trampoline_", strlen("bpf_trampoline_")) ||
	       !strncmp(name, "bpf_dispatcher_", strlen("bpf_dispatcher_"));
}

struct reel_error *reel_kallsyms_insert(struct reel_kallsyms *symbols,
					const struct reel_kallsym *symbol)
{
	uint64_t last = symbol->address + (symbol->size ? symbol->size - 1 : 0);
	size_t from = symbol->address ? above(symbols, symbol->address - 1) : 0;
	struct symbol added;

	take_out(symbols, from, last < symbol->address ? symbols->count : above(symbols, last));
	TRY(add_symbol(symbols, symbol->address, symbol->name, symbol->module));
	added = symbols->symbols[symbols->count - 1];
	added.size = symbol->size;
	added.since = symbol->since;
	memmove(&symbols->symbols[from + 1], &symbols->symbols[from],
		(symbols->count - 1 - from) * sizeof(added));
	symbols->symbols[from] = added;
	return NULL;
}

bool reel_kallsyms_remove(struct reel_kallsyms *symbols, uint64_t address, const char *name,
			  struct reel_kallsym *ret)
{
	size_t i = address ? above(symbols, address - 1) : 0;
	bool visited = false;

	for (; i < symbols->count && symbols->symbols[i].address == address; i++) {
		if (strcmp(name_of(symbols, &symbols->symbols[i]), name) != 0)
			continue;
		visited = symbols->symbols[i].visited;
		*ret = describe(symbols, &symbols->symbols[i]);
		take_out(symbols, i, i + 1);
		break;
	}
	return visited;
}

/* The symbol of the same name, address and module name; NULL if missing. */
static struct symbol *find_same(const struct reel_kallsyms *symbols,
				const struct reel_kallsyms *others, const struct symbol *other)
{
	size_t i = other->address ? above(symbols, other->address - 1) : 0;

	for (; i < symbols->count && symbols->symbols[i].address == other->address; i++) {
		struct symbol *symbol = &symbols->symbols[i];

		if (!strcmp(name_of(symbols, symbol), name_of(others, other)) &&
		    !strcmp(symbols->modules[symbol->module].name,
			    others->modules[other->module].name))
			return symbol;
	}
	return NULL;
}

/* Whether a symbol that is not kept overlaps the other list's symbol. */
static bool is_in_the_way(const struct reel_kallsyms *symbols, uint64_t address, uint64_t size)
{
	uint64_t last = size ? address + size - 1 : address;

	for (size_t i = above(symbols, last < address ? UINT64_MAX : last); i-- > 0;) {
		const struct symbol *symbol = &symbols->symbols[i];
		uint64_t its_size = size_of(symbols, symbol);

		if (its_size && symbol->address + (its_size - 1) < address)
			return false;
		if (!symbol->kept)
			return true;
		if (symbol->address < address)
			return false;
	}
	return false;
}

/* Keeps symbols that the kernel reported but hides from its list (bpf_jit_kallsyms). */
static struct reel_error *keep_told(struct reel_kallsyms *symbols, const struct reel_kallsyms *old)
{
	for (size_t i = 0; i < old->count; i++) {
		const struct symbol *symbol = &old->symbols[i];
		struct reel_kallsym told;

		if (!symbol->size || find_same(symbols, old, symbol))
			continue;
		told = describe(old, symbol);
		TRY(reel_kallsyms_insert(symbols, &told));
	}
	return NULL;
}

struct reel_error *reel_kallsyms_inherit(struct reel_kallsyms *symbols, struct reel_kallsyms *old,
					 uint64_t before, uint64_t now,
					 const struct reel_kallsyms_heir *heir)
{
	struct reel_error *error = keep_told(symbols, old);

	for (size_t i = 0; i < old->count && !error; i++) {
		struct symbol *from = &old->symbols[i], *to = find_same(symbols, old, from);

		from->kept = to && heir->is_same(heir->context, from->module, to->module);
		if (!from->kept)
			continue;
		to->kept = true;
		to->since = from->since;
		to->size = from->size;
		to->visited = from->visited;
	}
	/* The time of a replacement is unknown: in between neither symbol is valid. */
	for (size_t i = 0; i < old->count && !error; i++) {
		const struct symbol *symbol = &old->symbols[i];
		struct reel_kallsym gone;

		if (symbol->kept || !symbol->visited)
			continue;
		gone = describe(old, symbol);
		gone.name = "";
		gone.since = is_in_the_way(symbols, gone.address, gone.size) ? before : now;
		error = heir->gone(heir->context, &gone);
	}
	for (size_t i = 0; i < symbols->count && !error; i++) {
		struct symbol *symbol = &symbols->symbols[i];

		if (!symbol->kept)
			symbol->since =
				is_in_the_way(old, symbol->address, size_of(symbols, symbol))
					? now
					: before;
	}
	for (size_t i = 0; i < symbols->count; i++)
		symbols->symbols[i].kept = false;
	return error;
}
