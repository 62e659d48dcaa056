/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"
#include "replay/names/frame_table.h"

/* The address to name. */
struct code_address {
	/* A struct reel_module; for kernel addresses, the symbol, or the table without one;
	 * for an interpreter's function, that; for a mark, its key. */
	const void *module;
	const struct reel_jit_symbol *jit; /* its name; NULL: the module's symbols name it */
	/* The program that made code without a name; NULL: the code is a file's. */
	const struct reel_record_module *program;
	uint64_t address;
	bool exact; /* looked up as is, not one byte less */
	/* As in struct reel_address_frames. */
	size_t module_index;
	bool is_interrupt;
};

/* Followed in memory by frames and the pointers to them. */
struct entry {
	struct code_address at;
	struct reel_address_frames found;
};

/* A function as reports count it: see reel_frame.function_id. */
struct function {
	const char *name; /* interned */
	uint64_t begin;	  /* if it has no name, else 0; an interpreter's: its line */
	uint64_t module;
	bool kernel, inlined, jit; /* jit: all code of the program of that name */
	const char *file;	   /* interned; NULL: not an interpreter's function */
	uint32_t id;
};

/* Open addressing; at most half full, so that searches are short and always end. */
struct slots {
	size_t mask; /* slots - 1, a power of two */
	struct slots *older;
	_Atomic(struct entry *) entries[];
};

struct reel_frame_table {
	const struct reel_kernel_symbol_map *kernel_symbols;
	/* Readers take no lock: an entry is complete before it is stored in a slot (release).
	 * Outgrown slots are kept until the end for readers that still use them. */
	_Atomic(struct slots *) slots;

	/* Protects everything below.  A module's names, or the kernel's, are looked up under a
	 * separate lock, which is taken first. */
	pthread_mutex_t lock;
	struct reel_texts *texts;
	size_t count;
	uint64_t frames_left;
	struct function *functions;
	size_t functions_capacity;
	struct reel_hash_index functions_index;
	uint32_t next_function_id;

	pthread_mutex_t kernel_lock;
	struct reel_kernel_code *kernel_code;
};

#define FIRST_SLOTS 4096

/*
 * Limits the frames by the size of the capture.  Each new address takes some bytes of the capture
 * and has three functions on average, but hostile debug information can give an address any number
 * of functions.
 */
#define FRAMES_FREE   (128u << 10)
#define FRAMES_A_BYTE 2

static struct slots *slots_create(size_t n)
{
	struct slots *slots = calloc(1, sizeof(*slots) + n * sizeof(slots->entries[0]));

	if (slots)
		slots->mask = n - 1;
	return slots;
}

struct reel_error *reel_frame_table_create(const struct reel_kernel_symbol_map *kernel_symbols,
					   struct reel_kernel_code *kernel_code, uint64_t file_size,
					   struct reel_frame_table **ret)
{
	struct reel_frame_table *table = calloc(1, sizeof(*table));
	struct slots *slots = slots_create(FIRST_SLOTS);

	if (!table || !slots) {
		free(table);
		free(slots);
		return reel_error_no_memory();
	}
	table->kernel_symbols = kernel_symbols;
	table->kernel_code = kernel_code;
	table->frames_left = FRAMES_FREE + FRAMES_A_BYTE * file_size;
	atomic_init(&table->slots, slots);
	pthread_mutex_init(&table->lock, NULL);
	pthread_mutex_init(&table->kernel_lock, NULL);
	table->texts = reel_texts_create();
	if (!table->texts) {
		reel_frame_table_destroy(table);
		return reel_error_no_memory();
	}
	*ret = table;
	return NULL;
}

void reel_frame_table_destroy(struct reel_frame_table *table)
{
	struct slots *slots, *older;

	if (!table)
		return;
	slots = atomic_load(&table->slots);
	for (size_t i = 0; i <= slots->mask; i++)
		free(atomic_load_explicit(&slots->entries[i], memory_order_relaxed));
	for (; slots; slots = older) {
		older = slots->older;
		free(slots);
	}
	free(table->functions);
	reel_hash_index_free(&table->functions_index);
	reel_texts_destroy(table->texts);
	pthread_mutex_destroy(&table->lock);
	pthread_mutex_destroy(&table->kernel_lock);
	free(table);
}

static size_t first_slot(const struct slots *slots, const struct code_address *at)
{
	uint64_t hash = (at->address ^ (uint64_t)(uintptr_t)at->module << 17 ^
			 (uint64_t)(uintptr_t)at->jit << 5 ^
			 (uint64_t)(uintptr_t)at->program << 11 ^ at->exact) *
			0x9e3779b97f4a7c15;

	return (hash >> 20) & slots->mask;
}

