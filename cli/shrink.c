/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel shrink: a capture with no more of the stacks than unwinding reads. */
#include "cli/commands.h"
#include "cli/new_capture.h"
#include "cli/print/text.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_rewriting, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	NULL,
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

static struct reel_error *make(void *context, struct reel_capture *capture, const char *output,
			       struct new_capture *ret)
{
	const struct options *common = context;
	const struct reel_shrink_options options = {
		.size = sizeof(options),
		.recipients = common->recipients.items,
		.decrypt = common->decrypt,
	};
	struct reel_shrink_counts counts = { .size = sizeof(counts) };
	struct reel_error *error = reel_capture_shrink(capture, output, &options, &counts);

	ret->samples = counts.samples;
	ret->samples_are = " with the same traces";
	ret->bytes_written = counts.bytes_written;
	if (counts.whole)
		ret->remark = memory_print("%s are kept whole, as modules are missing",
					   format_count(counts.whole).text);
	return error;
}

int command_shrink(int argc, char **argv)
{
	struct options options;
	int status;

	options_init(&options);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	status = new_capture_make(&options, make, &options);
	options_free(&options);
	return status;
}
