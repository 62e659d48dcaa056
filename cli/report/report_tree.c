/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/report/name_column.h"
#include "cli/report/report_tree.h"
#include "cli/print/text.h"

/* Maximum nesting of drawn branches; deeper ones are skipped, with a note. */
#define LEVELS_MAX  128
#define LEVEL_WIDTH 3
/* "100.00 %  ", and "1,234,567  " where there is room. */
#define SHARE_WIDTH   10
#define SAMPLES_WIDTH 11
/* On a narrower terminal these columns are left out: branches and names need the room. */
#define SELF_TERMINAL_WIDTH    80
#define SAMPLES_TERMINAL_WIDTH 100

/* ---- the tree -------------------------------------------------------------------------------- */

struct drawing {
	const struct call_tree *tree;
	const struct output *output;
	const char *branch, *last_branch, *line, *gap;
	struct tree_shares shares;
	struct tree_columns columns;
	/* For each open level: whether more siblings follow. */
	bool more[LEVELS_MAX];
	/* The number of open levels at each depth of the tree. */
	size_t *levels;
	size_t levels_capacity;
	bool too_deep;
};

static bool is_shown(const struct drawing *drawing, uint32_t node)
{
	const struct tree_shares *shares = &drawing->shares;

	return percent_of(drawing->tree->nodes[node].total.weight, shares->limit_of) >=
	       shares->limit;
}

/* Children are sorted by weight, so all that follow a too small one are too small as well. */
static bool has_shown_sibling(const struct drawing *drawing, uint32_t node)
{
	uint32_t next = drawing->tree->nodes[node].next_sibling;

	return next != CALL_TREE_NONE && is_shown(drawing, next);
}

bool tree_continues_parent(const struct call_tree *tree, uint32_t node)
{
	const struct call_tree_node *nodes = tree->nodes;
	const struct call_tree_node *parent = &nodes[nodes[node].parent];

	return nodes[node].parent != CALL_TREE_ROOT &&
	       nodes[node].total.weight == parent->total.weight &&
	       nodes[node].total.samples == parent->total.samples &&
	       nodes[node].next_sibling == CALL_TREE_NONE && parent->first_child == node;
}

/* Printed after `levels` of LEVEL_WIDTH columns each and the share column. */
static void print_symbol(const struct drawing *drawing, uint32_t node, size_t levels)
{
	const struct symbol *symbol = drawing->tree->nodes[node].key;
	const struct output *output = drawing->output;
	size_t used = levels * LEVEL_WIDTH + drawing->columns.width;
	_cleanup_free_ char *name =
		memory_print("%s%s%s", symbol_shown(symbol, output->short_names),
			     symbol->inlined ? " (inlined)" : "", symbol->kernel ? " [k]" : "");

	fputs(symbol->pseudo ? color_bold(output) : "", output->file);
	name_print_end(name, name_room(used, output), output);
	fprintf(output->file, "%s\n", symbol->pseudo ? color_end(output) : "");
}

static void print_lines(const struct drawing *drawing, size_t levels)
{
	for (size_t i = 1; i < levels; i++)
		fputs(drawing->more[i] ? drawing->line : drawing->gap, drawing->output->file);
}

static bool has_self_column(const struct tree_shares *shares, const struct output *output)
{
	return !shares->without_self && (!output->width || output->width >= SELF_TERMINAL_WIDTH);
}

static bool has_samples_column(const struct output *output)
{
	return !output->width || output->width >= SAMPLES_TERMINAL_WIDTH;
}

static void print_share(uint64_t weight, uint64_t all, const struct output *output)
{
	fprintf(output->file, "%s%6s %%%s  ", color_of_share(output, percent_of(weight, all)),
		format_percent(weight, all).text, color_end(output));
}

size_t tree_numbers_width(const struct tree_shares *shares, const struct output *output)
{
	return (has_self_column(shares, output) ? 2 * SHARE_WIDTH : SHARE_WIDTH) +
	       (has_samples_column(output) ? SAMPLES_WIDTH : 0);
}

