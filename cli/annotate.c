/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel annotate: which instructions and lines of a function the time goes to. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/annotate/skid.h"
#include "cli/annotate/views.h"
#include "cli/commands.h"
#include "cli/print/pager.h"
#include "cli/print/text.h"
#include "cli/report/profile.h"
#include "cli/session/summary.h"

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
	struct string_list folders;
	bool by_source, no_source, bytes, intel, json, no_pager;
};

/* ---- options ---------------------------------------------------------------------------- */

static void check_options(const struct annotate_options *options, struct argp_state *state)
{
	if (!options->function)
		argp_error(state, "which function? `stackreel report' lists them");
	if (!*options->function)
		argp_error(state, "the function's name is empty");
	if (options->by_source && (options->no_source || options->bytes || options->intel))
		argp_error(state, "--source shows no instructions: leave out --no-source, --bytes "
				  "and --intel");
	if (options->json && options->by_source)
		argp_error(state, "--json has instructions and lines: leave out --source");
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
		options->by_source = true;
		return 0;
	case KEY_NO_SOURCE:
		options->no_source = true;
		return 0;
	case KEY_SOURCE_PATH:
		string_list_add(&options->folders, arg);
		return 0;
	case KEY_BYTES:
		options->bytes = true;
		return 0;
	case KEY_INTEL:
		options->intel = true;
		return 0;
	case KEY_JSON:
		options->json = true;
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
	{ "source", KEY_SOURCE, NULL, 0, "Show lines of source, instead of instructions", 0 },
	{ "no-source", KEY_NO_SOURCE, NULL, 0, "Leave lines of source out", 0 },
	{ "source-path", KEY_SOURCE_PATH, "DIR", 0,
	  "Look for source files below DIR, by as much of their path as is there (may be given "
	  "again)",
	  0 },
	{ "bytes", KEY_BYTES, NULL, 0, "Show the bytes of instructions", 0 },
	{ "intel", KEY_INTEL, NULL, 0, "x86 in Intel's syntax, not in AT&T's", 0 },
	{ "json", KEY_JSON, NULL, 0, "One JSON object", 0 },
	{ "no-pager", KEY_NO_PAGER, NULL, 0, "Print to the terminal itself", 0 },
	{ 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"FUNC [FILE]",
	"Shows which instructions and lines of a function the time goes to, offline.\v"
	"FUNC is its name as report prints it, or a part of one; MODULE:FUNC, or MODULE+0xADDRESS "
	"as report --by address prints it, where several have the name. FILE is " DEFAULT_CAPTURE
	" if not given, `-' is standard input.",
	options_of_traces,
	NULL,
	NULL,
};

/* ---- the header ------------------------------------------------------------------------- */

static struct short_text weight_text(const struct listing *listing, uint64_t weight)
{
	return listing->is_time ? format_nanoseconds(weight) : format_count(weight);
}

/* Whose file would have the code, and how to come by it. */
static bool print_missing_code(const struct listing *listing, struct session *session, FILE *file)
{
	const struct reel_module_info *modules, *module = NULL;
	_cleanup_free_ char *build_id = NULL, *problem = NULL;
	size_t n;

	if (!no_error(reel_capture_modules(session->capture, &modules, &n)))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (modules[i].id == listing->info->module_id)
			module = &modules[i];
	}
	fprintf(file, "# code is missing: %s byte%s of the function",
		format_count(listing->bytes_missing).text, listing->bytes_missing == 1 ? "" : "s");
	if (!module) {
		fputs(", and which file has it is not known\n", file);
		return true;
	}
	if (module->kind == REEL_MODULE_ANONYMOUS) {
		fputs(", which is in no file, and was not recorded\n", file);
		return true;
	}
	build_id = text_escape(module->build_id, "");
	problem = text_escape(module->problem, "");
	if (*problem)
		fprintf(file, ": %s\n", problem);
	else
		fprintf(file,
			"; give the %s by --module, --symfs or --debuginfod\n# its build-id: %s\n",
			module->kind == REEL_MODULE_KERNEL ? "kernel (vmlinux)" : "file",
			*build_id ? build_id : "none was recorded");
	return true;
}

