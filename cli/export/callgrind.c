/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callgrind's format (version 1), for KCachegrind and callgrind_annotate: the cost of lines and of
 * their calls; docs/exports.md.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/export/stack_store.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

/*
 * Weights of an event's samples by node: first of samples that end there, later including all
 * below.
 */
struct cost_column {
	char *name, *unit; /* escaped */
	uint64_t *self, *total;
	size_t capacity;
	bool has_weights;
};

struct callgrind {
	FILE *file;
	struct stack_store stacks;
	char *command_line;
	struct cost_column *columns;
	size_t n_columns;
	struct pointer_map events;
	/* Number of samples by node, in place of the calls, which are not counted. */
	struct cost_column samples;
	const char **files;			    /* by function */
	struct pointer_map objects, sources, names; /* to their numbers */
	uintptr_t n_numbers;
};

/* A line of a function and its callee; a function is a symbol, or a recursive call of one. */
struct cost_line {
	uint32_t function, callee;
	const char *file;
	uint32_t line;
	uint32_t node, callee_frame;
};

#define NO_CALLEE 0u

/* ---- samples --------------------------------------------------------------------------------- */

static void *callgrind_open(const struct export_target *target)
{
	struct callgrind *callgrind = memory_get(sizeof(*callgrind));

	callgrind->file = target->file;
	stack_store_init(&callgrind->stacks);
	return callgrind;
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct callgrind *callgrind = state;

	(void)path;
	if (!callgrind->command_line)
		callgrind->command_line = text_escape(session->info->command_line, "");
	stack_store_begin_capture(&callgrind->stacks);
	pointer_map_free(&callgrind->events);
	return true;
}

/* Events of several captures are merged if name and unit match. */
static size_t column_of(struct callgrind *callgrind, const struct reel_event_info *event)
{
	_cleanup_free_ char *name = text_escape(event_name(event), "");
	_cleanup_free_ char *unit = text_escape(event ? event->weight_unit : "", "");
	uintptr_t number = event ? (uintptr_t)pointer_map_get(&callgrind->events, event) : 0;

	if (number)
		return number - 1;
	while (number < callgrind->n_columns &&
	       (strcmp(callgrind->columns[number].name, name) != 0 ||
		strcmp(callgrind->columns[number].unit, unit) != 0))
		number++;
	if (number == callgrind->n_columns) {
		callgrind->columns = memory_resize(callgrind->columns, ++callgrind->n_columns,
						   sizeof(*callgrind->columns));
		callgrind->columns[number] = (struct cost_column){ .name = name, .unit = unit };
		name = unit = NULL;
	}
	if (event)
		pointer_map_put(&callgrind->events, event, (void *)(number + 1));
	return number;
}

static void column_reserve(struct cost_column *column, size_t n_nodes)
{
	column->self = memory_reserve_zeroed(column->self, &column->capacity, n_nodes,
					     sizeof(*column->self));
}

static bool callgrind_add(void *state, const struct reel_trace *trace,
			  const struct reel_event_info *event)
{
	struct callgrind *callgrind = state;
	struct cost_column *column;
	uint32_t node;
	size_t number;

	if (!stack_store_add(&callgrind->stacks, trace, &node))
		return false;
	number = column_of(callgrind, event);
	column = &callgrind->columns[number];
	column_reserve(column, callgrind->stacks.n_nodes);
	column_reserve(&callgrind->samples, callgrind->stacks.n_nodes);
	/* Samples count as one each as long as none has a weight. */
	if (trace->weight && !column->has_weights)
		memset(column->self, 0, column->capacity * sizeof(*column->self));
	column->has_weights |= trace->weight != 0;
	column->self[node] += column->has_weights ? trace->weight : 1;
	callgrind->samples.self[node]++;
	return true;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void sum_up(const struct stack_store *stacks, struct cost_column *column)
{
	column_reserve(column, stacks->n_nodes);
	column->total = memory_resize(NULL, stacks->n_nodes, sizeof(*column->total));
	memcpy(column->total, column->self, stacks->n_nodes * sizeof(*column->total));
	/* Nodes follow their parents. */
	for (size_t i = stacks->n_nodes - 1; i; i--)
		column->total[stacks->nodes[i].parent] += column->total[i];
}

/* Each symbol is two functions, as with callgrind's --separate-recs=2: so that the cost of the
 * outermost recursive call counts once. */
static uint32_t function_of(const struct stack_store *stacks, uint32_t node)
{
	const struct stored_node *stored = &stacks->nodes[node];

	return 2 * stacks->frames[stored->frame].function + stored->is_recursive + 1;
}

static struct cost_line *list_lines(const struct callgrind *callgrind, size_t *n_ret)
{
	const struct stack_store *stacks = &callgrind->stacks;
	struct cost_line *lines = memory_resize(NULL, 2 * stacks->n_nodes, sizeof(*lines));
	size_t n = 0;

	for (uint32_t i = 1; i < stacks->n_nodes; i++) {
		uint32_t function = function_of(stacks, i), parent = stacks->nodes[i].parent;
		const struct stored_frame *frame = &stacks->frames[stacks->nodes[i].frame];
		const struct stored_frame *caller = &stacks->frames[stacks->nodes[parent].frame];

		if (callgrind->samples.self[i])
			lines[n++] = (struct cost_line){ function,    NO_CALLEE, frame->file,
							 frame->line, i,	 0 };
		/* Calls of a function by itself within its recursion would count its costs twice.
		 */
		if (parent && callgrind->samples.total[i] &&
		    function_of(stacks, parent) != function)
			lines[n++] = (struct cost_line){ function_of(stacks, parent),
							 function,
							 caller->file,
							 caller->line,
							 i,
							 stacks->nodes[i].frame };
	}
	*n_ret = n;
	return lines;
}

static int compare_places(const struct cost_line *x, const struct cost_line *y)
{
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->file != y->file)
		return strcmp(x->file ? x->file : "", y->file ? y->file : "");
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	return compare_places(a, b);
}

