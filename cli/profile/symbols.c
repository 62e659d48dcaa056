/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/short_name.h"
#include "cli/print/text.h"
#include "cli/profile/stem.h"
#include "cli/profile/symbols.h"

#define FIRST_SIZE 256

void symbol_table_init(struct symbol_table *table, enum symbols_by by)
{
	*table = (struct symbol_table){
		.by = by,
		.n_buckets = FIRST_SIZE,
	};
	table->buckets = memory_get(table->n_buckets * sizeof(struct symbol *));
}

static void free_symbol(void *context, struct symbol *symbol)
{
	(void)context;
	free(symbol->name);
	free(symbol->module);
	free(symbol->short_name);
	free(symbol->course);
	free(symbol);
}

void symbol_table_free(struct symbol_table *table)
{
	symbol_table_visit(table, free_symbol, NULL);
	free(table->buckets);
	free(table->by_function);
	pointer_map_free(&table->by_frame);
	*table = (struct symbol_table){ 0 };
}

void symbol_table_visit(const struct symbol_table *table,
			void (*visit)(void *context, struct symbol *symbol), void *context)
{
	for (size_t i = 0; i < table->n_buckets; i++) {
		struct symbol *next;

		for (struct symbol *symbol = table->buckets[i]; symbol; symbol = next) {
			next = symbol->next;
			visit(context, symbol);
		}
	}
}

void symbol_table_forget_frames(struct symbol_table *table)
{
	free(table->by_function);
	table->by_function = NULL;
	table->n_functions = 0;
	pointer_map_free(&table->by_frame);
}

/* ---- by content ---------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	/* FNV-1a; the NUL keeps ("ab", "c") and ("a", "bc") apart. */
	do {
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
	} while (*text++);
	return hash;
}

static void grow_buckets(struct symbol_table *table)
{
	size_t n = table->n_buckets * 2;
	struct symbol **buckets = memory_get(n * sizeof(struct symbol *));

	for (size_t i = 0; i < table->n_buckets; i++) {
		struct symbol *next;

		for (struct symbol *symbol = table->buckets[i]; symbol; symbol = next) {
			next = symbol->next;
			symbol->next = buckets[symbol->hash & (n - 1)];
			buckets[symbol->hash & (n - 1)] = symbol;
		}
	}
	free(table->buckets);
	table->buckets = buckets;
	table->n_buckets = n;
}

int symbol_compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (!order)
		order = strcmp(x->module, y->module);
	if (!order)
		order = x->kernel - y->kernel;
	if (!order)
		order = x->inlined - y->inlined;
	if (!order)
		order = x->function - y->function;
	return order ? order : x->pseudo - y->pseudo;
}

/* Takes ownership of its strings. */
static struct symbol *symbol_add(struct symbol_table *table, const struct symbol *wanted)
{
	struct symbol *symbol = memory_get(sizeof(*symbol));

	if (table->count++ == table->n_buckets)
		grow_buckets(table);
	*symbol = *wanted;
	symbol->next = table->buckets[symbol->hash & (table->n_buckets - 1)];
	table->buckets[symbol->hash & (table->n_buckets - 1)] = symbol;
	return symbol;
}

const char *symbol_shown(const struct symbol *symbol, bool is_short)
{
	/* A cache, and no part of the symbol's identity. */
	char **cached = (char **)&symbol->short_name;

	if (!is_short || !symbol->function)
		return symbol->name;
	if (!*cached)
		*cached = short_name(symbol->name);
	return *cached;
}

static int compare_shown(const void *a, const void *b)
{
	const struct symbol *x = *(const struct symbol *const *)a;
	const struct symbol *y = *(const struct symbol *const *)b;
	int order = strcmp(symbol_shown(x, true), symbol_shown(y, true));

	if (!order)
		order = strcmp(x->module, y->module);
	return order ? order : strcmp(x->name, y->name);
}

static bool looks_like(const struct symbol *a, const struct symbol *b)
{
	return !strcmp(symbol_shown(a, true), symbol_shown(b, true)) &&
	       !strcmp(a->module, b->module);
}

void symbols_tell_apart(const struct symbol **symbols, size_t n)
{
	if (n)
		qsort(symbols, n, sizeof(*symbols), compare_shown);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && looks_like(symbols[i], symbols[end]);)
			end++;
		if (!strcmp(symbols[i]->name, symbols[end - 1]->name))
			continue;
		for (size_t j = i; j < end; j++) {
			struct symbol *symbol = (struct symbol *)symbols[j];

			free(symbol->short_name);
			symbol->short_name = memory_print("%s", symbol->name);
		}
	}
}

/* Takes ownership of the escaped strings in `wanted`. */
static struct symbol *symbol_intern(struct symbol_table *table, struct symbol wanted)
{
	struct symbol *symbol;

