/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel diff: what got slower or faster between captures, and with what confidence. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/diff/diff_print.h"
#include "cli/diff/request.h"
#include "cli/print/text.h"

enum {
	KEY_BY = OPTION_KEY_OWN,
	KEY_PERCENT_LIMIT,
	KEY_FAIL_IF,
	KEY_FORMAT, /* and enum format */
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
	struct diff_request request;
	uint64_t percent_limit, tree_limit; /* in PERCENT */
	struct diff_gate *gates;
	size_t n_gates;
	enum format format;
	bool has_distributions;
};

/* ---- options ------------------------------------------------------------------------------ */

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

static void set_format(struct diff_options *options, enum format format,
		       const struct argp_state *state)
{
	if (options->format != FORMAT_TEXT)
		argp_error(state, "--tree, --folded, --markdown and --json exclude each other");
	options->format = format;
}

static error_t parse_diff_option(int key, char *arg, struct argp_state *state)
{
	struct diff_options *options = state->input;

	switch (key) {
	case KEY_BY:
		by_take(state, arg, &options->request.by, &options->common);
		return 0;
	case KEY_PERCENT_LIMIT:
		if (!percent_parse(arg, &options->percent_limit))
			options_error(state, "--percent-limit: invalid percentage '%s'", arg);
		options->tree_limit = options->percent_limit;
		return 0;
	case KEY_FAIL_IF:
		add_gate(options, arg, state);
		return 0;
	case KEY_FORMAT + FORMAT_TREE:
	case KEY_FORMAT + FORMAT_FOLDED:
	case KEY_FORMAT + FORMAT_MARKDOWN:
	case KEY_FORMAT + FORMAT_JSON:
		set_format(options, (enum format)(key - KEY_FORMAT), state);
		return 0;
	case ARGP_KEY_END:
		if (options->has_distributions && options->format != FORMAT_TEXT)
			argp_error(state, "--distributions are drawn in the plain text only");
		diff_request_check(&options->request, &options->common, state);
		return 0;
	default:
		return diff_request_take(&options->request, key, arg, state);
	}
}

static const struct argp_option own_options[] = {
	DIFF_REQUEST_OPTIONS,
	{ "by", KEY_BY, "KEY,...", 0,
	  "Compare by function (default), module, comm, host, state, event, cpu or a label such as "
	  "lock or container; or by several keys",
	  0 },
	{ "percent-limit", KEY_PERCENT_LIMIT, "PERCENT", 0,
	  "Hide changes below PERCENT of the total (0.1); in a tree, branches (0.5)", 0 },
	{ "fail-if", KEY_FAIL_IF, "LIMIT", 0,
	  "Exit with status 3 if a function changed significantly and by more than LIMIT: "
	  "total(NAME)>+5%, self(NAME)>+5%, any>+2%, total(NAME)<-5%; NAME is a shell pattern "
	  "(repeatable)",
	  0 },
	{ "distributions", OPTION_FLAG(struct diff_options, has_distributions), NULL, 0,
	  "Draw the values of each significant change over the blocks of time of a side's only "
	  "capture, or over its captures, as histograms",
	  0 },
	{ "tree", KEY_FORMAT + FORMAT_TREE, NULL, 0,
	  "Print the call tree with both sides and the change", 0 },
	{ "folded", KEY_FORMAT + FORMAT_FOLDED, NULL, 0,
	  "Print one line per stack, 'a;b;c OLD NEW', for differential flame graphs", 0 },
	{ "markdown", KEY_FORMAT + FORMAT_MARKDOWN, NULL, 0, "Print a summary for a pull request",
	  0 },
	{ "json", KEY_FORMAT + FORMAT_JSON, NULL, 0, "Print all functions as JSON", 0 },
	OPTION_NAMES("short"),
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_diff_option,
	.args_doc = "OLD NEW\nOLD... --new NEW...",
	.doc = "Compare captures: which functions take more or less than before, and how certain "
	       "it is.\v"
	       "Functions are matched by name and module, across builds; clones and parts of a "
	       "function (.constprop.0, .cold) are merged. The exit status is 3 if a --fail-if "
	       "limit is exceeded.",
	.children = options_of_traces,
};

/* ---- comparing ------------------------------------------------------------------------------ */

static void report_gates(const struct diff_result *result)
{
	for (size_t i = 0; i < result->n_gates; i++) {
		size_t n = 0;

		for (size_t j = 0; j < result->changes->n; j++)
			n += diff_gate_is_doubtful(&result->gates[i], &result->changes->items[j]);
		if (n && result->gates[i].pattern && !strpbrk(result->gates[i].pattern, "*?["))
			complain("%s: the limit may be exceeded, but not significantly; use more "
				 "samples or more captures",
				 result->gates[i].text);
	}
	diff_print_exceeded(result, "stackreel: ", stderr);
}

static int print(const struct diff_options *options, const struct diff_result *result)
{
	struct output output;
	int status = STATUS_OK;

	if (!options_open_output(&options->common, &output))
		return STATUS_ERROR;
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
		report_gates(result);
	return status;
}

static int diff(struct diff_options *options)
{
	struct diff_request *request = &options->request;
	struct diff_counts counts;
	struct diff_changes changes, paths;
	int status = STATUS_ERROR;

	request->has_paths = options->format == FORMAT_TREE || options->format == FORMAT_FOLDED;
	if (diff_request_read(request, &options->common, NULL, NULL, &counts)) {
		struct diff_result result = {
			.counts = &counts,
			.changes = &changes,
			.files = { &request->files[SIDE_OLD], &request->files[SIDE_NEW] },
			.gates = options->gates,
			.n_gates = options->n_gates,
			.doubts = diff_request_doubts(request),
			.has_distributions = options->has_distributions,
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
		.common.short_names = is_utf8_wanted(),
		.request = { DIFF_REQUEST_DEFAULTS },
		.percent_limit = PERCENT / 10,
		.tree_limit = PERCENT / 2,
	};
	int status;

	options_parse(&parser, argc, argv, ARGP_IN_ORDER, &options);
	status = diff(&options);
	for (size_t i = 0; i < options.n_gates; i++)
		diff_gate_free(&options.gates[i]);
	free(options.gates);
	diff_request_free(&options.request);
	options_free(&options.common);
	return status;
}
