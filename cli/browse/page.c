/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/browse/page.h"
#include "cli/browse/screen.h"
#include "cli/print/text.h"
#include "cli/report/name_column.h"

/* Columns by which the arrows shift a wide page. */
#define SHIFT 8

void page_free(struct page *page)
{
	if (!page)
		return;
	free(page->title);
	free(page->filter);
	page->kind->free(page);
}

void page_scroll(struct page *page, size_t height)
{
	if (page->row >= page->n_rows)
		page->row = page->n_rows ? page->n_rows - 1 : 0;
	if (page->row < page->first)
		page->first = page->row;
	if (page->row >= page->first + height)
		page->first = page->row - height + 1;
	/* Leave no empty lines below the last row. */
	if (page->first + height > page->n_rows)
		page->first = page->n_rows > height ? page->n_rows - height : 0;
}

static size_t less(size_t row, size_t by)
{
	return row > by ? row - by : 0;
}

bool page_move(struct page *page, int key, size_t height)
{
	switch (key) {
	case PRESSED_LINE_UP:
		page->row = less(page->row, 1);
		break;
	case PRESSED_LINE_DOWN:
		page->row++;
		break;
	case PRESSED_PAGE_UP:
		page->row = less(page->row, height);
		break;
	case ' ':
	case PRESSED_PAGE_DOWN:
		page->row += height;
		break;
	case PRESSED_TO_BEGIN:
		page->row = 0;
		break;
	case PRESSED_TO_END:
		page->row = less(page->n_rows, 1);
		break;
	case PRESSED_TO_LEFT:
		page->shift = less(page->shift, SHIFT);
		break;
	case PRESSED_TO_RIGHT:
		page->shift += SHIFT;
		break;
	default:
		return false;
	}
	page_scroll(page, height);
	return true;
}

bool symbol_has(const struct symbol *symbol, const char *text)
{
	return strcasestr(symbol->name, text) || strcasestr(symbol->module, text);
}

void symbol_print(const struct symbol *symbol, size_t room, const struct output *output)
{
	_cleanup_free_ char *text =
		memory_print("%s%s%s%s", symbol_shown(symbol, output->short_names),
			     symbol->inlined ? " (inlined)" : "", symbol->kernel ? " [k]" : "",
			     symbol->guessed ? " [guessed]" : "");

	fputs(symbol->pseudo ? color_bold(output) : "", output->file);
	name_print_end(text, room, output);
	fputs(symbol->pseudo ? color_end(output) : "", output->file);
}

void text_begin(struct text *text, const struct output *output)
{
	*text = (struct text){ .output = *output };
	text->output.file = open_memstream(&text->bytes, &text->size);
	memory_check(text->output.file);
}

char *text_end(struct text *text)
{
	if (fclose(text->output.file))
		memory_check(NULL);
	return text->bytes;
}
