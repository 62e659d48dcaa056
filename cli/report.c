/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel report: where the time went, as a table, a call tree, or a line for each stack. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/browse/browse.h"
#include "cli/commands.h"
#include "cli/print/pager.h"
#include "cli/report/profile_view.h"
#include "cli/report/report_callers.h"
#include "cli/report/report_compare.h"
#include "cli/report/report_head.h"
#include "cli/report/report_table.h"
#include "cli/report/report_tree.h"
#include "cli/session/sandbox.h"
#include "cli/print/text.h"

enum {
	KEY_SORT = OPTION_KEY_OWN,
	KEY_PERCENT_LIMIT,
	KEY_TREE,
	KEY_RESIDENCY,
	KEY_BY,
	KEY_COMPARE_FP,
	KEY_CALLERS,
	KEY_NO_PAGER,
	KEY_STDIO,
	KEY_TUI,
};

enum layout {
	LAYOUT_TABLE,
	LAYOUT_TREE,
	LAYOUT_RESIDENCY,
	LAYOUT_CALLERS,
	LAYOUT_COMPARE_FP,
};

struct report_options {
	struct options common;
	enum layout layout;
	const char *callers; /* of what */
	enum grouping grouping;
	enum symbols_by by;
	enum table_sort sort;
	bool has_sort;
	uint64_t percent_limit; /* in PERCENT */
	bool has_percent_limit;
	bool no_pager;
	bool stdio, tui;
};

/* ---- options ---------------------------------------------------------------------------- */

static void parse_by(struct report_options *options, const char *arg, struct argp_state *state)
{
	static const struct {
		const char *name;
		enum symbols_by by;
	} symbols[] = { { "module", SYMBOLS_BY_MODULE },
			{ "source", SYMBOLS_BY_SOURCE },
			{ "line", SYMBOLS_BY_LINE },
			{ "address", SYMBOLS_BY_ADDRESS } };
	static const char *const groups[] = {
		[GROUP_NONE] = "function", [GROUP_THREAD] = "thread", [GROUP_PROCESS] = "process",
		[GROUP_COMM] = "comm",	   [GROUP_HOST] = "host",
	};

	options->by = SYMBOLS_BY_FUNCTION;
	options->grouping = GROUP_NONE;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		if (!strcmp(arg, symbols[i].name)) {
			options->by = symbols[i].by;
			return;
		}
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (!strcmp(arg, groups[i])) {
			options->grouping = i;
			return;
		}
	}
	options_error(state,
		      "--by wants function, module, source, line, address, thread, process, comm "
		      "or host, not `%s'",
		      arg);
}

static void parse_sort(struct report_options *options, const char *arg, struct argp_state *state)
{
	options->has_sort = true;
	if (!table_sort_parse(arg, &options->sort))
		options_error(state,
			      "--sort wants self, total, samples, symbol or module, not `%s'", arg);
}

static void check_options(const struct report_options *options, struct argp_state *state)
{
	bool compares = options->layout == LAYOUT_COMPARE_FP;

	if (compares && (options->has_sort || options->by || options->grouping))
		argp_error(state,
			   "--compare-fp has an order of its own: leave out --sort and --by");
	if (options->has_sort && options->layout != LAYOUT_TABLE)
		argp_error(state, "--sort is for tables: trees and stacks stand by their share");
}

