/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "replay/frame_table.h"

/* One address of one module; frames and the pointers to them lie behind it. */
struct chain {
	/* A struct reel_module; of kernel addresses the symbol, or the table where there is none.
	 */
	const void *module;
	struct reel_module *counted; /* of a kernel address: whose frames grow */
	bool is_interrupt;
	uint64_t address;
	bool exact; /* looked up as it is, not one byte less */
	size_t n;
	const struct reel_frame **frames;
};

/* A function as reports count it: see reel_frame.function_id. */
struct function {
	const char *name; /* interned */
	uint64_t module;
	bool kernel, inlined;
	uint32_t id;
};

struct reel_frame_table {
	struct reel_texts *texts;
	const struct reel_kernel_symbols *kernel_symbols;
	struct reel_kernel_code *kernel_code;
	/* Open addressing; a power of two, at most two thirds full. */
	struct chain **slots;
	size_t n_slots, count;
	/* The same for functions; `name` is NULL where a slot is free. */
	struct function *functions;
	size_t n_function_slots, n_functions;
	uint32_t next_function_id;
};

#define FIRST_SLOTS 4096

struct reel_error *reel_frame_table_create(struct reel_texts *texts,
					   const struct reel_kernel_symbols *kernel_symbols,
					   struct reel_kernel_code *kernel_code,
					   struct reel_frame_table **ret)
{
	struct reel_frame_table *table = calloc(1, sizeof(*table));

	if (!table)
		return reel_error_no_memory();
	table->texts = texts;
	table->kernel_symbols = kernel_symbols;
	table->kernel_code = kernel_code;
	table->n_slots = FIRST_SLOTS;
	table->slots = calloc(table->n_slots, sizeof(*table->slots));
	table->n_function_slots = FIRST_SLOTS;
	table->functions = calloc(table->n_function_slots, sizeof(*table->functions));
	if (!table->slots || !table->functions) {
		reel_frame_table_destroy(table);
		return reel_error_no_memory();
	}
	*ret = table;
	return NULL;
}

void reel_frame_table_destroy(struct reel_frame_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; table->slots && i < table->n_slots; i++)
		free(table->slots[i]);
	free(table->slots);
	free(table->functions);
	free(table);
}

static size_t slot_of(const struct chain *const *slots, size_t n_slots, const void *module,
		      uint64_t address, bool exact)
{
	uint64_t hash = (address ^ (uint64_t)(uintptr_t)module << 17 ^ exact) * 0x9e3779b97f4a7c15;
	size_t slot = (hash >> 20) & (n_slots - 1);

	while (slots[slot] && (slots[slot]->address != address || slots[slot]->module != module ||
			       slots[slot]->exact != exact))
		slot = (slot + 1) & (n_slots - 1);
	return slot;
}

static struct chain *find(const struct reel_frame_table *table, const void *module,
			  uint64_t address, bool exact)
{
	return table->slots[slot_of((const struct chain *const *)table->slots, table->n_slots,
				    module, address, exact)];
}

static struct reel_error *grow(struct reel_frame_table *table)
{
	size_t n = table->n_slots * 2;
	struct chain **slots = calloc(n, sizeof(*slots));

	if (!slots)
		return reel_error_no_memory();
	for (size_t i = 0; i < table->n_slots; i++) {
		struct chain *chain = table->slots[i];

		if (chain)
			slots[slot_of((const struct chain *const *)slots, n, chain->module,
				      chain->address, chain->exact)] = chain;
	}
	free(table->slots);
	table->slots = slots;
	table->n_slots = n;
	return NULL;
}

static struct function *function_slot(struct function *functions, size_t n_slots,
				      const struct function *key)
{
	uint64_t hash = ((uint64_t)(uintptr_t)key->name ^ key->module << 40 ^
			 (uint64_t)key->inlined << 1 ^ key->kernel) *
			0x9e3779b97f4a7c15;
	size_t slot = (hash >> 20) & (n_slots - 1);

	while (functions[slot].name &&
	       (functions[slot].name != key->name || functions[slot].module != key->module ||
		functions[slot].kernel != key->kernel || functions[slot].inlined != key->inlined))
		slot = (slot + 1) & (n_slots - 1);
	return &functions[slot];
}

static struct reel_error *grow_functions(struct reel_frame_table *table)
{
	size_t n = table->n_function_slots * 2;
	struct function *functions = calloc(n, sizeof(*functions));

