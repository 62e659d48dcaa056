/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cli/browse/browser.h"
#include "cli/browse/screen.h"
#include "cli/print/text.h"

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

/* All parts' samples again, in an array that the caller frees; NULL after an error. */
static struct samples *read_again(const struct parts *parts, const struct grouping *kept)
{
	struct samples *samples = memory_get((parts->n + 1) * sizeof(*samples));
	bool ok = true;
	size_t n = 0;

	for (; ok && n < parts->n; n++) {
		samples_init(&samples[n], kept);
		ok = part_read_again(&parts->items[n], samples_add, &samples[n]);
	}
	if (ok)
		return samples;
	while (n)
		samples_free(&samples[--n]);
	free(samples);
	return NULL;
}

/* Leaves all zooms, since the threads of another time may be others. */
static void use_samples(struct browser *browser, const struct samples *samples)
{
	browser_close(browser);
	samples_free(&browser->parts.items[0].samples);
	browser->parts.items[0].samples = *samples;
	while (browser->n_zooms)
		free(browser->zooms[--browser->n_zooms]);
	browser_sum(browser);
}

/* Shows the samples of the typed time on, or up to it; all that --time selected if it is empty. */
static void set_time(struct browser *browser, bool is_end)
{
	const struct options *before = browser->session->options;
	struct options options = *before, chosen = *before;
	_cleanup_free_ char *range = memory_print(is_end ? "..%s" : "%s..", browser->typed);
	_cleanup_free_ struct samples *samples = NULL;
	uint64_t from, to;

	if (!browser->given)
		browser->given = before;
	if (!*browser->typed)
		from = browser->given->from, to = browser->given->to;
	else if (!time_range_parse(range, &from, &to)) {
		browser_say(browser, memory_print("invalid time (expected e.g. 1.5 or 200ms)"));
		return;
	}
	if (is_end)
		chosen.to = to;
	else
		chosen.from = from;
	chosen.may_be_idle = true;
	browser->options = chosen;
	browser->session->options = &browser->options;
	browser_say_reading(browser);
	samples = read_again(&browser->parts, &browser->kept);
	if (samples && samples->n_events) {
		use_samples(browser, samples);
		return;
	}
	if (samples)
		samples_free(samples);
	browser->options = options;
	browser_say(browser, memory_print("no samples in this time"));
}

static void begin_time(struct browser *browser, enum prompt prompt)
{
	if (browser->feed)
		browser_say(browser, memory_print("a live view has no range of time"));
	else
		begin_prompt(browser, prompt);
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
	else if (key == PRESSED_RETURN && prompt == PROMPT_LIMIT)
		set_limit(browser);
	else if (key == PRESSED_RETURN)
		set_time(browser, prompt == PROMPT_TO);
}

/* ---- other ways to sum up ----------------------------------------------------------------- */

/* The choices of `b', in the page's order; NULL after the last. */
static const char *choice(const struct browser *browser, size_t row)
{
	size_t i;

	for (i = 0; by_symbol_keys[i]; i++, row--) {
		if (!row)
			return by_symbol_keys[i];
	}
	for (i = 0; by_group_keys[i]; i++, row--) {
		if (!row)
			return by_group_keys[i];
	}
	if (row < browser->labels.n)
		return browser->labels.values[row]->name;
	row -= browser->labels.n;
	for (i = 0; i < browser->kept.n; i++) {
		if (browser->kept.keys[i].kind == GROUP_VARIABLE && !row--)
			return browser->kept.keys[i].name;
	}
	return NULL;
}

static void show_choices(struct browser *browser)
{
	const char *name;
	struct text text;

	sample_counts_free(&browser->labels);
	browser->labels = parts_labels(&browser->parts);
	text_begin(&text, &browser->output);
	for (size_t i = 0; (name = choice(browser, i)); i++)
		fprintf(text.output.file, "  by %s\n", name);
	browser_push(browser, text_page(memory_print(CHOICE_TITLE), text_end(&text)));
}

/* Reads the parts again for keys whose values were not kept. */
static bool read_keys(struct parts *parts, const struct grouping *kept)
{
	_cleanup_free_ struct samples *samples = read_again(parts, kept);

	for (size_t i = 0; samples && i < parts->n; i++) {
		struct samples *before = &parts->items[i].samples;

		/* Each lane is a part of an old one. */
		for (size_t j = 0; j < samples[i].n_lanes; j++)
			samples[i].lanes[j]->hidden =
				samples_lane(before, &samples[i].lanes[j]->who)->hidden;
		samples_free(before);
		*before = samples[i];
	}
	return samples;
}

static void sum_by(struct browser *browser, const struct by *by)
{
	struct grouping kept = browser->kept;

	samples_keep_more(&kept, &by->groups);
	if (!samples_suffice(&browser->kept, &by->groups)) {
		browser_say_reading(browser);
		browser_close(browser);
		if (!read_keys(&browser->parts, &kept) || !read_keys(&browser->waiting, &kept)) {
			browser_sum(browser);
			browser_say(browser, memory_print("cannot read the capture again"));
			return;
		}
		browser->kept = kept;
	}
	browser->by = *by;
	browser_sum(browser);
}