static void print_code(const struct listing *listing, FILE *file)
{
	const struct reel_function_info *info = listing->info;
	_cleanup_free_ char *path = text_escape(info->code_path, "");

	if (info->embedded && *path)
		fprintf(file, "# code: %s, as far as the capture has it\n", path);
	else if (info->embedded)
		fputs("# code: as it was recorded\n", file);
	else if (*path)
		fprintf(file, "# code: %s\n", path);
	if (!*info->arch)
		fputs("# instructions: of a CPU that is not known here\n", file);
	else if (!*info->disassembler)
		fprintf(file,
			"# instructions as bytes: the capstone library in use does not know %s; "
			"capstone 5 knows all CPUs that captures are of\n",
			info->arch);
	else if (listing->unknown)
		fprintf(file, "# instructions as bytes: %s, which %s does not know\n",
			format_count(listing->unknown).text, info->disassembler);
}

static bool print_header(const struct view *view, struct session *session,
			 const struct jumps *jumps, FILE *file)
{
	const struct listing *listing = view->listing;
	_cleanup_free_ char *name = text_escape(view->name, "");
	_cleanup_free_ char *module = text_escape(listing->info->module_path, "");
	_cleanup_free_ char *event = text_escape(event_name(view->event), "");
	const char *unit = listing->is_time ? ", " : "";

	fputs("# ", file);
	summary_print_origin(session, file);
	fprintf(file, "\n# %s (%s+0x%" PRIx64 "), %s\n", name, *module ? module : "[unknown]",
		listing->info->begin, *listing->info->arch ? listing->info->arch : "unknown CPU");
	fprintf(file, "# self: %s of %s%s%s, %s samples of %s",
		format_share(listing->self.weight, listing->whole.weight).text, event, unit,
		listing->is_time ? weight_text(listing, listing->self.weight).text : "",
		format_count(listing->self.samples).text,
		format_count(listing->whole.samples).text);
	if (listing->inlined.samples)
		fprintf(file, "; %s of that in functions inlined into it",
			format_share(listing->inlined.weight, listing->self.weight).text);
	fprintf(file, "\n# %s\n", view->skid);
	print_code(listing, file);
	if (listing->bytes_missing && !print_missing_code(listing, session, file))
		return false;
	if (jumps && jumps->left_out)
		fprintf(file, "# %s of %s jumps are not drawn: more than %d beside each other\n",
			format_count(jumps->left_out).text, format_count(jumps->n).text,
			JUMP_LANES_MAX);
	return true;
}

/* Behind the rest, when it is known which were asked for. */
static void print_sources(const struct source_files *sources, FILE *file)
{
	for (size_t i = 0; i < sources->n; i++) {
		const struct source_file *source = sources->all[i];
		_cleanup_free_ char *path = text_escape(source->path, "");
		_cleanup_free_ char *why = text_escape(source->why ? source->why : "", "");

		if (!source->local)
			fprintf(file, "# source not found: %s%s%s%s\n", path, *why ? " (" : "", why,
				*why ? ")" : "");
		else if (source->is_newer)
			fprintf(file, "# source is newer than the recording: %s\n", path);
	}
}

/* ---- the command ------------------------------------------------------------------------ */

static bool print_view(const struct annotate_options *options, struct session *session,
		       const struct view *view, const struct output *output)
{
	struct jumps jumps;
	bool ok = true;

	if (options->json) {
		annotate_print_json(view, output);
		return true;
	}
	if (options->by_source) {
		ok = print_header(view, session, NULL, output->file);
		fputc('\n', output->file);
		source_print(view, output);
	} else {
		jumps_make(&jumps, view->listing);
		ok = print_header(view, session, &jumps, output->file);
		fputc('\n', output->file);
		assembly_print(view, &jumps, output);
		jumps_free(&jumps);
	}
	if (view->sources)
		print_sources(view->sources, output->file);
	return ok;
}

static int annotate_function(const struct annotate_options *options, struct session *session,
			     const struct functions *functions, const struct function *function)
{
	struct source_files sources = { .session = session, .folders = options->folders };
	struct listing listing = { 0 };
	struct view view = {
		.listing = &listing,
		.name = function->name,
		.sources = options->no_source ? NULL : &sources,
		.shows_bytes = options->bytes,
		.event = functions->event,
	};
	struct output output;
	int status = STATUS_ERROR;
	bool ok;

	if (skid_describe(session, functions->event, &view.skid) &&
	    listing_make(&listing, session, functions, function, options->intel) &&
	    output_open(&output, options->common.output)) {
		ok = print_view(options, session, &view, &output);
		session_warn(session);
		status = output_close(&output, ok ? session_status(session) : STATUS_ERROR);
	}
	listing_free(&listing);
	source_files_free(&sources);
	return status;
}

static bool has_one_event(const struct functions *functions)
{
	if (!functions->other_event)
		return true;
	complain("the samples are of several events, as %s and %s: choose one with --event",
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
	if (!options.no_pager && !options.json)
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