/* NULL if the address has no entry yet, or another thread is just adding it. */
static struct entry *find(const struct reel_frame_table *table, const struct code_address *at)
{
	const struct slots *slots = atomic_load_explicit(&table->slots, memory_order_acquire);
	size_t slot = first_slot(slots, at);
	struct entry *entry;

	while ((entry = atomic_load_explicit(&slots->entries[slot], memory_order_acquire)) &&
	       (entry->at.address != at->address || entry->at.module != at->module ||
		entry->at.jit != at->jit || entry->at.program != at->program ||
		entry->at.exact != at->exact))
		slot = (slot + 1) & slots->mask;
	return entry;
}

static void store(struct slots *slots, struct entry *entry)
{
	size_t slot = first_slot(slots, &entry->at);

	while (atomic_load_explicit(&slots->entries[slot], memory_order_relaxed))
		slot = (slot + 1) & slots->mask;
	atomic_store_explicit(&slots->entries[slot], entry, memory_order_release);
}

static struct reel_error *make_room(struct reel_frame_table *table)
{
	struct slots *old = atomic_load_explicit(&table->slots, memory_order_relaxed), *slots;

	if (table->count * 2 < old->mask)
		return NULL;
	slots = slots_create(4 * (old->mask + 1));
	if (!slots)
		return reel_error_no_memory();
	for (size_t i = 0; i <= old->mask; i++) {
		struct entry *entry = atomic_load_explicit(&old->entries[i], memory_order_relaxed);

		if (entry)
			store(slots, entry);
	}
	slots->older = old;
	atomic_store_explicit(&table->slots, slots, memory_order_release);
	return NULL;
}

static bool is_same_function(const struct function *a, const struct function *b)
{
	return a->name == b->name && a->begin == b->begin && a->module == b->module &&
	       a->kernel == b->kernel && a->inlined == b->inlined && a->jit == b->jit &&
	       a->file == b->file;
}

static struct reel_error *number_function(struct reel_frame_table *table,
					  const struct function *key, uint32_t *id_ret)
{
	uint64_t hash = (uint64_t)(uintptr_t)key->name ^ key->begin << 4 ^ key->module << 40 ^
			(uint64_t)key->inlined << 1 ^ key->kernel;
	size_t n = table->functions_index.n;
	uint32_t known = REEL_HASH_FIND(&table->functions_index, hash, i,
					is_same_function(&table->functions[i], key));

	if (known != REEL_HASH_NONE) {
		*id_ret = table->functions[known].id;
		return NULL;
	}
	if (!reel_array_reserve(&table->functions, n, &table->functions_capacity, sizeof(*key)) ||
	    !reel_hash_index_add(&table->functions_index, hash, (uint32_t)n))
		return reel_error_no_memory();
	table->functions[n] = *key;
	*id_ret = table->functions[n].id = table->next_function_id++;
	return NULL;
}

static bool intern(struct reel_frame_table *table, const char **text)
{
	if (**text)
		*text = reel_texts_add_string(table->texts, *text);
	return *text;
}

/* Interns the names and numbers the function. */
static struct reel_error *identify(struct reel_frame_table *table, struct reel_frame *frame)
{
	bool by_program = *frame->jit_program;
	struct function key;

	if (!*frame->function && !frame->is_fde && !by_program) {
		frame->function_id = table->next_function_id++;
		return NULL;
	}
	frame->function = reel_texts_add_string(table->texts, frame->function);
	if (!frame->function || !intern(table, &frame->linkage_name) ||
	    !intern(table, &frame->jit_program) || (frame->runtime && !intern(table, &frame->file)))
		return reel_error_no_memory();
	key = (struct function){ .name = by_program ? frame->jit_program : frame->function,
				 .begin = frame->is_fde
						  ? frame->module_address - frame->function_offset
						  : frame->function_line,
				 .file = frame->runtime ? frame->file : NULL,
				 .module = frame->module_id,
				 .kernel = frame->kernel,
				 .inlined = frame->inlined,
				 .jit = by_program };
	return number_function(table, &key, &frame->function_id);
}

/* Copies of `frames`, with the table's strings. */
static struct reel_error *make_entry(struct reel_frame_table *table,
				     const struct reel_frame *frames, size_t n, bool exact,
				     struct entry **ret)
{
	struct entry *entry;
	struct reel_frame *copies;
	const struct reel_frame **pointers;

