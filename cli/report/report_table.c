/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/report/name_column.h"
#include "cli/report/report_table.h"
#include "cli/print/text.h"

/* Columns before the symbol: two shares, two weights, samples. */
#define FIXED_WIDTH 51
/* On a terminal narrower than this, print two shares alone: names need the room. */
#define SHARES_WIDTH   20
#define TERMINAL_WIDTH 100

/* Columns of groups before the last one; they are as wide as needed up to this, */
#define GROUP_WIDTH_MAX 60
/* but on a terminal together no wider than half of the names' room. */
#define GROUP_WIDTH_MIN 8

struct row {
	const struct symbol **groups; /* one for each key */
	const struct symbol *symbol;  /* the last column's; the last group if rows are groups */
	char *name;
	struct amount self, total;
	uint16_t course[COURSE_COLUMNS];
};

struct group_column {
	struct group_key key;
	char head[32];
	size_t width;
};

struct report_table {
	const struct profile *profile;
	uint64_t all; /* weight */
	uint64_t limit;
	size_t n_groups;  /* keys */
	bool has_symbols; /* within the groups */
	enum table_sort sort;
	struct row *rows;
	size_t n_rows, capacity;
	size_t n_hidden;
	uint64_t hidden_self; /* weight */
	bool shares_alone;
	/* NULL: not shown.  One of them at most. */
	const struct courses *courses;
	const struct tree_courses *tree_courses;
	struct group_column columns[GROUP_KEYS_MAX];
	struct name_column names;
};

