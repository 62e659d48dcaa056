/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables shared by all threads of a profile. A table is an object of columns, each an array of all
 * rows.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/firefox.h"
#include "cli/print/json.h"
#include "cli/print/text.h"

/* ---- numbers ------------------------------------------------------------------------------- */

static uint32_t number_of(struct firefox_numbers *numbers, const char *first, const char *second,
			  bool *is_new)
{
	_cleanup_free_ char *key = memory_print("%s\n%s", first, second);
	const struct symbol *symbol = symbol_of_group(&numbers->keys, key);
	uintptr_t number = (uintptr_t)pointer_map_get(&numbers->numbers, symbol);

	*is_new = !number;
	if (!number) {
		number = ++numbers->count;
		pointer_map_put(&numbers->numbers, symbol, (void *)number);
	}
	return (uint32_t)number - 1;
}

uint32_t firefox_string(struct firefox *firefox, const char *text)
{
	bool is_new;
	uint32_t number = number_of(&firefox->string_numbers, text, "", &is_new);

	firefox->strings = memory_reserve(firefox->strings, &firefox->strings_capacity, number,
					  sizeof(*firefox->strings));
	if (is_new)
		firefox->strings[number] = text;
	return number;
}

static uint32_t source_of(struct firefox *firefox, const char *file)
{
	bool is_new;
	uint32_t number;

	if (!file)
		return FIREFOX_NONE;
	number = number_of(&firefox->source_numbers, file, "", &is_new);
	firefox->sources = memory_reserve(firefox->sources, &firefox->sources_capacity, number,
					  sizeof(*firefox->sources));
	if (is_new)
		firefox->sources[number] = firefox_string(firefox, file);
	return number;
}

/* ---- modules ------------------------------------------------------------------------------- */

static void find_first(void *context, const struct reel_file_segment *segment)
{
	uint64_t *begin = context;

	if (segment->address < *begin)
		*begin = segment->address;
}

/* 0, as for libraries, if the file is missing. */
static uint64_t begin_of(const struct reel_module_info *module)
{
	uint64_t begin = UINT64_MAX;

	if (module->kind == REEL_MODULE_FILE && *module->local_path)
		reel_error_destroy(reel_file_segments(module->local_path, find_first, &begin));
	return begin == UINT64_MAX ? 0 : begin;
}

static uint32_t lib_of(struct firefox *firefox, const struct session *session,
		       const struct reel_module_info *module)
{
	bool is_new;
	uint32_t number = number_of(&firefox->lib_numbers, module->path, module->build_id, &is_new);
	struct firefox_lib *lib;

	if (!is_new)
		return number;
	firefox->libs =
		memory_reserve(firefox->libs, &firefox->libs_capacity, number, sizeof(*lib));
	lib = &firefox->libs[number];
	*lib = (struct firefox_lib){
		.path = text_escape(module->path, ""),
		.debug_path = text_escape(*module->debug_path	? module->debug_path
					  : *module->local_path ? module->local_path
								: module->path,
					  ""),
		.build_id = text_escape(module->build_id, ""),
		.arch = session->info->arch,
		.big_endian = session->info->big_endian,
		.begin = begin_of(module),
	};
	/* Copy: the capture's strings are freed before the profile is written. */
	lib->arch = symbol_of_group(&firefox->stacks.texts, lib->arch)->name;
	lib->name = firefox_string(firefox, path_base(lib->path));
	return number;
}

static bool is_file(enum reel_module_kind kind)
{
	return kind != REEL_MODULE_ANONYMOUS && kind != REEL_MODULE_SPECIAL;
}

static enum firefox_category category_of(const struct stored_frame *frame,
					 const struct reel_module_info *module)
{
	if (frame->is_mark)
		return FIREFOX_OTHER;
	if (frame->symbol->kernel)
		return FIREFOX_KERNEL;
	if (frame->guessed)
		return FIREFOX_GUESSED;
	if (module && module->kind == REEL_MODULE_ANONYMOUS)
		return FIREFOX_JIT;
	return FIREFOX_USER;
}

