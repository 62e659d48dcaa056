/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel shrink: make a capture with only the stack bytes that unwinding reads. */
#include "cli/commands.h"
#include "cli/session/new_capture.h"
#include "cli/print/text.h"

#define KEY_ARCHIVE OPTION_KEY_OWN

struct shrink {
	struct options common;
	bool archive;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct shrink *shrink = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_rewriting, &shrink->common);
		return 0;
	case KEY_ARCHIVE:
		shrink->archive = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "archive", KEY_ARCHIVE, NULL, 0,
	  "Also embed what the traces need of the files, like pack, with names and lines, and "
	  "compress as much as possible",
	  0 },
	{ 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Copy a capture for archives: keep only the stack bytes and registers that unwinding "
	"reads. Both captures are then unwound; if a trace differs, nothing is written.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input. Samples whose traces need modules that are missing here are kept "
	"whole, since they may unwind further elsewhere. If FILE is encrypted, --encrypt-to or "
	"--decrypt is required. The exit status is 1 if FILE is damaged; its readable part is "
	"kept.",
	options_of_rewriting,
	NULL,
	NULL,
};

static char *make_remark(const struct shrink *shrink, const struct reel_shrink_counts *counts)
{
	_cleanup_free_ char *whole = NULL, *images = NULL;

	if (counts->whole)
		whole = memory_print("%s kept whole since modules are missing",
				     format_count(counts->whole).text);
	if (!shrink->archive)
		return whole ? memory_print("%s", whole) : NULL;
	images = new_capture_images(counts->modules, counts->missing, counts->left_out,
				    counts->image_bytes);
	return memory_print("%s%s%s", whole ? whole : "", whole ? "; " : "", images);
}

static struct reel_error *make(void *context, struct reel_capture *capture, const char *output,
			       struct new_capture *ret)
{
	struct shrink *shrink = context;
	const struct reel_shrink_options options = {
		.size = sizeof(options),
		.recipients = shrink->common.recipients.items,
		.decrypt = shrink->common.decrypt,
		.archive = shrink->archive,
		.problem = new_capture_print_problem,
		.context = &shrink->common,
	};
	struct reel_shrink_counts counts = { .size = sizeof(counts) };
	struct reel_error *error = reel_capture_shrink(capture, output, &options, &counts);

	if (error)
		return error;
	ret->samples = counts.samples;
	ret->samples_are = " with the same traces";
	ret->bytes_written = counts.bytes_written;
	ret->remark = make_remark(shrink, &counts);
	return NULL;
}

int command_shrink(int argc, char **argv)
{
	struct shrink shrink = { 0 };
	int status;

	options_init(&shrink.common);
	argp_parse(&parser, argc, argv, 0, NULL, &shrink);
	status = new_capture_make(&shrink.common, make, &shrink);
	options_free(&shrink.common);
	return status;
}
