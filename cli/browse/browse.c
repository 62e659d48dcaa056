/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/browse/browse.h"
#include "cli/browse/browser.h"
#include "cli/browse/screen.h"
#include "cli/print/text.h"
#include "cli/session/selection.h"

bool browse_is_possible(void)
{
	return screen_is_possible();
}

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

/* --callers */
static void show_callers(struct browser *browser, const char *name)
{
	struct page_source source = browser_source(browser);
	struct callees callees;

	if (!callees_find(&browser->sums.profiles, name, &callees))
		return;
	browser_push(browser,
		     callers_page(&source, memory_print("callers of '%s'", name), &callees));
	callees_free(&callees);
}

bool browser_step(struct browser *browser, int ms)
{
	int key;

	if (!browser->message && (browser->message = screen_message()))
		browser->is_drawn = false;
	if (!browser->is_drawn)
		browser_draw(browser);
	browser->is_drawn = true;
	key = screen_key(ms, browser_prompt_width(browser));
	if (key == PRESSED_NOTHING)
		return true;
	browser->is_drawn = false;
	browser_say(browser, NULL);
	return browser_press(browser, key);
}

static void run(struct browser *browser)
{
	while (browser_step(browser, -1))
		;
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

/* False if there is nothing to show. */
static bool show(struct browser *browser, const struct browse_start *start)
{
	if (!screen_open())
		return false;
	browser_sum(browser);
	if (start->callers)
		show_callers(browser, start->callers);
	run(browser);
	screen_close();
	return true;
}

int browse(struct session *session, const struct browse_start *start)
{
	struct browser browser = {
		.session = session,
		.by = start->by,
		.sort = start->sort,
		.limit = start->percent_limit,
		.tree = start->tree,
		.short_names = start->short_names,
		.typed = memory_print("%s", ""),
	};
	struct part whole = { .session = session };
	int status = STATUS_ERROR;
	bool ok;

	samples_init(&whole.samples, &start->by.groups);
	browser.kept = whole.samples.kept;
	ok = session_visit(session, samples_add, &whole.samples) &&
	     groups_have_labels(whole.samples.groups, whole.samples.kept.n, session);
	parts_add(&browser.parts, &whole);
	if (ok) {
		status = BROWSE_NOT;
		session->progress.on = false;
		if (browser.parts.n_events && show(&browser, start))
			status = session_status(session);
	}
	browser_end(&browser);
	return status;
}
