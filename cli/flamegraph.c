/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel flamegraph: a picture of a capture, or the page of `stackreel view`. */
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/flamegraph/svg.h"
#include "cli/page/page_file.h"
#include "cli/page/page_make.h"
#include "cli/print/text.h"
#include "cli/profile/profile_view.h"
#include "cli/session/selection.h"

enum {
	KEY_FORMAT = OPTION_KEY_OWN,
	KEY_WIDTH,
	KEY_MIN_SHARE,
	KEY_ICICLE,
};

#define WIDTH_MIN 300
#define WIDTH_MAX 100000

enum flame_format {
	FORMAT_NONE,
	FORMAT_HTML,
	FORMAT_SVG,
};

struct flamegraph_options {
	struct options common;
	enum flame_format format;
	struct string_list old; /* of --diff */
	struct page_request page;
	struct svg_options svg;
	bool is_picture; /* an option for pictures only was given */
	char *named;	 /* the output's default name */
};

/* ---- options ------------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && !strcmp(text + size - end_size, end);
}

static enum flame_format format_of(const char *name)
{
	return !strcmp(name, "html")  ? FORMAT_HTML
	       : !strcmp(name, "svg") ? FORMAT_SVG
				      : FORMAT_NONE;
}

static void parse_width(struct flamegraph_options *options, const char *arg,
			struct argp_state *state)
{
	uint64_t width;

	options_check(state, "--width", reel_quantity_number(arg, WIDTH_MIN, WIDTH_MAX, &width));
	options->svg.width = (unsigned int)width;
	options->is_picture = true;
}

/* The length of `name` without the suffix `end`; all of it without that suffix. */
static size_t stem_of(const char *name, const char *end)
{
	size_t size = strlen(name);

	return ends_with(name, end) && size > strlen(end) ? size - strlen(end) : size;
}

/* Names the output after the capture, in the current directory: b.html for a/b.reel. */
static void name_output(struct flamegraph_options *options)
{
	const char *file = page_request_file(&options->page), *name;
	size_t size;

	name = path_base(strcmp(file, "-") ? file : DEFAULT_CAPTURE);
	size = stem_of(name, ".reel");
	if (size == strlen(name))
		size = stem_of(name, ".profile");
	options->named = memory_print("%.*s.%s", (int)size, name,
				      options->format == FORMAT_HTML ? "html" : "svg");
	options->common.output = options->named;
	output_keep_old();
}

/* Takes the format from the output's name. */
static void find_format(struct flamegraph_options *options, struct argp_state *state)
{
	const char *output = options->common.output;

	if (options->format)
		return;
	if (!output || !strcmp(output, "-"))
		options->format = options->is_picture ? FORMAT_SVG : FORMAT_HTML;
	else if (ends_with(output, ".html"))
		options->format = FORMAT_HTML;
	else if (ends_with(output, ".svg"))
		options->format = FORMAT_SVG;
	else
		options_error(state, "cannot tell the output type; name it FILE.html or FILE.svg, "
				     "or use --format");
	if (!output)
		name_output(options);
}

/* --diff OLD FILE is OLD --new FILE. */
static void use_old(struct flamegraph_options *options, struct argp_state *state)
{
	struct diff_request *files = &options->page.files;

	if (files->side == SIDE_NEW)
		options_error(state, "--diff and --new exclude each other");
	if (!files->files[SIDE_OLD].count)
		string_list_add(&files->files[SIDE_OLD], options->common.file);
	files->files[SIDE_NEW] = files->files[SIDE_OLD];
	files->files[SIDE_OLD] = options->old;
	files->side = SIDE_NEW;
	options->old = (struct string_list){ 0 };
}

static void check(struct flamegraph_options *options, struct argp_state *state)
{
	if (options->old.count)
		use_old(options, state);
	page_request_check(&options->page, state);
	find_format(options, state);
	if (options->format == FORMAT_SVG && page_request_is_comparison(&options->page))
		options_error(state, "a comparison is a page, not a picture; use -o FILE.html");
	if (options->format == FORMAT_SVG && options->page.has_code)
		options_error(state, "--source only applies to pages; use -o FILE.html");
	if (options->format == FORMAT_SVG && options->common.shown_values.count)
		options_error(state, "--values only applies to pages; use -o FILE.html");
	if (options->format == FORMAT_HTML && options->is_picture)
		options_error(state, "--width, --min-share and --icicle only apply to pictures; "
				     "use -o FILE.svg");
}

static error_t parse_flamegraph_option(int key, char *arg, struct argp_state *state)
{
	struct flamegraph_options *options = state->input;

	switch (key) {
	case KEY_FORMAT:
		options->format = format_of(arg);
		if (!options->format)
			options_error(state, "--format: invalid format '%s' (expected html or svg)",
				      arg);
		return 0;
	case KEY_WIDTH:
		parse_width(options, arg, state);
		return 0;
	case KEY_MIN_SHARE:
		if (!percent_parse(arg, &options->svg.min_share))
			options_error(state, "--min-share: invalid percentage '%s'", arg);
		options->is_picture = true;
		return 0;
	case KEY_ICICLE:
		options->svg.icicle = options->is_picture = true;
		return 0;
	case ARGP_KEY_END:
		check(options, state);
		return 0;
	default:
		return page_request_take(&options->page, key, arg, state);
	}
}

