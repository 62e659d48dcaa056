/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/annotate/annotation.h"
#include "cli/print/text.h"
#include "cli/profile/symbols.h"
#include "cli/report/name_column.h"

/* ---- jumps -------------------------------------------------------------------------------------- */

/* Maximum number of parallel lines; a jump without a free lane is not drawn. */
#define JUMP_LANES_MAX 12

struct jump {
	size_t from, to; /* rows */
	uint8_t lane;	 /* 0: next to the instructions */
	bool drawn;
};

struct jumps {
	struct jump *all;
	size_t n;
	size_t left_out;
	unsigned int lanes; /* that are in use */
	/* For each row, bits of the lanes whose line runs through it, or ends in it. */
	uint16_t *through, *top, *bottom;
	bool *is_target, *is_source;
};

static size_t top_of(const struct jump *jump)
{
	return jump->from < jump->to ? jump->from : jump->to;
}

static size_t bottom_of(const struct jump *jump)
{
	return jump->from < jump->to ? jump->to : jump->from;
}

/* Short ones first: they get the inner lanes. */
static int compare_jumps(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;
	size_t p = bottom_of(x) - top_of(x), q = bottom_of(y) - top_of(y);

	if (p != q)
		return p < q ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* The search for a free lane takes as many steps as the jump is long, for each lane. */
#define STEPS_MAX 50000000

/* Bits of the lanes that are free from the jump's top to its bottom. */
static unsigned int free_lanes(const struct jumps *jumps, const struct jump *jump)
{
	unsigned int taken = 0;

	for (size_t i = top_of(jump); i <= bottom_of(jump); i++)
		taken |= jumps->through[i] | jumps->top[i] | jumps->bottom[i];
	return ~taken & ((1u << JUMP_LANES_MAX) - 1);
}

static void draw(struct jumps *jumps, struct jump *jump, unsigned int lanes)
{
	unsigned int lane = (unsigned int)__builtin_ctz(lanes);

	jump->lane = (uint8_t)lane;
	jump->drawn = true;
	if (lane >= jumps->lanes)
		jumps->lanes = lane + 1;
	jumps->top[top_of(jump)] |= (uint16_t)(1u << lane);
	jumps->bottom[bottom_of(jump)] |= (uint16_t)(1u << lane);
	for (size_t i = top_of(jump) + 1; i < bottom_of(jump); i++)
		jumps->through[i] |= (uint16_t)(1u << lane);
	jumps->is_source[jump->from] = true;
	jumps->is_target[jump->to] = true;
}

static void jumps_make(struct jumps *jumps, const struct listing *listing)
{
	size_t steps = 0, n = listing->n;

	*jumps = (struct jumps){
		.all = memory_resize(NULL, n + 1, sizeof(*jumps->all)),
		.through = calloc(n + 1, sizeof(uint16_t)),
		.top = calloc(n + 1, sizeof(uint16_t)),
		.bottom = calloc(n + 1, sizeof(uint16_t)),
		.is_target = calloc(n + 1, sizeof(bool)),
		.is_source = calloc(n + 1, sizeof(bool)),
	};
	memory_check(jumps->through);
	memory_check(jumps->top);
	memory_check(jumps->bottom);
	memory_check(jumps->is_target);
	memory_check(jumps->is_source);
	for (size_t i = 0; i < n; i++) {
		size_t to = listing->rows[i].target_row;

		if (to != SIZE_MAX && to != i)
			jumps->all[jumps->n++] = (struct jump){ .from = i, .to = to };
	}
	if (jumps->n)
		qsort(jumps->all, jumps->n, sizeof(*jumps->all), compare_jumps);
	for (size_t i = 0; i < jumps->n; i++) {
		struct jump *jump = &jumps->all[i];
		unsigned int lanes = 0;

		steps += bottom_of(jump) - top_of(jump);
		if (steps < STEPS_MAX)
			lanes = free_lanes(jumps, jump);
		if (lanes)
			draw(jumps, jump, lanes);
		else
			jumps->left_out++;
	}
}

static void jumps_free(struct jumps *jumps)
{
	free(jumps->all);
	free(jumps->through);
	free(jumps->top);
	free(jumps->bottom);
	free(jumps->is_target);
	free(jumps->is_source);
}

/* The mark drawn in a lane. */
enum mark {
	MARK_NOTHING,
	MARK_LINE,    /* from top to bottom */
	MARK_TOP,     /* it begins, and turns to the instruction */
	MARK_BOTTOM,  /* it ends, the same */
	MARK_PASSING, /* one of an outer lane on its way to the instruction */
	MARK_CROSSED, /* both */
	MARK_TARGET,
};

static void print_mark(enum mark mark, const struct output *output)
{
	static const char *const ascii[] = { " ", "|", ".", "'", "-", "+", ">" };
	static const char *const utf8[] = { " ", "│", "╭", "╰", "─", "┼", "▶" };

	fputs((output->utf8 ? utf8 : ascii)[mark], output->file);
}

/* Prints the `lanes` + 1 columns beside a row, or beside a line above it, where no jump ends. */
static void jumps_print(const struct jumps *jumps, size_t row, bool above,
			const struct output *output)
{
	unsigned int through = jumps->through[row], top = jumps->top[row],
		     bottom = jumps->bottom[row];
	bool passing = false;

	/* Above the row, lines from further up continue to it. */
	if (above) {
		through |= bottom;
		top = bottom = 0;
	}
	for (unsigned int lane = jumps->lanes; lane--;) {
		unsigned int bit = 1u << lane;

		if (top & bit || bottom & bit)
			print_mark(top & bit ? MARK_TOP : MARK_BOTTOM, output);
		else if (through & bit)
			print_mark(passing ? MARK_CROSSED : MARK_LINE, output);
		else
			print_mark(passing ? MARK_PASSING : MARK_NOTHING, output);
		passing |= ((top | bottom) & bit) != 0;
	}
	print_mark(!passing		   ? MARK_NOTHING
		   : jumps->is_target[row] ? MARK_TARGET
					   : MARK_PASSING,
		   output);
}

/* ---- instructions ------------------------------------------------------------------------------- */

/* The rest of x86's longest instructions is cut, as in other tools. */
#define BYTES_SHOWN 8

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
	_cleanup_free_ char *text = memory_print("... %s without samples (see --all)",
						 format_plural(n, "instruction").text);

	print_above(assembly, row, text, false);
}

