/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "replay/dwarf/debug_info.h"
#include "replay/elf/symbol_table.h"
#include "replay/symbolizer.h"
#include "base/text.h"

/* Names and paths by the pointer they were found at, so that each is demangled and interned once.
 */
struct known_text {
	const char *raw; /* NULL: free */
	const char *text;
};

struct known_texts {
	struct known_text *slots;
	size_t n, capacity; /* a power of two, at least twice n */
};

struct reel_symbolizer {
	struct reel_elf_file *file, *debug;
	struct reel_symbolizer_options options;
	struct reel_symbol_table *symbols;
	bool debug_info_tried;
	struct reel_debug_info *debug_info;
	struct reel_error *problem;
	struct reel_texts *texts;
	uint64_t texts_left; /* bytes */
	struct known_texts names, paths;
	struct reel_symbol_frame *frames;
	size_t frames_capacity;
};

/*
 * A file can have any number of names that are ends of one string, or lie in one directory.  Real
 * ones are a small part of the file, and few of them are asked for.
 */
#define TEXTS_TIMES 4
#define TEXTS_FREE  (16u << 20)

struct reel_error *reel_symbolizer_create(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_symbolizer_options *options,
					  struct reel_symbolizer **ret)
{
	struct reel_symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return reel_error_no_memory();
	symbolizer->file = file;
	symbolizer->debug = debug;
	symbolizer->texts_left = TEXTS_FREE;
	if (file)
		symbolizer->texts_left += TEXTS_TIMES * reel_elf_file_size(file);
	if (debug)
		symbolizer->texts_left += TEXTS_TIMES * reel_elf_file_size(debug);
	if (options)
		symbolizer->options = *options;
	symbolizer->texts = reel_texts_create();
	if (!symbolizer->texts) {
		free(symbolizer);
		return reel_error_no_memory();
	}
	*ret = symbolizer;
	return NULL;
}

void reel_symbolizer_destroy(struct reel_symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	reel_symbol_table_destroy(symbolizer->symbols);
	reel_debug_info_close(symbolizer->debug_info);
	reel_error_destroy(symbolizer->problem);
	reel_texts_destroy(symbolizer->texts);
	free(symbolizer->names.slots);
	free(symbolizer->paths.slots);
	free(symbolizer->frames);
	free(symbolizer);
}

const char *reel_symbolizer_problem(const struct reel_symbolizer *symbolizer)
{
	return symbolizer->problem ? reel_error_message(symbolizer->problem) : NULL;
}

/* The slot of `raw`, or the free one that it belongs into. */
static struct known_text *find_slot(const struct known_texts *known, const char *raw)
{
	/* Fibonacci hashing: neighbours in a string table are spread out. */
	size_t at = (size_t)((uint64_t)(uintptr_t)raw * 0x9e3779b97f4a7c15u >> 32);

	while (known->slots[at & (known->capacity - 1)].raw &&
	       known->slots[at & (known->capacity - 1)].raw != raw)
		at++;
	return &known->slots[at & (known->capacity - 1)];
}

static bool make_room(struct known_texts *known)
{
	struct known_texts grown = { .n = known->n };

	if (known->capacity > 2 * known->n)
		return true;
	grown.capacity = known->capacity ? 2 * known->capacity : 256;
	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < known->capacity; i++) {
		if (known->slots[i].raw)
			*find_slot(&grown, known->slots[i].raw) = known->slots[i];
	}
	free(known->slots);
	*known = grown;
	return true;
}

static struct reel_error *take_texts(struct reel_symbolizer *symbolizer, size_t size)
{
	struct reel_elf_file *file = symbolizer->debug ? symbolizer->debug : symbolizer->file;

	if (size <= symbolizer->texts_left) {
		symbolizer->texts_left -= size;
		return NULL;
	}
	return reel_error_create(REEL_ERROR_CORRUPT,
				 "%s: the names of functions and source files take more memory "
				 "than a file of its size can have; choose samples (--pid, "
				 "--comm) that do without it",
				 reel_elf_file_path(file));
}

/* As it is shown: without the version of .symtab's "name@@VERSION", and demangled. */
static const char *make_name(struct reel_symbolizer *symbolizer, const char *raw)
{
	const char *at = strchr(raw, '@');
	size_t size = at && at != raw ? (size_t)(at - raw) : strlen(raw);
	const char *name = reel_texts_add(symbolizer->texts, raw, size);
	_cleanup_free_ char *demangled = NULL;

	if (name && !symbolizer->options.no_demangle)
		demangled = reel_demangle(name);
	return demangled ? reel_texts_add_string(symbolizer->texts, demangled) : name;
}

static struct reel_error *look_up_text(struct reel_symbolizer *symbolizer,
				       struct known_texts *known, const char *raw, const char **ret)
{
	struct known_text *slot;