	if (n > table->frames_left)
		return reel_error_create(
			REEL_ERROR_CORRUPT,
			"too many functions at different addresses for a capture of this size; "
			"select fewer samples (--pid, --comm, --time), or use --no-inline");
	table->frames_left -= n;
	entry = malloc(sizeof(*entry) + n * (sizeof(*frames) + sizeof(*pointers)));
	if (!entry)
		return reel_error_no_memory();
	copies = (struct reel_frame *)(entry + 1);
	memcpy(copies, frames, n * sizeof(*frames));
	pointers = (const struct reel_frame **)(copies + n);
	for (size_t i = 0; i < n; i++) {
		struct reel_error *error = identify(table, &copies[i]);

		if (error) {
			free(entry);
			return error;
		}
		copies[i].exact = exact;
		pointers[i] = &copies[i];
	}
	entry->found = (struct reel_address_frames){ .frames = pointers, .n = n };
	*ret = entry;
	return NULL;
}

/* Inserts an entry with copies of `frames`. */
static struct reel_error *add_entry(struct reel_frame_table *table, const struct code_address *at,
				    const struct reel_frame *frames, size_t n, struct entry **ret)
{
	struct reel_error *error;
	struct entry *entry;

	pthread_mutex_lock(&table->lock);
	error = make_room(table);
	if (!error)
		error = make_entry(table, frames, n, at->exact, &entry);
	if (!error) {
		entry->at = *at;
		entry->found.is_interrupt = at->is_interrupt;
		entry->found.module = at->module_index;
		store(atomic_load_explicit(&table->slots, memory_order_relaxed), entry);
		table->count++;
		*ret = entry;
	}
	pthread_mutex_unlock(&table->lock);
	return error;
}

/* The module's path as a string that lives with the table. */
static struct reel_error *intern_path(struct reel_frame_table *table, struct reel_module *module,
				      const char **ret)
{
	struct reel_bytes path = module->record->path;

	pthread_mutex_lock(&table->lock);
	if (!module->path)
		module->path = reel_texts_add(table->texts, path.data, path.size);
	*ret = module->path;
	pthread_mutex_unlock(&table->lock);
	return *ret ? NULL : reel_error_no_memory();
}

/* The frames of the code at `lookup` in a module's file; under the module's lock. */
static struct reel_error *file_frames(struct reel_frame_table *table, struct reel_module *module,
				      uint64_t lookup, bool exact, struct reel_frame **ret,
				      size_t *n_ret)
{
	const struct reel_symbol_frame *symbols;
	const char *path;

	TRY(intern_path(table, module, &path));
	TRY(reel_symbolizer_look_up(module->symbolizer, lookup, &symbols, n_ret));
	*ret = calloc(*n_ret, sizeof(**ret));
	if (!*ret)
		return reel_error_no_memory();
	for (size_t i = 0; i < *n_ret; i++) {
		(*ret)[i] = (struct reel_frame){
			.size = sizeof(**ret),
			.function = symbols[i].function,
			.linkage_name = symbols[i].linkage_name,
			.jit_program = "",
			.inlined = symbols[i].inlined,
			.is_fde = symbols[i].is_fde,
			.file = symbols[i].file,
			.line = symbols[i].line,
			.column = symbols[i].column,
			/* For the address itself, even if the byte before was looked up. */
			.function_offset = symbols[i].function_offset + !exact,
			.module_address = lookup + !exact,
			.module_path = path,
			.module_id = module->record->id,
		};
	}
	return NULL;
}

/* The frames of an address in a module with files; under the module's lock. */
static struct reel_error *symbolize(struct reel_frame_table *table, struct reel_module *module,
				    const struct code_address *at, struct entry **ret)
{
	_cleanup_free_ struct reel_frame *frames = NULL;
	size_t n;

	TRY(file_frames(table, module, at->address - !at->exact, at->exact, &frames, &n));
	return add_entry(table, at, frames, n, ret);
}

/* Takes a JIT's name and lines for its code. */
static void set_jit(struct reel_frame *frame, const struct reel_space_view *view,
		    const struct reel_jit_symbol *symbol, uint64_t address, bool exact)
{
	struct reel_jit_line line;

	frame->function = symbol->name;
	frame->function_offset = address - symbol->address;
	if (!reel_jit_symbol_line(view->timeline, symbol, exact ? address : address - 1, &line))
		return;
	frame->file = line.file;
	frame->line = line.line;
}