static const struct argp_option own_options[] = {
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "Write the page of 'stackreel view' (html) or a picture (svg) (default: by the output's "
	  "name)",
	  0 },
	{ "diff", OPTION_LIST(struct flamegraph_options, old), "OLD", 0,
	  "Show the changes since the capture OLD (repeatable for several captures of the old "
	  "side)",
	  0 },
	PAGE_REQUEST_OPTIONS,
	{ "width", KEY_WIDTH, "PIXELS", 0, "Set the width of a picture in pixels (1200)", 0 },
	{ "min-share", KEY_MIN_SHARE, "PERCENT", 0,
	  "Hide boxes below PERCENT of the total in a picture (0.1)", 0 },
	{ "icicle", KEY_ICICLE, NULL, 0, "Draw a picture with the root on top", 0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_flamegraph_option,
	.args_doc = "[FILE]\nOLD NEW\nOLD... --new NEW...",
	.doc = "Draw a flame graph: a picture (-o FILE.svg), or the page of 'stackreel view' (-o "
	       "FILE.html).\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input; a profile of 'stackreel aggregate' or folded text is "
	       "allowed as "
	       "well. "
	       "Without -o and --format, a page is written to the current folder and named after "
	       "FILE, e.g. stackreel.html; an existing file is renamed to stackreel.html.old. A "
	       "page contains all events, processes, threads and times; a picture shows one event, "
	       "the one with the most samples or the one given by --event.",
	.children = options_of_traces,
};

/* ---- the command ---------------------------------------------------------------------------- */

static const struct flame_event *event_of_most_samples(const struct flame_profile *profile)
{
	const struct flame_event *most = &profile->events[0];

	for (size_t i = 1; i < profile->n_events; i++) {
		const struct flame_event *event = &profile->events[i];

		if (event->tree.nodes[CALL_TREE_ROOT].total.samples >
		    most->tree.nodes[CALL_TREE_ROOT].total.samples)
			most = event;
	}
	return most;
}

/* The numbers of two events must not be added up, so show one event. */
static void write_picture(const struct flamegraph_options *options,
			  const struct flame_profile *profile, const struct flame_source *source,
			  FILE *file)
{
	const struct flame_event *event = event_of_most_samples(profile);

	if (profile->n_events > 1 && !options->common.quiet)
		complain("samples of %zu events, showing only %s (use --event to choose)",
			 profile->n_events, event_name(event->event));
	svg_write(event, source, &options->svg, file);
}

/* Reports the output's default name. */
static void say_where(const struct flamegraph_options *options)
{
	if (options->named && !options->common.quiet)
		complain("wrote %s; open it in a browser", options->named);
}

/* Returns the exit status, which is `status` if all was written. */
static int write_output(const struct flamegraph_options *options,
			const struct flame_profile *profile, const struct flame_source *source,
			int status)
{
	struct output output;

	if (!profile->n_events) {
		complain("%s: no samples to draw", options->common.file);
		return STATUS_ERROR;
	}
	if (!output_open(&output, options->common.output))
		return STATUS_ERROR;
	write_picture(options, profile, source, output.file);
	if (output_close(&output, STATUS_OK) != STATUS_OK)
		return STATUS_ERROR;
	say_where(options);
	return status;
}

static int draw_capture(const struct flamegraph_options *options)
{
	struct flame_profile profile;
	struct session session;
	int status = STATUS_ERROR;

	if (session_open(&session, &options->common)) {
		flame_profile_init(&profile, session.info->first_sample_time, false);
		flame_profile_group(&profile, &options->page.files.by.groups);
		if (session_visit(&session, flame_profile_add, &profile) &&
		    groups_have_labels(profile.groups, profile.n_groups, &session)) {
			const struct flame_source source = {
				.path = session.name,
				.quality = &session.quality,
				.info = session.info,
			};

			flame_profile_finish(&profile);
			session_warn(&session);
			status = write_output(options, &profile, &source, session_status(&session));
		}
		flame_profile_free(&profile);
	}
	session_close(&session);
	return status;
}

/* The file is a profile from `stackreel aggregate`. */
static int draw_profile(const struct flamegraph_options *options)
{
	struct flame_profile profile;
	struct profiles profiles;
	struct profile_view view;
	int status = STATUS_ERROR;

	if (options->page.files.by.groups.n) {
		complain("--by groups the samples of a capture, not of a profile of 'stackreel "
			 "aggregate'");
		return STATUS_ERROR;
	}
	profiles_init(&profiles, &(struct by){ 0 }, true);
	flame_profile_init(&profile, 0, false);
	if (profile_view_open(&view, &options->common, &profiles)) {
		const struct flame_source source = {
			.path = options->common.file,
			.quality = &view.quality,
			.captures = view.totals.captures,
		};

		flame_profile_add_all(&profile, &profiles);
		flame_profile_finish(&profile);
		status = write_output(options, &profile, &source,
				      quality_status(&view.quality, &options->common));
	}
	flame_profile_free(&profile);
	profiles_free(&profiles);
	return status;
}

static int write_page(struct flamegraph_options *options)
{
	_cleanup_free_ char *packed = NULL;
	struct output output;
	int status;

	packed = page_make(&options->page, &status);
	if (!packed || !output_open(&output, options->common.output))
		return STATUS_ERROR;
	page_file_write(PAGE_VIEW, packed, output.file);
	if (output_close(&output, STATUS_OK) != STATUS_OK)
		return STATUS_ERROR;
	say_where(options);
	return status;
}

static int flamegraph(struct flamegraph_options *options)
{
	if (options->format == FORMAT_HTML)
		return write_page(options);
	return profile_file_is(options->common.file) ? draw_profile(options)
						     : draw_capture(options);
}

int command_flamegraph(int argc, char **argv)
{
	struct flamegraph_options options = {
		.page = { PAGE_REQUEST_DEFAULTS, .common = &options.common },
		.svg = { .width = 1200, .min_share = PERCENT / 10 },
	};
	int status;

	options_parse(&parser, argc, argv, ARGP_IN_ORDER, &options);
	status = flamegraph(&options);
	free(options.named);
	free(options.old.items);
	page_request_free(&options.page);
	options_free(&options.common);
	return status;
}