static void set_layout(struct report_options *options, enum layout layout, struct argp_state *state)
{
	if (options->layout != LAYOUT_TABLE)
		argp_error(state, "one of --tree, --callers, --residency and --compare-fp");
	options->layout = layout;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct report_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_shards, &options->common);
		return 0;
	case KEY_SORT:
		parse_sort(options, arg, state);
		return 0;
	case KEY_PERCENT_LIMIT:
		if (!percent_parse(arg, &options->percent_limit))
			options_error(state, "--percent-limit wants a percentage, not `%s'", arg);
		options->has_percent_limit = true;
		return 0;
	case KEY_TREE:
		set_layout(options, LAYOUT_TREE, state);
		return 0;
	case KEY_RESIDENCY:
		set_layout(options, LAYOUT_RESIDENCY, state);
		return 0;
	case KEY_COMPARE_FP:
		set_layout(options, LAYOUT_COMPARE_FP, state);
		return 0;
	case KEY_CALLERS:
		set_layout(options, LAYOUT_CALLERS, state);
		options->callers = arg;
		if (!*arg)
			argp_error(state, "--callers wants a function's name");
		return 0;
	case KEY_BY:
		parse_by(options, arg, state);
		return 0;
	case KEY_NO_PAGER:
		options->no_pager = true;
		return 0;
	case KEY_STDIO:
		options->stdio = true;
		return 0;
	case KEY_TUI:
		options->tui = true;
		return 0;
	case ARGP_KEY_END:
		check_options(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "sort", KEY_SORT, "COLUMN", 0,
	  "Order by self (default), total, samples, symbol or module", 0 },
	{ "percent-limit", KEY_PERCENT_LIMIT, "PERCENT", 0,
	  "Leave out what has a smaller share in total (0.5)", 0 },
	{ "tree", KEY_TREE, NULL, 0, "Show who called what, from the root down", 0 },
	{ "callers", KEY_CALLERS, "FUNC", 0,
	  "Show who calls FUNC, from it up: the function of that name, or else all that have it in "
	  "their name",
	  0 },
	{ "residency", KEY_RESIDENCY, NULL, 0, "Show the share of each stack, root first", 0 },
	{ "compare-fp", KEY_COMPARE_FP, NULL, 0,
	  "Show what a walk by frame pointers misses, of a capture made with --fp", 0 },
	{ "by", KEY_BY, "WHAT", 0,
	  "function (default), module, source, line or address; or thread, process, comm or host: "
	  "trees and stacks are split up by these",
	  0 },
	{ "stdio", KEY_STDIO, NULL, 0, "Print text, on a terminal too", 0 },
	{ "tui", KEY_TUI, NULL, 0,
	  "Look around in it on the terminal: what is done there unless text is asked for", 0 },
	{ "no-pager", KEY_NO_PAGER, NULL, 0, "Print text, to the terminal itself", 0 },
	{ 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Shows where the time went, offline.\v"
	"FILE is " DEFAULT_CAPTURE
	" if not given, `-' is standard input. A trace that could not be "
	"unwound to its root is shown below `[incomplete: reason]' in trees and stacks.",
	options_of_shards,
	NULL,
	NULL,
};

/* ---- printing ---------------------------------------------------------------------------- */

static void print_profile(const struct report_options *options, struct profiles *profiles,
			  struct profile *profile, const struct callees *callees,
			  const struct output *output)
{
	struct amount all = profile->tree.nodes[CALL_TREE_ROOT].total;

	fputc('\n', output->file);
	if (profiles->count > 1) {
		_cleanup_free_ char *name = text_escape(event_name(profile->event), "");

		fprintf(output->file, "# event %s: %s samples, %s\n", name,
			format_count(all.samples).text, profile_format(profile, all.weight).text);
	}
	switch (options->layout) {
	case LAYOUT_TABLE:
		report_table_print(profiles, profile, options->sort, options->percent_limit,
				   output);
		break;
	case LAYOUT_TREE:
		report_tree_print(profile, options->percent_limit, output);
		break;
	case LAYOUT_CALLERS:
		report_callers_print(profiles, profile, callees, options->percent_limit, output);
		break;
	case LAYOUT_RESIDENCY:
		report_residency_print(profile, options->percent_limit, output);
		break;
	case LAYOUT_COMPARE_FP:
		break;
	}
}

static int print_all(const struct report_options *options, struct session *session,
		     struct profiles *profiles)
{
	struct callees callees = { 0 };
	struct output output;
	int status = STATUS_ERROR;

	if ((!options->callers || callees_find(profiles, options->callers, &callees)) &&
	    output_open(&output, options->common.output)) {
		report_head_print(session, output.file);
		for (size_t i = 0; i < profiles->count; i++)
			print_profile(options, profiles, &profiles->items[i], &callees, &output);
		status = output_close(&output, session_status(session));
	}
	callees_free(&callees);
	return status;
}

static int report(const struct report_options *options, struct session *session)
{
	bool mark_cut = options->layout != LAYOUT_TABLE;
	struct profiles profiles;
	int status = STATUS_ERROR;

	profiles_init(&profiles, options->grouping, options->by, mark_cut);
	if (session_visit(session, profiles_add, &profiles)) {
		profiles_finish(&profiles);
		status = print_all(options, session, &profiles);
	}
	profiles_free(&profiles);
	return status;
}

/*
 * The file is a profile from `stackreel aggregate`: report it like its captures together, without
 * data that only captures have.
 */
