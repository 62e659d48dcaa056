/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel annotate: show which instructions and lines of a function take the time. */
#include <stdlib.h>
#include <string.h>

#include "cli/annotate/annotation.h"
#include "cli/commands.h"
#include "cli/print/output.h"
#include "cli/profile/profile.h"
#include "cli/session/selection.h"

enum {
	KEY_VALUES = OPTION_KEY_OWN,
};

struct annotate_options {
	struct options common;
	const char *function;
	struct string_list expressions; /* of --values */
	struct annotation_look look;
	bool no_pager;
};

/* ---- options ---------------------------------------------------------------------------- */

static void check_options(const struct annotate_options *options, struct argp_state *state)
{
	if (!options->function)
		argp_error(state, "no function; use 'stackreel report' to list functions");
	if (!*options->function)
		argp_error(state, "the function's name is empty");
	if (options->look.by_source &&
	    (options->look.no_source || options->look.bytes || options->look.intel))
		argp_error(state,
			   "--source cannot be combined with --no-source, --bytes or --intel");
	if (options->look.json && options->look.by_source)
		argp_error(state, "--json includes source lines; remove --source");
}

static void add_expression(struct annotate_options *options, const char *arg,
			   struct argp_state *state)
{
	if (!*arg || strchr(".-[", *arg) ||
	    (*arg == '+' && strcmp(arg, "+args") != 0 && strcmp(arg, "+locals") != 0))
		options_error(state,
			      "--values: invalid expression '%s' (expected e.g. length, "
			      "request->length, +args or +locals)",
			      arg);
	string_list_add(&options->expressions, arg);
}

static error_t parse_annotate_option(int key, char *arg, struct argp_state *state)
{
	struct annotate_options *options = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (options->function)
			return ARGP_ERR_UNKNOWN;
		options->function = arg;
		return 0;
	case KEY_VALUES:
		add_expression(options, arg, state);
		return 0;
	case ARGP_KEY_END:
		check_options(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "source", OPTION_FLAG(struct annotate_options, look.by_source), NULL, 0,
	  "Show source lines instead of instructions", 0 },
	{ "no-source", OPTION_FLAG(struct annotate_options, look.no_source), NULL, 0,
	  "Hide source lines", 0 },
	{ "source-path", OPTION_LIST(struct annotate_options, look.folders), "DIR", 0,
	  "Look for source files below DIR, by the end of their path (repeatable)", 0 },
	{ "all", OPTION_FLAG(struct annotate_options, look.all), NULL, 0,
	  "Show all instructions of a long function, also those far from samples", 0 },
	{ "bytes", OPTION_FLAG(struct annotate_options, look.bytes), NULL, 0,
	  "Show the bytes of instructions", 0 },
	{ "intel", OPTION_FLAG(struct annotate_options, look.intel), NULL, 0,
	  "Show x86 code in Intel syntax instead of AT&T syntax", 0 },
	{ "values", KEY_VALUES, "EXPR", 0,
	  "Also show which values this variable of FUNC had at the hottest lines; +args: all "
	  "parameters, +locals: local variables as well (repeatable)",
	  0 },
	{ "json", OPTION_FLAG(struct annotate_options, look.json), NULL, 0, "Print one JSON object",
	  0 },
	{ "no-pager", OPTION_FLAG(struct annotate_options, no_pager), NULL, 0,
	  "Print without a pager", 0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_annotate_option,
	.args_doc = "FUNC [FILE]",
	.doc = "Show the instructions and source lines of a function with their shares, offline.\v"
	       "FUNC is a function's name as report prints it, or a part of one. If several "
	       "functions have the name, use MODULE:FUNC, or MODULE+0xADDRESS as 'report --by "
	       "address' prints it. FILE defaults to " DEFAULT_CAPTURE "; '-' is standard input.",
	.children = options_of_traces,
};

/* ---- the command ------------------------------------------------------------------------ */

/* Reads the samples again: only now the function is known, and values take time. */
static bool read_values(const struct annotate_options *options, struct session *session,
			struct line_values *values)
{
	struct options with_values = options->common;
	bool ok;

	if (!options->expressions.count)
		return true;
	with_values.values = values->requests.items;
	with_values.n_values = values->requests.count;
	session->options = &with_values;
	session->quality = (struct quality){ 0 };
	sample_counts_free(&session->missing);
	session->missing = (struct sample_counts){ 0 };
	ok = session_visit(session, line_values_add, values);
	session->options = &options->common;
	line_values_finish(values);
	return ok &&
	       (values->has_values ||
		session_explain_values(session, values->function->frame->function)) &&
	       line_values_have_names(values);
}

static int annotate_function(const struct annotate_options *options, struct session *session,
			     const struct functions *functions, const struct function *function)
{
	struct annotation annotation = { 0 };
	struct line_values values;
	struct output output;
	int status = STATUS_ERROR;
	bool ok;

	line_values_init(&values, functions, function, &options->expressions);
	if (read_values(options, session, &values) &&
	    annotation_make(&annotation, session, functions, function, &options->look) &&
	    output_open(&output, options->common.output)) {
		if (options->expressions.count)
			annotation.view.values = &values;
		ok = annotation_print(&annotation, &output);
		session_warn(session);
		status = output_close(&output, ok ? session_status(session) : STATUS_ERROR);
	}
	annotation_free(&annotation);
	line_values_free(&values);
	return status;
}

static bool has_one_event(const struct functions *functions)
{
	if (!functions->other_event)
		return true;
	complain("the samples are of several events, such as %s and %s; choose one with --event",
		 event_name(functions->event), event_name(functions->other_event));
	return false;
}

int command_annotate(int argc, char **argv)
{
	struct annotate_options options = { 0 };
	struct functions functions;
	const struct function *function;
	struct session session;
	int status = STATUS_ERROR;

	options_parse(&parser, argc, argv, 0, &options);
	if (!options.no_pager && !options.look.json)
		pager_prepare();
	functions_init(&functions, options.function);
	if (session_open(&session, &options.common) &&
	    session_visit(&session, functions_add, &functions) && has_one_event(&functions)) {
		functions_finish(&functions);
		function = functions_choose(&functions);
		if (function)
			status = annotate_function(&options, &session, &functions, function);
	}
	functions_free(&functions);
	free(options.expressions.items);
	session_close(&session);
	options_free(&options.common);
	return status;
}
