/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/browse/page.h"
#include "cli/print/text.h"

struct table_page {
	struct page page;
	struct report_table *table;
	size_t *rows; /* the table's rows that are shown */
	size_t n_groups;
};

static void print_head(const struct page *page, const struct output *output)
{
	report_table_print_head(((const struct table_page *)page)->table, output);
}

static void print_row(const struct page *page, size_t row, const struct output *output)
{
	const struct table_page *table = (const struct table_page *)page;

	report_table_print_row(table->table, table->rows[row], output);
}

static const struct symbol *symbol(const struct page *page, size_t row)
{
	const struct table_page *table = (const struct table_page *)page;

	return report_table_symbol(table->table, table->rows[row]);
}

static const struct symbol *const *groups(const struct page *page, size_t row)
{
	const struct table_page *table = (const struct table_page *)page;

	return report_table_groups(table->table, table->rows[row]);
}

static bool press(struct page *page, int key)
{
	(void)page;
	(void)key;
	return false;
}

static bool has_text(const struct table_page *table, size_t row)
{
	const struct symbol *const *of = report_table_groups(table->table, row);
	const char *text = table->page.filter;

	for (size_t i = 0; i < table->n_groups; i++) {
		if (symbol_has(of[i], text))
			return true;
	}
	return symbol_has(report_table_symbol(table->table, row), text);
}

static void filter(struct page *page)
{
	struct table_page *table = (struct table_page *)page;
	size_t n = report_table_rows(table->table);

	page->n_rows = 0;
	for (size_t i = 0; i < n; i++) {
		if (has_text(table, i))
			table->rows[page->n_rows++] = i;
	}
}

static void free_table(struct page *page)
{
	struct table_page *table = (struct table_page *)page;

	report_table_free(table->table);
	free(table->rows);
	free(table);
}

static const struct page_kind kind = { print_head, print_row, symbol,	 groups,
				       press,	   filter,    free_table };

struct page *table_page(const struct page_source *source, enum table_sort sort)
{
	struct table_page *table = memory_get(sizeof(*table));
	struct sums *sums = source->sums;

	sums->profile->courses = has_courses(source->output) ? sums_courses(sums) : NULL;
	*table = (struct table_page){
		.page = { .kind = &kind,
			  .title = memory_print("%s", ""),
			  .filter = memory_print("%s", "") },
		.n_groups = sums->profiles.n_groups,
		.table = report_table_make(&sums->profiles, sums->profile, sort, source->limit,
					   source->output),
	};
	table->rows = memory_resize(NULL, report_table_rows(table->table) + 1, sizeof(size_t));
	filter(&table->page);
	return &table->page;
}