static int report_profile(const struct report_options *options)
{
	struct callees callees = { 0 };
	struct profile_view view;
	struct profiles profiles;
	struct output output;
	int status = STATUS_ERROR;

	if (options->layout == LAYOUT_COMPARE_FP || options->grouping != GROUP_NONE ||
	    (options->by != SYMBOLS_BY_FUNCTION && options->by != SYMBOLS_BY_MODULE)) {
		complain("%s: a profile has functions and modules, and neither lines, addresses, "
			 "threads nor walks by frame pointers: leave out --by and --compare-fp",
			 options->common.file);
		return STATUS_ERROR;
	}
	profiles_init(&profiles, GROUP_NONE, options->by, options->layout != LAYOUT_TABLE);
	if (profile_view_open(&view, &options->common, &profiles) &&
	    (!options->callers || callees_find(&profiles, options->callers, &callees)) &&
	    output_open(&output, options->common.output)) {
		profile_view_print(&view, &profiles, output.file);
		for (size_t i = 0; i < profiles.count; i++)
			print_profile(options, &profiles, &profiles.items[i], &callees, &output);
		status = output_close(&output, quality_status(&view.quality, &options->common));
	}
	callees_free(&callees);
	profiles_free(&profiles);
	return status;
}

/* True if there is something to compare; otherwise reports why not. */
static bool has_chains(const struct session *session, const struct compare_report *compared)
{
	const char *file = session->options->file;

	if (compared->compared || compared->incomplete)
		return true;
	if (compared->chain_only)
		complain("%s: its traces are themselves made of walks by frame pointers: there is "
			 "no stack to compare these with; record with stackreel-record --fp",
			 file);
	else
		complain("%s: no sample has a walk by frame pointers: record with "
			 "stackreel-record --fp",
			 file);
	return false;
}

static int report_comparison(const struct report_options *options, struct session *session)
{
	struct compare_report compared;
	struct output output;
	int status = STATUS_ERROR;

	compare_report_init(&compared);
	if (session_visit(session, compare_report_add, &compared) &&
	    has_chains(session, &compared) && output_open(&output, options->common.output)) {
		report_head_print(session, output.file);
		compare_report_print_head(&compared, output.file);
		compare_report_print(&compared, options->percent_limit, &output);
		status = output_close(&output, session_status(session));
	}
	compare_report_free(&compared);
	return status;
}

static int report_capture(const struct report_options *options)
{
	struct session session;
	int status = STATUS_ERROR;

	if (session_open(&session, &options->common))
		status = options->layout == LAYOUT_COMPARE_FP ? report_comparison(options, &session)
							      : report(options, &session);
	session_close(&session);
	return status;
}

/* ---- on a terminal ------------------------------------------------------------------------ */

/* Returns the reason against browsing; NULL: browsing works. */
static const char *why_not_browsed(const struct report_options *options)
{
	const char *output = options->common.output;

	if (options->layout == LAYOUT_RESIDENCY || options->layout == LAYOUT_COMPARE_FP)
		return "--residency and --compare-fp are text";
	if (options->stdio || options->no_pager || (output && strcmp(output, "-") != 0))
		return "text is asked for";
	if (profile_file_is(options->common.file))
		return "what `stackreel aggregate' made is shown as text";
	if (sandbox_is_wanted(&options->common))
		return "in a sandbox, where no keys are read, as a capture from standard input "
		       "is: --no-sandbox, or a file";
	return browse_is_possible()
		       ? NULL
		       : "standard output is no terminal for it, or this stackreel was "
			 "built without ncurses";
}

/* BROWSE_NOT: nothing was shown. */
static int browse_capture(const struct report_options *options)
{
	const struct browse_start start = {
		.tree = options->layout == LAYOUT_TREE,
		.callers = options->callers,
		.grouping = options->grouping,
		.by = options->by,
		.sort = options->sort,
		.percent_limit = options->has_percent_limit ? options->percent_limit : 0,
	};
	struct session session;
	int status = STATUS_ERROR;

	if (session_open(&session, &options->common))
		status = browse(&session, &start);
	session_close(&session);
	return status;
}

int command_report(int argc, char **argv)
{
	struct report_options options = { .percent_limit = PERCENT / 2 };
	const char *why_not;
	int status = BROWSE_NOT;

	options_init(&options.common);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	why_not = why_not_browsed(&options);
	if (options.tui && why_not) {
		complain("--tui: %s", why_not);
		status = STATUS_ERROR;
	} else if (!why_not) {
		status = browse_capture(&options);
	}
	if (status == BROWSE_NOT) {
		if (!options.no_pager)
			pager_prepare();
		status = profile_file_is(options.common.file) ? report_profile(&options)
							      : report_capture(&options);
	}
	options_free(&options.common);
	return status;
}
