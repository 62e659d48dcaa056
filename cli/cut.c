/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel cut: copy selected samples to a new capture. */
#include "cli/commands.h"
#include "cli/session/new_capture.h"
#include "cli/print/text.h"

static const struct argp_child children[] = {
	{ &options_filter, 0, "Which samples:", 1 },
	{ &options_recipients, 0, "The new capture:", 2 },
	{ &options_rewrite, 0, NULL, 2 },
	{ &options_keys, 0, "Encrypted captures:", 3 },
	{ &options_file, 0, "Input, output, limits:", 5 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, children, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	NULL,
	parse_option,
	"[FILE]",
	"Makes a capture of a part of a capture: of the samples that are selected, and of what was "
	"recorded beside them what their traces and names need. All commands say of it what they "
	"say of FILE with the same options.\v"
	"FILE is " DEFAULT_CAPTURE
	" if not given, `-' is standard input. Samples keep their times and numbers, and are "
	"scrubbed or not as before. Modules need not be here. An encrypted FILE becomes another "
	"encrypted capture, with --encrypt-to, or a plain one, with --decrypt. The exit status is "
	"1 if FILE is damaged where it was read, or no sample is selected; what could be read of "
	"it is written "
	"nevertheless.",
	children,
	NULL,
	NULL,
};

static struct reel_error *make(void *context, struct reel_capture *capture, const char *output,
			       struct new_capture *ret)
{
	const struct options *common = context;
	const struct reel_filter filter = options_of_filter(common);
	const struct reel_cut_options options = {
		.size = sizeof(options),
		.filter = &filter,
		.event = common->event,
		.recipients = common->recipients.items,
		.decrypt = common->decrypt,
	};
	struct reel_cut_counts counts = { .size = sizeof(counts) };
	struct reel_error *error = reel_capture_cut(capture, output, &options, &counts);

	if (error)
		return error;
	ret->samples = counts.samples;
	ret->bytes_written = counts.bytes_written;
	ret->remark = memory_print("%s side records left out", format_count(counts.left_out).text);
	return NULL;
}

int command_cut(int argc, char **argv)
{
	struct options options;
	int status;

	options_init(&options);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	status = new_capture_make(&options, make, &options);
	options_free(&options);
	return status;
}
