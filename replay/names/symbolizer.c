/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "replay/dwarf/debug_info.h"
#include "replay/dwarf/embedded_lines.h"
#include "elf/go_table.h"
#include "elf/symbol_table.h"
#include "cfi/module_cfi.h"
#include "elf/demangle.h"
#include "replay/names/symbolizer.h"
#include "replay/values/variables.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "base/text.h"

/* Names and paths by their source pointer, so that each is demangled and interned once. */
struct known_text {
	const char *raw;
	const char *text;
	const char *linkage_name; /* if the name was demangled; else "" */
};

struct known_texts {
	struct known_text *all;
	size_t capacity;
	struct reel_hash_index index; /* by the address of `raw` */
};

struct reel_symbolizer {
	struct reel_elf_file *file, *debug;
	struct reel_symbolizer_options options;
	struct reel_cfi *cfi;		  /* NULL: none */
	struct reel_synthesis *synthesis; /* NULL: unknown instructions */
	struct reel_symbol_table *symbols;
	struct reel_symbol_table *variables; /* NULL until needed */
	bool debug_info_tried, image_info_tried, has_go;
	struct reel_debug_info *debug_info; /* NULL: none */
	struct reel_variables *values;	    /* NULL until needed */
	struct reel_debug_info *image_info; /* the image's, for values; NULL: none, or not needed */
	struct reel_go_table *go_table;	    /* NULL: none */
	struct reel_elf_file *image;	    /* the capture's image of the file; NULL: none */
	struct reel_embedded_lines *lines;  /* of the image; NULL: none */
	/* Of the image, if it is not the file itself. */
	struct reel_symbol_table *image_symbols;
	struct reel_error *problem;
	struct reel_texts *texts;
	uint64_t texts_left; /* bytes */
	uint64_t steps_left; /* of demangling */
	struct known_texts names, ada_names, stubs, paths;
	struct reel_symbol_frame *frames;
	size_t frames_capacity;
};

/*
 * A file can have any number of names that are suffixes of one string or in one directory.  Real
 * names are a small part of the file, and few of them are looked up.
 */
#define TEXTS_TIMES 4
#define TEXTS_FREE  (16u << 20)

/* Similarly: 310,000 names of LLVM, node, boost and others take 2.4 demangling steps per byte. */
#define STEPS_TIMES 32
#define STEPS_FREE  (1u << 20)

/* Limit of nested inlined functions at one address: compilers make a few tens.  More would be
 * pages of output for one sample. */
#define INLINED_MAX 256

struct reel_error *reel_symbolizer_create(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_symbolizer_options *options,
					  struct reel_symbolizer **ret)
{
	struct reel_symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	uint64_t size;

	if (!symbolizer)
		return reel_error_no_memory();
	symbolizer->file = file;
	symbolizer->debug = debug;
	size = (file ? reel_elf_file_size(file) : 0) + (debug ? reel_elf_file_size(debug) : 0);
	symbolizer->texts_left = TEXTS_FREE + TEXTS_TIMES * size;
	symbolizer->steps_left = STEPS_FREE + STEPS_TIMES * size;
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

void reel_symbolizer_set_code(struct reel_symbolizer *symbolizer, struct reel_cfi *cfi,
			      struct reel_synthesis *synthesis)
{
	symbolizer->cfi = cfi;
	symbolizer->synthesis = synthesis;
}

void reel_symbolizer_set_image(struct reel_symbolizer *symbolizer, struct reel_elf_file *image)
{
	symbolizer->image = image;
	if (image && image != symbolizer->file)
		symbolizer->steps_left += STEPS_TIMES * reel_elf_file_size(image);
}

static void free_known(struct known_texts *known)
{
	free(known->all);
	reel_hash_index_free(&known->index);
}

void reel_symbolizer_destroy(struct reel_symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	reel_embedded_lines_close(symbolizer->lines);
	reel_symbol_table_destroy(symbolizer->image_symbols);
	reel_symbol_table_destroy(symbolizer->symbols);
	reel_symbol_table_destroy(symbolizer->variables);
	reel_variables_destroy(symbolizer->values);
	reel_debug_info_close(symbolizer->image_info);
	reel_debug_info_close(symbolizer->debug_info);
	reel_go_table_close(symbolizer->go_table);
	reel_error_destroy(symbolizer->problem);
	reel_texts_destroy(symbolizer->texts);
	free_known(&symbolizer->names);
	free_known(&symbolizer->ada_names);
	free_known(&symbolizer->stubs);
	free_known(&symbolizer->paths);
	free(symbolizer->frames);
	free(symbolizer);
}

const char *reel_symbolizer_problem(const struct reel_symbolizer *symbolizer)
{
	if (symbolizer->problem)
		return reel_error_message(symbolizer->problem);
	return symbolizer->symbols ? reel_symbol_table_problem(symbolizer->symbols) : NULL;
}

static bool add_known(struct known_texts *known, const struct known_text *text)
{
	size_t n = known->index.n;

	if (!reel_array_reserve(&known->all, n, &known->capacity, sizeof(*text)) ||
	    !reel_hash_index_add(&known->index, (uintptr_t)text->raw, (uint32_t)n))
		return false;
	known->all[n] = *text;
	return true;
}

static struct reel_error *charge_texts(struct reel_symbolizer *symbolizer, size_t size)
{
	struct reel_elf_file *file = symbolizer->debug ? symbolizer->debug : symbolizer->file;

