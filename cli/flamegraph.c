/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel flamegraph: a capture as an interactive page, or as a picture. */
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/flamegraph/diff_page.h"
#include "cli/flamegraph/flame_shrink.h"
#include "cli/flamegraph/page.h"
#include "cli/flamegraph/svg.h"
#include "cli/print/text.h"
#include "cli/profile/profile_view.h"
#include "cli/session/selection.h"

enum {
	KEY_FORMAT = OPTION_KEY_OWN,
	KEY_DIFF,
	KEY_BY,
	KEY_WIDTH,
	KEY_MIN_SHARE,
	KEY_ICICLE,
};

/* Keeps a page below 1.5 MB, including the viewer. */
#define PACKED_MAX 1100000
#define SPANS_MAX  400000
#define SPANS_MIN  1000

#define NO_PAGES                                                                                   \
	"stackreel was built without npm's packages, so it cannot draw pages "                     \
	"(run 'make deps all' where npm is installed)"

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
	struct string_list old;
	struct grouping groups;
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

/* The default: a page, unless an option for pictures only was given. */
static enum flame_format usual_format(const struct flamegraph_options *options)
{
	if (options->is_picture)
		return FORMAT_SVG;
	if (page_is_there() || options->old.count)
		return FORMAT_HTML;
	if (!options->common.quiet)
		complain("drawing a picture: " NO_PAGES);
	return FORMAT_SVG;
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
	const char *file = options->common.file, *name;
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
		options->format = usual_format(options);
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

static void check(struct flamegraph_options *options, struct argp_state *state)
{
	find_format(options, state);
	if (options->format == FORMAT_SVG && options->old.count)
		options_error(state, "--diff draws a page, not a picture; use -o FILE.html");
	if (options->format == FORMAT_HTML && options->is_picture)
		options_error(state, "--width, --min-share and --icicle only apply to pictures; "
				     "use -o FILE.svg");
	for (size_t i = 0; i < options->old.count; i++) {
		if (!strcmp(options->old.items[i], "-"))
			options_error(state, "only the new capture can be standard input");
	}
	if (options->old.count && options->common.sandbox == SANDBOX_ON)
		options_error(state, "--sandbox only works with a single capture");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct flamegraph_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_traces, &options->common);
		return 0;
	case KEY_FORMAT:
		options->format = format_of(arg);
		if (!options->format)
			options_error(state, "--format: invalid format '%s' (expected html or svg)",
				      arg);
		return 0;
	case KEY_DIFF:
		string_list_add(&options->old, arg);
		return 0;
	case KEY_BY:
		grouping_take(state, arg, &options->groups);
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
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "Draw an interactive page (html) or a picture (svg) (default: by the output's name)", 0 },
	{ "diff", KEY_DIFF, "OLD", 0,
	  "Draw the changes since the capture OLD in colours (repeatable for several captures of "
	  "the old side)",
	  0 },
	{ "by", KEY_BY, "KEY,...", 0,
	  "Begin each stack with its thread, process, comm, host, state, event, cpu, or a label "
	  "such as lock or container; or with several of these",
	  0 },
	{ "width", KEY_WIDTH, "PIXELS", 0, "Set the width of a picture in pixels (1200)", 0 },
	{ "min-share", KEY_MIN_SHARE, "PERCENT", 0,
	  "Hide boxes below PERCENT of the total in a picture (0.1)", 0 },
	{ "icicle", KEY_ICICLE, NULL, 0, "Draw a picture with the root on top", 0 },
	{ 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Draw a flame graph: a page for a browser (-o FILE.html), or a picture (-o FILE.svg).\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input; a profile of 'stackreel aggregate' is allowed as well. Without "
	"-o and --format, a page is written to the current folder and named after FILE, e.g. "
	"stackreel.html; an existing file is renamed to stackreel.html.old. A page contains all "
	"events, processes, threads and times; a picture shows one event, the one with the most "
	"samples or the one given by --event.",
	options_of_traces,
	NULL,
	NULL,
};

/* ---- the command ---------------------------------------------------------------------------- */

