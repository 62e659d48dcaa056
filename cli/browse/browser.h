/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked at, and in which way. */
#ifndef CLI_BROWSE_BROWSER_H
#define CLI_BROWSE_BROWSER_H

#include "cli/browse/browse.h"
#include "cli/browse/page.h"

/* What is typed into the last line. */
enum prompt {
	PROMPT_NONE,
	PROMPT_FILTER,
	PROMPT_LIMIT,
};

/* Of the page that has the ways to sum up. */
#define CHOICE_TITLE "what is summed up"

struct browser {
	struct session *session; /* NULL: nothing has come yet */
	struct samples samples;
	const struct feed *feed; /* NULL: all samples are here */
	bool stopped;		 /* newer ones are not shown */
	struct sums sums;
	bool has_sums;
	struct output output;
	struct page *page; /* that is shown, above those that it was come from */

	/* What is summed up, and how. */
	size_t event;
	enum symbols_by by;
	enum grouping grouping;
	enum table_sort sort;
	uint64_t limit;
	bool tree; /* the lowest page is one */
	/* Into which threads, processes … samples were looked, the first first. */
	char **zooms;
	unsigned int n_zooms;

	enum prompt prompt;
	char *typed;
	char *message; /* NULL: none */
};

/* Draws, and acts on a key if one comes within `ms` (negative: whenever); false: it is to end. */
bool browser_step(struct browser *browser, int ms);
/* All pages, and what is summed up for them. */
void browser_close(struct browser *browser);
/* Frees it, but for the session. */
void browser_end(struct browser *browser);
/* Newer samples are to be shown when they come: nobody is in the middle of something. */
bool browser_may_renew(const struct browser *browser);

/* Sums up anew, as the browser's fields say, and shows that; other pages go. */
void browser_sum(struct browser *browser);
/* The same without summing up: for another order, limit or width. */
void browser_show(struct browser *browser);
void browser_push(struct browser *browser, struct page *page);
/* Goes back to the page before; false if there is none. */
bool browser_pop(struct browser *browser);
/* Shown until the next key; taken over. */
void browser_say(struct browser *browser, char *message);
struct page_source browser_source(struct browser *browser);
/* The symbol of the chosen row; NULL: there is none. */
const struct symbol *browser_symbol(const struct browser *browser);

/* Draws everything. */
void browser_draw(struct browser *browser);
/* Rows that a page has room for. */
size_t browser_height(void);

/* Acts on a key; false: it is to end. */
bool browser_press(struct browser *browser, int key);

/* Pages of what the chosen symbol is, if it is code: instructions, or lines of source. */
void browser_annotate(struct browser *browser, bool by_source);
/* The head of the report, which says how far it can be believed. */
void browser_show_head(struct browser *browser);
void browser_show_help(struct browser *browser);

#endif
