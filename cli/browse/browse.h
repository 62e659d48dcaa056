/* SPDX-License-Identifier: Apache-2.0 */
/* An interactive report on a terminal. */
#ifndef CLI_BROWSE_BROWSE_H
#define CLI_BROWSE_BROWSE_H

#include "cli/browse/parts.h"
#include "cli/report/report_table.h"

/* The source of new samples while a report is shown. */
struct feed {
	void *context;
	const char *name;	/* for the title */
	uint64_t delay, window; /* ns: between refreshes, and of the samples to show */
	/* Takes the available samples without waiting; false: no more will arrive. */
	bool (*take)(void *context);
	/* The number of the next block of samples to arrive. */
	uint64_t (*next_block)(void *context);
	/* Sets the samples from this block on aside as a part's stream; false after an error, which
	 * was reported. */
	bool (*prepare)(void *context, uint64_t first_block, struct reel_live_part *ret);
	/* Opens a session of these, on any thread; false after an error, which was reported.
	 * `previous` is open meanwhile; NULL: none. */
	bool (*open)(void *context, const struct session *previous, struct session *session);
	/* Reading these took `ns`: read more samples next time, or fewer. */
	void (*took)(void *context, uint64_t ns);
};

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