void tree_print_numbers(const struct call_tree *tree, const struct tree_shares *shares,
			uint32_t node, bool continues, const struct output *output)
{
	const struct call_tree_node *of = &tree->nodes[node];
	bool has_self = has_self_column(shares, output);

	if (has_self && (of->self.weight || of->self.samples))
		print_share(of->self.weight, shares->all, output);
	else if (has_self)
		fprintf(output->file, "%*s", SHARE_WIDTH, "");
	if (continues)
		fprintf(output->file, "%*s", SHARE_WIDTH, "");
	else
		print_share(of->total.weight, shares->all, output);
	if (has_samples_column(output))
		fprintf(output->file, "%9s  ",
			continues ? "" : format_count(of->total.samples).text);
}

void tree_print_head(const struct tree_shares *shares, const char *name,
		     const struct output *output)
{
	fputs(color_bold(output), output->file);
	if (has_self_column(shares, output))
		fprintf(output->file, "%8s  ", "SELF");
	fprintf(output->file, "%8s  ", "TOTAL");
	if (has_samples_column(output))
		fprintf(output->file, "%9s  ", "SAMPLES");
	fprintf(output->file, "%s%s", name, color_end(output));
}

static void print_numbers(void *context, uint32_t node, bool continues, const struct output *output)
{
	const struct drawing *drawing = context;

	tree_print_numbers(drawing->tree, &drawing->shares, node, continues, output);
}

static void print_branch(struct drawing *drawing, uint32_t node, size_t levels)
{
	drawing->more[levels] = has_shown_sibling(drawing, node);
	drawing->columns.print(drawing->columns.context, node, false, drawing->output);
	print_lines(drawing, levels);
	if (levels)
		fputs(drawing->more[levels] ? drawing->branch : drawing->last_branch,
		      drawing->output->file);
	print_symbol(drawing, node, levels);
}

static void print_continuation(const struct drawing *drawing, uint32_t node, size_t levels)
{
	drawing->columns.print(drawing->columns.context, node, true, drawing->output);
	print_lines(drawing, levels + 1);
	print_symbol(drawing, node, levels);
}

static int draw(void *context, uint32_t node, size_t depth)
{
	struct drawing *drawing = context;
	size_t levels;

	if (!is_shown(drawing, node))
		return 0;
	drawing->levels = memory_reserve(drawing->levels, &drawing->levels_capacity, depth,
					 sizeof(*drawing->levels));
	if (tree_continues_parent(drawing->tree, node)) {
		drawing->levels[depth] = drawing->levels[depth - 1];
		print_continuation(drawing, node, drawing->levels[depth]);
		return 1;
	}
	levels = depth > 1 ? drawing->levels[depth - 1] + 1 : 0;
	if (levels >= LEVELS_MAX) {
		drawing->too_deep = true;
		return 0;
	}
	drawing->levels[depth] = levels;
	print_branch(drawing, node, levels);
	return 1;
}

static void tell_apart(const struct drawing *drawing)
{
	const struct call_tree *tree = drawing->tree;
	_cleanup_free_ const struct symbol **symbols =
		memory_resize(NULL, tree->n_nodes, sizeof(*symbols));
	size_t n = 0;

	for (uint32_t i = CALL_TREE_ROOT + 1; i < tree->n_nodes; i++) {
		if (is_shown(drawing, i))
			symbols[n++] = tree->nodes[i].key;
	}
	symbols_tell_apart(symbols, n);
}

void tree_draw(const struct call_tree *tree, const struct tree_shares *shares,
	       const struct tree_columns *columns, const char *head, const struct output *output)
{
	struct drawing drawing = {
		.tree = tree,
		.output = output,
		.columns = { print_numbers, &drawing, tree_numbers_width(shares, output) },
		.branch = output->utf8 ? "├─ " : "|- ",
		.last_branch = output->utf8 ? "└─ " : "`- ",
		.line = output->utf8 ? "│  " : "|  ",
		.gap = "   ",
		.shares = *shares,
	};

	if (columns)
		drawing.columns = *columns;
	else {
		tree_print_head(shares, head, output);
		fputc('\n', output->file);
	}
	if (output->short_names)
		tell_apart(&drawing);
	call_tree_walk(tree, draw, NULL, &drawing);
	if (drawing.too_deep)
		fprintf(output->file, "# branches nested more than %d deep are hidden\n",
			LEVELS_MAX);
	free(drawing.levels);
}