/* An inlined function is the same function. */
static uint32_t function_of(struct firefox *firefox, const struct stored_frame *stored,
			    uint32_t lib)
{
	const struct symbol *symbol = stored->symbol;
	bool is_new;
	uint32_t number =
		number_of(&firefox->function_numbers, symbol->name, symbol->module, &is_new);
	struct firefox_function *function;

	firefox->functions = memory_reserve(firefox->functions, &firefox->functions_capacity,
					    number, sizeof(*firefox->functions));
	function = &firefox->functions[number];
	if (is_new)
		*function = (struct firefox_function){ firefox_string(firefox, symbol->name), lib,
						       FIREFOX_NONE };
	if (function->source == FIREFOX_NONE)
		function->source = source_of(firefox, stored->file);
	return number;
}

bool firefox_place_frames(struct firefox *firefox, struct session *session)
{
	const struct stack_store *stacks = &firefox->stacks;
	REEL_SIZED(reel_module_info, module);

	firefox->frames = memory_reserve(firefox->frames, &firefox->frames_capacity,
					 stacks->n_frames, sizeof(*firefox->frames));
	for (; firefox->n_frames < stacks->n_frames; firefox->n_frames++) {
		const struct stored_frame *stored = &stacks->frames[firefox->n_frames];
		struct firefox_frame *frame = &firefox->frames[firefox->n_frames];

		*frame = (struct firefox_frame){ .lib = FIREFOX_NONE, .symbol = FIREFOX_NONE };
		if (!stored->symbol)
			continue;
		if (!no_error(reel_capture_module(session->capture, stored->module_id, &module)))
			return false;
		if (module.id && is_file(module.kind))
			frame->lib = lib_of(firefox, session, &module);
		frame->category = category_of(stored, module.id ? &module : NULL);
		frame->function = function_of(firefox, stored, frame->lib);
	}
	return true;
}

/* ---- symbols --------------------------------------------------------------------------------- */