/* ---- output -------------------------------------------------------------------------------- */

/* Names are numbered and written once. */
static void print_name(struct callgrind *callgrind, const char *what, struct pointer_map *numbers,
		       const void *identity, const char *name, const char *suffix)
{
	uintptr_t number = (uintptr_t)pointer_map_get(numbers, identity);

	if (number) {
		fprintf(callgrind->file, "%s(%" PRIuPTR ")\n", what, number);
		return;
	}
	number = ++callgrind->n_numbers;
	pointer_map_put(numbers, identity, (void *)number);
	fprintf(callgrind->file, "%s(%" PRIuPTR ") %s%s\n", what, number, name, suffix);
}

static void print_object(struct callgrind *callgrind, const char *what, const struct symbol *symbol)
{
	const char *module = *symbol->module ? symbol->module : "???";

	print_name(callgrind, what, &callgrind->objects,
		   symbol_of_group(&callgrind->stacks.texts, module), module, "");
}

static void print_source(struct callgrind *callgrind, const char *what, const char *file)
{
	static const char unknown[] = "???";

	print_name(callgrind, what, &callgrind->sources, file ? file : unknown,
		   file ? file : unknown, "");
}

static void print_function(struct callgrind *callgrind, const char *what,
			   const struct symbol *symbol, uint32_t function)
{
	bool is_recursive = !(function & 1);
	static const char *const suffixes[2][2] = { { "", "'2" },
						    { " (inlined)", " (inlined)'2" } };

	print_name(callgrind, what, &callgrind->names, (const char *)symbol + is_recursive,
		   symbol->name, suffixes[symbol->inlined][is_recursive]);
}

static void print_costs(const struct callgrind *callgrind, const struct cost_line *lines, size_t n)
{
	fprintf(callgrind->file, "%" PRIu32, lines->line);
	for (size_t i = 0; i < callgrind->n_columns; i++) {
		const struct cost_column *column = &callgrind->columns[i];
		const uint64_t *costs;
		uint64_t sum = 0;

		costs = lines->callee == NO_CALLEE ? column->self : column->total;
		for (size_t j = 0; j < n; j++)
			sum += costs[lines[j].node];
		fprintf(callgrind->file, " %" PRIu64, sum);
	}
	fputc('\n', callgrind->file);
}

static void print_callee(struct callgrind *callgrind, const struct cost_line *lines, size_t n)
{
	const struct stored_frame *callee = &callgrind->stacks.frames[lines->callee_frame];
	uint64_t samples = 0;

	for (size_t i = 0; i < n; i++)
		samples += callgrind->samples.total[lines[i].node];
	print_object(callgrind, "cob=", callee->symbol);
	print_source(callgrind, "cfi=", callgrind->files[callee->function]);
	print_function(callgrind, "cfn=", callee->symbol, lines->callee);
	fprintf(callgrind->file, "calls=%" PRIu64 " 0\n", samples);
}

