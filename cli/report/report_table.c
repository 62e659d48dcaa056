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

struct row {
	const struct symbol *symbol;
	char *name;
};

struct report_table {
	const struct profile *profile;
	uint64_t all; /* weight */
	uint64_t limit;
	struct row *rows;
	size_t n_rows, capacity;
	size_t n_hidden;
	uint64_t hidden_self; /* weight */
	bool shares_alone;
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

static int by_name(const struct row *a, const struct row *b)
{
	int order = strcmp(a->symbol->name, b->symbol->name);

	if (!order)
		order = strcmp(a->symbol->module, b->symbol->module);
	return order ? order : a->symbol->inlined - b->symbol->inlined;
}

static int by_total(const struct row *a, const struct row *b)
{
	int order = by_number(a->symbol->total.weight, b->symbol->total.weight);

	return order ? order : by_name(a, b);
}

static int by_self(const struct row *a, const struct row *b)
{
	int order = by_number(a->symbol->self.weight, b->symbol->self.weight);

	return order ? order : by_total(a, b);
}

static int compare_self(const void *a, const void *b)
{
	return by_self(a, b);
}

static int compare_total(const void *a, const void *b)
{
	return by_total(a, b);
}

static int compare_samples(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = by_number(x->symbol->total.samples, y->symbol->total.samples);

	return order ? order : by_self(x, y);
}

static int compare_symbol(const void *a, const void *b)
{
	int order = by_name(a, b);

	return order ? order : by_self(a, b);
}

static int compare_module(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->symbol->module, y->symbol->module);

	return order ? order : by_self(x, y);
}

static int (*const comparisons[])(const void *, const void *) = {
	[SORT_SELF] = compare_self,	  [SORT_TOTAL] = compare_total,
	[SORT_SAMPLES] = compare_samples, [SORT_SYMBOL] = compare_symbol,
	[SORT_MODULE] = compare_module,
};

/* ---- rows ----------------------------------------------------------------------------------- */

static void add_row(void *context, struct symbol *symbol)
{
	struct report_table *table = context;

	if (!symbol->total.samples)
		return;
	if (percent_of(symbol->total.weight, table->all) < table->limit) {
		table->n_hidden++;
		table->hidden_self += symbol->self.weight;
		return;
	}
	table->rows =
		memory_reserve(table->rows, &table->capacity, table->n_rows, sizeof(*table->rows));
	table->rows[table->n_rows++] = (struct row){
		.symbol = symbol,
		.name = memory_print("%s%s%s", symbol->name, symbol->inlined ? " (inlined)" : "",
				     symbol->kernel ? " [k]" : ""),
	};
	name_column_add(&table->names, table->rows[table->n_rows - 1].name, symbol->module);
}

/* Adds up self and total of the groups, which are the root's children. */
static void sum_groups(const struct call_tree *tree)
{
	uint32_t node = tree->nodes[CALL_TREE_ROOT].first_child;

	for (; node != CALL_TREE_NONE; node = tree->nodes[node].next_sibling) {
		struct symbol *symbol = (struct symbol *)tree->nodes[node].key;

		amount_add(&symbol->self, tree->nodes[node].total);
		amount_add(&symbol->total, tree->nodes[node].total);
	}
}

static void forget_sums(void *context, struct symbol *symbol)
{
	(void)context;
	symbol->self = symbol->total = (struct amount){ 0 };
}

/* The name columns. */
static struct name_column columns_of(enum symbols_by by)
{
	switch (by) {
	case SYMBOLS_BY_LINE:
		return (struct name_column){ .head = "LINE", .module_head = "FOLDER" };
	case SYMBOLS_BY_SOURCE:
		return (struct name_column){ .head = "FILE", .module_head = NAME_MODULE_HEAD };
	case SYMBOLS_BY_ADDRESS:
		return (struct name_column){ .head = NAME_HEAD, .module_head = "ADDRESS" };
	default:
		return (struct name_column){ .head = NAME_HEAD, .module_head = NAME_MODULE_HEAD };
	}
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

void report_table_print_head(const struct report_table *table, const struct output *output)
{
	const char *unit = profile_unit(table->profile);
	FILE *file = output->file;

	fputs(color_bold(output), file);
	if (table->shares_alone)
		fprintf(file, "%8s  %8s  ", "SELF", "TOTAL");
	else
		fprintf(file, "%8s %9s  %8s %9s  %9s  ", "SELF", unit, "TOTAL", unit, "SAMPLES");
	name_column_print_head(&table->names, output);
}

void report_table_print_row(const struct report_table *table, size_t row,
			    const struct output *output)
{
	const struct symbol *symbol = table->rows[row].symbol;

	print_share(table, symbol->self.weight, output);
	print_share(table, symbol->total.weight, output);
	if (!table->shares_alone)
		fprintf(output->file, "%9s  ", format_count(symbol->total.samples).text);
	name_column_print(&table->names, table->rows[row].name, symbol->module, output);
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
		.names = columns_of(profiles->symbols.by),
		.shares_alone = output->width && output->width < TERMINAL_WIDTH,
	};
	symbol_table_visit(&profiles->symbols, forget_sums, NULL);
	if (profiles->groups.grouping == GROUP_NONE)
		symbol_table_sum(&profile->tree);
	else
		sum_groups(&profile->tree);
	symbol_table_visit(&profiles->symbols, add_row, table);
	if (table->n_rows)
		qsort(table->rows, table->n_rows, sizeof(*table->rows), comparisons[sort]);
	name_column_fit(&table->names, table->shares_alone ? SHARES_WIDTH : FIXED_WIDTH, output);
	return table;
}

void report_table_free(struct report_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n_rows; i++)
		free(table->rows[i].name);
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
