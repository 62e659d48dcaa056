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

static const struct argp_option own_options[] = { { "archive", KEY_ARCHIVE, NULL, 0,
						    "Also embed what the traces ask of the files, "
						    "names and lines included, as pack does, and "
						    "compress all as far as it goes",
						    0 },
						  { 0 } };

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Makes a capture of a capture for archives: of the stacks it keeps the bytes that "
	"unwinding "
	"reads, of the registers those that it needs. Then it unwinds both captures; if a trace "
	"differed, nothing would be kept.\v"
	"FILE is " DEFAULT_CAPTURE
	" if not given, `-' is standard input. Samples whose traces want "
	"modules that are not found here are kept whole, as they may be unwound further where the "
	"modules are. An encrypted FILE becomes another encrypted capture, with --encrypt-to, or a "
	"plain one, with --decrypt. The exit status is 1 if FILE is damaged; what could be read of "
	"it is written nevertheless.",
	options_of_rewriting,
	NULL,
	NULL,
};

static char *make_remark(const struct shrink *shrink, const struct reel_shrink_counts *counts)
{
	_cleanup_free_ char *whole = NULL, *images = NULL;

	if (counts->whole)
		whole = memory_print("%s are kept whole, as modules are missing",
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
