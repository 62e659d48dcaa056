/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of the state that need no drawing and no keys. */
#include <stdlib.h>

#include "cli/browse/browser.h"
#include "cli/browse/screen.h"

struct page_source browser_source(struct browser *browser)
{
	return (struct page_source){ &browser->sums, &browser->output, browser->limit };
}

struct output browser_output(const struct browser *browser)
{
	struct output output = screen_output();

	output.short_names = browser->short_names;
	output.courses = !browser->hides_courses;
	return output;
}

void browser_push(struct browser *browser, struct page *page)
{
	page->below = browser->page;
	browser->page = page;
	browser->is_drawn = false;
}

bool browser_pop(struct browser *browser)
{
	struct page *page = browser->page;

	if (!page->below)
		return false;
	browser->page = page->below;
	page_free(page);
	return true;
}

void browser_say(struct browser *browser, char *message)
{
	free(browser->message);
	browser->message = message;
	browser->is_drawn = false;
}

const struct symbol *browser_symbol(const struct browser *browser)
{
	const struct page *page = browser->page;

	return page->n_rows ? page->kind->symbol(page, page->row) : NULL;
}

static void free_pages(struct browser *browser)
{
	while (browser->page) {
		struct page *page = browser->page;

		browser->page = page->below;
		page_free(page);
	}
}

void browser_close(struct browser *browser)
{
	free_pages(browser);
	if (browser->has_sums)
		sums_free(&browser->sums);
	browser->has_sums = false;
}

void browser_show(struct browser *browser)
{
	struct page_source source = browser_source(browser);

	free_pages(browser);
	browser->output = browser_output(browser);
	browser_push(browser,
		     browser->tree ? tree_page(&source) : table_page(&source, browser->sort));
}

void browser_sum(struct browser *browser)
{
	browser_close(browser);
	sums_make(&browser->sums, &browser->parts, browser->event, &browser->by);
	browser->has_sums = true;
	browser_show(browser);
}

bool browser_may_renew(const struct browser *browser)
{
	const struct page *page = browser->page;

	return !browser->stopped && !browser->prompt && !browser->n_zooms &&
	       (!page || (!page->below && !browser->tree));
}

void browser_end(struct browser *browser)
{
	if (browser->given)
		browser->session->options = browser->given;
	browser_close(browser);
	for (unsigned int i = 0; i < browser->n_zooms; i++)
		free(browser->zooms[i]);
	free(browser->zooms);
	free(browser->typed);
	sample_counts_free(&browser->labels);
	browser_say(browser, NULL);
	parts_free(&browser->parts);
	parts_free(&browser->waiting);
}