	if (size <= symbolizer->texts_left) {
		symbolizer->texts_left -= size;
		return NULL;
	}
	return reel_error_create(
		REEL_ERROR_CORRUPT,
		"%s: names of functions and source files take too much memory for a file of this "
		"size; select samples that do not need it (--pid, --comm)",
		reel_elf_file_path(file));
}

/* NULL: it stays mangled, as do all names once the file's took too much work. */
static char *demangle(struct reel_symbolizer *symbolizer, const char *name)
{
	long most = symbolizer->steps_left < REEL_DEMANGLE_STEPS ? (long)symbolizer->steps_left
								 : REEL_DEMANGLE_STEPS;
	long steps = most;
	char *text = most ? reel_demangle_within(name, &steps) : NULL;

	symbolizer->steps_left -= (uint64_t)(most - steps);
	if (!symbolizer->steps_left && !symbolizer->problem)
		symbolizer->problem =
			reel_error_create(REEL_ERROR_CORRUPT,
					  "%s: demangling takes too much work for a file of this "
					  "size; some names stay mangled",
					  reel_elf_file_path(symbolizer->debug ? symbolizer->debug
									       : symbolizer->file));
	return text;
}

/* The name for display: without the version of .symtab's "name@@VERSION", and demangled;
 * *linkage_ret is the mangled name, "" if it is the same. */
static const char *make_name(struct reel_symbolizer *symbolizer, const char *raw,
			     const char **linkage_ret)
{
	const char *at = strchr(raw, '@');
	size_t size = at && at != raw ? (size_t)(at - raw) : strlen(raw);
	const char *name = reel_texts_add(symbolizer->texts, raw, size);
	_cleanup_free_ char *demangled = NULL;

	if (name && !symbolizer->options.no_demangle)
		demangled = demangle(symbolizer, name);
	*linkage_ret = demangled ? name : "";
	return demangled ? reel_texts_add_string(symbolizer->texts, demangled) : name;
}

/* The name of a PLT stub, as objdump and gdb write it. */
static const char *make_stub_name(struct reel_symbolizer *symbolizer, const char *raw)
{
	const char *linkage_name, *name = make_name(symbolizer, raw, &linkage_name);
	_cleanup_free_ char *text = name ? reel_text_print("%s@plt", name) : NULL;

	return text ? reel_texts_add_string(symbolizer->texts, text) : NULL;
}

static const char *make_ada_name(struct reel_symbolizer *symbolizer, const char *raw,
				 const char **linkage_ret)
{
	_cleanup_free_ char *plain =
		symbolizer->options.no_demangle ? NULL : reel_demangle_ada(raw);

	if (!plain)
		return make_name(symbolizer, raw, linkage_ret);
	*linkage_ret = reel_texts_add_string(symbolizer->texts, raw);
	return *linkage_ret ? reel_texts_add_string(symbolizer->texts, plain) : NULL;
}

static const char *make_text(struct reel_symbolizer *symbolizer, const struct known_texts *known,
			     const char *raw, const char **linkage_ret)
{
	*linkage_ret = "";
	if (known == &symbolizer->names)
		return make_name(symbolizer, raw, linkage_ret);
	if (known == &symbolizer->ada_names)
		return make_ada_name(symbolizer, raw, linkage_ret);
	if (known == &symbolizer->stubs)
		return make_stub_name(symbolizer, raw);
	return reel_texts_add_string(symbolizer->texts, raw);
}

static struct reel_error *look_up_text(struct reel_symbolizer *symbolizer,
				       struct known_texts *known, const char *raw,
				       struct known_text *ret)
{
	uint32_t number;

