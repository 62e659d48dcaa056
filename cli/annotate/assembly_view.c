/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/annotate/views.h"
#include "cli/print/text.h"
#include "cli/profile/symbols.h"
#include "cli/report/name_column.h"

/* The rest of x86's longest instructions is cut, as in other tools. */
#define BYTES_SHOWN 8
#define SHARE_WIDTH 8

/* Rows without samples are folded in functions with more rows than this, except this many next to a
 * row with samples, if it saves at least that many lines. */
#define UNFOLDED_MAX 500
#define FOLD_CONTEXT 12
#define FOLD_MIN     24

struct assembly {
	const struct view *view;
	const struct jumps *jumps;
	const struct output *output;
	int address_width;
	/* The last text printed above an instruction. */
	const struct row *last;
};

void share_print(const struct listing *listing, struct amount self, const struct output *output)
{
	if (!self.samples) {
		fprintf(output->file, "%*s", SHARE_WIDTH, "");
		return;
	}
	fprintf(output->file, "%s%7s%s ",
		color_of_share(output, percent_of(self.weight, listing->self.weight)),
		format_percent(self.weight, listing->self.weight).text, color_end(output));
}

/* ---- lines above instructions ------------------------------------------------------------- */

static bool is_same_line(const struct reel_function_place *a, const struct reel_function_place *b)
{
	return a->line == b->line && !strcmp(a->file, b->file);
}

static bool is_same_function(const struct row *a, const struct row *b)
{
	if (a->n_places != b->n_places)
		return false;
	for (size_t i = 0; i < a->n_places; i++) {
		if (strcmp(a->places[i].function, b->places[i].function) != 0 ||
		    (i && !is_same_line(&a->places[i], &b->places[i])))
			return false;
	}
	return true;
}

/* Cut to the terminal's width. */
static void print_above(const struct assembly *assembly, size_t row, const char *text, bool bold)
{
	const struct output *output = assembly->output;
	size_t used =
		SHARE_WIDTH + (size_t)assembly->address_width + 2 + assembly->jumps->lanes + 2;

	fprintf(output->file, "%*s", SHARE_WIDTH + assembly->address_width + 2, "");
	jumps_print(assembly->jumps, row, true, output);
	fprintf(output->file, " %s", bold ? color_bold(output) : color_dim(output));
	name_print(text, name_room(used, output), output);
	fprintf(output->file, "%s\n", color_end(output));
}

/* Each inlined call that did not contain the previous row, outermost first. */
static void print_functions(const struct assembly *assembly, size_t index)
{
	const struct row *row = &assembly->view->listing->rows[index];

	for (size_t i = row->n_places; i--;) {
		const struct reel_function_place *place = &row->places[i];
		_cleanup_free_ char *name = NULL, *text = NULL, *file = NULL;

		/* The function itself only where it continues after an inlined one. */
		if (!place->inlined && (row->n_places > 1 || !assembly->last))
			continue;
		name = text_escape(*place->function ? place->function : "[unknown]", "");
		if (place->inlined && i + 1 < row->n_places) {
			file = text_escape(path_base(row->places[i + 1].file), "");
			text = memory_print("%s (inlined at %s:%" PRIu32 "):", name,
					    *file ? file : "?", row->places[i + 1].line);
		} else {
			text = memory_print("%s:", name);
		}
		print_above(assembly, index, text, true);
	}
}

static void print_line(const struct assembly *assembly, size_t index)
{
	const struct row *row = &assembly->view->listing->rows[index];
	const struct source_file *file =
		source_file_get(assembly->view->sources, row->places[0].file);
	_cleanup_free_ char *line = source_line(file, row->places[0].line);
	_cleanup_free_ char *name = NULL, *text = NULL;

	if (!file || !row->places[0].line)
		return;
	name = text_escape(path_base(file->path), "");
	text = memory_print("%s:%" PRIu32 "%s%s", name, row->places[0].line, line ? "  " : "",
			    line ? line : "");
	print_above(assembly, index, text, false);
}

/* ---- instructions ------------------------------------------------------------------------- */

