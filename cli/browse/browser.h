/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the interactive view. */
#ifndef CLI_BROWSE_BROWSER_H
#define CLI_BROWSE_BROWSER_H

#include "cli/browse/page.h"
#include "cli/browse/parts.h"

/* The prompt on the last line. */
enum prompt {
	PROMPT_NONE,
	PROMPT_FILTER,
	PROMPT_LIMIT,
	PROMPT_FROM,
	PROMPT_TO,
};

/* The title of the page that lists groupings. */
#define CHOICE_TITLE "group by"

struct browser {
	/* Of the newest part; NULL: no samples yet. */
	struct session *session;
	struct parts parts;
	/* In a live view: newer than these. */
	struct parts waiting;
	struct grouping kept;	     /* of all parts' samples */
	struct sample_counts labels; /* those in the list of groupings */
	const struct options *given; /* the session's options, without a chosen time */
	struct options options;	     /* the same with it, once one was chosen */
	const struct feed *feed;     /* NULL: not a live view */
	bool stopped;		     /* newer ones are not shown */
	struct sums sums;
	bool has_sums;
	struct output output;
	struct page *page; /* the page shown, above the pages that led to it */

	/* The selected event, and how to sum it up. */
	size_t event;
	struct by by;
	enum table_sort sort;
	uint64_t limit;
	bool tree; /* the lowest page is one */
	bool short_names, hides_courses;
	/* The threads, processes … zoomed into, in order. */
	char **zooms;
	unsigned int n_zooms;

	enum prompt prompt;
	char *typed;
	char *message; /* NULL: none */
	bool is_drawn; /* as it is now */
};

/* Draws, and handles a key pressed within `ms` (negative: no timeout); false: quit. */
bool browser_step(struct browser *browser, int ms);
/* Frees all pages and their sums. */
void browser_close(struct browser *browser);
/* Frees the browser, except a session that it does not own. */
void browser_end(struct browser *browser);
/* Newer samples may be shown: the user is not in the middle of something. */
bool browser_may_renew(const struct browser *browser);

/* Shows, while it lasts, that the capture is read again. */
void browser_say_reading(struct browser *browser);
/* Sums up again according to the browser's fields and shows the result; closes other pages. */
void browser_sum(struct browser *browser);
/* The same without summing up: for another order, limit or width. */
void browser_show(struct browser *browser);
void browser_push(struct browser *browser, struct page *page);
/* Returns to the previous page; false: none. */
bool browser_pop(struct browser *browser);
/* Shows a message until the next key; takes ownership of it. */
void browser_say(struct browser *browser, char *message);
struct page_source browser_source(struct browser *browser);
/* The symbol of the selected row, or NULL. */
const struct symbol *browser_symbol(const struct browser *browser);

/* The screen, as it is now. */
struct output browser_output(const struct browser *browser);
/* Draws everything. */
void browser_draw(struct browser *browser);
/* The cursor's place on the last line; -1: nothing is asked there. */
int browser_prompt_width(const struct browser *browser);
/* Rows that a page has room for. */
size_t browser_height(void);

/* Handles a key; false: quit. */
bool browser_press(struct browser *browser, int key);

/* Opens a page with the selected function's instructions, or its source lines. */
void browser_annotate(struct browser *browser, bool by_source);
/* Shows the values of the first label or variable that samples are grouped by, as a histogram. */
void browser_show_histogram(struct browser *browser);
/* Shows the head of the report, which states how reliable it is. */
void browser_show_head(struct browser *browser);
void browser_show_help(struct browser *browser);

#endif