void report_tree_print(const struct profiles *profiles, const struct profile *profile,
		       uint64_t limit, const struct output *output)
{
	uint64_t all = profile->tree.nodes[CALL_TREE_ROOT].total.weight;
	struct tree_shares shares = { .all = all, .limit = limit, .limit_of = all };

	tree_draw(&profile->tree, &shares, NULL, name_heads_of(profiles->symbols.by).head, output);
}

/* ---- stacks --------------------------------------------------------------------------------- */

struct stack_end {
	uint32_t node;
	size_t position; /* in the tree, as --tree shows it */
};

struct stacks {
	const struct call_tree *tree;
	uint64_t all;
	uint64_t limit;
	struct stack_end *ends;
	size_t n_ends, capacity, n_hidden;
};

static int collect_end(void *context, uint32_t node, size_t depth)
{
	struct stacks *stacks = context;
	const struct amount *self = &stacks->tree->nodes[node].self;

	(void)depth;
	if (!self->samples)
		return 1;
	if (percent_of(self->weight, stacks->all) < stacks->limit) {
		stacks->n_hidden++;
		return 1;
	}
	stacks->ends = memory_reserve(stacks->ends, &stacks->capacity, stacks->n_ends,
				      sizeof(*stacks->ends));
	stacks->ends[stacks->n_ends] = (struct stack_end){ node, stacks->n_ends };
	stacks->n_ends++;
	return 1;
}

static int compare_ends(const void *a, const void *b, void *context)
{
	const struct call_tree *tree = context;
	const struct stack_end *x = a, *y = b;
	uint64_t x_weight = tree->nodes[x->node].self.weight;
	uint64_t y_weight = tree->nodes[y->node].self.weight;

	if (x_weight != y_weight)
		return x_weight > y_weight ? -1 : 1;
	return (x->position > y->position) - (x->position < y->position);
}

/* A name within a line of names that `;` separates. */
static void print_stack_name(const struct symbol *symbol, const struct output *output)
{
	const char *name = symbol_shown(symbol, output->short_names);
	FILE *file = output->file;

	for (const char *at = name; *at; at++)
		fputc(*at == ';' ? ':' : *at, file);
	if (symbol->function && !strchr(name, '('))
		fputs("()", file);
	if (symbol->inlined)
		fputs(" (inlined)", file);
	if (symbol->kernel)
		fputs(" [k]", file);
}

static void print_stack(const struct call_tree *tree, uint32_t end, const struct output *output)
{
	size_t n = 0, i = 0;
	uint32_t *path;

	for (uint32_t node = end; node != CALL_TREE_ROOT; node = tree->nodes[node].parent)
		n++;
	path = memory_resize(NULL, n, sizeof(*path));
	for (uint32_t node = end; node != CALL_TREE_ROOT; node = tree->nodes[node].parent)
		path[i++] = node;
	while (i--) {
		print_stack_name(tree->nodes[path[i]].key, output);
		if (i)
			fputc(';', output->file);
	}
	free(path);
}

void report_residency_print(const struct profile *profile, uint64_t limit,
			    const struct output *output)
{
	struct stacks stacks = {
		.tree = &profile->tree,
		.all = profile->tree.nodes[CALL_TREE_ROOT].total.weight,
		.limit = limit,
	};
	FILE *file = output->file;

	call_tree_walk(&profile->tree, collect_end, NULL, &stacks);
	if (stacks.n_ends)
		qsort_r(stacks.ends, stacks.n_ends, sizeof(*stacks.ends), compare_ends,
			(void *)stacks.tree);
	for (size_t i = 0; i < stacks.n_ends; i++) {
		uint64_t weight = profile->tree.nodes[stacks.ends[i].node].self.weight;

		fprintf(file, "%s%s%s ", color_of_share(output, percent_of(weight, stacks.all)),
			format_share_short(weight, stacks.all).text, color_end(output));
		print_stack(stacks.tree, stacks.ends[i].node, output);
		fputc('\n', file);
	}
	if (stacks.n_hidden)
		fprintf(file, "# %s more stacks below --percent-limit %s\n",
			format_count(stacks.n_hidden).text, format_limit(limit).text);
	free(stacks.ends);
}