static struct reel_error *set_program(struct reel_frame_table *table, struct reel_frame *frame,
				      const struct reel_record_module *program)
{
	struct reel_bytes path = program->path;

	for (size_t i = path.size; i-- > 0;) {
		if (path.data[i] == '/') {
			path.size -= i + 1;
			path.data += i + 1;
			break;
		}
	}
	pthread_mutex_lock(&table->lock);
	frame->jit_program = reel_texts_add(table->texts, path.data, path.size);
	pthread_mutex_unlock(&table->lock);
	return frame->jit_program ? NULL : reel_error_no_memory();
}

/* Of which nothing is known. */
static const struct reel_frame nameless = {
	.size = sizeof(nameless),
	.function = "",
	.linkage_name = "",
	.jit_program = "",
	.file = "",
	.module_path = "",
};

/* Without a file, the frame has only the address, unless a JIT named it. */
static struct reel_error *anonymous(struct reel_frame_table *table, struct reel_module *module,
				    const struct reel_space_view *view, uint64_t address,
				    const struct code_address *at, struct entry **ret)
{
	struct reel_frame frame = nameless;

	frame.module_address = at->address;
	if (module) {
		frame.module_id = module->record->id;
		TRY(intern_path(table, module, &frame.module_path));
	}
	if (at->jit)
		set_jit(&frame, view, at->jit, address, at->exact);
	if (at->program)
		TRY(set_program(table, &frame, at->program));
	return add_entry(table, at, &frame, 1, ret);
}

/* Only one thread at a time names addresses of a module. */
static struct reel_error *name_user(struct reel_frame_table *table, struct reel_module *module,
				    const struct reel_space_view *view, uint64_t address,
				    const struct code_address *at, struct entry **ret)
{
	struct reel_error *error = NULL;
	pthread_mutex_t *lock = module ? module->naming : &table->kernel_lock;

	pthread_mutex_lock(lock);
	/* Another thread may have added it. */
	*ret = find(table, at);
	if (!*ret && !at->jit && module && module->symbolizer &&
	    (module->files.file || module->files.debug))
		error = symbolize(table, module, at, ret);
	else if (!*ret)
		error = anonymous(table, module, view, address, at, ret);
	pthread_mutex_unlock(lock);
	return error;
}

struct reel_error *reel_frame_table_user(struct reel_frame_table *table,
					 const struct reel_code_range *range,
					 const struct reel_space_view *jit,
					 const struct reel_record_module *program, uint64_t address,
					 uint64_t lookup, struct reel_address_frames *ret)
{
	const struct reel_jit_symbol *symbol = jit ? reel_space_view_jit_symbol(jit, lookup) : NULL;
	const struct code_address at = {
		.module = range->module,
		.jit = symbol,
		.program = symbol ? NULL : program,
		.address = address - range->bias,
		.exact = address == lookup,
		.module_index = range->module ? range->module->index : REEL_NO_MODULE,
	};
	struct entry *entry = find(table, &at);

	if (!entry)
		TRY(name_user(table, range->module, jit, address, &at, &entry));
	*ret = entry->found;
	return NULL;
}

/* A frame that is no code; `key` and `number` tell it from others. */
static struct reel_error *add_mark(struct reel_frame_table *table, const void *key, uint64_t number,
				   const struct reel_frame *frame, struct reel_address_frames *ret)
{
	const struct code_address at = {
		.module = key,
		.address = number,
		.exact = true,
		.module_index = REEL_NO_MODULE,
	};
	struct reel_error *error = NULL;
	struct entry *entry = find(table, &at);

	if (!entry) {
		pthread_mutex_lock(&table->kernel_lock);
		entry = find(table, &at);
		if (!entry)
			error = add_entry(table, &at, frame, 1, &entry);
		pthread_mutex_unlock(&table->kernel_lock);
	}
	if (!error)
		*ret = entry->found;
	return error;
}

struct reel_error *reel_frame_table_text(struct reel_frame_table *table, const char *text,
					 struct reel_address_frames *ret)
{
	struct reel_frame frame = nameless;

	frame.function = text;
	return add_mark(table, text, 0, &frame, ret);
}

/* What stands for functions without a name, and for the file of all. */
static const struct runtime_texts {
	const char *function, *module;
} runtime_texts[] = {
	[REEL_RUNTIME_NONE] = { "[interpreter function]", "[interpreter]" },
	[REEL_RUNTIME_PYTHON] = { "[python function]", "[python]" },
	[REEL_RUNTIME_RUBY] = { "[ruby function]", "[ruby]" },
};