static void print_head_of_function(struct callgrind *callgrind, const struct cost_line *line)
{
	const struct stack_store *stacks = &callgrind->stacks;
	uint32_t node = line->callee == NO_CALLEE ? line->node : stacks->nodes[line->node].parent;
	const struct stored_frame *frame = &stacks->frames[stacks->nodes[node].frame];

	fputc('\n', callgrind->file);
	print_object(callgrind, "ob=", frame->symbol);
	print_source(callgrind, "fl=", callgrind->files[frame->function]);
	print_function(callgrind, "fn=", frame->symbol, line->function);
}

static void print_lines(struct callgrind *callgrind, const struct cost_line *lines, size_t n)
{
	const char *file = NULL;
	size_t same;

	for (size_t i = 0; i < n; i += same) {
		const struct cost_line *line = &lines[i];

		for (same = 1; i + same < n && !compare_places(line, &line[same]);)
			same++;
		if (!i || line[-1].function != line->function) {
			print_head_of_function(callgrind, line);
			file = callgrind->files[(line->function - 1) / 2];
		}
		if (line->file != file)
			print_source(callgrind, "fi=", line->file);
		file = line->file;
		if (line->callee != NO_CALLEE)
			print_callee(callgrind, line, same);
		print_costs(callgrind, line, same);
	}
}

/* The event's name must be a word; a longer name is for display. */
static void print_event(const struct cost_column *column, FILE *file)
{
	for (const char *c = column->name; *c; c++)
		fputc((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
				      (*c >= '0' && *c <= '9')
			      ? *c
			      : '_',
		      file);
}

static void print_head(const struct callgrind *callgrind)
{
	FILE *file = callgrind->file;
	const struct cost_column *column = callgrind->columns;

	fprintf(file,
		"# callgrind format\nversion: 1\ncreator: stackreel " REEL_VERSION_STRING
		"\ncmd: %s\npositions: line\n",
		callgrind->command_line);
	for (size_t i = 0; i < callgrind->n_columns; i++) {
		fputs("event: ", file);
		print_event(&column[i], file);
		fprintf(file, " : %s%s%s\n", column[i].name, *column[i].unit ? ", " : "",
			column[i].unit);
	}
	fputs("events:", file);
	for (size_t i = 0; i < callgrind->n_columns; i++) {
		fputc(' ', file);
		print_event(&column[i], file);
	}
	fputs("\nsummary:", file);
	/* Roots have 0 as their parent. */
	for (size_t i = 0; i < callgrind->n_columns; i++)
		fprintf(file, " %" PRIu64, column[i].total[0]);
	fputc('\n', file);
}

static void print_profile(struct callgrind *callgrind)
{
	const struct stack_store *stacks = &callgrind->stacks;
	struct cost_line *lines;
	size_t n;

	sum_up(stacks, &callgrind->samples);
	for (size_t i = 0; i < callgrind->n_columns; i++)
		sum_up(stacks, &callgrind->columns[i]);
	callgrind->files = memory_get(stacks->n_functions * sizeof(*callgrind->files));
	for (size_t i = 1; i < stacks->n_frames; i++) {
		const char **file = &callgrind->files[stacks->frames[i].function];

		*file = *file ? *file : stacks->frames[i].file;
	}
	lines = list_lines(callgrind, &n);
	if (n)
		qsort(lines, n, sizeof(*lines), compare_lines);
	print_head(callgrind);
	print_lines(callgrind, lines, n);
	free(lines);
}

static void column_free(struct cost_column *column)
{
	free(column->name);
	free(column->unit);
	free(column->self);
	free(column->total);
}

static bool callgrind_close(void *state, bool ok)
{
	struct callgrind *callgrind = state;

	if (ok)
		print_profile(callgrind);
	for (size_t i = 0; i < callgrind->n_columns; i++)
		column_free(&callgrind->columns[i]);
	column_free(&callgrind->samples);
	pointer_map_free(&callgrind->events);
	pointer_map_free(&callgrind->objects);
	pointer_map_free(&callgrind->sources);
	pointer_map_free(&callgrind->names);
	stack_store_free(&callgrind->stacks);
	free(callgrind->columns);
	free(callgrind->command_line);
	free(callgrind->files);
	free(callgrind);
	return ok;
}

const struct export_format export_callgrind = {
	.name = "callgrind",
	.summary = "costs of lines and calls, for KCachegrind",
	.open = callgrind_open,
	.begin_capture = begin_capture,
	.add = callgrind_add,
	.close = callgrind_close,
};
