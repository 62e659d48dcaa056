/* SPDX-License-Identifier: Apache-2.0 */
/* Refreshes the view while the user looks at it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/browse/browse.h"
#include "cli/browse/browser.h"
#include "cli/browse/screen.h"
#include "cli/print/text.h"
#include "cli/session/selection.h"

/* Interval of checks for new samples. */
#define STEP_MS 50

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

/* ---- in the background ---------------------------------------------------------------------- */

/* Unwinding the newest samples takes a while: meanwhile the user and the stream are served. */
struct renewal {
	const struct feed *feed;
	pthread_t thread;
	bool runs;
	atomic_bool is_done, is_cancelled;
	uint64_t start;
	const struct session *previous; /* NULL: none */
	struct session *session;	/* NULL: not opened */
	struct samples samples;
	bool ok, has_samples;
};

static bool add_sample(void *context, const struct reel_trace *trace,
		       const struct reel_event_info *event)
{
	struct renewal *renewal = context;

	return !atomic_load(&renewal->is_cancelled) && samples_add(&renewal->samples, trace, event);
}

static void *read_newest(void *context)
{
	struct renewal *renewal = context;
	struct session *session = memory_get(sizeof(*session));

	if (renewal->feed->open(renewal->feed->context, renewal->previous, session)) {
		renewal->session = session;
		session->progress.on = false;
		renewal->ok = session_visit(session, add_sample, renewal);
	} else {
		session_close(session);
		free(session);
	}
	atomic_store(&renewal->is_done, true);
	return NULL;
}

/* False if there is nothing to show yet. */
static bool renewal_begin(struct renewal *renewal, const struct browser *browser)
{
	const struct feed *feed = browser->feed;

	if (!feed->prepare(feed->context))
		return false;
	*renewal =
		(struct renewal){ .feed = feed, .start = reel_now(), .previous = browser->session };
	samples_init(&renewal->samples, &browser->samples.kept);
	renewal->runs = !pthread_create(&renewal->thread, NULL, read_newest, renewal);
	if (!renewal->runs) {
		read_newest(renewal);
		renewal->runs = true;
		renewal->thread = pthread_self();
	}
	return true;
}

static void renewal_join(struct renewal *renewal)
{
	if (!pthread_equal(renewal->thread, pthread_self()))
		pthread_join(renewal->thread, NULL);
	renewal->runs = false;
}

static void renewal_free(struct renewal *renewal)
{
	samples_free(&renewal->samples);
	if (renewal->session) {
		session_close(renewal->session);
		free(renewal->session);
	}
}

/* Shows the samples; false if it has to be tried again. */
static bool renewal_end(struct renewal *renewal, struct browser *browser)
{
	/* Meanwhile the user may have gone elsewhere, or chosen another grouping. */
	bool is_wanted = browser_may_renew(browser) &&
			 samples_suffice(&renewal->samples, &browser->by.groups);

	renewal_join(renewal);
	renewal->has_samples = renewal->ok && renewal->samples.n_events;
	if (renewal->has_samples && is_wanted) {
		adopt(browser, renewal->session, &renewal->samples);
		renewal->feed->took(renewal->feed->context, reel_now() - renewal->start);
		return true;
	}
	if (renewal->ok && !renewal->has_samples && browser->session)
		browser_say(browser, memory_print("no recent samples"));
	renewal_free(renewal);
	return false;
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
	struct renewal renewal = { 0 };
	uint64_t due = reel_now();
	/* Of the stream, and for a view that has not all of it. */
	bool comes = true, is_behind = true, goes_on = true;

	while (goes_on && (comes || renewal.runs || browser->session)) {
		bool was_coming = comes;

		comes = comes && feed->take(feed->context);
		if (was_coming && !comes)
			due = 0;
		if (renewal.runs && atomic_load(&renewal.is_done) &&
		    !renewal_end(&renewal, browser)) {
			is_behind |= renewal.has_samples;
			/* The first samples are shown as soon as there are any. */
			if (renewal.ok && !browser->session)
				due = 0;
		}
		is_behind |= was_coming;
		if (!renewal.runs && is_behind && reel_now() >= due && browser_may_renew(browser) &&
		    renewal_begin(&renewal, browser)) {
			due = renewal.start + feed->delay;
			is_behind = comes;
		}
		if (!comes && was_coming && browser->session)
			browser_say(browser, memory_print("end of the recording"));
		goes_on = browser_step(browser, comes || renewal.runs || is_behind ? STEP_MS : -1);
	}
	if (renewal.runs) {
		atomic_store(&renewal.is_cancelled, true);
		renewal_join(&renewal);
		renewal_free(&renewal);
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
