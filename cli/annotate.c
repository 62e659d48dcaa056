/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel annotate: show which instructions and lines of a function take the time. */
#include "cli/annotate/annotation.h"
#include "cli/commands.h"
#include "cli/print/pager.h"
#include "cli/profile/profile.h"
#include "cli/session/selection.h"

enum {
	KEY_SOURCE = OPTION_KEY_OWN,
	KEY_NO_SOURCE,
	KEY_SOURCE_PATH,
	KEY_BYTES,
	KEY_INTEL,
	KEY_JSON,
	KEY_NO_PAGER,
};

struct annotate_options {
	struct options common;
	const char *function;
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

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct annotate_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_traces, &options->common);
		return 0;
	case ARGP_KEY_ARG:
		if (options->function)
			return ARGP_ERR_UNKNOWN;
		options->function = arg;
		return 0;
	case KEY_SOURCE:
		options->look.by_source = true;
		return 0;
	case KEY_NO_SOURCE:
		options->look.no_source = true;
		return 0;
	case KEY_SOURCE_PATH:
		string_list_add(&options->look.folders, arg);
		return 0;
	case KEY_BYTES:
		options->look.bytes = true;
		return 0;
	case KEY_INTEL:
		options->look.intel = true;
		return 0;
	case KEY_JSON:
		options->look.json = true;
		return 0;
	case KEY_NO_PAGER:
		options->no_pager = true;
		return 0;
	case ARGP_KEY_END:
		check_options(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "source", KEY_SOURCE, NULL, 0, "Show source lines instead of instructions", 0 },
	{ "no-source", KEY_NO_SOURCE, NULL, 0, "Hide source lines", 0 },
	{ "source-path", KEY_SOURCE_PATH, "DIR", 0,
	  "Look for source files below DIR, by the end of their path (repeatable)", 0 },
	{ "bytes", KEY_BYTES, NULL, 0, "Show the bytes of instructions", 0 },
	{ "intel", KEY_INTEL, NULL, 0, "Show x86 code in Intel syntax instead of AT&T syntax", 0 },
	{ "json", KEY_JSON, NULL, 0, "Print one JSON object", 0 },
	{ "no-pager", KEY_NO_PAGER, NULL, 0, "Print without a pager", 0 },
	{ 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"FUNC [FILE]",
	"Show the instructions and source lines of a function with their shares, offline.\v"
	"FUNC is a function's name as report prints it, or a part of one. If several functions "
	"have the name, use MODULE:FUNC, or MODULE+0xADDRESS as 'report --by address' prints it. "
	"FILE defaults to " DEFAULT_CAPTURE "; '-' is standard input.",
	options_of_traces,
	NULL,
	NULL,
};

/* ---- the command ------------------------------------------------------------------------ */

static int annotate_function(const struct annotate_options *options, struct session *session,
			     const struct functions *functions, const struct function *function)
{
	struct annotation annotation;
	struct output output;
	int status = STATUS_ERROR;
	bool ok;

	if (annotation_make(&annotation, session, functions, function, &options->look) &&
	    output_open(&output, options->common.output)) {
		ok = annotation_print(&annotation, &output);
		session_warn(session);
		status = output_close(&output, ok ? session_status(session) : STATUS_ERROR);
	}
	annotation_free(&annotation);
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

	options_init(&options.common);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
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
	session_close(&session);
	options_free(&options.common);
	return status;
}
