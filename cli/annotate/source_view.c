/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/annotate/annotation.h"
#include "cli/print/text.h"
#include "cli/report/name_column.h"

/* Lines without code between two with some, that are shown still. */
#define GAP_MAX 8

#define NUMBER_WIDTH 6

struct line {
	const char *file; /* "": it is not known */
	uint32_t number;
	struct amount self;
};

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* Each line once, in order. */
static size_t collect_lines(const struct listing *listing, struct line *lines)
{
	size_t n = 0;

	for (size_t i = 0; i < listing->n; i++)
		lines[i] = (struct line){ .file = listing->rows[i].places[0].file,
					  .number = listing->rows[i].places[0].line,
					  .self = listing->rows[i].self };
	if (listing->n)
		qsort(lines, listing->n, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < listing->n; i++) {
		if (n && !compare_lines(&lines[n - 1], &lines[i]))
			amount_add(&lines[n - 1].self, lines[i].self);
		else
			lines[n++] = lines[i];
	}
	return n;
}

static void print_one(const struct view *view, const struct source_file *file, uint32_t number,
		      struct amount self, const struct output *output)
{
	_cleanup_free_ char *text = source_line(file, number);
	size_t used = 8 + NUMBER_WIDTH + 2;

	share_print(view->listing, self, output);
	fprintf(output->file, "%*" PRIu32 "%s", NUMBER_WIDTH, number, text && *text ? "  " : "");
	if (text)
		name_print(text, name_room(used, output), output);
	fputc('\n', output->file);
}

/* Lines [first, end) of one file. */
static void print_file(const struct view *view, const struct line *lines, size_t n,
		       const struct output *output)
{
	const struct source_file *file = source_file_get(view->sources, lines[0].file);
	_cleanup_free_ char *path = text_escape(*lines[0].file ? lines[0].file : "[no source]", "");
	uint32_t next = lines[0].number;

	fprintf(output->file, "\n%s%s%s\n", color_bold(output), path, color_end(output));
	for (size_t i = 0; i < n; i++) {
		if (!lines[i].number) {
			share_print(view->listing, lines[i].self, output);
			fprintf(output->file, "%*s\n", NUMBER_WIDTH, "[no line]");
			next = i + 1 < n ? lines[i + 1].number : 0;
			continue;
		}
		if (lines[i].number - next > GAP_MAX)
			fprintf(output->file, "%*s\n", 8 + NUMBER_WIDTH, "...");
		else
			for (; file && file->bytes && next < lines[i].number; next++)
				print_one(view, file, next, (struct amount){ 0 }, output);
		print_one(view, file, lines[i].number, lines[i].self, output);
		next = lines[i].number + 1;
	}
}

void source_print(const struct view *view, const struct output *output)
{
	const struct listing *listing = view->listing;
	_cleanup_free_ struct line *lines = memory_resize(NULL, listing->n + 1, sizeof(*lines));
	size_t n = collect_lines(listing, lines), end;

	fprintf(output->file, "\n%s%7s %*s  %s%s\n", color_bold(output), "SELF %", NUMBER_WIDTH,
		"LINE", "SOURCE", color_end(output));
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && !strcmp(lines[end].file, lines[i].file);)
			end++;
		print_file(view, lines + i, end - i, output);
	}
}