	if (!raw[0]) {
		*ret = "";
		return NULL;
	}
	if (!make_room(known))
		return reel_error_no_memory();
	slot = find_slot(known, raw);
	if (!slot->raw) {
		const char *shown = reel_name_or_long(raw);
		const char *text = known == &symbolizer->names
					   ? make_name(symbolizer, shown)
					   : reel_texts_add_string(symbolizer->texts, shown);
		struct reel_error *error =
			text ? take_texts(symbolizer, strlen(text)) : reel_error_no_memory();

		if (error)
			return error;
		slot->raw = raw;
		slot->text = text;
		known->n++;
	}
	*ret = slot->text;
	return NULL;
}

/* The file with debug information; NULL: there is none. */
static struct reel_elf_file *debug_info_file(const struct reel_symbolizer *symbolizer)
{
	struct reel_elf_file *file = symbolizer->file, *debug = symbolizer->debug;

	if (debug && reel_elf_file_has_debug_info(debug))
		return debug;
	return file && reel_elf_file_has_debug_info(file) ? file : NULL;
}

/* Damaged debug information is a problem to report; only a lack of memory is an error. */
static struct reel_error *open_debug_info(struct reel_symbolizer *symbolizer)
{
	struct reel_elf_file *file = symbolizer->file, *from = debug_info_file(symbolizer);
	struct reel_error *error;

	symbolizer->debug_info_tried = true;
	if (!from)
		return NULL;
	error = reel_debug_info_open(from, file ? file : from, &symbolizer->debug_info);
	if (error && reel_error_code(error) != REEL_ERROR_NO_MEMORY) {
		symbolizer->problem = error;
		return NULL;
	}
	return error;
}

/* Says why inlined functions are missing (-gsplit-dwarf). */
static void note_split(struct reel_symbolizer *symbolizer)
{
	const char *name = reel_debug_info_split_name(symbolizer->debug_info);

	if (name && !symbolizer->problem)
		symbolizer->problem = reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"debug information is in %s, which is not read (-gsplit-dwarf): there are "
			"lines, but inlined functions are missing",
			name[0] ? name : "a .dwo file");
}

static struct reel_error *room_for_frames(struct reel_symbolizer *symbolizer, size_t n)
{
	if (n <= symbolizer->frames_capacity)
		return NULL;
	free(symbolizer->frames);
	symbolizer->frames_capacity = 2 * n + 16;
	symbolizer->frames = calloc(symbolizer->frames_capacity, sizeof(*symbolizer->frames));
	if (symbolizer->frames)
		return NULL;
	symbolizer->frames_capacity = 0;
	return reel_error_no_memory();
}

static struct reel_error *make_frame(struct reel_symbolizer *symbolizer,
				     const struct reel_debug_frame *from,
				     struct reel_symbol_frame *ret)
{
	struct reel_error *error;

	error = look_up_text(symbolizer, &symbolizer->names, from->function, &ret->function);
	if (!error)
		error = look_up_text(symbolizer, &symbolizer->paths, from->file, &ret->file);
	ret->line = from->line;
	ret->column = from->column;
	return error;
}

struct reel_error *reel_symbolizer_look_up(struct reel_symbolizer *symbolizer, uint64_t address,
					   const struct reel_symbol_frame **frames_ret,
					   size_t *n_ret)
{
	static const struct reel_debug_frame nothing = { .function = "", .file = "" };
	const struct reel_debug_frame *from = &nothing;
	struct reel_debug_frame outermost = nothing;
	struct reel_error *error = NULL;
	const struct reel_symbol *symbol;
	uint64_t begin = 0;
	size_t n = 0;

	if (!symbolizer->symbols)
		error = reel_symbol_table_create(symbolizer->file, symbolizer->debug,
						 &symbolizer->symbols);
	if (error)
		return error;
	symbol = reel_symbol_table_find(symbolizer->symbols, address);
	if (!symbolizer->options.no_inlines || !symbol) {
		if (!symbolizer->debug_info_tried)
			error = open_debug_info(symbolizer);
		if (!error && symbolizer->debug_info)
			error = reel_debug_info_look_up(symbolizer->debug_info, address, &from, &n,
							&begin);
		if (error)
			return reel_error_prefix(error, "%s",
						 reel_elf_file_path(debug_info_file(symbolizer)));
		if (symbolizer->debug_info)
			note_split(symbolizer);
	}
	if (symbolizer->options.no_inlines && n) {
		/* What remains is the outermost function's name. */
		outermost.function = from[n - 1].function;
		from = &outermost;
		n = 1;
	}
	if (!n) {
		from = &nothing;
		n = 1;
	}
	error = room_for_frames(symbolizer, n);
	/* A function of the debug information is more certain than a symbol without a size. */
	if (symbol && (symbol->sized || !begin))
		begin = symbol->address;
	else
		symbol = NULL;
	for (size_t i = 0; !error && i < n; i++) {
		struct reel_symbol_frame *frame = &symbolizer->frames[i];

		error = make_frame(symbolizer, &from[i], frame);
		frame->inlined = i + 1 < n;
		frame->function_offset = begin ? address - begin : 0;
		if (!error && symbol && i + 1 == n)
			error = look_up_text(symbolizer, &symbolizer->names, symbol->name,
					     &frame->function);
	}
	if (error)
		return error;
	*frames_ret = symbolizer->frames;
	*n_ret = n;
	return NULL;
}
