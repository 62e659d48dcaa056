/* SPDX-License-Identifier: Apache-2.0 */
/* The table of `stackreel report`. */
#ifndef CLI_REPORT_REPORT_TABLE_H
#define CLI_REPORT_REPORT_TABLE_H

#include "cli/print/output.h"
#include "cli/report/profile.h"

enum table_sort {
	SORT_SELF,
	SORT_TOTAL,
	SORT_SAMPLES,
	SORT_SYMBOL,
	SORT_MODULE,
};

bool table_sort_parse(const char *name, enum table_sort *ret);

/* Rows whose share is below `limit` percent in total are counted only. */
void report_table_print(struct profiles *profiles, const struct profile *profile,
			enum table_sort sort, uint64_t limit, const struct output *output);

#endif
