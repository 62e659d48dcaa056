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
/* A window has about as many parts. */
#define PARTS_MAX 16

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

/* Shows the waiting parts instead of those before the window. */
static void adopt(struct browser *browser)
{
	uint64_t now = reel_now(), window = browser->feed->window;
	struct bookmark bookmark = bookmark_make(browser);
	size_t row = browser->page ? browser->page->row : 0;

	browser_close(browser);
	parts_append(&browser->parts, &browser->waiting);
	parts_drop_older(&browser->parts, now > window ? now - window : 0);
	browser->session = browser->parts.items[browser->parts.n - 1].session;
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
	struct part part;
	bool ok;
};

/* The position in the stream. */
struct position {
	uint64_t next_block; /* not read yet */
	uint64_t end;	     /* when the previous samples had arrived */
};

static bool add_sample(void *context, const struct reel_trace *trace,
		       const struct reel_event_info *event)
{
	struct renewal *renewal = context;

	return !atomic_load(&renewal->is_cancelled) &&
	       samples_add(&renewal->part.samples, trace, event);
}

static void *read_newest(void *context)
{
	struct renewal *renewal = context;
	struct session *session = renewal->part.session;

	if (renewal->feed->open(renewal->feed->context, renewal->previous, session)) {
		session->progress.on = false;
		renewal->ok = session_visit(session, add_sample, renewal);
	}
	atomic_store(&renewal->is_done, true);
	return NULL;
}

static struct part *newest_part(struct browser *browser)
{
	const struct parts *parts = browser->waiting.n ? &browser->waiting : &browser->parts;

	return parts->n ? &parts->items[parts->n - 1] : NULL;
}

/* A short last part is read again with the newest samples, so that there are few parts. */
static void begin_part(struct part *part, const struct part *last, const struct feed *feed,
		       const struct position *read)
{
	*part = (struct part){
		.first_block = read->next_block,
		.begin = read->end,
		.end = reel_now(),
		.owns_session = true,
	};
	if (!last || part->end - last->begin > feed->window / PARTS_MAX)
		return;
	part->first_block = last->first_block;
	part->begin = last->begin;
}

/* False if there is nothing to read. */
static bool renewal_begin(struct renewal *renewal, struct browser *browser,
			  const struct position *read)
{
	const struct feed *feed = browser->feed;
	struct part *part = &renewal->part, *last = newest_part(browser);

	*renewal = (struct renewal){ .feed = feed, .start = reel_now() };
	begin_part(part, last, feed, read);
	if (feed->next_block(feed->context) == read->next_block ||
	    !feed->prepare(feed->context, part->first_block, &part->stream))
		return false;
	renewal->previous = last ? last->session : NULL;
	part->session = memory_get(sizeof(*part->session));
	samples_init(&part->samples, &browser->kept);
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

/* Puts the samples with those that wait to be shown; true if all were read. */
static bool renewal_end(struct renewal *renewal, struct browser *browser, struct position *read)
{
	struct part *part = &renewal->part;

	renewal_join(renewal);
	/* Meanwhile, the user may have chosen a grouping by other keys. */
	if (renewal->ok && !samples_suffice(&part->samples.kept, &browser->by.groups)) {
		part_free(part);
		return false;
	}
	*read = (struct position){ part->stream.next_block, part->end };
	renewal->feed->took(renewal->feed->context, reel_now() - renewal->start);
	if (renewal->ok && part->samples.n_events)
		parts_add(&browser->waiting, part);
	else
		part_free(part);
	return true;
}

/* Nothing new arrived: drops parts older than the window. */
static void age(struct browser *browser)
{
	uint64_t now = reel_now(), window = browser->feed->window;
	uint64_t begin = now > window ? now - window : 0;
	const struct parts *parts = &browser->parts;

	if (!browser_may_renew(browser))
		return;
	if (parts->n > 1 && parts->items[0].end < begin)
		adopt(browser);
	else if (parts->n && parts->items[parts->n - 1].end < begin)
		browser_say(browser, memory_print("no recent samples"));
}

/* Shows the parts that wait, or keeps those within the window for later. */
static void show_waiting(struct browser *browser)
{
	uint64_t now = reel_now(), window = browser->feed->window;

	if (browser_may_renew(browser))
		adopt(browser);
	else
		parts_drop_older(&browser->waiting, now > window ? now - window : 0);
}

static void run_feed(struct browser *browser)
{
	const struct feed *feed = browser->feed;
	struct position read = { .end = reel_now() };
	struct renewal renewal = { 0 };
	uint64_t due = 0;
	/* Whether more of the stream arrives, and whether some was not read yet. */
	bool comes = true, is_behind = true, goes_on = true;

	while (goes_on && (comes || renewal.runs || browser->session)) {
		bool was_coming = comes;

		comes = comes && feed->take(feed->context);
		if (was_coming && !comes)
			due = 0;
		is_behind |= was_coming;
		if (renewal.runs && atomic_load(&renewal.is_done)) {
			is_behind |= !renewal_end(&renewal, browser, &read);
			/* The first samples are shown as soon as there are any. */
			if (!browser->session)
				due = 0;
		}
		/* Not while a part is read: it may use the session of the one it replaces. */
		if (!renewal.runs && browser->waiting.n)
			show_waiting(browser);
		if (!renewal.runs && is_behind && reel_now() >= due) {
			due = reel_now() + (browser->session ? feed->delay : 0);
			is_behind = comes;
			if (!renewal_begin(&renewal, browser, &read))
				age(browser);
		}
		if (!comes && was_coming && browser->session)
			browser_say(browser, memory_print("end of the recording"));
		goes_on = browser_step(browser, renewal.runs	     ? STEP_MS / 5
						: comes || is_behind ? STEP_MS
								     : -1);
	}
	if (renewal.runs) {
		atomic_store(&renewal.is_cancelled, true);
		renewal_join(&renewal);
		part_free(&renewal.part);
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

	samples_keep_more(&browser.kept, &start->by.groups);
	if (screen_open()) {
		browser.output = browser_output(&browser);
		browser_push(&browser, text_page(memory_print("%s", ""),
						 memory_print("waiting for the first samples")));
		run_feed(&browser);
		screen_close();
	}
	browser_end(&browser);
	return STATUS_OK;
}
