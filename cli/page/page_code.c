/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/page/page_code.h"
#include "cli/print/json.h"
#include "cli/print/text.h"

/* Of text, before it is packed to a fourth or so. */
#define BYTES_MAX (1u << 20)
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
		if (code->bytes >= BYTES_MAX)
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

static uint32_t path_number(const struct page_code_file *file, struct page_strings *strings)
{
	_cleanup_free_ char *path = text_escape(file->source->path, "");

	return page_strings_get(strings, path);
}

void page_code_add(const struct page_code *code, struct page_strings *strings,
		   struct columns *columns)
{
	struct column files = { .name = "codeFile" }, lines = { .name = "codeLine" };
	struct column texts = { .name = "codeText" };

	for (size_t i = 0; i < code->n_files; i++) {
		const struct page_code_file *file = &code->files[i];
		uint32_t path = path_number(file, strings);

		for (uint32_t line = 1; file->is_shown && line <= file->source->n_lines; line++) {
			_cleanup_free_ char *text = NULL;

			if (!file->is_shown[line])
				continue;
			text = source_line(file->source, line);
			column_add_difference(&files, path);
			column_add_difference(&lines, line);
			column_add_difference(&texts, page_strings_get(strings, text));
		}
	}
	columns_add(columns, files);
	columns_add(columns, lines);
	columns_add(columns, texts);
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