void assembly_print(const struct view *view, const struct output *output)
{
	const struct listing *listing = view->listing;
	struct jumps jumps;
	struct assembly assembly = { .view = view, .jumps = &jumps, .output = output };
	uint64_t last = listing->n ? listing->rows[listing->n - 1].address : 0;
	bool folds = !view->shows_all && listing->n > UNFOLDED_MAX;
	_cleanup_free_ bool *near = folds ? rows_near_samples(listing) : NULL;

	for (; last; last >>= 4)
		assembly.address_width++;
	if (assembly.address_width < (int)strlen("ADDRESS"))
		assembly.address_width = (int)strlen("ADDRESS");
	jumps_make(&jumps, listing);
	if (jumps.left_out)
		fprintf(output->file, "# %s of %s jumps are hidden: more than %d in parallel\n",
			format_count(jumps.left_out).text, format_count(jumps.n).text,
			JUMP_LANES_MAX);
	fprintf(output->file, "\n%s%7s %*s  %*s %s%s\n", color_bold(output), "SELF %",
		assembly.address_width, "ADDRESS", (int)jumps.lanes + 1, "", "INSTRUCTION",
		color_end(output));
	for (size_t i = 0; i < listing->n && !output_is_broken(output); i++) {
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
	}
	jumps_free(&jumps);
}