	*ret = (struct known_text){ .text = "", .linkage_name = "" };
	if (!raw[0])
		return NULL;
	number = REEL_HASH_FIND(&known->index, (uintptr_t)raw, i, known->all[i].raw == raw);
	if (number != REEL_HASH_NONE) {
		*ret = known->all[number];
		return NULL;
	}
	ret->raw = raw;
	ret->text = make_text(symbolizer, known, reel_name_or_long(raw), &ret->linkage_name);
	if (!ret->text)
		return reel_error_no_memory();
	TRY(charge_texts(symbolizer, strlen(ret->text)));
	return add_known(known, ret) ? NULL : reel_error_no_memory();
}

static struct reel_error *look_up_name(struct reel_symbolizer *symbolizer,
				       struct known_texts *known, const char *raw,
				       struct reel_symbol_frame *frame)
{
	struct known_text name;

	TRY(look_up_text(symbolizer, known, raw, &name));
	frame->function = name.text;
	frame->linkage_name = name.linkage_name;
	return NULL;
}

/* The file with debug information; NULL: none. */
static struct reel_elf_file *debug_info_file(const struct reel_symbolizer *symbolizer)
{
	struct reel_elf_file *file = symbolizer->file, *debug = symbolizer->debug;

	if (debug && reel_elf_file_has_debug_info(debug))
		return debug;
	/* That of an image is for values only. */
	return file && !reel_elf_file_is_embedded(file) && reel_elf_file_has_debug_info(file)
		       ? file
		       : NULL;
}

/* Damaged debug information is a problem to report; only a lack of memory is an error. */
static struct reel_error *record_problem(struct reel_symbolizer *symbolizer,
					 struct reel_error *error)
{
	if (!error || reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	reel_error_destroy(symbolizer->problem);
	symbolizer->problem = error;
	return NULL;
}

static struct reel_error *open_lines(struct reel_symbolizer *symbolizer)
{
	struct reel_loaded_bytes section;

	if (!symbolizer->image ||
	    !reel_elf_file_section(symbolizer->image, REEL_EMBEDDED_LINES, &section))
		return NULL;
	return reel_error_prefix(
		reel_embedded_lines_open((struct reel_bytes){ section.bytes, section.size },
					 &symbolizer->lines),
		"%s", reel_elf_file_path(symbolizer->image));
}

/* Opens the DWARF, Go's own table, and the capture's image. */
static struct reel_error *open_debug_info(struct reel_symbolizer *symbolizer)
{
	struct reel_elf_file *file = symbolizer->file, *from = debug_info_file(symbolizer);
	struct reel_elf_file *alternate = from ? reel_elf_file_alternate(from) : NULL;

