/* SPDX-License-Identifier: Apache-2.0 */
/* The table of `stackreel report`. */
#ifndef CLI_REPORT_REPORT_TABLE_H
#define CLI_REPORT_REPORT_TABLE_H

#include "cli/print/output.h"
#include "cli/profile/profile.h"

enum table_sort {
	SORT_SELF,
	SORT_TOTAL,
	SORT_SAMPLES,
	SORT_SYMBOL,
	SORT_MODULE,
};

bool table_sort_parse(const char *name, enum table_sort *ret);

/*
 * Sorted rows, to print one by one to an output of the same width. The caller frees it. There is a
 * row for each group, or, by its profile's `has_symbol_rows`, for each symbol in each group.
 */
struct report_table *report_table_make(struct profiles *profiles, const struct profile *profile,
				       enum table_sort sort, uint64_t limit,
				       const struct output *output);
void report_table_free(struct report_table *table);
size_t report_table_rows(const struct report_table *table);
/* The last column's. */
const struct symbol *report_table_symbol(const struct report_table *table, size_t row);
/* The row's groups, one for each key; NULL without keys. */
const struct symbol *const *report_table_groups(const struct report_table *table, size_t row);
void report_table_print_head(const struct report_table *table, const struct output *output);
void report_table_print_row(const struct report_table *table, size_t row,
			    const struct output *output);

/* Prints the whole table. Rows below `limit` percent in total are only counted. */
void report_table_print(struct profiles *profiles, const struct profile *profile,
			enum table_sort sort, uint64_t limit, const struct output *output);

#endif
