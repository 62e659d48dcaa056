/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel cut: copy selected samples to a new capture. */
#include "cli/commands.h"
#include "cli/session/new_capture.h"
#include "cli/print/text.h"

static const struct argp_child children[] = {
	{ &options_filter, 0, "Sample selection:", 1 },
	{ &options_recipients, 0, "New capture:", 2 },
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
	"Copy selected samples to a new capture, with all data that their traces and names need. "
	"All commands print the same for it as for FILE with the same options.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input. Samples keep their times and numbers, and stay scrubbed or raw. "
	"Modules are not needed. If FILE is encrypted, --encrypt-to or --decrypt is required. The "
	"exit status is 1 if the selected part of FILE is damaged, or no sample is selected; the "
	"readable part is copied.",
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
	ret->remark =
		memory_print("%s side records not copied", format_count(counts.left_out).text);
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
