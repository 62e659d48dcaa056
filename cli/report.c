/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel report: where the time went, as a table, a call tree, or a line for each stack. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/browse/browse.h"
#include "cli/commands.h"
#include "cli/print/output.h"
#include "cli/print/text.h"
#include "cli/profile/profile_view.h"
#include "cli/report/frame_compare.h"
#include "cli/report/locks.h"
#include "cli/report/report_callers.h"
#include "cli/report/report_histogram.h"
#include "cli/report/report_programs.h"
#include "cli/report/report_table.h"
#include "cli/report/report_tree.h"
#include "cli/report/stack_bytes.h"
#include "cli/session/sandbox.h"
#include "cli/session/selection.h"
#include "cli/session/summary.h"

enum {
	KEY_SORT = OPTION_KEY_OWN,
	KEY_PERCENT_LIMIT,
	KEY_BY,
	KEY_CALLERS,
	KEY_STACK_BYTES,
	KEY_CHILDREN,
	KEY_NO_CHILDREN,
	KEY_LAYOUT, /* and enum layout */
};

enum layout {
	LAYOUT_TABLE,
	LAYOUT_TREE,
	LAYOUT_RESIDENCY,
	LAYOUT_CALLERS,
	LAYOUT_HISTOGRAM,
	LAYOUT_COMPARE_FP,
	LAYOUT_LOCKS,
	LAYOUT_STACK_BYTES,
};

struct report_options {
	struct options common;
	enum layout layout;
	const char *callers; /* of what */
	struct by by;
	enum table_sort sort;
	bool has_sort;
	uint64_t percent_limit; /* in PERCENT */
	uint64_t stack_limit;	/* bytes; 0: unknown */
	bool has_percent_limit;
	bool no_pager;
	bool sparkline;
	bool stdio, tui, merge_parts;
};

/* ---- options ---------------------------------------------------------------------------- */

static void parse_sort(struct report_options *options, const char *arg, struct argp_state *state)
{
	options->has_sort = true;
	if (!table_sort_parse(arg, &options->sort))
		options_error(state,
			      "--sort: invalid column '%s' (expected self, total, samples, symbol "
			      "or module)",
			      arg);
}

