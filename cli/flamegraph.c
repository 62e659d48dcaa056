/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel flamegraph: a capture as a page to look around in, or as a picture. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/flamegraph/diff_page.h"
#include "cli/flamegraph/packed.h"
#include "cli/flamegraph/page.h"
#include "cli/flamegraph/svg.h"
#include "cli/print/text.h"
#include "cli/report/profile.h"

enum {
	KEY_FORMAT = OPTION_KEY_OWN,
	KEY_DIFF,
	KEY_WIDTH,
	KEY_MIN_SHARE,
	KEY_ICICLE,
};

/* With the viewer a page is below 1.5 MB. */
#define PACKED_MAX 1100000
#define SPANS_MAX  400000
#define SPANS_MIN  1000

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
	struct svg_options svg;
	bool is_picture; /* an option was given that only pictures have */
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
	const char *end;

	if (!decimal_parse(arg, 1, &end, &width) || *end || width < WIDTH_MIN || width > WIDTH_MAX)
		options_error(state, "--width wants pixels, from %d to %d, not `%s'", WIDTH_MIN,
			      WIDTH_MAX, arg);
	options->svg.width = (unsigned int)width;
	options->is_picture = true;
}

/* The output's name tells what it is. */
static void check(struct flamegraph_options *options, struct argp_state *state)
{
	const char *output = options->common.output;

	if (!options->format && output && ends_with(output, ".html"))
		options->format = FORMAT_HTML;
	else if (!options->format && output && ends_with(output, ".svg"))
		options->format = FORMAT_SVG;
	if (!options->format)
		options_error(state, "a page or a picture? -o FILE.html or -o FILE.svg says it, or "
				     "--format");
	if (options->format == FORMAT_SVG && options->old.count)
		options_error(state, "--diff makes a page: -o FILE.html");
	if (options->format == FORMAT_HTML && options->is_picture)
		options_error(state, "--width, --min-share and --icicle are for pictures: -o "
				     "FILE.svg");
	for (size_t i = 0; i < options->old.count; i++) {
		if (!strcmp(options->old.items[i], "-"))
			options_error(state, "standard input can only be the new capture");
	}
	if (options->old.count && options->common.sandbox == SANDBOX_ON)
		options_error(state, "--sandbox is for one capture");
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
			options_error(state, "--format wants html or svg, not `%s'", arg);
		return 0;
	case KEY_DIFF:
		string_list_add(&options->old, arg);
		return 0;
	case KEY_WIDTH:
		parse_width(options, arg, state);
		return 0;
	case KEY_MIN_SHARE:
		if (!percent_parse(arg, &options->svg.min_share))
			options_error(state, "--min-share wants a percentage, not `%s'", arg);
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
	  "html: a page to look around in, in one file that needs no other; svg: a picture. As the "
	  "name of the output ends, if not given",
	  0 },
	{ "diff", KEY_DIFF, "OLD", 0,
	  "Show what changed since the capture OLD, by colours; several of these are one side", 0 },
	{ "width", KEY_WIDTH, "PIXELS", 0, "Of a picture (1200)", 0 },
	{ "min-share", KEY_MIN_SHARE, "PERCENT", 0,
	  "Leave boxes of less, of all, out of a picture (0.1)", 0 },
	{ "icicle", KEY_ICICLE, NULL, 0, "Draw a picture with the root on top", 0 },
	{ 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Draws flame graphs: a page for a browser (-o FILE.html), or a picture (-o FILE.svg).\v"
	"FILE is " DEFAULT_CAPTURE
	" if not given, `-' is standard input. A page has all events, processes, threads and times "
	"to choose from; a picture is of the event with the most samples, or of that of --event.",
	options_of_traces,
	NULL,
	NULL,
};

/* ---- the command ---------------------------------------------------------------------------- */

static char *pack_profile(struct flame_profile *profile, const struct session *session,
			  size_t *size_ret)
{
	_cleanup_free_ char *data = NULL;
	size_t size;

	data = page_data_of(profile, session, &size);
	return packed_text(data, size, size_ret);
}

/* What bytes a span takes is known when it is written. */
static void write_page(struct flame_profile *profile, const struct session *session, FILE *file)
{
	_cleanup_free_ char *packed = NULL;
	size_t max = SPANS_MAX, size;

	flame_profile_shrink(profile, max);
	packed = pack_profile(profile, session, &size);
	while (size > PACKED_MAX && max > SPANS_MIN) {
		size_t n = profile->spans.n < max ? profile->spans.n : max;

		max = (size_t)((double)n * PACKED_MAX / (double)size * 0.9);
		flame_profile_shrink(profile, max);
		free(packed);
		packed = pack_profile(profile, session, &size);
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

/* The numbers of two events must not be added up, so there is one. */
static void write_picture(const struct flamegraph_options *options,
			  const struct flame_profile *profile, const struct session *session,
			  FILE *file)
{
	const struct flame_event *event = event_of_most_samples(profile);

	if (profile->n_events > 1 && !options->common.quiet)
		complain("samples of %zu events: only those of %s are shown (--event chooses)",
			 profile->n_events, event_name(event->event));
	svg_write(event, session, &options->svg, file);
}

static int write_output(const struct flamegraph_options *options, struct flame_profile *profile,
			const struct session *session)
{
	struct output output;

	if (!profile->n_events) {
		complain("%s: there are no samples to draw", options->common.file);
		return STATUS_ERROR;
	}
	if (!output_open(&output, options->common.output))
		return STATUS_ERROR;
	if (options->format == FORMAT_HTML)
		write_page(profile, session, output.file);
	else
		write_picture(options, profile, session, output.file);
	return output_close(&output, session_status(session));
}

static int flamegraph(const struct flamegraph_options *options)
{
	struct flame_profile profile;
	struct session session;
	int status = STATUS_ERROR;

	if (session_open(&session, &options->common)) {
		flame_profile_init(&profile, &session);
		if (session_visit(&session, flame_profile_add, &profile)) {
			flame_profile_finish(&profile);
			session_warn(&session);
			status = write_output(options, &profile, &session);
		}
		flame_profile_free(&profile);
	}
	session_close(&session);
	return status;
}

int command_flamegraph(int argc, char **argv)
{
	struct flamegraph_options options = { .svg = { .width = 1200, .min_share = PERCENT / 10 } };
	int status = STATUS_ERROR;

	options_init(&options.common);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	if (options.format == FORMAT_HTML && !page_is_there())
		status = STATUS_ERROR;
	else if (options.old.count)
		status = diff_page_make(&options.common, &options.old);
	else
		status = flamegraph(&options);
	free(options.old.items);
	options_free(&options.common);
	return status;
}
