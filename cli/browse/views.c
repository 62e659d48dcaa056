/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of text. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/annotate/annotation.h"
#include "cli/browse/browser.h"
#include "cli/browse/screen.h"
#include "cli/print/text.h"
#include "cli/session/summary.h"
#include "cli/report/report_histogram.h"
#include "cli/session/selection.h"

/* Lines fit 80 columns. */
static const char help[] =
	"  Up Down PgUp PgDn Home End    move; Left and Right scroll wide pages\n"
	"  Enter       callers of a function; open or close in trees; enter a group\n"
	"  Esc         back: clear the filter, close the page, leave a group\n"
	"  q  Q        close the page, on the first one quit; quit\n\n"
	"  1  2        table, call tree from the root\n"
	"  3  4        callers of the chosen function, its callees\n"
	"  a  s        its instructions, its source lines, with their shares\n"
	"  i           about the capture: origin, completeness, missing files\n\n"
	"  /           show only entries with a text in name or module\n"
	"              in pages of text: search; n: next\n"
	"  d  k        show only the chosen row's module, only the kernel (again: all)\n"
	"  L           hide entries below a share\n"
	"  [  ]        show only samples from a time on, up to a time (as --time)\n"
	"  o           change the order: self, total, samples, symbol, module\n"
	"  b           group by function, module, source file, line, thread, label ...\n"
	"  g           histogram of a label's or variable's numbers, if grouped by it\n"
	"  t           threads; Enter shows what a thread did\n"
	"  n           short or full names of functions\n"
	"  c           hide or show COURSE: when each row ran, relative to its maximum\n"
	"  Tab         next event, if several were recorded\n"
	"  p           in stackreel top: pause, resume\n\n"
	"In trees:\n"
	"  +           open or close; Right opens, Left and - close or go to the caller\n"
	"  e           open or close the whole subtree\n"
	"  E  C        open all, close all\n\n"
	"In instructions and source lines:\n"
	"  H  Tab      go to the line with the largest share, to the next largest\n\n"
	"Marks: (inlined) is part of the function that calls it; [k] is in the kernel;\n"
	"[guessed] was found without unwind information, at least in some samples;\n"
	"[incomplete: ...] are stacks that could not be unwound to their root, with the\n"
	"reason.\n";

void browser_show_help(struct browser *browser)
{
	browser_push(browser, text_page(memory_print("keys"), memory_print("%s", help)));
}

void browser_show_head(struct browser *browser)
{
	struct session session = *browser->session;
	struct text text;

	session.quality = parts_quality(&browser->parts);
	session.missing = parts_missing(&browser->parts);
	text_begin(&text, &browser->output);
	summary_print_head(&session, text.output.file);
	sample_counts_free(&session.missing);
	browser_push(browser, text_page(memory_print("the capture"), text_end(&text)));
}

void browser_show_histogram(struct browser *browser)
{
	struct profiles *profiles = &browser->sums.profiles;
	struct text text;

	if (!profiles->n_groups || !group_may_be_numbers(&profiles->groups[0].key)) {
		browser_say(browser, memory_print("group by a label or variable first (b)"));
		return;
	}
	/* Otherwise its message is shown. */
	if (!report_histogram_is_possible(profiles))
		return;
	text_begin(&text, &browser->output);
	report_histogram_print(profiles, browser->sums.profile, &text.output);
	browser_push(browser,
		     text_page(memory_print("histogram of %s", profiles->groups[0].key.name),
			       text_end(&text)));
}

/* ---- code --------------------------------------------------------------------------------- */

struct reading {
	struct browser *browser;
	struct part *part;
	struct functions functions;
};

/* Only of the event and the threads in view. */
static bool add_trace(void *context, const struct reel_trace *trace,
		      const struct reel_event_info *event)
{
	struct reading *reading = context;
	const struct browser *browser = reading->browser;

	if (profile_is_same_event(event, browser->parts.events[browser->event]) &&
	    !samples_lane(&reading->part->samples, trace)->hidden)
		functions_add(&reading->functions, trace, event);
	return true;
}

void browser_say_reading(struct browser *browser)
{
	browser_say(browser, memory_print("reading the capture again"));
	browser_draw(browser);
	screen_show();
	browser_say(browser, NULL);
}

static bool read_functions(struct reading *reading)
{
	struct parts *parts = &reading->browser->parts;
	bool ok = true;

	browser_say_reading(reading->browser);
	for (size_t i = 0; ok && i < parts->n; i++) {
		reading->part = &parts->items[i];
		ok = part_read_again(reading->part, add_trace, reading);
		if (i + 1 < parts->n)
			functions_begin_capture(&reading->functions);
	}
	return ok;
}

static void show_function(struct reading *reading, bool by_source)
{
	const struct annotation_look look = { .by_source = by_source, .all = true };
	struct browser *browser = reading->browser;
	const struct function *function;
	struct annotation annotation;
	struct session *session;
	struct page *page;
	struct text text;

	functions_finish(&reading->functions);
	function = functions_choose(&reading->functions);
	if (!function)
		return;
	session = browser->parts.items[function->capture].session;
	if (annotation_make(&annotation, session, &reading->functions, function, &look)) {
		text_begin(&text, &browser->output);
		annotation_print(&annotation, &text.output);
		page = text_page(
			memory_print("%s of %s", by_source ? "source" : "instructions",
				     symbol_shown(browser_symbol(browser), browser->short_names)),
			text_end(&text));
		text_page_to_hottest(page);
		browser_push(browser, page);
	}
	annotation_free(&annotation);
}

void browser_annotate(struct browser *browser, bool by_source)
{
	const struct symbol *symbol = browser_symbol(browser);
	const struct reel_frame *frame =
		symbol ? pointer_map_get(&browser->sums.frames, symbol) : NULL;
	struct reading reading = { .browser = browser };
	_cleanup_free_ char *wanted = NULL;

	if (!frame || browser->by.symbols == SYMBOLS_BY_MODULE ||
	    browser->by.symbols == SYMBOLS_BY_SOURCE) {
		browser_say(browser, memory_print("not a function"));
		return;
	}
	/*
	 * Match by start address, since several functions may share a name; inlined ones only have
	 * a name.
	 */
	if (frame->inlined || !*frame->module_path)
		wanted = frame_name(frame);
	else
		wanted = memory_print("%s+0x%" PRIx64, frame->module_path,
				      frame->module_address - frame->function_offset);
	functions_init(&reading.functions, wanted);
	if (read_functions(&reading))
		show_function(&reading, by_source);
	functions_free(&reading.functions);
}
