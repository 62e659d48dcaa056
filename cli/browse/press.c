/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cli/browse/browser.h"
#include "cli/browse/screen.h"
#include "cli/print/text.h"

/* The choices of `b', by key, in the page's order. */
static const struct {
	const char *name;
	enum symbols_by by;
	enum grouping grouping;
} ways[] = {
	{ "function", SYMBOLS_BY_FUNCTION, GROUP_NONE },
	{ "module", SYMBOLS_BY_MODULE, GROUP_NONE },
	{ "source file", SYMBOLS_BY_SOURCE, GROUP_NONE },
	{ "line", SYMBOLS_BY_LINE, GROUP_NONE },
	{ "address", SYMBOLS_BY_ADDRESS, GROUP_NONE },
	{ "thread", SYMBOLS_BY_FUNCTION, GROUP_THREAD },
	{ "process", SYMBOLS_BY_FUNCTION, GROUP_PROCESS },
	{ "thread name", SYMBOLS_BY_FUNCTION, GROUP_COMM },
	{ "host", SYMBOLS_BY_FUNCTION, GROUP_HOST },
	{ "state", SYMBOLS_BY_FUNCTION, GROUP_STATE },
};
#define N_WAYS (sizeof(ways) / sizeof(*ways))

/* ---- typed text --------------------------------------------------------------------------- */

static void set_text(char **text, char *to)
{
	free(*text);
	*text = to;
}

static void begin_prompt(struct browser *browser, enum prompt prompt)
{
	browser->prompt = prompt;
	set_text(&browser->typed, memory_print("%s", ""));
}

static void set_filter(struct browser *browser, const char *text)
{
	struct page *page = browser->page;

	set_text(&page->filter, memory_print("%s", text));
	page->kind->filter(page);
}

static void set_limit(struct browser *browser)
{
	uint64_t limit;

	if (!*browser->typed)
		return;
	if (!percent_parse(browser->typed, &limit)) {
		browser_say(browser, memory_print("invalid percentage (expected e.g. 0.5)"));
		return;
	}
	browser->limit = limit;
	browser_show(browser);
}

/* Removes the last UTF-8 character. */
static void erase_last(char *text)
{
	size_t length = strlen(text);

	while (length && ((uint8_t)text[--length] & 0xc0) == 0x80)
		;
	text[length] = '\0';
}

static void type(struct browser *browser, int key)
{
	char character[MB_LEN_MAX + 1] = "";

	if (key < ' ' || wctomb(character, (wchar_t)key) <= 0)
		return;
	set_text(&browser->typed, memory_print("%s%s", browser->typed, character));
}

static void press_in_prompt(struct browser *browser, int key)
{
	enum prompt prompt = browser->prompt;

	if (key == PRESSED_BACK || key == PRESSED_RETURN)
		browser->prompt = PROMPT_NONE;
	if (key == PRESSED_BACK)
		set_text(&browser->typed, memory_print("%s", ""));
	else if (key == PRESSED_ERASE)
		erase_last(browser->typed);
	else
		type(browser, key);
	if (prompt == PROMPT_FILTER)
		set_filter(browser, browser->typed);
	else if (key == PRESSED_RETURN)
		set_limit(browser);
}

/* ---- other ways to sum up ----------------------------------------------------------------- */

static void show_ways(struct browser *browser)
{
	struct text text;

	text_begin(&text, &browser->output);
	for (size_t i = 0; i < N_WAYS; i++)
		fprintf(text.output.file, "  by %s\n", ways[i].name);
	browser_push(browser, text_page(memory_print(CHOICE_TITLE), text_end(&text)));
}

static void sum_by(struct browser *browser, enum symbols_by by, enum grouping grouping)
{
	browser->by = by;
	browser->grouping = grouping;
	browser_sum(browser);
}

static bool is_choice(const struct page *page)
{
	return !strcmp(page->title, CHOICE_TITLE);
}

static void show_event(struct browser *browser, size_t step)
{
	size_t n = browser->samples.n_events;

	if (n < 2) {
		browser_say(browser, memory_print("the capture has a single event"));
		return;
	}
	browser->event = (browser->event + step) % n;
	browser_sum(browser);
}

/* Hides everything outside the selected group, and shows its functions. */
static void zoom(struct browser *browser)
{
	const struct symbol *chosen = browser_symbol(browser);
	struct profiles *profiles = &browser->sums.profiles;

	browser->zooms =
		memory_resize(browser->zooms, browser->n_zooms + 1, sizeof(*browser->zooms));
	browser->zooms[browser->n_zooms++] = memory_print("%s", chosen->name);
	for (size_t i = 0; i < browser->samples.n_lanes; i++) {
		struct lane *lane = browser->samples.lanes[i];

		if (!lane->hidden &&
		    groups_find(&profiles->groups, &profiles->symbols, &lane->who) != chosen)
			lane->hidden = browser->n_zooms;
	}
	sum_by(browser, browser->by, GROUP_NONE);
}