static void print_bytes(const struct row *row, FILE *file)
{
	size_t n = row->bytes && row->size < BYTES_SHOWN ? (size_t)row->size : BYTES_SHOWN;

	for (size_t i = 0; i < BYTES_SHOWN; i++) {
		if (row->bytes && i < n)
			fprintf(file, "%02x ", row->bytes[i]);
		else
			fputs("   ", file);
	}
	fputc(row->bytes && row->size > n ? '+' : ' ', file);
	fputc(' ', file);
}

static void print_unknown(const struct row *row, FILE *file)
{
	fputs(".byte  ", file);
	for (size_t i = 0; i < row->size; i++)
		fprintf(file, "%s0x%02x", i ? "," : " ", row->bytes[i]);
}

static void print_instruction(const struct assembly *assembly, size_t index)
{
	const struct row *row = &assembly->view->listing->rows[index];
	FILE *file = assembly->output->file;

	share_print(assembly->view->listing, row->self, assembly->output);
	fprintf(file, "%*" PRIx64 ": ", assembly->address_width, row->address);
	jumps_print(assembly->jumps, index, false, assembly->output);
	fputc(' ', file);
	if (assembly->view->shows_bytes)
		print_bytes(row, file);
	if (!row->bytes)
		fprintf(file, "[%s missing]\n", format_plural(row->size, "byte").text);
	else if (!*row->text) {
		print_unknown(row, file);
		if (row->has_target)
			fprintf(file, "  -> 0x%" PRIx64, row->target);
	} else {
		fputs(row->text, file);
	}
	if (row->bytes && row->target_name)
		fprintf(file, " <%s>", row->target_name);
	if (row->bytes)
		fputc('\n', file);
}

/* For each row, whether samples are in it or near it. */
static bool *rows_near_samples(const struct listing *listing)
{
	bool *near = memory_get(listing->n + 1);
	size_t since = FOLD_CONTEXT + 1;

	for (size_t i = 0; i < listing->n; i++) {
		since = listing->rows[i].self.samples ? 0 : since + 1;
		near[i] = since <= FOLD_CONTEXT;
	}
	since = FOLD_CONTEXT + 1;
	for (size_t i = listing->n; i--;) {
		since = listing->rows[i].self.samples ? 0 : since + 1;
		near[i] |= since <= FOLD_CONTEXT;
	}
	return near;
}

static void print_fold(const struct assembly *assembly, size_t row, size_t n)
{
	_cleanup_free_ char *text =
		memory_print("... %s without samples (see --all)",
			     format_plural(n, "instruction").text);

	print_above(assembly, row, text, false);
}

void assembly_print(const struct view *view, const struct jumps *jumps, const struct output *output)
{
	const struct listing *listing = view->listing;
	struct assembly assembly = { .view = view, .jumps = jumps, .output = output };
	uint64_t last = listing->n ? listing->rows[listing->n - 1].address : 0;
	bool folds = !view->shows_all && listing->n > UNFOLDED_MAX;
	_cleanup_free_ bool *near = folds ? rows_near_samples(listing) : NULL;

	for (; last; last >>= 4)
		assembly.address_width++;
	if (assembly.address_width < (int)strlen("ADDRESS"))
		assembly.address_width = (int)strlen("ADDRESS");
	fprintf(output->file, "%s%7s %*s  %*s %s%s\n", color_bold(output), "SELF %",
		assembly.address_width, "ADDRESS", (int)jumps->lanes + 1, "", "INSTRUCTION",
		color_end(output));
	for (size_t i = 0; i < listing->n; i++) {
		const struct row *row = &listing->rows[i];
		size_t end = i;

		while (near && end < listing->n && !near[end])
			end++;
		if (end - i >= FOLD_MIN) {
			print_fold(&assembly, i, end - i);
			assembly.last = &listing->rows[end - 1];
			i = end - 1;
			continue;
		}
		if (!assembly.last || !is_same_function(assembly.last, row))
			print_functions(&assembly, i);
		if (view->sources &&
		    (!assembly.last || !is_same_line(assembly.last->places, row->places)))
			print_line(&assembly, i);
		assembly.last = row;
		print_instruction(&assembly, i);
		if (output_is_broken(output))
			return;
	}
}