	wanted.hash = hash_text(hash_text(0xcbf29ce484222325, wanted.name), wanted.module);
	wanted.hash ^= wanted.hash >> 32;
	for (symbol = table->buckets[wanted.hash & (table->n_buckets - 1)]; symbol;
	     symbol = symbol->next) {
		if (symbol->hash == wanted.hash && symbol->inlined == wanted.inlined &&
		    symbol->kernel == wanted.kernel && symbol->pseudo == wanted.pseudo &&
		    symbol->function == wanted.function && !strcmp(symbol->name, wanted.name) &&
		    !strcmp(symbol->module, wanted.module)) {
			free(wanted.name);
			free(wanted.module);
			return symbol;
		}
	}
	return symbol_add(table, &wanted);
}

static void replace_semicolons(char *name)
{
	while ((name = strchr(name, ';')))
		*name = ':';
}

/* The same for symbols by name alone: takes ownership of `name`; with a mark. */
static struct symbol *symbol_by_name(struct symbol_table *table, char *name, const char *mark)
{
	struct symbol symbol = {
		.name = memory_print("%s%s", name, mark),
		.module = memory_print("%s", ""),
	};

	free(name);
	replace_semicolons(symbol.name);
	return symbol_intern(table, symbol);
}

static const char *mark_of(const struct symbol_table *table, const struct symbol_parts *parts)
{
	if (table->by != SYMBOLS_BY_NAME_ANNOTATED)
		return "";
	return parts->kernel ? "_[k]" : parts->inlined ? "_[i]" : "";
}

/* ---- by function ------------------------------------------------------------------------- */

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *module_name(const char *path)
{
	return strcmp(path, "//anon") ? path : "[JIT]";
}

static char *address_name(const struct reel_frame *frame)
{
	if (*frame->module_path)
		return memory_print("%s+0x%" PRIx64, path_base(module_name(frame->module_path)),
				    frame->module_address);
	return memory_print("[unknown]");
}

char *frame_name(const struct reel_frame *frame)
{
	/* Unlike a native function's, the name says little without the file. */
	if (frame->runtime && *frame->file)
		return frame->function_line
			       ? memory_print("%s (%s:%" PRIu32 ")", frame->function,
					      path_base(frame->file), frame->function_line)
			       : memory_print("%s (%s)", frame->function, path_base(frame->file));
	if (*frame->function)
		return memory_print("%s", frame->function);
	if (frame->is_fde)
		return memory_print("%s+0x%" PRIx64 " [fde]", path_base(frame->module_path),
				    frame->module_address - frame->function_offset);
	if (*frame->jit_program)
		return memory_print("JIT code of %s", frame->jit_program);
	return address_name(frame);
}

/* ---- by place ---------------------------------------------------------------------------- */

/* `path` up to its last slash. */
static char *folder_of(const char *path)
{
	return memory_print("%.*s", (int)(path_base(path) - path), path);
}

static struct symbol *line_make(struct symbol_table *table, const struct reel_frame *frame)
{
	_cleanup_free_ char *name = NULL, *where = NULL;

	if (*frame->file) {
		name = memory_print("%s:%" PRIu32, path_base(frame->file), frame->line);
		where = folder_of(frame->file);
		/* Without the slash, the folder's own name is shown. */
		if (strlen(where) > 1)
			where[strlen(where) - 1] = '\0';
	} else {
		_cleanup_free_ char *function = frame_name(frame);

		name = memory_print("%s [no line]", function);
		where = memory_print("%s", module_name(frame->module_path));
	}
	return symbol_intern(table, (struct symbol){ .kernel = frame->kernel,
						     .name = text_escape(name, ""),
						     .module = text_escape(where, "") });
}

static struct symbol *source_make(struct symbol_table *table, const struct reel_frame *frame)
{
	bool known = *frame->file;

	return symbol_intern(
		table,
		(struct symbol){
			.kernel = frame->kernel,
			.name = text_escape(known ? frame->file : "[no source]", ""),
			.module = text_escape(known ? "" : module_name(frame->module_path), "") });
}

static struct symbol *address_make(struct symbol_table *table, const struct reel_frame *frame)
{
	_cleanup_free_ char *function =
		*frame->jit_program ? address_name(frame) : frame_name(frame);
	_cleanup_free_ char *name = NULL, *where = NULL;

	if (frame->runtime)
		return line_make(table, frame);
	name = *frame->function ? memory_print("%s+0x%" PRIx64, function, frame->function_offset)
				: memory_print("%s", function);
	where = memory_print("%s+0x%" PRIx64, module_name(frame->module_path),
			     frame->module_address);
	return symbol_intern(table, (struct symbol){ .kernel = frame->kernel,
						     .inlined = frame->inlined,
						     .function = *frame->function,
						     .name = text_escape(name, ""),
						     .module = text_escape(where, "") });
}

