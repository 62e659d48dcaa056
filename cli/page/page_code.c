/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/page/page_code.h"
#include "cli/print/json.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

/* Of text, before it is packed to a fourth or so. */
#define CODE_MAX (1u << 20)
/* Lines above and below one with samples. */
#define CONTEXT 8

/* ---- lines with samples --------------------------------------------------------------------- */

struct hot_line {
	size_t file; /* of page_code */
	uint32_t line;
	uint64_t samples;
};

struct hot_lines {
	struct hot_line *items;
	size_t n, capacity;
};

static int by_place(const void *a, const void *b)
{
	const struct hot_line *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static int by_samples(const void *a, const void *b)
{
	const struct hot_line *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return by_place(a, b);
}

static size_t file_number(struct page_code *code, struct pointer_map *known, const char *path)
{
	uintptr_t number = (uintptr_t)pointer_map_get(known, path);
	const struct source_file *source;
	struct page_code_file *file;

	if (number)
		return number - 1;
	/* Several strings may be the same path. */
	source = source_file_get(&code->sources, path);
	for (number = 0; number < code->n_files; number++) {
		if (code->files[number].source == source)
			break;
	}
	pointer_map_put(known, path, (void *)(number + 1));
	if (number < code->n_files)
		return number;
	code->files = memory_reserve(code->files, &code->files_capacity, code->n_files,
				     sizeof(*code->files));
	file = &code->files[code->n_files++];
	*file = (struct page_code_file){ .source = source };
	if (source->bytes)
		file->is_shown = memory_get((source->n_lines + 1) * sizeof(bool));
	return number;
}

static void collect(struct page_code *code, const struct flame_profile *profile,
		    struct hot_lines *lines)
{
	struct pointer_map known = { 0 };

	for (size_t i = 0; i < profile->n_events; i++) {
		const struct call_tree *tree = &profile->events[i].tree;

		for (uint32_t j = 1; j < tree->n_nodes; j++) {
			const struct flame_frame *frame = tree->nodes[j].key;

			if (!frame->line || !frame->file || !*frame->file)
				continue;
			lines->items = memory_reserve(lines->items, &lines->capacity, lines->n,
						      sizeof(*lines->items));
			lines->items[lines->n++] =
				(struct hot_line){ file_number(code, &known, frame->file),
						   frame->line, tree->nodes[j].total.samples };
		}
	}
	pointer_map_free(&known);
}

static void merge(struct hot_lines *lines)
{
	size_t n = 0;

	qsort(lines->items, lines->n, sizeof(*lines->items), by_place);
	for (size_t i = 0; i < lines->n; i++) {
		if (n && !by_place(&lines->items[n - 1], &lines->items[i]))
			lines->items[n - 1].samples += lines->items[i].samples;
		else
			lines->items[n++] = lines->items[i];
	}
	lines->n = n;
}

/* ---- choosing ------------------------------------------------------------------------------- */

static void show_around(struct page_code *code, const struct hot_line *hot)
{
	struct page_code_file *file = &code->files[hot->file];
	size_t first = hot->line > CONTEXT ? hot->line - CONTEXT : 1;
	size_t last = (size_t)hot->line + CONTEXT;

	if (last > file->source->n_lines)
		last = file->source->n_lines;
	for (size_t line = first; line <= last; line++) {
		if (!file->is_shown[line])
			code->bytes += file->source->lines[line] - file->source->lines[line - 1];
		file->is_shown[line] = true;
	}
}

void page_code_find(struct page_code *code, const struct session *session,
		    const struct string_list *folders, const struct flame_profile *profile)
{
	struct hot_lines lines = { 0 };

	*code = (struct page_code){ .sources.session = session };
	for (size_t i = 0; i < folders->count; i++)
		string_list_add(&code->sources.folders, folders->items[i]);
	collect(code, profile, &lines);
	if (lines.n) {
		merge(&lines);
		qsort(lines.items, lines.n, sizeof(*lines.items), by_samples);
	}
	for (size_t i = 0; i < lines.n; i++) {
		const struct page_code_file *file = &code->files[lines.items[i].file];

		if (!file->is_shown || lines.items[i].line > file->source->n_lines ||
		    file->is_shown[lines.items[i].line])
			continue;
		if (code->bytes >= CODE_MAX)
			code->omitted++;
		else
			show_around(code, &lines.items[i]);
	}
	free(lines.items);
}

void page_code_free(struct page_code *code)
{
	for (size_t i = 0; i < code->n_files; i++)
		free(code->files[i].is_shown);
	free(code->files);
	source_files_free(&code->sources);
}

/* ---- writing -------------------------------------------------------------------------------- */

void page_code_add(const struct page_code *code, struct columns *columns)
{
	struct column *files = column_make(columns, "codeFile");
	struct column *lines = column_make(columns, "codeLine");
	struct column *texts = column_make(columns, "codeText");

	for (size_t i = 0; i < code->n_files; i++) {
		const struct page_code_file *file = &code->files[i];
		_cleanup_free_ char *path = text_escape(file->source->path, "");
		uint32_t number = columns_text(columns, path);

		for (uint32_t line = 1; file->is_shown && line <= file->source->n_lines; line++) {
			_cleanup_free_ char *text = NULL;

			if (!file->is_shown[line])
				continue;
			text = source_line(file->source, line);
			column_append_difference(files, number);
			column_append_difference(lines, line);
			column_append_text(texts, text);
		}
	}
}

/* "[path, remark]" for each file that is missing, or newer than the recording. */
static void print_remarks(const struct page_code *code, FILE *file)
{
	const char *comma = "";

	for (size_t i = 0; i < code->n_files; i++) {
		const struct source_file *source = code->files[i].source;
		_cleanup_free_ char *path = text_escape(source->path, "");
		_cleanup_free_ char *why = text_escape(source->why ? source->why : "", "");
		_cleanup_free_ char *remark = memory_print("not found%s%s", *why ? ": " : "", why);

		if (source->bytes && !source->is_newer)
			continue;
		fprintf(file, "%s[", comma);
		json_escaped_text(path, file);
		fputc(',', file);
		json_escaped_text(source->bytes ? "newer than the recording" : remark, file);
		fputc(']', file);
		comma = ",";
	}
}

void page_code_print(const struct page_code *code, FILE *file)
{
	fprintf(file, "\"code\":{\"omitted\":%zu,\"remarks\":[", code->omitted);
	print_remarks(code, file);
	fputs("]},\n", file);
}

/* ---- instructions -------------------------------------------------------------------------- */

/* Of text, before it is packed to a tenth or so. */
#define INSTRUCTIONS_MAX (512u << 10)

void page_instructions_init(struct page_instructions *instructions)
{
	*instructions = (struct page_instructions){ 0 };
	/* Part of every name. */
	functions_init(&instructions->functions, "");
}

void page_instructions_free(struct page_instructions *instructions)
{
	for (size_t i = 0; i < instructions->n; i++)
		listing_free(&instructions->listings[i]);
	free(instructions->listings);
	free(instructions->symbols);
	functions_free(&instructions->functions);
}

void page_instructions_count(struct page_instructions *instructions, const struct reel_trace *trace,
			     const struct reel_event_info *event)
{
	struct functions *functions = &instructions->functions;

	if (!functions->whole.samples || profile_is_same_event(event, functions->event))
		functions_add(functions, trace, event);
}

/* ---- choosing instructions ------------------------------------------------------------------------------- */

/* 0 if no instruction is known. */
static size_t bytes_of(const struct listing *listing)
{
	size_t bytes = 0;

	for (size_t i = 0; i < listing->n; i++)
		bytes += strlen(listing->rows[i].text);
	return bytes;
}

static void keep(struct page_instructions *instructions, struct listing *listing,
		 const struct symbol *symbol)
{
	size_t bytes = bytes_of(listing);

	instructions->omitted += bytes && instructions->bytes + bytes > INSTRUCTIONS_MAX;
	if (!bytes || instructions->bytes + bytes > INSTRUCTIONS_MAX) {
		listing_free(listing);
		return;
	}
	instructions->bytes += bytes;
	instructions->listings = memory_reserve(instructions->listings, &instructions->capacity,
						instructions->n, sizeof(*instructions->listings));
	instructions->symbols =
		memory_reserve(instructions->symbols, &instructions->symbols_capacity,
			       instructions->n, sizeof(const struct symbol *));
	instructions->listings[instructions->n] = *listing;
	instructions->symbols[instructions->n++] = symbol;
}

void page_instructions_find(struct page_instructions *instructions, const struct session *session,
			    struct symbol_table *symbols)
{
	struct functions *functions = &instructions->functions;

	/* Sorted by their own samples, then. */
	for (size_t i = 0; i < functions->n; i++)
		functions->all[i]->fit = FIT_WHOLE;
	functions_finish(functions);
	for (size_t i = 0; i < functions->n && functions->all[i]->self.samples; i++) {
		const struct function *function = functions->all[i];
		struct listing listing;

		/* Every further listing would take its time, just to be left out. */
		if (instructions->omitted) {
			instructions->omitted++;
			continue;
		}
		if (listing_make(&listing, session, functions, function, false))
			keep(instructions, &listing, symbol_of_frame(symbols, function->frame));
		else
			listing_free(&listing);
	}
}

/* ---- writing instructions -------------------------------------------------------------------------------- */

static void append_row(struct column *texts, const struct row *row)
{
	_cleanup_free_ char *text = memory_print(
		"%s%s%s%s", *row->text ? row->text : "[no code]", row->target_name ? "  <" : "",
		row->target_name ? row->target_name : "", row->target_name ? ">" : "");

	column_append_text(texts, text);
}

void page_instructions_add(const struct page_instructions *instructions, struct columns *columns)
{
	struct column *names = column_make(columns, "listingName");
	struct column *modules = column_make(columns, "listingModule");
	struct column *begins = column_make(columns, "listingBegin");
	struct column *rows = column_make(columns, "listingRows");
	struct column *offsets = column_make(columns, "rowOffset");
	struct column *texts = column_make(columns, "rowText");
	struct column *weights = column_make(columns, "rowWeight");
	struct column *files = column_make(columns, "rowFile");
	struct column *lines = column_make(columns, "rowLine");

	for (size_t i = 0; i < instructions->n; i++) {
		const struct listing *listing = &instructions->listings[i];
		const struct symbol *symbol = instructions->symbols[i];
		/* As text: a script's numbers have fewer bits than the kernel's addresses. */
		_cleanup_free_ char *begin = memory_print("%" PRIx64, listing->info->begin);

		column_append_text(names, symbol->name);
		column_append_text(modules, symbol->module);
		column_append_text(begins, begin);
		column_append(rows, listing->n);
		for (size_t j = 0; j < listing->n; j++) {
			const struct row *row = &listing->rows[j];

			column_append_difference(offsets,
						 (int64_t)(row->address - listing->info->begin));
			append_row(texts, row);
			column_append_signed(weights, (int64_t)row->self.weight);
			column_append_raw_text(files, row->places[0].file);
			column_append_difference(lines, row->places[0].line);
		}
	}
}

void page_instructions_print(const struct page_instructions *instructions, FILE *file)
{
	fprintf(file, "\"instructions\":{\"whole\":%" PRIu64 ",\"omitted\":%zu},\n",
		instructions->functions.whole.weight, instructions->omitted);
}
