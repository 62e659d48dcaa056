/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel diff: what got slower or faster between captures, and with what confidence. */
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "cli/commands.h"
#include "cli/diff/diff_print.h"
#include "cli/print/text.h"

enum {
	KEY_NEW = OPTION_KEY_OWN,
	KEY_PER,
	KEY_BY,
	KEY_FALSE_RATE,
	KEY_RUN_NOISE,
	KEY_PERCENT_LIMIT,
	KEY_FAIL_IF,
	KEY_TREE,
	KEY_FOLDED,
	KEY_MARKDOWN,
	KEY_JSON,
	KEY_NAMES,
};

enum format {
	FORMAT_TEXT,
	FORMAT_TREE,
	FORMAT_FOLDED,
	FORMAT_MARKDOWN,
	FORMAT_JSON,
};

struct diff_options {
	struct options common;
	struct string_list files[SIDES];
	enum diff_side side; /* of the files that follow */
	enum diff_per per;
	const char *per_event;
	struct by by;
	double requests[SIDES];
	uint64_t false_rate, run_noise, percent_limit, tree_limit; /* in PERCENT */
	struct diff_gate *gates;
	size_t n_gates;
	enum format format;
};

/* ---- options ------------------------------------------------------------------------------ */

/* "second", "OLD:NEW" (two numbers), or an event's name. */
static void parse_per(struct diff_options *options, const char *arg, struct argp_state *state)
{
	const char *end;
	uint64_t numbers[SIDES];

	if (!strcmp(arg, "second")) {
		options->per = PER_SECOND;
		return;
	}
	if (!reel_decimal_parse(arg, 1000, &end, &numbers[SIDE_OLD])) {
		options->per = PER_EVENT;
		options->per_event = arg;
		return;
	}
	options->per = PER_REQUEST;
	if (*end != ':' || !reel_decimal_parse(end + 1, 1000, &end, &numbers[SIDE_NEW]) || *end ||
	    !numbers[SIDE_OLD] || !numbers[SIDE_NEW])
		options_error(state,
			      "--per: invalid value '%s' (expected 'second', the name of an event, "
			      "or an amount of work for each side, e.g. 1000:1200)",
			      arg);
	for (int side = 0; side < SIDES; side++)
		options->requests[side] = (double)numbers[side] / 1000;
}

/* Keys that mean the same in several captures. */
static void parse_by(struct diff_options *options, const char *arg, struct argp_state *state)
{
	struct by *by = &options->by;

	by_take(state, arg, by);
	if (by->symbols != SYMBOLS_BY_FUNCTION && by->symbols != SYMBOLS_BY_MODULE)
		options_error(state, "--by: a comparison has functions and modules, but no %s",
			      symbols_by_name(by->symbols));
	for (size_t i = 0; i < by->groups.n; i++) {
		if (by->groups.keys[i].kind == GROUP_THREAD ||
		    by->groups.keys[i].kind == GROUP_PROCESS)
			options_error(state, "--by: captures have different threads and processes; "
					     "use comm, their names");
	}
}

static void add_gate(struct diff_options *options, const char *arg, struct argp_state *state)
{
	options->gates =
		memory_resize(options->gates, options->n_gates + 1, sizeof(*options->gates));
	if (!diff_gate_parse(arg, &options->gates[options->n_gates]))
		options_error(state,
			      "--fail-if: invalid limit '%s' (expected self(NAME)>+N%%, "
			      "total(NAME)>+N%% or any>+N%%, or <-N%%)",
			      arg);
	options->n_gates++;
}

/* Two files are one for each side; more need --new between the sides. */
static void check_files(struct diff_options *options, struct argp_state *state)
{
	struct string_list *old = &options->files[SIDE_OLD], *new = &options->files[SIDE_NEW];

	if (options->side == SIDE_OLD && old->count == 2) {
		string_list_add(new, old->items[1]);
		old->items[--old->count] = NULL;
	}
	if (!old->count || !new->count)
		argp_error(state, "missing captures; use OLD NEW, or OLD... --new NEW...");
	/* Reading it enters the sandbox, which blocks other files (options_sandbox). */
	for (size_t i = 0; i < old->count + new->count - 1; i++) {
		if (!strcmp(i < old->count ? old->items[i] : new->items[i - old->count], "-"))
			argp_error(state, "only the last capture can be standard input");
	}
	if (options->per == PER_EVENT && options->common.event &&
	    !strcmp(options->per_event, options->common.event))
		argp_error(state,
			   "--per and --event name the same event; name two different events");
	if (options->common.sandbox == SANDBOX_ON)
		argp_error(state, "--sandbox only works with a single capture");
	options->common.file = old->items[0];
}

