/* SPDX-License-Identifier: Apache-2.0 */
/* An interactive report on a terminal. */
#ifndef CLI_BROWSE_BROWSE_H
#define CLI_BROWSE_BROWSE_H

#include "cli/browse/feed.h"
#include "cli/report/report_table.h"

/* The initial view. */
struct browse_start {
	bool tree;	     /* instead of a table */
	const char *callers; /* of this function; NULL: none */
	struct by by;
	enum table_sort sort;
	uint64_t percent_limit; /* in PERCENT */
	bool short_names;
};

/* Standard output is a usable terminal. */
bool browse_is_possible(void);
#define BROWSE_NOT (-1)
/*
 * Reads the capture, shows it until the user quits, and returns the command's status; NOT if there
 * is nothing to show or no usable terminal.
 */
int browse(struct session *session, const struct browse_start *start);
/* The same for live samples; it ends when the user quits, or when the feed ends without any
 * sample. */
int browse_feed(const struct feed *feed, const struct browse_start *start);

#endif