	symbolizer->debug_info_tried = true;
	TRY(record_problem(symbolizer, open_lines(symbolizer)));
	if (file)
		TRY(record_problem(symbolizer, reel_go_table_open(file, &symbolizer->go_table)));
	if (from)
		TRY(record_problem(symbolizer, reel_debug_info_open(from, file ? file : from,
								    symbolizer->options.search,
								    &symbolizer->debug_info)));
	symbolizer->has_go =
		symbolizer->go_table ||
		(symbolizer->debug_info && reel_debug_info_has_go(symbolizer->debug_info));
	/* Debug information without some of its sections is usable but less complete. */
	if (from && !symbolizer->problem)
		symbolizer->problem = reel_elf_file_section_error(from);
	if (alternate && !symbolizer->problem)
		symbolizer->problem = reel_elf_file_section_error(alternate);
	return NULL;
}

/* What debug information says of an address: its functions, innermost inlined first. */
struct found {
	const struct reel_debug_frame *frames;
	size_t n;
	uint64_t begin; /* of the outermost function; 0: unknown */
	/* Stored when the image was made, and includes the name of the function. */
	bool is_whole;
	bool is_cut; /* the innermost ones of too many are omitted */
	/* For a result that is not in debug information. */
	struct reel_debug_frame outermost;
};

/* Asks the image's lines, then the DWARF, then Go's table if the DWARF has no function. */
static struct reel_error *ask_debug_info(struct reel_symbolizer *symbolizer, uint64_t address,
					 struct found *ret)
{
	struct found by_go = { 0 };
	struct reel_error *error = NULL;

	if (!symbolizer->debug_info_tried)
		TRY(open_debug_info(symbolizer));
	if (symbolizer->lines)
		reel_embedded_lines_look_up(symbolizer->lines, address, &ret->frames, &ret->n,
					    &ret->begin);
	ret->is_whole = ret->n != 0;
	if (ret->is_whole)
		return NULL;
	if (symbolizer->debug_info)
		error = reel_debug_info_look_up(symbolizer->debug_info, address, &ret->frames,
						&ret->n, &ret->begin);
	if (error)
		return reel_error_prefix(error, "%s",
					 reel_elf_file_path(debug_info_file(symbolizer)));
	if (ret->begin || !symbolizer->go_table)
		return NULL;
	error = reel_go_table_look_up(symbolizer->go_table, address, &by_go.frames, &by_go.n,
				      &by_go.begin);
	if (error)
		return reel_error_prefix(error, "%s", reel_elf_file_path(symbolizer->file));
	if (by_go.n)
		*ret = by_go;
	return NULL;
}

/* Reports why inlined functions are missing (-gsplit-dwarf). */
static void record_split(struct reel_symbolizer *symbolizer)
{
	const char *problem = reel_debug_info_split_problem(symbolizer->debug_info);

	if (problem && !symbolizer->problem)
		symbolizer->problem = reel_error_create(REEL_ERROR_MISMATCH, "%s", problem);
}

static struct known_texts *names_of(struct reel_symbolizer *symbolizer,
				    const struct reel_debug_frame *frame)
{
	return frame->is_ada ? &symbolizer->ada_names : &symbolizer->names;
}

static struct reel_error *make_frame(struct reel_symbolizer *symbolizer,
				     const struct reel_debug_frame *from,
				     struct reel_symbol_frame *ret)
{
	struct known_text file;

	TRY(look_up_name(symbolizer, names_of(symbolizer, from), from->function, ret));
	TRY(look_up_text(symbolizer, &symbolizer->paths, from->file, &file));
	ret->file = file.text;
	ret->line = from->line;
	ret->column = from->column;
	ret->debug_name = from->linkage_name ? from->linkage_name : "";
	ret->function_line = from->function_line;
	ret->discriminator = from->discriminator;
	return NULL;
}

/* Without FDEs, the code shows where a symbol ends. */
static bool reaches(const struct reel_symbolizer *symbolizer, const struct reel_symbol *symbol,
		    uint64_t address)
{
	switch (reel_symbol_reach(symbol, address, symbolizer->cfi)) {
	case REEL_SYMBOL_REACHES:
		return true;
	case REEL_SYMBOL_ENDS_BEFORE:
		return false;
	case REEL_SYMBOL_ASK_CODE:
		break;
	}
	return !symbolizer->synthesis || !reel_symbol_table_is_partial(symbolizer->symbols) ||
	       reel_synthesis_holds(symbolizer->synthesis, symbol->address, address);
}

/* The symbol with an address; NULL: none. */
static struct reel_error *find_symbol(struct reel_symbolizer *symbolizer, uint64_t address,
				      const struct reel_symbol **ret)
{
	struct reel_elf_file *image = symbolizer->image;

	if (!symbolizer->symbols)
		TRY(reel_symbol_table_create(symbolizer->file, symbolizer->debug,
					     &symbolizer->symbols));
	if (image && image != symbolizer->file && !symbolizer->image_symbols)
		TRY(reel_symbol_table_create(NULL, image, &symbolizer->image_symbols));
	*ret = symbolizer->image_symbols
		       ? reel_symbol_table_find(symbolizer->image_symbols, address)
		       : NULL;
	/* A symbol without a size is also in the file, whose code shows where it ends. */
	if (*ret && (*ret)->sized)
		return NULL;
	*ret = reel_symbol_table_find(symbolizer->symbols, address);
	if (*ret && !reaches(symbolizer, *ret, address))
		*ret = NULL;
	return NULL;
}

/* The outermost function has no name. */
static void set_fde(const struct reel_symbolizer *symbolizer, uint64_t address,
		    struct reel_symbol_frame *frame)
{
	uint64_t begin, end;