static void set_format(struct diff_options *options, int key, const struct argp_state *state)
{
	if (options->format != FORMAT_TEXT)
		argp_error(state, "--tree, --folded, --markdown and --json exclude each other");
	options->format = key == KEY_TREE	? FORMAT_TREE
			  : key == KEY_FOLDED	? FORMAT_FOLDED
			  : key == KEY_MARKDOWN ? FORMAT_MARKDOWN
						: FORMAT_JSON;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct diff_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_traces, &options->common);
		return 0;
	case ARGP_KEY_ARG:
		string_list_add(&options->files[options->side], arg);
		return 0;
	case KEY_NEW:
		options->side = SIDE_NEW;
		return 0;
	case KEY_PER:
		parse_per(options, arg, state);
		return 0;
	case KEY_BY:
		parse_by(options, arg, state);
		return 0;
	case KEY_FALSE_RATE:
		if (!percent_parse(arg, &options->false_rate) || !options->false_rate)
			options_error(state, "--false-rate: invalid percentage '%s'", arg);
		return 0;
	case KEY_RUN_NOISE:
		if (!percent_parse(arg, &options->run_noise))
			options_error(state, "--run-noise: invalid percentage '%s'", arg);
		return 0;
	case KEY_PERCENT_LIMIT:
		if (!percent_parse(arg, &options->percent_limit))
			options_error(state, "--percent-limit: invalid percentage '%s'", arg);
		options->tree_limit = options->percent_limit;
		return 0;
	case KEY_FAIL_IF:
		add_gate(options, arg, state);
		return 0;
	case KEY_NAMES:
		options_take_names(state, arg, &options->common);
		return 0;
	case KEY_TREE:
	case KEY_FOLDED:
	case KEY_MARKDOWN:
	case KEY_JSON:
		set_format(options, key, state);
		return 0;
	case ARGP_KEY_END:
		check_files(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "new", KEY_NEW, NULL, 0, "Treat the following captures as the new side", 0 },
	{ "per", KEY_PER, "WHAT", 0,
	  "Compare use per 'second', per unit of work given for both sides (e.g. 1000:1200 "
	  "requests), or per count of the named event, instead of shares",
	  0 },
	{ "by", KEY_BY, "KEY,...", 0,
	  "Compare by function (default), module, comm, host, state, event, cpu or a label such as "
	  "lock or container; or by several keys",
	  0 },
	{ "false-rate", KEY_FALSE_RATE, "PERCENT", 0,
	  "Allow PERCENT of the sure changes to be chance (5)", 0 },
	{ "run-noise", KEY_RUN_NOISE, "PERCENT", 0,
	  "Assume PERCENT variation between runs where a side has only one capture (5)", 0 },
	{ "percent-limit", KEY_PERCENT_LIMIT, "PERCENT", 0,
	  "Hide changes below PERCENT of the total (0.1); in a tree, branches (0.5)", 0 },
	{ "fail-if", KEY_FAIL_IF, "LIMIT", 0,
	  "Exit with status 3 if a function changed for sure and by more than LIMIT: "
	  "total(NAME)>+5%, self(NAME)>+5%, any>+2%, total(NAME)<-5%; NAME is a shell pattern "
	  "(repeatable)",
	  0 },
	{ "tree", KEY_TREE, NULL, 0, "Print the call tree with both sides and the change", 0 },
	{ "folded", KEY_FOLDED, NULL, 0,
	  "Print one line per stack, 'a;b;c OLD NEW', for differential flame graphs", 0 },
	{ "markdown", KEY_MARKDOWN, NULL, 0, "Print a summary for a pull request", 0 },
	{ "json", KEY_JSON, NULL, 0, "Print all functions as JSON", 0 },
	OPTION_NAMES(KEY_NAMES, "short"),
	{ 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"OLD NEW\nOLD... --new NEW...",
	"Compare captures: which functions take more or less than before, and how certain it is.\v"
	"Functions are matched by name and module, across builds; clones and parts of a function "
	"(.constprop.0, .cold) are merged. The exit status is 3 if a --fail-if limit is exceeded.",
	options_of_traces,
	NULL,
	NULL,
};

/* ---- comparing ------------------------------------------------------------------------------ */

