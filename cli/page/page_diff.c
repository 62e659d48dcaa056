/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/distribution.h"
#include "cli/flamegraph/flame_profile.h"
#include "cli/page/page_diff.h"
#include "cli/print/json.h"
#include "cli/print/text.h"

/* Branches below 0.01 % are invisible; fewer are shown if there are too many others. */
#define LIMIT	  (PERCENT / 100)
#define NODES_MAX 40000

/* Values are integers: the larger side's total is STEPS. Bounds beyond are meaningless. */
#define STEPS	 1e9
#define STEP_MAX 1e15

/* Flags of changes. */
#define CHANGE_SURE   1u
#define CHANGE_TESTED 2u

/* ---- the limit ------------------------------------------------------------------------------ */

static uint64_t share_of(const struct call_tree *tree, uint32_t node)
{
	return percent_of(tree->nodes[node].total.weight, tree->nodes[CALL_TREE_ROOT].total.weight);
}

static int compare_shares(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

void page_diff_init(struct page_diff *diff, const struct diff_result *result)
{
	const struct call_tree *tree = &result->counts->subjects.tree;
	_cleanup_free_ uint64_t *shares = NULL;

	*diff = (struct page_diff){ result, LIMIT };
	diff_tree_weigh(result);
	if (tree->n_nodes <= NODES_MAX)
		return;
	shares = memory_resize(NULL, tree->n_nodes, sizeof(*shares));
	for (uint32_t i = 0; i < tree->n_nodes; i++)
		shares[i] = share_of(tree, i);
	qsort(shares, tree->n_nodes, sizeof(*shares), compare_shares);
	if (shares[NODES_MAX] >= LIMIT)
		diff->limit = shares[NODES_MAX] + 1;
}

/* ---- columns -------------------------------------------------------------------------------- */

/* Of a change: the values of both sides, half of the interval, and flags. */
struct change_columns {
	struct column *old, *new, *half, *flags;
};

static struct change_columns change_columns_make(struct columns *columns,
						 const char *const names[4])
{
	struct change_columns made;

	made.old = column_make(columns, names[0]);
	made.new = column_make(columns, names[1]);
	made.half = column_make(columns, names[2]);
	made.flags = column_make(columns, names[3]);
	return made;
}

static double step_of(const struct diff_counts *counts)
{
	return fmax(diff_all_of(counts, SIDE_OLD), diff_all_of(counts, SIDE_NEW)) / STEPS;
}

static int64_t steps_of(double value, double step)
{
	return llround(fmax(-STEP_MAX, fmin(value / step, STEP_MAX)));
}

static void add_change(const struct change_columns *to, const struct diff_change *change,
		       double step)
{
	column_append_signed(to->old, steps_of(change->value[SIDE_OLD], step));
	column_append_signed(to->new, steps_of(change->value[SIDE_NEW], step));
	column_append_signed(to->half, steps_of((change->high - change->low) / 2, step));
	column_append(to->flags, (change->is_sure ? CHANGE_SURE : 0) |
					 (change->is_tested ? CHANGE_TESTED : 0));
}

struct diff_content {
	const struct page_diff *diff;
	double step;
	/* Of functions, by their item's number: that in the page, from 1 on; 0: not yet. */
	uint32_t *numbers, n_functions;
	const struct diff_function **functions; /* in the page's order */
	struct column *depth, *function;
	struct change_columns path;
};

static uint32_t function_number(struct diff_content *content, const struct diff_function *function)
{
	uint32_t *number = &content->numbers[function->item.number];

	if (!*number) {
		content->functions[content->n_functions] = function;
		*number = ++content->n_functions;
	}
	return *number - 1;
}

static int enter_node(void *context, uint32_t node, size_t depth)
{
	struct diff_content *content = context;
	const struct diff_result *result = content->diff->result;
	const struct diff_change *change = &result->paths->items[(size_t)node * PARTS + PART_TOTAL];

	if (share_of(&result->counts->subjects.tree, node) < content->diff->limit)
		return 0;
	column_append(content->depth, depth);
	column_append_difference(content->function,
				 function_number(content, change->item->function));
	add_change(&content->path, change, content->step);
	return 1;
}

/* Those with samples; marks have none, and are only in the tree. */
static void find_functions(struct diff_content *content)
{
	const struct diff_items *items =
		&content->diff->result->counts->subjects.kinds[KIND_FUNCTION];

	for (size_t i = 0; i < items->n; i++) {
		if (items->items[i]->samples[SIDE_OLD][PART_TOTAL] ||
		    items->items[i]->samples[SIDE_NEW][PART_TOTAL])
			function_number(content, items->items[i]->function);
	}
}

/* The caller frees it. */
static char *remark_of(const struct diff_result *result, const struct diff_change *changes)
{
	const struct diff_change *cause = changes[PART_TOTAL].cause;

	/* Finding it is slow. */
	if (!changes[PART_SELF].is_sure && !changes[PART_TOTAL].is_sure)
		return memory_print("%s", "");
	if (cause && cause->item != changes->item)
		return memory_print(" (total follows from %s)", cause->item->function->symbol.name);
	/* One remark for both: the share changed only if that is true of both. */
	return memory_print(
		"%s",
		diff_remark(result->counts,
			    &changes[changes[PART_TOTAL].is_share_only && changes[PART_SELF].is_sure
					     ? PART_SELF
					     : PART_TOTAL]));
}

/* Of significant changes; no values of others. */
static void add_values(const struct diff_content *content, const struct diff_change *change,
		       struct column *counts, struct column *values)
{
	for (int side = 0; side < SIDES; side++) {
		struct diff_values of = { 0 };

		if (change->is_sure)
			of = diff_values_find(content->diff->result->counts, change,
					      (enum diff_side)side);
		column_append(counts, of.n);
		for (size_t i = 0; i < of.n; i++)
			column_append_signed(values, steps_of(of.items[i], content->step));
		free(of.items);
	}
}

static void add_functions(const struct diff_content *content, struct columns *columns)
{
	static const char *const part_columns[PARTS][4] = {
		{ "diffSelfOld", "diffSelfNew", "diffSelfHalf", "diffSelfFlags" },
		{ "diffTotalOld", "diffTotalNew", "diffTotalHalf", "diffTotalFlags" },
	};
	const struct diff_result *result = content->diff->result;
	struct column *names = column_make(columns, "diffName");
	struct column *shorts = column_make(columns, "diffShort");
	struct column *modules = column_make(columns, "diffModule");
	struct column *remarks = column_make(columns, "diffRemark");
	struct column *kinds = column_make(columns, "diffKind");
	struct column *counts = column_make(columns, "diffValues");
	struct column *values = column_make(columns, "diffValue");
	struct change_columns parts[PARTS];

	for (int part = 0; part < PARTS; part++)
		parts[part] = change_columns_make(columns, part_columns[part]);
	for (uint32_t i = 0; i < content->n_functions; i++) {
		const struct diff_function *function = content->functions[i];
		const struct diff_change *changes =
			&result->changes->items[function->item.number * PARTS];
		_cleanup_free_ char *remark = remark_of(result, changes);

		column_append_names(names, shorts, &function->symbol);
		column_append_text(modules, function->symbol.module);
		column_append_text(remarks, remark);
		column_append(kinds, function->symbol.pseudo ? FLAME_INCOMPLETE : FLAME_PLAIN);
		for (int part = 0; part < PARTS; part++) {
			add_change(&parts[part], &changes[part], content->step);
			add_values(content, &changes[part], counts, values);
		}
	}
}

void page_diff_add(const struct page_diff *diff, struct columns *columns)
{
	static const char *const path_columns[] = { "diffPathOld", "diffPathNew", "diffPathHalf",
						    "diffPathFlags" };
	const struct diff_subjects *subjects = &diff->result->counts->subjects;
	size_t n = subjects->kinds[KIND_FUNCTION].n;
	struct diff_content content = {
		.diff = diff,
		.step = step_of(diff->result->counts),
		.numbers = memory_get((n + 1) * sizeof(uint32_t)),
		.functions = memory_get((n + 1) * sizeof(struct diff_function *)),
	};

	content.depth = column_make(columns, "diffDepth");
	content.function = column_make(columns, "diffFunction");
	content.path = change_columns_make(columns, path_columns);
	call_tree_walk(&subjects->tree, enter_node, NULL, &content);
	find_functions(&content);
	add_functions(&content, columns);
	free(content.numbers);
	free(content.functions);
}

/* ---- the header ----------------------------------------------------------------------------- */

static void print_plain(const char *name, FILE *file)
{
	fputs(name, file);
}

/* The lines that `diff` prints around its tables. */
static void print_method(const struct diff_result *result, const struct diff_unit *unit, FILE *file)
{
	char *text = NULL, *rest;
	size_t size;
	FILE *lines = open_memstream(&text, &size);

	memory_check(lines);
	diff_print_head(result, unit, "", lines);
	diff_print_rest(result, unit, 0, result->changes->n_sure, print_plain,
			&(struct output){ .file = lines });
	fclose(lines);
	memory_check(text);
	fputs(",\"method\":[", file);
	rest = text;
	for (char *line; (line = strsep(&rest, "\n")) && *line;) {
		fputs(line == text ? "" : ",", file);
		json_escaped_text(line, file);
	}
	fputc(']', file);
	free(text);
}

void page_diff_print(const struct page_diff *diff, FILE *file)
{
	const struct diff_result *result = diff->result;
	const struct diff_counts *counts = result->counts;
	struct diff_unit unit = diff_unit_of(counts);

	fputs("\"diff\":{", file);
	for (int side = 0; side < SIDES; side++) {
		const struct string_list *files = result->files[side];
		_cleanup_free_ char *name = text_escape(path_base(files->items[0]), "");

		fprintf(file, "\"%s\":{\"file\":", side == SIDE_OLD ? "old" : "new");
		json_escaped_text(name, file);
		fprintf(file, ",\"captures\":%zu,\"all\":%.9g},", files->count,
			diff_all_of(counts, (enum diff_side)side) * unit.scale);
	}
	fprintf(file, "\"unit\":\"%s\",\"step\":%.17g,\"limit\":\"%s\"", unit.name,
		step_of(counts) * unit.scale, format_limit(diff->limit).text);
	print_method(result, &unit, file);
	fputs("},\n", file);
}