	if (!functions)
		return reel_error_no_memory();
	for (size_t i = 0; i < table->n_function_slots; i++)
		if (table->functions[i].name)
			*function_slot(functions, n, &table->functions[i]) = table->functions[i];
	free(table->functions);
	table->functions = functions;
	table->n_function_slots = n;
	return NULL;
}

/* Interns the name and numbers the function. */
static struct reel_error *identify(struct reel_frame_table *table, struct reel_frame *frame)
{
	struct function key, *slot;

	if (!*frame->function) {
		frame->function_id = table->next_function_id++;
		return NULL;
	}
	frame->function = reel_texts_add_string(table->texts, frame->function);
	if (!frame->function)
		return reel_error_no_memory();
	if ((table->n_functions + 1) * 3 > table->n_function_slots * 2) {
		struct reel_error *error = grow_functions(table);

		if (error)
			return error;
	}
	key = (struct function){ .name = frame->function,
				 .module = frame->module_id,
				 .kernel = frame->kernel,
				 .inlined = frame->inlined };
	slot = function_slot(table->functions, table->n_function_slots, &key);
	if (!slot->name) {
		*slot = key;
		slot->id = table->next_function_id++;
		table->n_functions++;
	}
	frame->function_id = slot->id;
	return NULL;
}

/* Puts a chain of copies of `frames` in. */
static struct reel_error *add(struct reel_frame_table *table, const void *module, uint64_t address,
			      bool exact, const struct reel_frame *frames, size_t n,
			      struct chain **ret)
{
	struct reel_frame *copies;
	struct chain *chain;

	if ((table->count + 1) * 3 > table->n_slots * 2) {
		struct reel_error *error = grow(table);

		if (error)
			return error;
	}
	chain = malloc(sizeof(*chain) + n * (sizeof(*frames) + sizeof(*chain->frames)));
	if (!chain)
		return reel_error_no_memory();
	copies = (struct reel_frame *)(chain + 1);
	memcpy(copies, frames, n * sizeof(*frames));
	chain->frames = (const struct reel_frame **)(copies + n);
	for (size_t i = 0; i < n; i++) {
		struct reel_error *error = identify(table, &copies[i]);

		if (error) {
			free(chain);
			return error;
		}
		copies[i].exact = exact;
		chain->frames[i] = &copies[i];
	}
	chain->module = module;
	chain->counted = NULL;
	chain->is_interrupt = false;
	chain->address = address;
	chain->exact = exact;
	chain->n = n;
	table->slots[slot_of((const struct chain *const *)table->slots, table->n_slots, module,
			     address, exact)] = chain;
	table->count++;
	*ret = chain;
	return NULL;
}

/* The frames of an address in a module whose files are there. */
static struct reel_error *symbolize(struct reel_frame_table *table,
				    const struct reel_module *module, uint64_t address, bool exact,
				    struct chain **ret)
{
	const struct reel_symbol_frame *symbols;
	const char *path =
		reel_texts_add(table->texts, module->record->path.data, module->record->path.size);
	_cleanup_free_ struct reel_frame *frames = NULL;
	struct reel_error *error;
	size_t n;

	error = reel_symbolizer_look_up(module->symbolizer, exact ? address : address - 1, &symbols,
					&n);
	if (error)
		return error;
	frames = calloc(n, sizeof(*frames));
	if (!frames || !path)
		return reel_error_no_memory();
	for (size_t i = 0; i < n; i++) {
		frames[i] = (struct reel_frame){
			.function = symbols[i].function,
			.inlined = symbols[i].inlined,
			.file = symbols[i].file,
			.line = symbols[i].line,
			.column = symbols[i].column,
			/* Of the address itself, where another byte decided the function. */
			.function_offset = symbols[i].function_offset + !exact,
			.module_address = address,
			.module_path = path,
			.module_id = module->record->id,
		};
	}
	return add(table, module, address, exact, frames, n, ret);
}

/* No file is known: the address is all there is to say. */
static struct reel_error *anonymous(struct reel_frame_table *table,
				    const struct reel_module *module, uint64_t address, bool exact,
				    struct chain **ret)
{
	struct reel_frame frame = {
		.function = "",
		.file = "",
		.module_path = "",
		.module_address = address,
	};

	if (module) {
		frame.module_id = module->record->id;
		frame.module_path = reel_texts_add(table->texts, module->record->path.data,
						   module->record->path.size);
		if (!frame.module_path)
			return reel_error_no_memory();
	}
	return add(table, module, address, exact, &frame, 1, ret);
}