	if (!symbolizer->cfi || !reel_cfi_function_at(symbolizer->cfi, address, &begin, &end))
		return;
	frame->function_offset = address - begin;
	frame->is_fde = true;
}

/* An embedded image has stubs as ordinary symbols. */
static bool is_stub(const struct reel_symbol *symbol)
{
	size_t size = strnlen(symbol->name, REEL_NAME_MAX);

	return symbol->is_stub || (size > 4 && !memcmp(symbol->name + size - 4, "@plt", 4));
}

/* gcc's debug information has no linkage names of static functions. */
static struct reel_error *use_symbol_name(struct reel_symbolizer *symbolizer,
					  const struct reel_symbol *symbol,
					  struct known_texts *names,
					  struct reel_symbol_frame *frame)
{
	if (*frame->debug_name && strncmp(frame->debug_name, "_Z", 2) != 0 &&
	    !strncmp(symbol->name, "_Z", 2))
		frame->debug_name = symbol->name;
	return look_up_name(symbolizer, is_stub(symbol) ? &symbolizer->stubs : names, symbol->name,
			    frame);
}

/* Leaves at least one frame, and at most INLINED_MAX; without inlined calls, the outermost
 * function's name. */
static void choose_frames(const struct reel_symbolizer *symbolizer, struct found *found)
{
	if (found->n > INLINED_MAX && !symbolizer->options.no_inlines) {
		found->frames += found->n - INLINED_MAX;
		found->n = INLINED_MAX;
		found->is_cut = true;
	} else if (!found->n || symbolizer->options.no_inlines) {
		const struct reel_debug_frame *last =
			found->n ? &found->frames[found->n - 1] : NULL;

		found->outermost = (struct reel_debug_frame){
			.function = last ? last->function : "",
			.file = "",
			.is_ada = last && last->is_ada,
		};
		found->frames = &found->outermost;
		found->n = 1;
	}
}

/* The names and lines of all frames; the outermost one's name is the symbol's, unless NULL. */
static struct reel_error *make_frames(struct reel_symbolizer *symbolizer, const struct found *found,
				      const struct reel_symbol *symbol)
{
	static const struct reel_debug_frame more = { .function = "[more inlined functions]",
						      .file = "" };

	TRY(REEL_FIT(symbolizer->frames, found->n, symbolizer->frames_capacity));
	for (size_t i = 0; i < found->n; i++) {
		const struct reel_debug_frame *from = &found->frames[i];
		struct reel_symbol_frame *frame = &symbolizer->frames[i];

		TRY(make_frame(symbolizer, !i && found->is_cut ? &more : from, frame));
		frame->inlined = i + 1 < found->n;
		if (symbol && !frame->inlined)
			TRY(use_symbol_name(symbolizer, symbol, names_of(symbolizer, from), frame));
	}
	return NULL;
}

struct reel_error *reel_symbolizer_look_up(struct reel_symbolizer *symbolizer, uint64_t address,
					   const struct reel_symbol_frame **frames_ret,
					   size_t *n_ret)
{
	struct found found = { 0 };
	const struct reel_symbol *symbol = NULL;
	bool no_names = symbolizer->options.no_names;
	uint64_t begin, symbol_end;
	bool symbol_names_it;

	if (!no_names)
		TRY(find_symbol(symbolizer, address, &symbol));
	if (!no_names && (!symbolizer->options.no_inlines || !symbol)) {
		TRY(ask_debug_info(symbolizer, address, &found));
		if (symbolizer->debug_info)
			record_split(symbolizer);
	}
	choose_frames(symbolizer, &found);
	/* A function of the debug information is more certain than a symbol without a size. */
	symbol_names_it = symbol && !found.is_whole && (symbol->sized || !found.begin);
	TRY(make_frames(symbolizer, &found, symbol_names_it ? symbol : NULL));
	begin = symbol_names_it ? symbol->address : found.begin;
	symbol_end = symbol && symbol->sized && symbol->address == begin ? symbol->end : 0;
	for (size_t i = 0; i < found.n; i++) {
		symbolizer->frames[i].function_offset = begin ? address - begin : 0;
		symbolizer->frames[i].symbol_end = symbol_end;
		symbolizer->frames[i].is_fde = false;
	}
	if (!no_names && !symbolizer->frames[found.n - 1].function[0])
		set_fde(symbolizer, address, &symbolizer->frames[found.n - 1]);
	*frames_ret = symbolizer->frames;
	*n_ret = found.n;
	return NULL;
}

struct reel_error *reel_symbolizer_look_up_variable(struct reel_symbolizer *symbolizer,
						    uint64_t address, const char **ret,
						    uint64_t *offset_ret)
{
	const struct reel_symbol *symbol;
	struct known_text name;

	*ret = "";
	if (!symbolizer->variables)
		TRY(reel_symbol_table_create_data(symbolizer->file, symbolizer->debug,
						  &symbolizer->variables));
	symbol = reel_symbol_table_find(symbolizer->variables, address);
	if (!symbol)
		return NULL;
	TRY(look_up_text(symbolizer, &symbolizer->names, symbol->name, &name));
	*ret = name.text;
	*offset_ret = address - symbol->address;
	return NULL;
}

static struct reel_error *open_image_info(struct reel_symbolizer *symbolizer)
{
	struct reel_elf_file *image = symbolizer->image;

