/* SPDX-License-Identifier: Apache-2.0 */
/* Refreshes the view while the user looks at it. */
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/browse/browse.h"
#include "cli/browse/browser.h"
#include "cli/browse/screen.h"
#include "cli/print/text.h"
#include "cli/session/selection.h"

/* Interval of checks for new samples. */
#define STEP_MS 100

/* Identifies a row after a refresh. */
struct bookmark {
	char *name, *module, *filter;
};

static struct bookmark bookmark_make(const struct browser *browser)
{
	const struct symbol *symbol = browser->page ? browser_symbol(browser) : NULL;

	return (struct bookmark){
		.name = memory_print("%s", symbol ? symbol->name : ""),
		.module = memory_print("%s", symbol ? symbol->module : ""),
		.filter = memory_print("%s", browser->page ? browser->page->filter : ""),
	};
}

/* Goes to the bookmark and frees it; a selected first row stays the first. */
static void bookmark_open(struct bookmark *bookmark, struct page *page, size_t row)
{
	free(page->filter);
	page->filter = bookmark->filter;
	page->kind->filter(page);
	for (size_t i = 0; row && i < page->n_rows; i++) {
		const struct symbol *symbol = page->kind->symbol(page, i);

		if (!strcmp(symbol->name, bookmark->name) &&
		    !strcmp(symbol->module, bookmark->module))
			page->row = i;
	}
	free(bookmark->name);
	free(bookmark->module);
}

static void adopt(struct browser *browser, struct session *session, struct samples *samples)
{
	struct bookmark bookmark = bookmark_make(browser);
	size_t row = browser->page ? browser->page->row : 0;

	browser_close(browser);
	samples_free(&browser->samples);
	if (browser->session) {
		session_close(browser->session);
		free(browser->session);
	}
	browser->session = session;
	browser->samples = *samples;
	if (browser->event >= samples->n_events)
		browser->event = 0;
	browser_sum(browser);
	bookmark_open(&bookmark, browser->page, row);
}

static void renew(struct browser *browser)
{
	struct session *session = memory_get(sizeof(*session));
	struct samples samples;
	bool ok;

	if (!browser->feed->open(browser->feed->context, session)) {
		free(session);
		return;
	}
	session->progress.on = false;
	samples_init(&samples, &browser->samples.kept);
	ok = session_visit(session, samples_add, &samples);
	if (ok && samples.n_events) {
		adopt(browser, session, &samples);
		return;
	}
	if (ok)
		browser_say(browser, memory_print("no recent samples"));
	samples_free(&samples);
	session_close(session);
	free(session);
}

bool browser_may_renew(const struct browser *browser)
{
	const struct page *page = browser->page;

	return !browser->stopped && !browser->prompt && !browser->n_zooms &&
	       (!page || (!page->below && !browser->tree));
}

static void run_feed(struct browser *browser)
{
	const struct feed *feed = browser->feed;
	uint64_t due = reel_now();
	bool comes = true, goes_on = true;

	while (goes_on && (comes || browser->session)) {
		bool was_coming = comes;

		comes = comes && feed->take(feed->context);
		if (was_coming && !comes)
			due = 0;
		if (was_coming && reel_now() >= due && browser_may_renew(browser)) {
			renew(browser);
			due = reel_now() + feed->delay;
		}
		if (!comes && was_coming && browser->session)
			browser_say(browser, memory_print("end of the recording"));
		goes_on = browser_step(browser, comes ? STEP_MS : -1);
	}
}

int browse_feed(const struct feed *feed, const struct browse_start *start)
{
	struct browser browser = {
		.feed = feed,
		.by = start->by,
		.sort = start->sort,
		.limit = start->percent_limit,
		.short_names = start->short_names,
		.typed = memory_print("%s", ""),
	};

	samples_init(&browser.samples, &start->by.groups);
	if (screen_open()) {
		browser.output = browser_output(&browser);
		browser_push(&browser, text_page(memory_print("%s", ""), memory_print("waiting")));
		run_feed(&browser);
		screen_close();
	}
	browser_end(&browser);
	if (browser.session) {
		session_close(browser.session);
		free(browser.session);
	}
	return STATUS_OK;
}