static int compare_symbols(const void *a, const void *b)
{
	const struct firefox_symbol *x = a, *y = b;

	if (x->lib != y->lib)
		return x->lib < y->lib ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

static uint64_t address_of(const struct firefox *firefox, size_t i)
{
	return firefox->stacks.frames[i].address - firefox->libs[firefox->frames[i].lib].begin;
}

/* The format's addresses in modules have 32 bits. */
static bool has_address(const struct firefox *firefox, size_t i)
{
	return firefox->frames[i].lib != FIREFOX_NONE && address_of(firefox, i) <= UINT32_MAX;
}

static void list_symbols(struct firefox *firefox)
{
	size_t n = 0;

	for (size_t i = 1; i < firefox->n_frames; i++) {
		const struct stored_frame *stored = &firefox->stacks.frames[i];

		if (!has_address(firefox, i) || stored->inline_depth || !stored->symbol->function)
			continue;
		firefox->symbols = memory_reserve(firefox->symbols, &firefox->symbols_capacity,
						  firefox->n_symbols, sizeof(*firefox->symbols));
		firefox->symbols[firefox->n_symbols++] = (struct firefox_symbol){
			firefox->frames[i].lib,
			firefox->functions[firefox->frames[i].function].name, stored->function_begin
		};
	}
	if (!firefox->n_symbols)
		return;
	qsort(firefox->symbols, firefox->n_symbols, sizeof(*firefox->symbols), compare_symbols);
	for (size_t i = 1; i < firefox->n_symbols; i++) {
		if (compare_symbols(&firefox->symbols[n], &firefox->symbols[i]))
			firefox->symbols[++n] = firefox->symbols[i];
	}
	firefox->n_symbols = n + 1;
}

void firefox_find_symbols(struct firefox *firefox)
{
	list_symbols(firefox);
	for (size_t i = 1; i < firefox->n_frames && firefox->n_symbols; i++) {
		struct firefox_symbol wanted = { .lib = firefox->frames[i].lib,
						 .begin =
							 firefox->stacks.frames[i].function_begin };
		const struct firefox_symbol *found = NULL;

		if (has_address(firefox, i))
			found = bsearch(&wanted, firefox->symbols, firefox->n_symbols,
					sizeof(wanted), compare_symbols);
		if (found)
			firefox->frames[i].symbol = (uint32_t)(found - firefox->symbols);
	}
}

/* ---- output -------------------------------------------------------------------------------- */

static void print_text(const struct firefox *firefox, const char *text)
{
	json_escaped_text(text, firefox->file);
}

static void print_index(const struct firefox *firefox, size_t i)
{
	fprintf(firefox->file, "%zu", i);
}

static void print_string(const struct firefox *firefox, size_t i)
{
	print_text(firefox, firefox->strings[i]);
}

static void print_symbol_address(const struct firefox *firefox, size_t i)
{
	const struct firefox_symbol *symbol = &firefox->symbols[i];

	fprintf(firefox->file, "%" PRIu64, symbol->begin - firefox->libs[symbol->lib].begin);
}

/* Frames and nodes count from 1. */
static void print_frame_address(const struct firefox *firefox, size_t i)
{
	if (has_address(firefox, i + 1))
		fprintf(firefox->file, "%" PRIu64, address_of(firefox, i + 1));
	else
		fputs_unlocked("-1", firefox->file);
}

/* A column has a print function; or a number of each row's struct; or the same text in all rows. */
struct column {
	const char *name;
	void (*print)(const struct firefox *firefox, size_t i);
	const void *rows;
	size_t size, offset; /* of a row, and of the uint32_t in it */
	uint32_t first;	     /* what numbers count from */
	const char *text;    /* with numbers: in place of `none` */
	uint32_t none;
};

#define NUMBERS(array, field)                                                                      \
	.rows = (array), .size = sizeof(*(array)), .offset = offsetof(__typeof__(*(array)), field)

static void print_number(const struct column *column, size_t i, FILE *file)
{
	uint32_t number;

	memcpy(&number, (const char *)column->rows + i * column->size + column->offset,
	       sizeof(number));
	if (column->text && number == column->none)
		fputs_unlocked(column->text, file);
	else
		fprintf(file, "%" PRIu32, number - column->first);
}

static void print_array(const struct firefox *firefox, const struct column *column, size_t n)
{
	FILE *file = firefox->file;

	fprintf(file, "\"%s\":[", column->name);
	for (size_t i = 0; i < n; i++) {
		if (i)
			fputc_unlocked(',', file);
		if (column->print)
			column->print(firefox, i);
		else if (column->rows)
			print_number(column, i, file);
		else
			fputs_unlocked(column->text, file);
	}
	fputc(']', file);
}

static void print_table(const struct firefox *firefox, const char *name,
			const struct column *columns, size_t n)
{
	fprintf(firefox->file, ",\n\"%s\":{\"length\":%zu", name, n);
	for (; columns->name; columns++) {
		fputs(",\n", firefox->file);
		print_array(firefox, columns, n);
	}
	fputc('}', firefox->file);
}

void firefox_print_shared(const struct firefox *firefox)
{
	const struct stack_store *stacks = &firefox->stacks;
	const struct firefox_function *functions = firefox->functions;
	const struct firefox_symbol *symbols = firefox->symbols;
	/* [0] of these is none. */
	const struct firefox_frame *frames = firefox->frames + 1;
	const struct stored_frame *stored = stacks->frames + 1;
	const struct stored_node *nodes = stacks->nodes + 1;
	const struct column strings = { "stringArray", .print = print_string };
	const struct column source_columns[] = { { "uuid", .text = "null" },
						 { "filename", .rows = firefox->sources,
						   .size = sizeof(*firefox->sources) },
						 { 0 } };
	/* Each lib has a resource. */
	const struct column resource_columns[] = { { "lib", .print = print_index },
						   { "name", NUMBERS(firefox->libs, name) },
						   { "host", .text = "null" },
						   { "type", .text = "1" },
						   { 0 } };
	const struct column symbol_columns[] = { { "libIndex", NUMBERS(symbols, lib) },
						 { "address", .print = print_symbol_address },
						 { "name", NUMBERS(symbols, name) },
						 { "functionSize", .text = "null" },
						 { 0 } };
	const struct column function_columns[] = {
		{ "name", NUMBERS(functions, name) },
		{ "isJS", .text = "false" },
		{ "relevantForJS", .text = "false" },
		{ "resource", NUMBERS(functions, lib), .text = "-1", .none = FIREFOX_NONE },
		{ "source", NUMBERS(functions, source), .text = "null", .none = FIREFOX_NONE },
		{ "lineNumber", .text = "null" },
		{ "columnNumber", .text = "null" },
		{ 0 }
	};
	const struct column frame_columns[] = {
		{ "address", .print = print_frame_address },
		{ "inlineDepth", NUMBERS(stored, inline_depth) },
		{ "category", NUMBERS(frames, category) },
		{ "subcategory", .text = "0" },
		{ "func", NUMBERS(frames, function) },
		{ "nativeSymbol", NUMBERS(frames, symbol), .text = "null", .none = FIREFOX_NONE },
		{ "innerWindowID", .text = "0" },
		{ "line", NUMBERS(stored, line), .text = "null" },
		{ "column", NUMBERS(stored, column), .text = "null" },
		{ 0 }
	};
	const struct column node_columns[] = { { "frame", NUMBERS(nodes, frame), .first = 1 },
					       { "prefix", NUMBERS(nodes, parent), .first = 1,
						 .text = "null" },
					       { 0 } };

	fputs("\"shared\":{", firefox->file);
	print_array(firefox, &strings, firefox->string_numbers.count);
	print_table(firefox, "sources", source_columns, firefox->source_numbers.count);
	print_table(firefox, "resourceTable", resource_columns, firefox->lib_numbers.count);
	print_table(firefox, "nativeSymbols", symbol_columns, firefox->n_symbols);
	print_table(firefox, "funcTable", function_columns, firefox->function_numbers.count);
	print_table(firefox, "frameTable", frame_columns, stacks->n_frames - 1);
	print_table(firefox, "stackTable", node_columns, stacks->n_nodes - 1);
	fputc('}', firefox->file);
}

/*
 * Breakpad's name of a file: the first 16 bytes of the build-id, whose first 4, 2 and 2 are numbers
 * of the file's byte order, and "0", which is an age on Windows.
 */
static void print_breakpad_id(const struct firefox *firefox, const struct firefox_lib *lib)
{
	static const uint8_t order[] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	size_t size = strlen(lib->build_id) / 2;

	fputc('"', firefox->file);
	for (size_t i = 0; size && i < sizeof(order); i++) {
		size_t at = lib->big_endian ? i : order[i];
		char digits[3] = "00";

		if (at < size)
			memcpy(digits, lib->build_id + 2 * at, 2);
		for (size_t j = 0; j < 2; j++)
			fputc(digits[j] >= 'a' ? digits[j] - 'a' + 'A' : digits[j], firefox->file);
	}
	fputs(size ? "0\"" : "\"", firefox->file);
}

void firefox_print_libs(const struct firefox *firefox)
{
	FILE *file = firefox->file;

	fputs("\"libs\":[", file);
	for (size_t i = 0; i < firefox->lib_numbers.count; i++) {
		const struct firefox_lib *lib = &firefox->libs[i];
		const char *name = firefox->strings[lib->name];

		fprintf(file, "%s\n{\"arch\":\"%s\",\"name\":", i ? "," : "", lib->arch);
		print_text(firefox, name);
		fputs(",\"path\":", file);
		print_text(firefox, lib->path);
		fputs(",\"debugName\":", file);
		print_text(firefox, name);
		fputs(",\"debugPath\":", file);
		print_text(firefox, lib->debug_path);
		fputs(",\"breakpadId\":", file);
		print_breakpad_id(firefox, lib);
		fputs(",\"codeId\":", file);
		if (*lib->build_id)
			print_text(firefox, lib->build_id);
		else
			fputs("null", file);
		fputc('}', file);
	}
	fputs("]", file);
}

/* ---- from beginning to end ------------------------------------------------------------------- */

void firefox_tables_init(struct firefox *firefox)
{
	struct firefox_numbers *all[] = { &firefox->string_numbers, &firefox->lib_numbers,
					  &firefox->function_numbers, &firefox->source_numbers };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		symbol_table_init(&all[i]->keys, SYMBOLS_BY_FUNCTION);
}

void firefox_tables_free(struct firefox *firefox)
{
	struct firefox_numbers *all[] = { &firefox->string_numbers, &firefox->lib_numbers,
					  &firefox->function_numbers, &firefox->source_numbers };

	for (size_t i = 0; i < firefox->lib_numbers.count; i++) {
		free(firefox->libs[i].path);
		free(firefox->libs[i].debug_path);
		free(firefox->libs[i].build_id);
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		symbol_table_free(&all[i]->keys);
		pointer_map_free(&all[i]->numbers);
	}
	free(firefox->libs);
	free(firefox->strings);
	free(firefox->frames);
	free(firefox->functions);
	free(firefox->sources);
	free(firefox->symbols);
}