static char *pack_profile(struct flame_profile *profile, const struct flame_source *source,
			  size_t *size_ret)
{
	_cleanup_free_ char *data = NULL;
	size_t size;

	data = page_data_of(profile, source, &size);
	return page_pack(data, size, size_ret);
}

/* A span's size is only known once written. */
static void write_page(struct flame_profile *profile, const struct flame_source *source, FILE *file)
{
	_cleanup_free_ char *packed = NULL;
	size_t max = SPANS_MAX, size;

	flame_profile_shrink(profile, max);
	packed = pack_profile(profile, source, &size);
	while (size > PACKED_MAX && max > SPANS_MIN) {
		size_t n = profile->spans.n < max ? profile->spans.n : max;

		max = (size_t)((double)n * PACKED_MAX / (double)size * 0.9);
		flame_profile_shrink(profile, max);
		free(packed);
		packed = pack_profile(profile, source, &size);
	}
	page_write(PAGE_FLAME, packed, file);
}

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
static int write_output(const struct flamegraph_options *options, struct flame_profile *profile,
			const struct flame_source *source, int status)
{
	struct output output;

	if (!profile->n_events) {
		complain("%s: no samples to draw", options->common.file);
		return STATUS_ERROR;
	}
	if (!output_open(&output, options->common.output))
		return STATUS_ERROR;
	if (options->format == FORMAT_HTML)
		write_page(profile, source, output.file);
	else
		write_picture(options, profile, source, output.file);
	if (output_close(&output, STATUS_OK) != STATUS_OK)
		return STATUS_ERROR;
	say_where(options);
	return status;
}

static int flamegraph(const struct flamegraph_options *options)
{
	struct flame_profile profile;
	struct session session;
	int status = STATUS_ERROR;

	if (session_open(&session, &options->common)) {
		flame_profile_init(&profile, session.info->first_sample_time, false);
		flame_profile_group(&profile, &options->groups);
		if (session_visit(&session, flame_profile_add, &profile) &&
		    groups_have_labels(profile.groups, profile.n_groups, &session)) {
			const struct flame_source source = {
				.path = session.info->path,
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
static int flamegraph_of_profile(const struct flamegraph_options *options)
{
	struct flame_profile profile;
	struct profiles profiles;
	struct profile_view view;
	int status = STATUS_ERROR;

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

/* A comparison needs each capture's samples: false if a file is a profile. */
static bool are_captures(const struct flamegraph_options *options)
{
	const char *profile = profile_file_is(options->common.file) ? options->common.file : NULL;

	for (size_t i = 0; i < options->old.count && !profile; i++) {
		if (profile_file_is(options->old.items[i]))
			profile = options->old.items[i];
	}
	if (profile)
		complain("%s: --diff compares captures, not profiles of 'stackreel aggregate'",
			 profile);
	return !profile;
}

static int draw_diff(struct flamegraph_options *options)
{
	int status;

	if (!are_captures(options))
		return STATUS_ERROR;
	status = diff_page_make(&options->common, &options->old);
	if (status == STATUS_OK)
		say_where(options);
	return status;
}

static int make(struct flamegraph_options *options)
{
	if (options->format == FORMAT_HTML && !page_is_there()) {
		complain(NO_PAGES "; use -o FILE.svg for a picture");
		return STATUS_ERROR;
	}
	if (options->groups.n && (options->old.count || profile_file_is(options->common.file))) {
		complain("--by groups the samples of a single capture, not of a profile of "
			 "'stackreel aggregate' or with --diff");
		return STATUS_ERROR;
	}
	if (options->old.count)
		return draw_diff(options);
	return profile_file_is(options->common.file) ? flamegraph_of_profile(options)
						     : flamegraph(options);
}

int command_flamegraph(int argc, char **argv)
{
	struct flamegraph_options options = { .svg = { .width = 1200, .min_share = PERCENT / 10 } };
	int status;

	options_init(&options.common);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	status = make(&options);
	free(options.named);
	free(options.old.items);
	options_free(&options.common);
	return status;
}
