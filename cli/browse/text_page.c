/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/browse/page.h"
#include "cli/browse/screen.h"
#include "cli/print/text.h"

/* A share at the beginning of a line ends before this column. */
#define SHARE_END 8
/* Rows shown above the hottest line. */
#define ROWS_BEFORE 8

struct text_page {
	struct page page;
	char *text;
	char **lines;
	size_t capacity;
};

static void print_head(const struct page *page, const struct output *output)
{
	(void)page;
	fputc('\n', output->file);
}

static void print_row(const struct page *page, size_t row, const struct output *output)
{
	fprintf(output->file, "%s\n", ((const struct text_page *)page)->lines[row]);
}

static const struct symbol *symbol(const struct page *page, size_t row)
{
	(void)page;
	(void)row;
	return NULL;
}

/* Finds the next line with the text, from line `from` on, wrapping around. */
static void find(struct page *base, size_t from)
{
	struct text_page *page = (struct text_page *)base;

	for (size_t i = 0; *base->filter && i < base->n_rows; i++) {
		size_t row = (from + i) % base->n_rows;

		if (strcasestr(page->lines[row], base->filter)) {
			base->row = row;
			return;
		}
	}
}

static void filter(struct page *base)
{
	find(base, base->row);
}

/* 0: none. */
static double share_of(const char *line)
{
	double share;
	char *end;

	while (*line == '\033')
		line += strcspn(line, "m") + 1;
	share = strtod(line, &end);
	return end > line && end - line < SHARE_END ? share : 0;
}

/* The line with the largest share below `below`, or an equal share after line `from`. */
static size_t next_hottest(const struct text_page *page, double below, size_t from)
{
	size_t best = page->page.n_rows;
	double most = 0;

	for (size_t i = 0; i < page->page.n_rows; i++) {
		double share = share_of(page->lines[i]);

		if (share > most && (share < below || (share == below && i > from))) {
			most = share;
			best = i;
		}
	}
	return best;
}

void text_page_to_hottest(struct page *page)
{
	size_t row = next_hottest((struct text_page *)page, 101, 0);

	if (row >= page->n_rows)
		return;
	page->row = row;
	page->first = row > ROWS_BEFORE ? row - ROWS_BEFORE : 0;
}

static bool press(struct page *base, int key)
{
	struct text_page *page = (struct text_page *)base;
	size_t row;

	if (!base->n_rows)
		return false;
	switch (key) {
	case 'n':
		find(base, base->row + 1);
		return true;
	case 'H':
		text_page_to_hottest(base);
		return true;
	case PRESSED_NEXT_TAB:
		row = next_hottest(page, share_of(page->lines[base->row]), base->row);
		if (row < base->n_rows)
			base->row = row;
		return true;
	default:
		return false;
	}
}

static void free_text(struct page *base)
{
	struct text_page *page = (struct text_page *)base;

	free(page->text);
	free(page->lines);
	free(page);
}

static const struct page_kind kind = {
	print_head, print_row, symbol, NULL, press, filter, free_text
};

struct page *text_page(char *title, char *text)
{
	struct text_page *page = memory_get(sizeof(*page));
	char *rest = text;

	*page = (struct text_page){
		.page = { .kind = &kind, .title = title, .filter = memory_print("%s", "") },
		.text = text,
	};
	for (char *line; (line = strsep(&rest, "\n")) && (rest || *line);) {
		page->lines = memory_reserve(page->lines, &page->capacity, page->page.n_rows,
					     sizeof(char *));
		page->lines[page->page.n_rows++] = line;
	}
	return &page->page;
}