struct reel_error *reel_frame_table_user(struct reel_frame_table *table,
					 const struct reel_code_range *range, uint64_t address,
					 uint64_t lookup, struct reel_frame_chain *ret)
{
	uint64_t elf_address = address - range->bias;
	bool exact = address == lookup;
	struct chain *chain = find(table, range->module, elf_address, exact);
	struct reel_error *error = NULL;

	if (!chain) {
		bool has_files = range->module && range->module->symbolizer &&
				 (range->module->files.file || range->module->files.debug);

		error = has_files ? symbolize(table, range->module, elf_address, exact, &chain)
				  : anonymous(table, range->module, elf_address, exact, &chain);
		if (error)
			return error;
	}
	*ret = (struct reel_frame_chain){ .frames = chain->frames, .n = chain->n };
	return NULL;
}

/*
 * The outermost function has the capture's name, and its start: the same with
 * and without the file, which may have other names for the same function.
 */
static struct reel_error *kernel_frames(struct reel_frame_table *table,
					const struct reel_kernel_symbol *symbol,
					struct reel_module *module, uint64_t elf_lookup,
					uint64_t address, bool exact, struct chain **ret)
{
	const struct reel_symbol_frame *symbols;
	_cleanup_free_ struct reel_frame *frames = NULL;
	struct reel_error *error;
	size_t n;

	error = reel_symbolizer_look_up(module->symbolizer, elf_lookup, &symbols, &n);
	if (error)
		return error;
	frames = calloc(n, sizeof(*frames));
	if (!frames)
		return reel_error_no_memory();
	for (size_t i = 0; i < n; i++) {
		frames[i] = (struct reel_frame){
			.function = symbol && i + 1 == n ? symbol->name : symbols[i].function,
			.inlined = symbols[i].inlined,
			.kernel = true,
			.file = symbols[i].file,
			.line = symbols[i].line,
			.column = symbols[i].column,
			.function_offset = symbol ? address - symbol->address
						  : symbols[i].function_offset + !exact,
			.module_address = elf_lookup + !exact,
			.module_path = reel_texts_add(table->texts, module->record->path.data,
						      module->record->path.size),
			.module_id = module->record->id,
		};
		if (!frames[i].module_path)
			return reel_error_no_memory();
	}
	return add(table, symbol ? (const void *)symbol : table, address, exact, frames, n, ret);
}

/* Without a file: the capture's name is all there is. */
static struct reel_error *kernel_frame(struct reel_frame_table *table,
				       const struct reel_kernel_symbol *symbol, uint64_t address,
				       bool exact, struct chain **ret)
{
	struct reel_frame frame = {
		.function = symbol ? symbol->name : "",
		.kernel = true,
		.file = "",
		.function_offset = symbol ? address - symbol->address : 0,
		.module_address = address,
		.module_path = symbol && *symbol->module ? symbol->module : "[kernel]",
		.module_id = symbol ? symbol->module_id : 0,
	};

	return add(table, symbol ? (const void *)symbol : table, address, exact, &frame, 1, ret);
}

struct reel_error *reel_frame_table_kernel(struct reel_frame_table *table, uint64_t time,
					   uint64_t address, uint64_t lookup,
					   struct reel_frame_chain *ret)
{
	const struct reel_kernel_symbol *symbol =
		reel_kernel_symbols_find(table->kernel_symbols, lookup, time);
	bool exact = address == lookup, has_file;
	struct chain *chain = find(table, symbol ? (const void *)symbol : table, address, exact);
	struct reel_module *module;
	struct reel_error *error;
	uint64_t elf_lookup;

	if (!chain) {
		error = reel_kernel_code_find(table->kernel_code, symbol, lookup, &module,
					      &has_file, &elf_lookup);
		if (!error)
			error = has_file ? kernel_frames(table, symbol, module, elf_lookup, address,
							 exact, &chain)
					 : kernel_frame(table, symbol, address, exact, &chain);
		if (error)
			return error;
		chain->counted = module;
		chain->is_interrupt =
			symbol && reel_kernel_code_is_entry(table->kernel_code, symbol->name);
	}
	if (chain->counted)
		chain->counted->frames++;
	*ret = (struct reel_frame_chain){ chain->frames, chain->n, chain->is_interrupt };
	return NULL;
}
