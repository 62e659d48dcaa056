/* SPDX-License-Identifier: Apache-2.0 */
/* A screenful of rows, one of them selected. */
#ifndef CLI_BROWSE_PAGE_H
#define CLI_BROWSE_PAGE_H

#include "cli/browse/parts.h"
#include "cli/print/output.h"
#include "cli/report/report_callers.h"
#include "cli/report/report_table.h"

/* On a narrower terminal, names need the room of courses. */
#define COURSE_TERMINAL_WIDTH 120

struct page;

struct page_kind {
	/* Print the line above the rows, or a row, with its newline. */
	void (*print_head)(const struct page *page, const struct output *output);
	void (*print_row)(const struct page *page, size_t row, const struct output *output);
	/* The row's symbol, or NULL. */
	const struct symbol *(*symbol)(const struct page *page, size_t row);
	/* The row's groups, one for each key, or NULL; NULL for pages without groups. */
	const struct symbol *const *(*groups)(const struct page *page, size_t row);
	/* Handles a key of this page; false if unknown. */
	bool (*press)(struct page *page, int key);
	/* Called when page->filter has changed. */
	void (*filter)(struct page *page);
	void (*free)(struct page *page);
};

/* The first member of each kind's own structure. */
struct page {
	const struct page_kind *kind;
	char *title;
	char *filter;		   /* hide rows without this text; "": show all */
	size_t n_rows, row, first; /* rows, the selected one, and the first on the screen */
	size_t shift;		   /* columns hidden to the left */
	struct page *below;	   /* the previous page */
};

/* A page's data; all of it outlives the page. */
struct page_source {
	struct sums *sums;
	const struct output *output; /* colours, width; its file is set for each row */
	uint64_t limit;		     /* in PERCENT: hide smaller shares of the total */
};

/* Functions, or the other groups that samples are summed up by. */
struct page *table_page(const struct page_source *source, enum table_sort sort);
/* From the root down. */
struct page *tree_page(const struct page_source *source);
/* Trees of a function's callers and callees, with the function at the root. Takes ownership of
 * `title`. */
struct page *callers_page(const struct page_source *source, char *title,
			  const struct callees *callees);
struct page *callees_page(const struct page_source *source, const struct symbol *symbol);
/* Takes ownership of the text. A filter moves to the next line that contains it. */
struct page *text_page(char *title, char *text);
/* Selects the line that begins with the largest share. */
void text_page_to_hottest(struct page *page);
/* Handles the keys common to all pages: true if `key` is one. `height`: rows on the screen. */
bool page_move(struct page *page, int key, size_t height);
/* Scrolls the selected row onto the screen. */
void page_scroll(struct page *page, size_t height);
void page_free(struct page *page);

/* Text that is printed into memory. */
struct text {
	struct output output;
	char *bytes;
	size_t size;
};

/* Like `output`, but prints into memory. */
void text_begin(struct text *text, const struct output *output);
/* The caller frees the result. */
char *text_end(struct text *text);

static inline bool has_courses(const struct output *output)
{
	return output->courses && output->utf8 && output->width >= COURSE_TERMINAL_WIDTH;
}

/* The symbol contains the text, ignoring case. */
bool symbol_has(const struct symbol *symbol, const char *text);
/* Name and marks, without a newline; of what is longer than `room`, the end. */
void symbol_print(const struct symbol *symbol, size_t room, const struct output *output);

#endif
