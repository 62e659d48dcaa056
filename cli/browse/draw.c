/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/browse/browse.h"
#include "cli/browse/browser.h"
#include "cli/browse/screen.h"
#include "cli/print/text.h"

/* Lines above and below the rows. */
#define ROWS_ABOVE 2
#define ROWS_BELOW 1

static const char *const sort_names[] = {
	[SORT_SELF] = "self",	  [SORT_TOTAL] = "total",   [SORT_SAMPLES] = "samples",
	[SORT_SYMBOL] = "symbol", [SORT_MODULE] = "module",
};

size_t browser_height(void)
{
	unsigned int height = screen_height();

	return height > ROWS_ABOVE + ROWS_BELOW ? height - ROWS_ABOVE - ROWS_BELOW : 1;
}

static void show(struct text *line, unsigned int row, size_t shift, enum line_look look)
{
	_cleanup_free_ char *text = text_end(line);

	screen_line(row, text, shift, look);
}

static void print_title(const struct browser *browser, FILE *file)
{
	const struct sums *sums = &browser->sums;
	struct amount all = sums->profile->tree.nodes[CALL_TREE_ROOT].total;
	_cleanup_free_ char *name = text_escape(
		browser->feed ? browser->feed->name : path_base(browser->session->options->file),
		"");
	_cleanup_free_ char *event = text_escape(event_name(sums->profile->event), "");
	const struct quality quality = parts_quality(&browser->parts);
	uint64_t n_bytes, n_read = parts_bytes_read(&browser->parts, &n_bytes);

	fprintf(file, " %s  %s", name, event);
	if (browser->parts.n_events > 1)
		fprintf(file, " (%zu of %zu)", browser->event + 1, browser->parts.n_events);
	fprintf(file, "  %s samples", format_count(all.samples).text);
	if (n_read < n_bytes)
		fprintf(file, " (%s read)", format_share_short(n_read, n_bytes).text);
	if (sums->profile->is_time)
		fprintf(file, ", %s", format_nanoseconds(all.weight).text);
	if (quality_unwound(&quality))
		fprintf(file, "  %s complete",
			format_share(quality.stops[REEL_STOP_ROOT], quality_unwound(&quality))
				.text);
	if (browser->given && browser->options.from)
		fprintf(file, "  from %s", format_nanoseconds(browser->options.from).text);
	if (browser->given && browser->options.to)
		fprintf(file, "  to %s", format_nanoseconds(browser->options.to).text);
	for (unsigned int i = 0; i < browser->n_zooms; i++)
		fprintf(file, "  > %s", browser->zooms[i]);
}

/* The lowest page's title names the way samples are summed up. */
static void print_what(const struct browser *browser, FILE *file)
{
	_cleanup_free_ char *by = NULL;

	if (*browser->page->title || !browser->has_sums) {
		fprintf(file, "%s", browser->page->title);
		return;
	}
	by = by_text(&browser->by);
	fprintf(file, "by %s, sorted by %s", by, sort_names[browser->sort]);
}

static void print_status(const struct browser *browser, FILE *file)
{
	const struct page *page = browser->page;
	_cleanup_free_ char *filter = text_escape(page->filter, "");

	fprintf(file, " %s/%s  ", format_count(page->n_rows ? page->row + 1 : 0).text,
		format_count(page->n_rows).text);
	print_what(browser, file);
	if (*filter)
		fprintf(file, "  with '%s'", filter);
	if (browser->limit && !page->below)
		fprintf(file, "  at least %s %%", format_limit(browser->limit).text);
	if (browser->feed && !browser_may_renew(browser))
		fputs(browser->stopped ? "  paused (p: resume)" : "  not updated in this view",
		      file);
	fputs(page->below ? "  (?: help, q: back)" : "  (?: help, q: quit)", file);
}

/* What the user types on the last line. */
static char *prompt_text(const struct browser *browser)
{
	static const char *const asks[] = {
		[PROMPT_FILTER] = "/",
		[PROMPT_LIMIT] = "hide below %: ",
		[PROMPT_FROM] = "from (1.5, 200ms; nothing: the start): ",
		[PROMPT_TO] = "up to (1.5, 200ms; nothing: the end): ",
	};

	return memory_print("%s%s", asks[browser->prompt], browser->typed);
}

int browser_prompt_width(const struct browser *browser)
{
	_cleanup_free_ char *text = browser->prompt ? prompt_text(browser) : NULL;

	return text ? (int)text_width(text) : -1;
}

static void draw_last_line(const struct browser *browser)
{
	_cleanup_free_ char *prompt = browser->prompt ? prompt_text(browser) : NULL;
	struct text line;
	enum line_look look = LINE_BAR;

	text_begin(&line, &browser->output);
	if (prompt) {
		look = LINE_PLAIN;
		fputs(prompt, line.output.file);
	} else if (browser->message) {
		fprintf(line.output.file, " %s", browser->message);
	} else {
		print_status(browser, line.output.file);
	}
	show(&line, screen_height() - 1, 0, look);
}

void browser_draw(struct browser *browser)
{
	struct page *page = browser->page;
	size_t height = browser_height();
	struct text line;

	screen_clear();
	page_scroll(page, height);
	text_begin(&line, &browser->output);
	if (browser->has_sums)
		print_title(browser, line.output.file);
	show(&line, 0, 0, LINE_BAR);
	text_begin(&line, &browser->output);
	page->kind->print_head(page, &line.output);
	show(&line, 1, page->shift, LINE_PLAIN);
	for (size_t i = 0; i < height && page->first + i < page->n_rows; i++) {
		size_t row = page->first + i;

		text_begin(&line, &browser->output);
		page->kind->print_row(page, row, &line.output);
		show(&line, (unsigned int)(ROWS_ABOVE + i), page->shift,
		     row == page->row ? LINE_CHOSEN : LINE_PLAIN);
	}
	draw_last_line(browser);
}