struct reel_error *reel_frame_table_runtime(struct reel_frame_table *table, uint64_t runtime,
					    const struct reel_runtime_function *function,
					    uint32_t line, struct reel_address_frames *ret)
{
	const struct runtime_texts *texts =
		&runtime_texts[runtime <= REEL_RUNTIME_RUBY ? runtime : REEL_RUNTIME_NONE];
	struct reel_frame frame = nameless;

	frame.function = texts->function;
	frame.module_path = texts->module;
	frame.runtime = (enum reel_runtime_kind)(texts - runtime_texts);
	if (!function)
		return add_mark(table, texts, 0, &frame, ret);
	if (*function->name)
		frame.function = function->name;
	frame.file = function->file;
	frame.line = line;
	frame.function_line = function->line;
	return add_mark(table, function->first, line, &frame, ret);
}

/*
 * The outermost function gets its name and start from the capture, so that they are the same with
 * and without the file, which may name the function differently.
 */
static struct reel_error *kernel_frames(struct reel_frame_table *table,
					const struct reel_kernel_symbol *symbol,
					struct reel_module *module, uint64_t elf_lookup,
					const struct code_address *at, struct entry **ret)
{
	_cleanup_free_ struct reel_frame *frames = NULL;
	size_t n;

	TRY(file_frames(table, module, elf_lookup, at->exact, &frames, &n));
	for (size_t i = 0; i < n; i++) {
		frames[i].kernel = true;
		frames[i].is_fde = false;
		if (symbol)
			frames[i].function_offset = at->address - symbol->address;
	}
	if (symbol && n) {
		frames[n - 1].function = symbol->name;
		frames[n - 1].linkage_name = "";
	}
	return add_entry(table, at, frames, n, ret);
}

/* Without a file, only the capture's name is known. */
static struct reel_error *kernel_frame(struct reel_frame_table *table,
				       const struct reel_kernel_symbol *symbol,
				       const struct code_address *at, struct entry **ret)
{
	struct reel_frame frame = nameless;

	frame.kernel = true;
	frame.module_address = at->address;
	frame.module_path = symbol && *symbol->module ? symbol->module : "[kernel]";
	if (symbol) {
		frame.function = symbol->name;
		frame.function_offset = at->address - symbol->address;
		frame.module_id = symbol->module_id;
	}
	return add_entry(table, at, &frame, 1, ret);
}

/* Under the kernel's lock. */
static struct reel_error *name_kernel(struct reel_frame_table *table,
				      const struct reel_origin_capture *origin,
				      const struct reel_kernel_symbol *symbol, uint64_t lookup,
				      struct code_address *at, struct entry **ret)
{
	struct reel_module *module;
	struct reel_error *error;
	uint64_t elf_lookup;
	bool has_file;

	TRY(reel_kernel_code_find(table->kernel_code, origin, symbol, lookup, &module, &has_file,
				  &elf_lookup));
	if (module)
		at->module_index = module->index;
	at->is_interrupt = symbol && reel_kernel_code_is_entry(table->kernel_code, symbol->name);
	if (!has_file)
		return kernel_frame(table, symbol, at, ret);
	pthread_mutex_lock(module->naming);
	error = kernel_frames(table, symbol, module, elf_lookup, at, ret);
	pthread_mutex_unlock(module->naming);
	return error;
}

struct reel_error *reel_frame_table_kernel(struct reel_frame_table *table,
					   const struct reel_origin_capture *origin, uint64_t time,
					   uint64_t address, uint64_t lookup,
					   struct reel_address_frames *ret)
{
	const struct reel_kernel_symbol *symbol = reel_kernel_symbol_map_find(
		table->kernel_symbols, origin ? origin->id : 0, lookup, time);
	struct code_address at = {
		.module = symbol   ? (const void *)symbol
			  : origin ? (const void *)origin
				   : table,
		.address = address,
		.exact = address == lookup,
		.module_index = REEL_NO_MODULE,
	};
	struct entry *entry = find(table, &at);
	struct reel_error *error = NULL;

	if (!entry) {
		pthread_mutex_lock(&table->kernel_lock);
		entry = find(table, &at);
		if (!entry)
			error = name_kernel(table, origin, symbol, lookup, &at, &entry);
		pthread_mutex_unlock(&table->kernel_lock);
	}
	if (!error)
		*ret = entry->found;
	return error;
}