bool table_sort_parse(const char *name, enum table_sort *ret)
{
	static const char *const names[] = {
		[SORT_SELF] = "self",	  [SORT_TOTAL] = "total",   [SORT_SAMPLES] = "samples",
		[SORT_SYMBOL] = "symbol", [SORT_MODULE] = "module",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(name, names[i])) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* ---- order --------------------------------------------------------------------------------- */

static int by_number(uint64_t a, uint64_t b)
{
	return a == b ? 0 : a > b ? -1 : 1;
}

static int by_name(const struct report_table *table, const struct row *a, const struct row *b)
{
	int order = 0;

	for (size_t i = 0; i < table->n_groups && !order; i++)
		order = strcmp(a->groups[i]->name, b->groups[i]->name);
	if (!order)
		order = strcmp(a->symbol->name, b->symbol->name);
	if (!order)
		order = strcmp(a->symbol->module, b->symbol->module);
	return order ? order : a->symbol->inlined - b->symbol->inlined;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct report_table *table = context;
	const struct row *x = a, *y = b;
	int order = 0;

	if (table->sort == SORT_SAMPLES)
		order = by_number(x->total.samples, y->total.samples);
	else if (table->sort == SORT_SYMBOL)
		order = by_name(table, x, y);
	else if (table->sort == SORT_MODULE)
		order = strcmp(x->symbol->module, y->symbol->module);
	if (!order && table->sort != SORT_TOTAL)
		order = by_number(x->self.weight, y->self.weight);
	if (!order)
		order = by_number(x->total.weight, y->total.weight);
	return order ? order : by_name(table, x, y);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void see_group(struct report_table *table, size_t i, const struct symbol *group)
{
	size_t width = text_width(group_value_text(&table->columns[i].key, group));

	if (width > table->columns[i].width)
		table->columns[i].width = width;
}

/* NULL: not shown. */
static struct row *add_row(struct report_table *table, const struct symbol **groups,
			   const struct symbol *symbol, struct amount self, struct amount total)
{
	struct row *row;

	if (percent_of(total.weight, table->all) < table->limit) {
		table->n_hidden++;
		table->hidden_self += self.weight;
		return NULL;
	}
	table->rows =
		memory_reserve(table->rows, &table->capacity, table->n_rows, sizeof(*table->rows));
	row = &table->rows[table->n_rows++];
	*row = (struct row){
		.symbol = symbol,
		.self = self,
		.total = total,
	};
	if (table->n_groups) {
		row->groups = memory_resize(NULL, table->n_groups, sizeof(*row->groups));
		memcpy(row->groups, groups, table->n_groups * sizeof(*row->groups));
	}
	for (size_t i = 0; i < table->n_groups; i++)
		see_group(table, i, groups[i]);
	return row;
}

/* The walk of the tree, whose first levels are groups. */
struct summing {
	struct report_table *table;
	const struct call_tree *tree;
	const struct symbol *groups[GROUP_KEYS_MAX];
	struct symbol **seen; /* in the current group */
	size_t n_seen, capacity;
};

static void add_course(const struct summing *summing, uint32_t number, struct symbol *symbol)
{
	if (!symbol->course)
		symbol->course = memory_get(COURSE_COLUMNS * sizeof(*symbol->course));
	tree_courses_sum(summing->table->tree_courses, summing->tree, number, symbol->course);
}

static int enter_symbol(struct summing *summing, uint32_t number)
{
	const struct call_tree_node *node = &summing->tree->nodes[number];
	struct symbol *symbol = (struct symbol *)node->key;

	if (!symbol->total.samples) {
		summing->seen = memory_reserve(summing->seen, &summing->capacity, summing->n_seen,
					       sizeof(struct symbol *));
		summing->seen[summing->n_seen++] = symbol;
	}
	amount_add(&symbol->self, node->self);
	if (symbol->on_path++)
		return 1;
	amount_add(&symbol->total, node->total);
	if (summing->table->tree_courses)
		add_course(summing, number, symbol);
	return 1;
}

static int enter(void *context, uint32_t number, size_t depth)
{
	struct summing *summing = context;
	struct report_table *table = summing->table;
	const struct call_tree_node *node = &summing->tree->nodes[number];
	struct row *row;

	if (depth > table->n_groups)
		return enter_symbol(summing, number);
	summing->groups[depth - 1] = node->key;
	if (depth < table->n_groups || table->has_symbols)
		return 1;
	row = add_row(table, summing->groups, node->key, node->total, node->total);
	if (row && table->tree_courses)
		memcpy(row->course, table->tree_courses->columns[number], sizeof(row->course));
	return 0;
}

/* Rows for the symbols of the current group. */
static void end_group(struct summing *summing)
{
	for (size_t i = 0; i < summing->n_seen; i++) {
		struct symbol *symbol = summing->seen[i];
		struct row *row = add_row(summing->table, summing->groups, symbol, symbol->self,
					  symbol->total);

		if (summing->table->tree_courses) {
			if (row)
				tree_course_scale(symbol->course, row->course);
			memset(symbol->course, 0, COURSE_COLUMNS * sizeof(*symbol->course));
		}
		symbol->self = symbol->total = (struct amount){ 0 };
	}
	summing->n_seen = 0;
}

static void leave(void *context, uint32_t number, size_t depth)
{
	struct summing *summing = context;

	if (depth > summing->table->n_groups)
		((struct symbol *)summing->tree->nodes[number].key)->on_path--;
	else if (depth == summing->table->n_groups)
		end_group(summing);
}

static void sum_up(struct report_table *table)
{
	struct summing summing = { .table = table, .tree = &table->profile->tree };

	call_tree_walk(summing.tree, enter, leave, &summing);
	end_group(&summing);
	free(summing.seen);
}

static void forget_sums(void *context, struct symbol *symbol)
{
	(void)context;
	symbol->self = symbol->total = (struct amount){ 0 };
}

/* ---- names ---------------------------------------------------------------------------------- */

static void tell_apart(const struct report_table *table)
{
	_cleanup_free_ const struct symbol **symbols =
		memory_resize(NULL, table->n_rows + 1, sizeof(*symbols));

	for (size_t i = 0; i < table->n_rows; i++)
		symbols[i] = table->rows[i].symbol;
	symbols_tell_apart(symbols, table->n_rows);
}

static void name_rows(struct report_table *table, bool is_short)
{
	if (is_short && table->has_symbols)
		tell_apart(table);
	for (size_t i = 0; i < table->n_rows; i++) {
		struct row *row = &table->rows[i];
		const struct symbol *symbol = row->symbol;
		const char *text =
			table->has_symbols
				? symbol_shown(symbol, is_short)
				: group_value_text(&table->columns[table->n_groups - 1].key,
						   symbol);

		row->name = memory_print("%s%s%s", text, symbol->inlined ? " (inlined)" : "",
					 symbol->kernel ? " [k]" : "");
		name_column_add(&table->names, row->name, symbol->module);
	}
}

static void name_group_column(struct group_column *column, const struct group_key *of)
{
	const char *key = of->name;
	size_t i = 0;

	column->key = *of;
	/* Variables are as in the program. */
	for (; key[i] && i + 1 < sizeof(column->head); i++)
		column->head[i] =
			(char)(of->kind != GROUP_VARIABLE && key[i] >= 'a' && key[i] <= 'z'
				       ? key[i] - 'a' + 'A'
				       : key[i]);
	column->width = i;
}

static void init_columns(struct report_table *table, const struct profiles *profiles)
{
	for (size_t i = 0; i < table->n_groups; i++)
		name_group_column(&table->columns[i], &profiles->groups[i].key);
	table->names = name_heads_of(profiles->symbols.by);
	if (!table->has_symbols)
		table->names.head = table->columns[table->n_groups - 1].head;
}

/* The number of columns before the last one, which has room to the end of the line. */
static size_t n_leading(const struct report_table *table)
{
	return table->n_groups - !table->has_symbols;
}

static bool has_courses(const struct report_table *table)
{
	return table->courses || table->tree_courses;
}

static void fit_columns(struct report_table *table, const struct output *output)
{
	size_t used = (table->shares_alone ? SHARES_WIDTH : FIXED_WIDTH) +
		      (has_courses(table) ? COURSE_COLUMNS + 2 : 0);
	size_t n = n_leading(table);
	size_t room = output->width > used ? (output->width - used) / 2 : 0;
	size_t most = output->width ? n ? room / n : 0 : GROUP_WIDTH_MAX;

	if (most < GROUP_WIDTH_MIN)
		most = GROUP_WIDTH_MIN;
	for (size_t i = 0; i < n; i++) {
		if (table->columns[i].width > most)
			table->columns[i].width = most;
		used += table->columns[i].width + 2;
	}
	name_column_fit(&table->names, used, output);
}

/* ---- printing ------------------------------------------------------------------------------- */

static void print_share(const struct report_table *table, uint64_t weight,
			const struct output *output)
{
	uint64_t percent = percent_of(weight, table->all);

	fprintf(output->file, "%s%6s %%%s ", color_of_share(output, percent),
		format_percent(weight, table->all).text, color_end(output));
	if (!table->shares_alone)
		fprintf(output->file, "%9s ", profile_format(table->profile, weight).text);
	fputc(' ', output->file);
}

/* A text padded to the column; on a terminal also cut to it. */
static void print_group(const struct group_column *column, const char *text,
			const struct output *output)
{
	size_t width = name_print(text, output->width ? column->width : 0, output);

	fprintf(output->file, "%*s", (int)(column->width > width ? column->width - width : 0) + 2,
		"");
}

void report_table_print_head(const struct report_table *table, const struct output *output)
{
	const char *unit = profile_unit(table->profile);
	FILE *file = output->file;

	fputs(color_bold(output), file);
	if (table->shares_alone)
		fprintf(file, "%8s  %8s  ", "SELF", "TOTAL");
	else
		fprintf(file, "%8s %9s  %8s %9s  %9s  ", "SELF", unit, "TOTAL", unit, "SAMPLES");
	if (has_courses(table))
		fprintf(file, "%-*s  ", COURSE_COLUMNS, "COURSE");
	for (size_t i = 0; i < n_leading(table); i++)
		print_group(&table->columns[i], table->columns[i].head, output);
	name_column_print_head(&table->names, output);
}

void report_table_print_row(const struct report_table *table, size_t row,
			    const struct output *output)
{
	const struct row *of = &table->rows[row];

	print_share(table, of->self.weight, output);
	print_share(table, of->total.weight, output);
	if (!table->shares_alone)
		fprintf(output->file, "%9s  ", format_count(of->total.samples).text);
	if (table->courses)
		course_print(table->courses, of->symbol, output->file);
	else if (table->tree_courses)
		tree_course_print(of->course, output->file);
	if (has_courses(table))
		fputs("  ", output->file);
	for (size_t i = 0; i < n_leading(table); i++)
		print_group(&table->columns[i],
			    group_value_text(&table->columns[i].key, of->groups[i]), output);
	name_column_print(&table->names, of->name, of->symbol->module, output);
}

/* ---- the table ------------------------------------------------------------------------------ */

struct report_table *report_table_make(struct profiles *profiles, const struct profile *profile,
				       enum table_sort sort, uint64_t limit,
				       const struct output *output)
{
	struct report_table *table = memory_get(sizeof(*table));

	*table = (struct report_table){
		.profile = profile,
		.all = profile->tree.nodes[CALL_TREE_ROOT].total.weight,
		.limit = limit,
		.n_groups = profiles->n_groups,
		.has_symbols = profiles->has_symbol_rows,
		.sort = sort,
		.courses = profiles->courses,
		.tree_courses = profile->courses,
		.shares_alone = output->width && output->width < TERMINAL_WIDTH,
	};
	init_columns(table, profiles);
	symbol_table_visit(&profiles->symbols, forget_sums, NULL);
	sum_up(table);
	name_rows(table, output->short_names);
	if (table->n_rows)
		qsort_r(table->rows, table->n_rows, sizeof(*table->rows), compare_rows, table);
	fit_columns(table, output);
	return table;
}

void report_table_free(struct report_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n_rows; i++) {
		free(table->rows[i].groups);
		free(table->rows[i].name);
	}
	free(table->rows);
	free(table);
}

size_t report_table_rows(const struct report_table *table)
{
	return table->n_rows;
}

const struct symbol *report_table_symbol(const struct report_table *table, size_t row)
{
	return table->rows[row].symbol;
}

const struct symbol *const *report_table_groups(const struct report_table *table, size_t row)
{
	return table->rows[row].groups;
}

void report_table_print(struct profiles *profiles, const struct profile *profile,
			enum table_sort sort, uint64_t limit, const struct output *output)
{
	struct report_table *table = report_table_make(profiles, profile, sort, limit, output);

	report_table_print_head(table, output);
	for (size_t i = 0; i < table->n_rows; i++)
		report_table_print_row(table, i, output);
	if (table->n_hidden)
		fprintf(output->file,
			"# %s more below --percent-limit %s, together %s by themselves\n",
			format_count(table->n_hidden).text, format_limit(limit).text,
			format_share(table->hidden_self, table->all).text);
	report_table_free(table);
}