static bool read_side(struct diff_options *options, struct diff_counts *counts, enum diff_side side)
{
	const struct string_list *files = &options->files[side];
	bool ok = true;

	for (size_t i = 0; i < files->count && ok; i++) {
		struct session session;

		options->common.file = files->items[i];
		ok = session_open(&session, &options->common) &&
		     diff_counts_add(counts, &session, side);
		if (ok) {
			session_warn(&session);
			ok = session_is_sound(&session) &&
			     quality_status(&session.quality, &options->common) == STATUS_OK;
		}
		session_close(&session);
	}
	return ok;
}

static void tell_gates(const struct diff_result *result)
{
	for (size_t i = 0; i < result->n_gates; i++) {
		size_t n = 0;

		for (size_t j = 0; j < result->changes->n; j++)
			n += diff_gate_is_doubtful(&result->gates[i], &result->changes->items[j]);
		if (n && result->gates[i].pattern && !strpbrk(result->gates[i].pattern, "*?["))
			complain("%s: the limit may be exceeded, but not for sure; use more "
				 "samples or more captures",
				 result->gates[i].text);
	}
	diff_print_exceeded(result, "stackreel: ", stderr);
}

static int print(const struct diff_options *options, const struct diff_result *result)
{
	struct output output;
	int status = STATUS_OK;

	if (!output_open(&output, options->common.output))
		return STATUS_ERROR;
	output.short_names = options->common.short_names;
	switch (options->format) {
	case FORMAT_TEXT:
		diff_print_text(result, &output);
		break;
	case FORMAT_TREE:
		diff_print_tree(result, &output);
		break;
	case FORMAT_FOLDED:
		diff_print_folded(result, output.file);
		break;
	case FORMAT_MARKDOWN:
		diff_print_markdown(result, &output);
		break;
	case FORMAT_JSON:
		diff_print_json(result, output.file);
		break;
	}
	if (diff_print_exceeded(result, "", NULL))
		status = STATUS_INCOMPLETE;
	status = output_close(&output, status);
	if (!options->common.quiet)
		tell_gates(result);
	return status;
}

static int diff(struct diff_options *options)
{
	struct diff_counts counts;
	struct diff_changes changes, paths;
	int status = STATUS_ERROR;

	diff_counts_init(&counts);
	counts.per = options->per;
	counts.per_event = options->per_event;
	counts.by = options->by;
	counts.has_paths = options->format == FORMAT_TREE || options->format == FORMAT_FOLDED;
	/* Samples of both events are needed. */
	if (options->per == PER_EVENT && options->common.event) {
		counts.event = memory_print("%s", options->common.event);
		options->common.event = NULL;
	}
	for (int side = 0; side < SIDES; side++) {
		counts.n_captures[side] = options->files[side].count;
		counts.requests[side] = options->requests[side];
	}
	if (read_side(options, &counts, SIDE_OLD) && read_side(options, &counts, SIDE_NEW) &&
	    diff_counts_check_labels(&counts)) {
		struct diff_result result = {
			.counts = &counts,
			.changes = &changes,
			.files = { &options->files[SIDE_OLD], &options->files[SIDE_NEW] },
			.gates = options->gates,
			.n_gates = options->n_gates,
			.doubts = { (double)options->false_rate / (100.0 * PERCENT),
				    (double)options->run_noise / (100.0 * PERCENT) },
			.limit = (double)options->percent_limit / PERCENT,
			.tree_limit = options->tree_limit,
		};

		diff_counts_join_renamed(&counts);
		diff_changes_find(&counts, KIND_FUNCTION, &result.doubts, &changes);
		if (options->format == FORMAT_TREE) {
			diff_changes_find(&counts, KIND_PATH, &result.doubts, &paths);
			result.paths = &paths;
		}
		status = print(options, &result);
		if (result.paths)
			diff_changes_free(&paths);
		diff_changes_free(&changes);
	}
	diff_counts_free(&counts);
	return status;
}

int command_diff(int argc, char **argv)
{
	struct diff_options options = {
		.false_rate = 5 * PERCENT,
		.run_noise = 5 * PERCENT,
		.percent_limit = PERCENT / 10,
		.tree_limit = PERCENT / 2,
	};
	int status;

	options_init(&options.common);
	options.common.short_names = is_utf8_wanted();
	argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &options);
	status = diff(&options);
	for (size_t i = 0; i < options.n_gates; i++)
		diff_gate_free(&options.gates[i]);
	free(options.gates);
	for (int side = 0; side < SIDES; side++)
		free(options.files[side].items);
	options_free(&options.common);
	return status;
}