static bool unzoom(struct browser *browser)
{
	if (!browser->n_zooms)
		return false;
	for (size_t i = 0; i < browser->samples.n_lanes; i++) {
		if (browser->samples.lanes[i]->hidden == browser->n_zooms)
			browser->samples.lanes[i]->hidden = 0;
	}
	free(browser->zooms[--browser->n_zooms]);
	browser_sum(browser);
	return true;
}

/* ---- keys --------------------------------------------------------------------------------- */

static void show_callers(struct browser *browser, bool callees)
{
	const struct symbol *symbol = browser_symbol(browser);
	struct page_source source = browser_source(browser);
	struct callees wanted = { 0 };

	if (!symbol || (symbol->pseudo && !callees)) {
		browser_say(browser, memory_print("not a function"));
		return;
	}
	if (callees) {
		browser_push(browser, callees_page(&source, symbol));
		return;
	}
	pointer_map_put(&wanted.symbols, symbol, (void *)symbol);
	browser_push(browser,
		     callers_page(&source, memory_print("callers of %s", symbol->name), &wanted));
	callees_free(&wanted);
}

/* Undoes one step: the filter, the page, or the zoom. */
static void go_back(struct browser *browser)
{
	if (*browser->page->filter)
		set_filter(browser, "");
	else if (!browser_pop(browser) && !unzoom(browser))
		browser_say(browser, memory_print("q: quit"));
}

static void enter(struct browser *browser)
{
	const struct symbol *symbol = browser_symbol(browser);
	size_t row = browser->page->row;

	if (is_choice(browser->page))
		sum_by(browser, ways[row].by, ways[row].grouping);
	else if (symbol && browser->grouping && symbol->pseudo && !browser->page->below)
		zoom(browser);
	else if (symbol)
		show_callers(browser, symbol->pseudo);
}

static void show_lowest(struct browser *browser, bool tree)
{
	browser->tree = tree;
	browser_show(browser);
}

static void show_module(struct browser *browser, bool kernel)
{
	const struct symbol *symbol = browser_symbol(browser);

	if (*browser->page->filter)
		set_filter(browser, "");
	else if (kernel)
		set_filter(browser, "[kernel");
	else if (symbol && *symbol->module)
		set_filter(browser, symbol->module);
}

/* Table columns use the available width. */
static void resize(struct browser *browser)
{
	_cleanup_free_ char *filter = memory_print("%s", browser->page->filter);
	size_t row = browser->page->row;

	browser->output = screen_output();
	if (browser->page->below || browser->tree)
		return;
	browser_show(browser);
	set_filter(browser, filter);
	browser->page->row = row;
}

static void press_command(struct browser *browser, int key)
{
	switch (key) {
	case PRESSED_RETURN:
		enter(browser);
		return;
	case PRESSED_BACK:
	case PRESSED_ERASE:
		go_back(browser);
		return;
	case PRESSED_NEXT_TAB:
		show_event(browser, 1);
		return;
	case PRESSED_LAST_TAB:
		show_event(browser, browser->samples.n_events - 1);
		return;
	case PRESSED_NEW_SIZE:
		resize(browser);
		return;
	case PRESSED_HELP:
	case '?':
	case 'h':
		browser_show_help(browser);
		return;
	case '/':
		begin_prompt(browser, PROMPT_FILTER);
		return;
	case 'L':
		begin_prompt(browser, PROMPT_LIMIT);
		return;
	case '1':
	case '2':
		show_lowest(browser, key == '2');
		return;
	case '3':
	case '4':
		show_callers(browser, key == '4');
		return;
	case 'a':
	case 's':
		browser_annotate(browser, key == 's');
		return;
	case 'b':
		show_ways(browser);
		return;
	case 'd':
	case 'k':
		show_module(browser, key == 'k');
		return;
	case 'i':
		browser_show_head(browser);
		return;
	case 'o':
		browser->sort = (browser->sort + 1) % (SORT_MODULE + 1);
		show_lowest(browser, false);
		return;
	case 'p':
		browser->stopped = !browser->stopped;
		return;
	case 't':
		browser->tree = false;
		sum_by(browser, browser->by, GROUP_THREAD);
		return;
	default:
		if (key >= 0)
			browser_say(browser, memory_print("?: show keys"));
	}
}

bool browser_press(struct browser *browser, int key)
{
	struct page *page = browser->page;

	if (key == PRESSED_GONE)
		return false;
	if (browser->prompt) {
		if (key == PRESSED_NEW_SIZE)
			resize(browser);
		else
			press_in_prompt(browser, key);
		return true;
	}
	if (key == 'q')
		return false;
	if (!browser->has_sums)
		return true;
	if (!page->kind->press(page, key) && !page_move(page, key, browser_height()))
		press_command(browser, key);
	return true;
}
