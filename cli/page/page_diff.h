/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as part of a page's content: cli/page/web/diff.js reads it. */
#ifndef CLI_PAGE_PAGE_DIFF_H
#define CLI_PAGE_PAGE_DIFF_H

#include "cli/diff/diff_print.h"
#include "cli/page/columns.h"

struct page_diff {
	const struct diff_result *result; /* with paths */
	/* In PERCENT: branches with less of both sides together are hidden. */
	uint64_t limit;
};

/* Finishes the tree, and finds the limit. */
void page_diff_init(struct page_diff *diff, const struct diff_result *result);
void page_diff_add(const struct page_diff *diff, struct columns *columns);
/* "diff":{…}, with a comma at the end. */
void page_diff_print(const struct page_diff *diff, FILE *file);

#endif