static void sum_by_name(struct browser *browser, const char *name)
{
	const struct grouping *kept = &browser->kept;
	_cleanup_free_ char *problem = NULL;
	struct by by;

	problem = by_parse(name, &by);
	by.merges_parts = browser->by.merges_parts;
	/* Values of variables are numbered as --by has them. */
	for (size_t i = 0; !problem && i < kept->n; i++) {
		if (by.groups.n && !strcmp(kept->keys[i].name, by.groups.keys[0].name))
			by.groups.keys[0] = kept->keys[i];
	}
	if (!problem)
		sum_by(browser, &by);
}

static bool is_choice(const struct page *page)
{
	return !strcmp(page->title, CHOICE_TITLE);
}

static void show_event(struct browser *browser, size_t step)
{
	size_t n = browser->parts.n_events;

	if (n < 2) {
		browser_say(browser, memory_print("the capture has a single event"));
		return;
	}
	browser->event = (browser->event + step) % n;
	browser_sum(browser);
}

static const struct symbol *const *selected_groups(const struct browser *browser)
{
	const struct page *page = browser->page;

	return page->n_rows && page->kind->groups ? page->kind->groups(page, page->row) : NULL;
}

static bool is_in(struct profiles *profiles, const struct lane *lane,
		  const struct symbol *const *chosen)
{
	const struct reel_event_info *event = profiles->items[0].event;

	for (size_t i = 0; i < profiles->n_groups; i++) {
		if (groups_find(&profiles->groups[i], &profiles->symbols, &lane->who, event) !=
		    chosen[i])
			return false;
	}
	return true;
}

static char *names_of(const struct symbol *const *groups, size_t n)
{
	char *names = memory_print("%s", groups[0]->name);

	for (size_t i = 1; i < n; i++) {
		_cleanup_free_ char *before = names;

		names = memory_print("%s, %s", before, groups[i]->name);
	}
	return names;
}

static void hide_others(struct browser *browser, struct samples *samples,
			const struct symbol *const *chosen)
{
	for (size_t i = 0; i < samples->n_lanes; i++) {
		struct lane *lane = samples->lanes[i];

		if (!lane->hidden && !is_in(&browser->sums.profiles, lane, chosen))
			lane->hidden = browser->n_zooms;
	}
}

static void show_hidden(struct samples *samples, unsigned int depth)
{
	for (size_t i = 0; i < samples->n_lanes; i++) {
		if (samples->lanes[i]->hidden == depth)
			samples->lanes[i]->hidden = 0;
	}
}

/* Hides everything outside the selected groups, and shows their functions. */
static void zoom(struct browser *browser, const struct symbol *const *chosen)
{
	struct profiles *profiles = &browser->sums.profiles;
	const struct by by = { .symbols = browser->by.symbols };

	browser->zooms =
		memory_resize(browser->zooms, browser->n_zooms + 1, sizeof(*browser->zooms));
	browser->zooms[browser->n_zooms++] = names_of(chosen, profiles->n_groups);
	for (size_t i = 0; i < browser->parts.n; i++)
		hide_others(browser, &browser->parts.items[i].samples, chosen);
	sum_by(browser, &by);
}

static bool unzoom(struct browser *browser)
{
	if (!browser->n_zooms)
		return false;
	for (size_t i = 0; i < browser->parts.n; i++)
		show_hidden(&browser->parts.items[i].samples, browser->n_zooms);
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
	browser_push(browser, callers_page(&source,
					   memory_print("callers of %s",
							symbol_shown(symbol, browser->short_names)),
					   &wanted));
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
	const struct symbol *const *groups = selected_groups(browser);
	size_t row = browser->page->row;

	if (is_choice(browser->page))
		sum_by_name(browser, choice(browser, row));
	else if (groups && !by_has_symbol_rows(&browser->by))
		zoom(browser, groups);
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

	browser->output = browser_output(browser);
	if (browser->page->below || browser->tree)
		return;
	browser_show(browser);
	set_filter(browser, filter);
	browser->page->row = row;
}

static void say_courses(struct browser *browser)
{
	if (browser->hides_courses)
		browser_say(browser, memory_print("courses are hidden"));
	else if (!has_courses(&browser->output))
		browser_say(browser, memory_print("no room: courses need a UTF-8 terminal with %d "
						  "columns",
						  COURSE_TERMINAL_WIDTH));
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
		show_event(browser, browser->parts.n_events - 1);
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
	case '[':
	case ']':
		begin_time(browser, key == '[' ? PROMPT_FROM : PROMPT_TO);
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
		show_choices(browser);
		return;
	case 'c':
		browser->hides_courses = !browser->hides_courses;
		resize(browser);
		say_courses(browser);
		return;
	case 'd':
	case 'k':
		show_module(browser, key == 'k');
		return;
	case 'g':
		browser_show_histogram(browser);
		return;
	case 'i':
		browser_show_head(browser);
		return;
	case 'n':
		browser->short_names = !browser->short_names;
		resize(browser);
		browser_say(browser,
			    memory_print("%s names", browser->short_names ? "short" : "full"));
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
		sum_by_name(browser, "thread");
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
	/* As in tig: q closes the page that hides another one, and ends the program on the first. */
	if (key == 'Q' || (key == 'q' && !browser_pop(browser)))
		return false;
	if (key == 'q' || !browser->has_sums)
		return true;
	if (!page->kind->press(page, key) && !page_move(page, key, browser_height()))
		press_command(browser, key);
	return true;
}
