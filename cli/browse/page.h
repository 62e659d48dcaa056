/* SPDX-License-Identifier: Apache-2.0 */
/* What fills the screen: rows, one of which is chosen. */
#ifndef CLI_BROWSE_PAGE_H
#define CLI_BROWSE_PAGE_H

#include "cli/browse/samples.h"
#include "cli/print/output.h"
#include "cli/report/report_callers.h"
#include "cli/report/report_table.h"

struct page;

struct page_kind {
	/* The line above the rows, and a row; each ends its line. */
	void (*print_head)(const struct page *page, const struct output *output);
	void (*print_row)(const struct page *page, size_t row, const struct output *output);
	/* What the row is of; NULL: nothing. */
	const struct symbol *(*symbol)(const struct page *page, size_t row);
	/* Acts on a key of its own; false if it is none. */
	bool (*press)(struct page *page, int key);
	/* page->filter has changed. */
	void (*filter)(struct page *page);
	void (*free)(struct page *page);
};

/* The beginning of each kind's own structure. */
struct page {
	const struct page_kind *kind;
	char *title;
	char *filter;		   /* rows without this text are not shown; "": all are */
	size_t n_rows, row, first; /* rows, the chosen one, and the first on the screen */
	size_t shift;		   /* columns that are out of the screen on its left side */
	struct page *below;	   /* what was shown before */
};

/* Of what a page is made; all of it stays longer than the page. */
struct page_source {
	struct sums *sums;
	const struct output *output; /* colours, width; where it prints to is set for each row */
	uint64_t limit;		     /* in PERCENT: what has a smaller share in total is left out */
};

/* Functions, or whatever samples are summed up by. */
struct page *table_page(const struct page_source *source, enum table_sort sort);
/* From the root down. */
struct page *tree_page(const struct page_source *source);
/* Who calls functions, and what one calls: as trees with these at their root. `title` is taken
 * over. */
struct page *callers_page(const struct page_source *source, char *title,
			  const struct callees *callees);
struct page *callees_page(const struct page_source *source, const struct symbol *symbol);
/* Lines, which are taken over; a filter moves to the next line that has it. */
struct page *text_page(char *title, char *text);
/* The chosen one is that with the largest share at its beginning. */
void text_page_to_hottest(struct page *page);
/* The same keys in every page: true if it was one.  `height`: rows on the screen. */
bool page_move(struct page *page, int key, size_t height);
/* So that the chosen row is on the screen. */
void page_scroll(struct page *page, size_t height);
void page_free(struct page *page);

/* Text that is printed into memory. */
struct text {
	struct output output;
	char *bytes;
	size_t size;
};

/* As `output` is, but for where it is printed to. */
void text_begin(struct text *text, const struct output *output);
/* To be freed. */
char *text_end(struct text *text);

/* It has the text in it, in whatever capitals. */
bool symbol_has(const struct symbol *symbol, const char *text);
/* Name and marks, without a newline. */
void symbol_print(const struct symbol *symbol, const struct output *output);

#endif