static struct symbol *place_of_frame(struct symbol_table *table, const struct reel_frame *frame)
{
	struct symbol *symbol = pointer_map_get(&table->by_frame, frame);

	if (symbol)
		return symbol;
	symbol = table->by == SYMBOLS_BY_LINE	  ? line_make(table, frame)
		 : table->by == SYMBOLS_BY_SOURCE ? source_make(table, frame)
						  : address_make(table, frame);
	pointer_map_put(&table->by_frame, frame, symbol);
	return symbol;
}

/* ---- of frames ---------------------------------------------------------------------------- */

struct symbol *symbol_of_parts(struct symbol_table *table, const struct symbol_parts *parts)
{
	struct symbol symbol = { .kernel = parts->kernel };
	const char *module = module_name(parts->module);

	if (table->by == SYMBOLS_BY_MODULE) {
		symbol.name = text_escape(*module ? module : "[unknown]", "");
		symbol.module = memory_print("%s", "");
		return symbol_intern(table, symbol);
	}
	if (table->merges_parts && parts->function) {
		_cleanup_free_ char *whole = whole_function_of(parts->name);

		symbol.name = text_escape(whole, "");
	} else {
		symbol.name = text_escape(parts->name, "");
	}
	if (table->short_names && parts->function) {
		_cleanup_free_ char *full = symbol.name;

		symbol.name = short_name(full);
	}
	if (table->by != SYMBOLS_BY_FUNCTION)
		return symbol_by_name(table, symbol.name, mark_of(table, parts));
	symbol.module = text_escape(module, "");
	symbol.inlined = parts->inlined;
	symbol.function = parts->function;
	return symbol_intern(table, symbol);
}

static struct symbol *symbol_make(struct symbol_table *table, const struct reel_frame *frame)
{
	_cleanup_free_ char *name = frame_name(frame);
	const struct symbol_parts parts = {
		.name = name,
		.module = frame->module_path,
		.inlined = frame->inlined,
		.kernel = frame->kernel,
		.function = *frame->function && !frame->runtime,
	};

	return symbol_of_parts(table, &parts);
}

struct symbol *symbol_of_frame(struct symbol_table *table, const struct reel_frame *frame)
{
	struct symbol **symbol;

	if (table->by == SYMBOLS_BY_LINE || table->by == SYMBOLS_BY_SOURCE ||
	    table->by == SYMBOLS_BY_ADDRESS)
		return place_of_frame(table, frame);
	if (frame->function_id >= table->n_functions)
		table->by_function =
			memory_reserve_zeroed(table->by_function, &table->n_functions,
					      frame->function_id, sizeof(struct symbol *));
	symbol = &table->by_function[frame->function_id];
	if (!*symbol)
		*symbol = symbol_make(table, frame);
	return *symbol;
}

static bool is_by_name(const struct symbol_table *table)
{
	return table->by == SYMBOLS_BY_NAME || table->by == SYMBOLS_BY_NAME_ANNOTATED;
}

/* Takes ownership of `name`. */
static struct symbol *pseudo_symbol(struct symbol_table *table, char *name)
{
	struct symbol wanted = { .name = name, .pseudo = true };

	if (is_by_name(table))
		return symbol_by_name(table, name, "");
	wanted.module = memory_print("%s", "");
	return symbol_intern(table, wanted);
}

struct symbol *symbol_of_stop(struct symbol_table *table, enum reel_stop stop)
{
	if ((unsigned int)stop >= REEL_STOP_COUNT)
		stop = REEL_STOP_BAD_UNWIND_INFO;
	if (!table->stops[stop])
		table->stops[stop] = pseudo_symbol(
			table, memory_print("[incomplete: %s]", reel_stop_name(stop)));
	return table->stops[stop];
}

struct symbol *symbol_of_task(struct symbol_table *table)
{
	const struct symbol symbol = {
		.name = memory_print("%s", ""),
		.module = memory_print("%s", ""),
		.pseudo = !is_by_name(table),
		.hash = table->count * 0x9e3779b97f4a7c15,
	};

	return symbol_add(table, &symbol);
}

void symbol_name_task(const struct symbol_table *table, struct symbol *symbol, const char *name)
{
	free(symbol->name);
	symbol->name = text_escape(name, "");
	if (is_by_name(table))
		replace_semicolons(symbol->name);
}

struct symbol *symbol_of_group(struct symbol_table *table, const char *name)
{
	return pseudo_symbol(table, text_escape(*name ? name : "[unknown]", ""));
}