/* Options of perf report by other names here. */
static error_t parse_perf_option(int key, struct report_options *options, struct argp_state *state)
{
	switch (key) {
	case KEY_CHILDREN:
		complain("note: --children: sorts by total, as --sort=total");
		parse_sort(options, "total", state);
		return 0;
	case KEY_NO_CHILDREN:
		complain("note: --no-children: self and total are columns of one table");
		return 0;
	case 'n':
		complain("note: -n: the number of samples is always a column");
		return 0;
	case 'g':
		argp_error(state, "-g: use --tree for callers first, or --callers FUNC");
		return 0;
	case 'G':
		argp_error(state, "-G: use --callers FUNC");
		return 0;
	case 's':
		argp_error(state, "-s: use --by KEY,... (module, comm, thread, line) for groups, "
				  "or --sort COLUMN");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A layout that does not group samples, and does not add up weights of functions. */
static bool is_fixed(enum layout layout)
{
	return layout == LAYOUT_COMPARE_FP || layout == LAYOUT_LOCKS ||
	       layout == LAYOUT_STACK_BYTES;
}

static void check_options(struct report_options *options, struct argp_state *state)
{
	const char *name = options->layout == LAYOUT_COMPARE_FP ? "--compare-fp"
			   : options->layout == LAYOUT_LOCKS	? "--locks"
								: "--stack-bytes";

	if (is_fixed(options->layout) &&
	    (options->has_sort || options->by.has_symbols || options->by.groups.n))
		argp_error(state, "%s cannot be combined with --sort or --by", name);
	if (is_fixed(options->layout) && options->layout != LAYOUT_COMPARE_FP &&
	    options->common.wakers)
		argp_error(state, "%s cannot be combined with --wakers", name);
	if (options->layout == LAYOUT_HISTOGRAM && !options->by.groups.n &&
	    !options->by.has_symbols)
		options->by.groups =
			(struct grouping){ .keys = { { GROUP_DURATION, "duration", 0 } }, .n = 1 };
	else if (options->layout == LAYOUT_HISTOGRAM &&
		 (options->by.groups.n != 1 || !group_may_be_numbers(&options->by.groups.keys[0]) ||
		  options->by.has_symbols))
		argp_error(state,
			   "--histogram requires --by with a single label or variable, or no --by");
	if (options->sparkline && (options->layout != LAYOUT_TABLE || options->by.groups.n))
		argp_error(state, "--sparkline requires the table, without groups of samples");
	if (options->sparkline && !is_utf8_wanted())
		argp_error(state, "--sparkline requires a locale with UTF-8");
	if (options->has_sort && options->layout != LAYOUT_TABLE)
		argp_error(
			state,
			"--sort only applies to the table: trees and stacks are sorted by share");
}

static void set_layout(struct report_options *options, enum layout layout, struct argp_state *state)
{
	if (options->layout != LAYOUT_TABLE)
		argp_error(state, "--tree, --callers, --residency, --histogram, --compare-fp, "
				  "--locks and --stack-bytes exclude each other");
	options->layout = layout;
}

static void parse_stack_bytes(struct report_options *options, const char *arg,
			      struct argp_state *state)
{
	struct reel_error *error = arg ? reel_quantity_size(arg, &options->stack_limit) : NULL;

	if (error)
		options_error(state, "--stack-bytes: %s", reel_error_message(error));
	reel_error_destroy(error);
	set_layout(options, LAYOUT_STACK_BYTES, state);
	options->common.stacks = true;
	/* Interpreted functions have no frames on the stack, but the interpreter's have. */
	options->common.runtimes = REEL_RUNTIMES_NATIVE;
}

static error_t parse_report_option(int key, char *arg, struct argp_state *state)
{
	struct report_options *options = state->input;

	switch (key) {
	case KEY_SORT:
		parse_sort(options, arg, state);
		return 0;
	case KEY_PERCENT_LIMIT:
		if (!percent_parse(arg, &options->percent_limit))
			options_error(state, "--percent-limit: invalid percentage '%s'", arg);
		options->has_percent_limit = true;
		return 0;
	case KEY_LAYOUT + LAYOUT_TREE:
	case KEY_LAYOUT + LAYOUT_RESIDENCY:
	case KEY_LAYOUT + LAYOUT_HISTOGRAM:
	case KEY_LAYOUT + LAYOUT_COMPARE_FP:
	case KEY_LAYOUT + LAYOUT_LOCKS:
		set_layout(options, (enum layout)(key - KEY_LAYOUT), state);
		return 0;
	case KEY_STACK_BYTES:
		parse_stack_bytes(options, arg, state);
		return 0;
	case KEY_CALLERS:
		set_layout(options, LAYOUT_CALLERS, state);
		options->callers = arg;
		if (!*arg)
			argp_error(state, "--callers: the function's name is empty");
		return 0;
	case KEY_BY:
		by_take(state, arg, &options->by, &options->common);
		return 0;
	case ARGP_KEY_END:
		options->by.merges_parts = options->merge_parts;
		check_options(options, state);
		return 0;
	default:
		return parse_perf_option(key, options, state);
	}
}

static const struct argp_option own_options[] = {
	{ "sort", KEY_SORT, "COLUMN", 0,
	  "Sort by COLUMN: self (default), total, samples, symbol or module", 0 },
	{ "percent-limit", KEY_PERCENT_LIMIT, "PERCENT", 0,
	  "Hide entries below PERCENT of the total (0.5)", 0 },
	{ "tree", KEY_LAYOUT + LAYOUT_TREE, NULL, 0, "Show the call tree from the root down", 0 },
	{ "callers", KEY_CALLERS, "FUNC", 0,
	  "Show callers of FUNC as a tree: the function with that name, or else each one that "
	  "contains it",
	  0 },
	{ "residency", KEY_LAYOUT + LAYOUT_RESIDENCY, NULL, 0,
	  "Show each stack with its share, root first", 0 },
	{ "compare-fp", KEY_LAYOUT + LAYOUT_COMPARE_FP, NULL, 0,
	  "Show frames that a walk by frame pointers misses (needs a capture made with --fp)", 0 },
	{ "locks", KEY_LAYOUT + LAYOUT_LOCKS, NULL, 0,
	  "Show locks by the time that threads waited for them, and what their holders did "
	  "meanwhile (needs a capture made with --off-cpu)",
	  0 },
	{ "stack-bytes", KEY_STACK_BYTES, "LIMIT", OPTION_ARG_OPTIONAL,
	  "Show how deep the stacks of threads were, and the bytes of functions' frames; with "
	  "LIMIT (8M), also as shares of that size",
	  0 },
	{ "by", KEY_BY, "KEY,...", 0,
	  "Group by function (default), module, source, line or address; or by thread, process, "
	  "comm, host, state, event, cpu or a label such as lock or container, which also split "
	  "trees and stacks; or by several keys",
	  0 },
	{ "histogram", KEY_LAYOUT + LAYOUT_HISTOGRAM, NULL, 0,
	  "Show the distribution of durations, or of a label's numbers (--by arg1), in powers of "
	  "two",
	  0 },
	{ "sparkline", OPTION_FLAG(struct report_options, sparkline), NULL, 0,
	  "Show each row's weight over the recording's time (in UTF-8)", 0 },
	OPTION_NAMES("short"),
	{ "merge-parts", OPTION_FLAG(struct report_options, merge_parts), NULL, 0,
	  "Count clones and parts of a function, such as .cold and .part.0, as the function", 0 },
	{ "stdio", OPTION_FLAG(struct report_options, stdio), NULL, 0,
	  "Print plain text, even on a terminal", 0 },
	{ "tui", OPTION_FLAG(struct report_options, tui), NULL, 0,
	  "Browse interactively (default on a terminal)", 0 },
	{ "no-pager", OPTION_FLAG(struct report_options, no_pager), NULL, 0,
	  "Print plain text without a pager", 0 },
	{ "children", KEY_CHILDREN, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "no-children", KEY_NO_CHILDREN, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "show-nr-samples", 'n', NULL, OPTION_HIDDEN, NULL, 0 },
	{ "call-graph", 'g', "MODE", OPTION_HIDDEN | OPTION_ARG_OPTIONAL, NULL, 0 },
	{ "inverted", 'G', NULL, OPTION_HIDDEN, NULL, 0 },
	{ NULL, 's', "KEY", OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_report_option,
	.args_doc = "[FILE]",
	.doc = "Show where the time went, offline.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. In trees and stacks, traces that could not be unwound to "
	       "their root are shown below '[incomplete: reason]'.",
	.children = options_of_shards,
};

/* ---- printing ---------------------------------------------------------------------------- */

static void print_profile(const struct report_options *options, struct profiles *profiles,
			  struct profile *profile, const struct programs *programs,
			  const struct callees *callees, const struct output *output)
{
	struct amount all = profile->tree.nodes[CALL_TREE_ROOT].total;

	fputc('\n', output->file);
	if (profiles->count > 1) {
		_cleanup_free_ char *name = text_escape(event_name(profile->event), "");

		fprintf(output->file, "# event %s: %s, %s\n", name,
			format_plural(all.samples, "sample").text,
			profile_format(profile, all.weight).text);
	}
	if (programs)
		programs_print(programs, profile->event, output->file);
	switch (options->layout) {
	case LAYOUT_TABLE:
		report_table_print(profiles, profile, options->sort, options->percent_limit,
				   output);
		break;
	case LAYOUT_TREE:
		report_tree_print(profiles, profile, options->percent_limit, output);
		break;
	case LAYOUT_CALLERS:
		report_callers_print(profiles, profile, callees, options->percent_limit, output);
		break;
	case LAYOUT_RESIDENCY:
		report_residency_print(profile, options->percent_limit, output);
		break;
	case LAYOUT_HISTOGRAM:
		report_histogram_print(profiles, profile, output);
		break;
	case LAYOUT_COMPARE_FP:
	case LAYOUT_LOCKS:
	case LAYOUT_STACK_BYTES:
		break;
	}
}

static int print_all(const struct report_options *options, struct session *session,
		     struct profiles *profiles, const struct programs *programs)
{
	struct callees callees = { 0 };
	struct output output;
	int status = STATUS_ERROR;

	if ((!options->callers || callees_find(profiles, options->callers, &callees)) &&
	    (options->layout != LAYOUT_HISTOGRAM || report_histogram_is_possible(profiles)) &&
	    options_open_output(&options->common, &output)) {
		summary_print_head(session, output.file);
		for (size_t i = 0; i < profiles->count; i++)
			print_profile(options, profiles, &profiles->items[i], programs, &callees,
				      &output);
		status = output_close(&output, session_status(session));
	}
	callees_free(&callees);
	return status;
}

static bool has_one_course(const struct report_options *options, const struct profiles *profiles)
{
	if (!options->sparkline || profiles->count <= 1)
		return true;
	complain("%s: --sparkline shows one event; select it with --event", options->common.file);
	return false;
}

struct report_sums {
	struct profiles *profiles;
	struct programs *programs; /* NULL: not wanted */
};

static bool add_trace(void *context, const struct reel_trace *trace,
		      const struct reel_event_info *event)
{
	struct report_sums *sums = context;

	if (sums->programs)
		programs_add(sums->programs, trace, event);
	return profiles_add(sums->profiles, trace, event);
}

static int report(const struct report_options *options, struct session *session)
{
	bool mark_cut = options->layout != LAYOUT_TABLE;
	bool has_programs = options->layout == LAYOUT_TABLE && !options->by.groups.n;
	struct courses courses = { 0 };
	struct profiles profiles;
	struct programs programs;
	struct report_sums sums = { &profiles, has_programs ? &programs : NULL };
	int status = STATUS_ERROR;

	programs_init(&programs);
	profiles_init(&profiles, &options->by, mark_cut);
	if (options->sparkline)
		profiles.courses = &courses;
	if (session_visit(session, add_trace, &sums) && has_one_course(options, &profiles) &&
	    groups_have_labels(profiles.groups, profiles.n_groups, session)) {
		profiles_finish(&profiles);
		status = print_all(options, session, &profiles, sums.programs);
	}
	profiles_free(&profiles);
	programs_free(&programs);
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

	if (options->layout == LAYOUT_LOCKS) {
		complain("%s: a profile has no locks; remove --locks", options->common.file);
		return STATUS_ERROR;
	}
	if (options->layout == LAYOUT_STACK_BYTES) {
		complain("%s: a profile has no stacks; remove --stack-bytes", options->common.file);
		return STATUS_ERROR;
	}
	if (options->layout == LAYOUT_COMPARE_FP || options->sparkline || options->by.groups.n ||
	    (options->by.symbols != SYMBOLS_BY_FUNCTION &&
	     options->by.symbols != SYMBOLS_BY_MODULE)) {
		complain("%s: a profile has no lines, addresses, threads, times or walks by frame "
			 "pointers; remove --by, --histogram, --sparkline and --compare-fp",
			 options->common.file);
		return STATUS_ERROR;
	}
	profiles_init(&profiles, &options->by, options->layout != LAYOUT_TABLE);
	if (profile_view_open(&view, &options->common, &profiles) &&
	    (!options->callers || callees_find(&profiles, options->callers, &callees)) &&
	    options_open_output(&options->common, &output)) {
		profile_view_print(&view, &profiles, output.file);
		for (size_t i = 0; i < profiles.count; i++)
			print_profile(options, &profiles, &profiles.items[i], NULL, &callees,
				      &output);
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
		complain("%s: all traces are walks by frame pointers, so there are no stacks to "
			 "compare them with; record with stackreel-record --fp",
			 file);
	else
		complain("%s: no sample has a walk by frame pointers; record with stackreel-record "
			 "--fp",
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
	    has_chains(session, &compared) && options_open_output(&options->common, &output)) {
		summary_print_head(session, output.file);
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

	if (session_open(&session, &options->common)) {
		if (options->layout == LAYOUT_COMPARE_FP)
			status = report_comparison(options, &session);
		else if (options->layout == LAYOUT_LOCKS)
			status = report_locks(&session, options->percent_limit);
		else if (options->layout == LAYOUT_STACK_BYTES)
			status = stack_bytes_report(&session, options->stack_limit,
						    options->percent_limit);
		else
			status = report(options, &session);
	}
	session_close(&session);
	return status;
}

/* ---- on a terminal ------------------------------------------------------------------------ */

/* Returns the reason against browsing; NULL: browsing works. */
static const char *why_not_browsed(const struct report_options *options)
{
	const char *output = options->common.output;

	if (options->layout == LAYOUT_RESIDENCY || options->layout == LAYOUT_HISTOGRAM ||
	    is_fixed(options->layout) || options->sparkline)
		return "--residency, --histogram, --sparkline, --compare-fp, --locks and "
		       "--stack-bytes always print text";
	if (options->stdio || options->no_pager || (output && strcmp(output, "-") != 0))
		return "another option asks for text";
	if (profile_file_is(options->common.file))
		return "a profile of 'stackreel aggregate' can only be printed as text";
	if (sandbox_is_wanted(&options->common))
		return "the sandbox, the default for standard input, cannot read keys; use "
		       "--no-sandbox, or name a file";
	return browse_is_possible() ? NULL
				    : "standard output is not a suitable terminal, or stackreel "
				      "was built without ncurses";
}

/* BROWSE_NOT: nothing was shown. */
static int browse_capture(const struct report_options *options)
{
	const struct browse_start start = {
		.tree = options->layout == LAYOUT_TREE,
		.callers = options->callers,
		.by = options->by,
		.sort = options->sort,
		.percent_limit = options->has_percent_limit ? options->percent_limit : 0,
		.short_names = options->common.short_names,
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
	struct report_options options = {
		.common.short_names = is_utf8_wanted(),
		.percent_limit = PERCENT / 2,
	};
	const char *why_not;
	int status = BROWSE_NOT;

	options_parse(&parser, argc, argv, 0, &options);
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
