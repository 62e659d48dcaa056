/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree and the stacks of `stackreel diff`. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/diff_print.h"
#include "cli/print/text.h"
#include "cli/report/report_tree.h"

/* The weight of both sides of a tree together. */
#define TREE_WEIGHT 1e15
/* " 1234.56 -> 1234.56 ms  +123.45 *  " */
#define TREE_WIDTH 35

/* ---- the tree ------------------------------------------------------------------------------- */

struct tree_view {
	const struct diff_result *result;
	struct diff_unit unit;
};

static const struct diff_change *total_of(const struct diff_result *result, size_t node)
{
	return &result->paths->items[node * PARTS + PART_TOTAL];
}

static void print_columns(void *context, uint32_t node, bool continues, const struct output *output)
{
	const struct tree_view *view = context;
	const struct diff_change *change = total_of(view->result, node);
	const char *color = !change->is_sure ? color_dim(output) : diff_color(change, output);

	if (continues) {
		fprintf(output->file, "%*s", TREE_WIDTH, "");
		return;
	}
	fprintf(output->file, "%8.2f -> %7.2f %-2s %s%+8.2f %c%s  ",
		change->value[SIDE_OLD] * view->unit.scale,
		change->value[SIDE_NEW] * view->unit.scale, view->unit.name, color,
		change->difference * view->unit.scale, change->is_sure ? '*' : ' ',
		color_end(output));
}

void diff_tree_weigh(const struct diff_result *result)
{
	struct diff_counts *counts = result->counts;
	struct call_tree *tree = &counts->subjects.tree;
	double all = diff_all_of(counts, SIDE_OLD) + diff_all_of(counts, SIDE_NEW);

	for (size_t i = 1; i < tree->n_nodes; i++) {
		const struct diff_change *self = &result->paths->items[i * PARTS + PART_SELF];
		double both = self->value[SIDE_OLD] + self->value[SIDE_NEW];

		tree->nodes[i].self = (struct amount){
			(uint64_t)(both / all * TREE_WEIGHT),
			self->item->samples[SIDE_OLD][PART_SELF] +
				self->item->samples[SIDE_NEW][PART_SELF],
		};
	}
	call_tree_finish(tree);
}

static size_t count_hidden(const struct diff_result *result, const struct tree_shares *shares)
{
	const struct call_tree *tree = &result->counts->subjects.tree;
	size_t n = 0;

	for (size_t i = 1; i < tree->n_nodes; i++) {
		uint64_t weight = tree->nodes[i].total.weight;

		n += total_of(result, i)->is_sure &&
		     percent_of(weight, shares->limit_of) < shares->limit;
	}
	return n;
}

void diff_print_tree(const struct diff_result *result, const struct output *output)
{
	const struct call_tree *tree = &result->counts->subjects.tree;
	struct tree_view view = { result, diff_unit_of(result->counts) };
	struct tree_columns columns = { print_columns, &view, TREE_WIDTH };
	struct tree_shares shares = { .limit = result->tree_limit };
	size_t hidden;

	diff_tree_weigh(result);
	shares.all = shares.limit_of = tree->nodes[CALL_TREE_ROOT].total.weight;
	diff_print_head(result, &view.unit, "# ", output->file);
	fprintf(output->file,
		"# old -> new, change; *: significant, others may be chance; branches below "
		"%s %% are hidden (--percent-limit)\n\n",
		format_limit(result->tree_limit).text);
	tree_draw(tree, &shares, &columns, NULL, output);
	hidden = count_hidden(result, &shares);
	if (hidden)
		fprintf(output->file, "# %zu of the hidden branches changed significantly\n",
			hidden);
}

/* ---- stacks --------------------------------------------------------------------------------- */

static void print_stack(const struct call_tree *tree, size_t node, FILE *file)
{
	_cleanup_free_ const struct symbol **path = NULL;
	size_t n = 0, i;

	for (size_t at = node; at != CALL_TREE_ROOT; at = tree->nodes[at].parent)
		n++;
	path = memory_resize(NULL, n, sizeof(*path));
	i = n;
	for (size_t at = node; at != CALL_TREE_ROOT; at = tree->nodes[at].parent)
		path[--i] = tree->nodes[at].key;
	for (; i < n; i++) {
		fputs(i ? ";" : "", file);
		for (const char *c = path[i]->name; *c; c++)
			fputc(*c == ';' ? ':' : *c, file);
	}
}

void diff_print_folded(const struct diff_result *result, FILE *file)
{
	const struct diff_counts *counts = result->counts;
	const struct diff_items *paths = &counts->subjects.kinds[KIND_PATH];
	double scale = counts->base[SIDE_NEW] / counts->base[SIDE_OLD];

	for (size_t i = 1; i < paths->n; i++) {
		double old = paths->items[i]->weight[SIDE_OLD][PART_SELF] * scale;
		double new = paths->items[i]->weight[SIDE_NEW][PART_SELF];

		if (old <= 0 && new <= 0)
			continue;
		print_stack(&counts->subjects.tree, i, file);
		fprintf(file, " %.0f %.0f\n", old, new);
	}
}
