/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/browse/browse.h"
#include "cli/browse/browser.h"
#include "cli/browse/screen.h"
#include "cli/print/text.h"
#include "cli/session/selection.h"

bool browse_is_possible(void)
{
	return screen_is_possible();
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