	symbolizer->image_info_tried = true;
	if (symbolizer->debug_info || !image || !reel_elf_file_has_debug_info(image))
		return NULL;
	TRY(record_problem(symbolizer,
			   reel_debug_info_open(image, image, NULL, &symbolizer->image_info)));
	symbolizer->has_go |=
		symbolizer->image_info && reel_debug_info_has_go(symbolizer->image_info);
	return NULL;
}

struct reel_error *reel_symbolizer_debug_info(struct reel_symbolizer *symbolizer,
					      struct reel_debug_info **ret)
{
	if (!symbolizer->debug_info_tried)
		TRY(open_debug_info(symbolizer));
	if (!symbolizer->image_info_tried)
		TRY(open_image_info(symbolizer));
	*ret = symbolizer->debug_info ? symbolizer->debug_info : symbolizer->image_info;
	return NULL;
}

struct reel_error *reel_symbolizer_variables(struct reel_symbolizer *symbolizer,
					     struct reel_variables **ret, bool *has_go_ret)
{
	struct reel_debug_info *info;

	TRY(reel_symbolizer_debug_info(symbolizer, &info));
	if (!symbolizer->values && info) {
		const struct reel_elf_file *from =
			symbolizer->debug_info ? debug_info_file(symbolizer) : symbolizer->image;

		TRY(reel_variables_create(info, reel_elf_file_size(from), &symbolizer->values));
		/* Of its sections, those that only values need are now open as well. */
		if (!symbolizer->problem && symbolizer->debug_info)
			symbolizer->problem = reel_elf_file_section_error(from);
	}
	*ret = symbolizer->values;
	*has_go_ret = symbolizer->has_go;
	return NULL;
}
