/* SPDX-License-Identifier: Apache-2.0 */
/* A report to look around in, on a terminal. */
#ifndef CLI_BROWSE_BROWSE_H
#define CLI_BROWSE_BROWSE_H

#include "cli/browse/feed.h"
#include "cli/report/report_table.h"

/* What it begins with. */
struct browse_start {
	bool tree;	     /* instead of a table */
	const char *callers; /* of what; NULL: of nothing */
	enum grouping grouping;
	enum symbols_by by;
	enum table_sort sort;
	uint64_t percent_limit; /* in PERCENT */
};

/* There is a terminal that it can use, and standard output is it. */
bool browse_is_possible(void);
#define BROWSE_NOT (-1)
/*
 * Reads the capture, shows it until its user has enough, and gives the command's status; NOT if
 * there is nothing to show, or no way to.
 */
int browse(struct session *session, const struct browse_start *start);
/* The same of samples that come; it ends when its user has enough, or nothing comes any more before
 * there were any. */
int browse_feed(const struct feed *feed, const struct browse_start *start);

#endif
