/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel scrub: makes a capture without the recorded programs' data. */
#include "cli/commands.h"
#include "cli/session/new_capture.h"
#include "cli/print/text.h"

#define KEY_NO_COMMAND_LINE OPTION_KEY_OWN

struct scrub {
	struct options common;
	bool no_command_line;
};

static const struct argp_child children[] = {
	{ &options_recipients, 0, NULL, 0 },
	{ &options_rewrite, 0, NULL, 0 },
	{ &options_keys, 0, "Other options:", 1 },
	{ &options_file, 0, NULL, 1 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct scrub *scrub = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, children, &scrub->common);
		return 0;
	case KEY_NO_COMMAND_LINE:
		scrub->no_command_line = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = { { "no-cmdline", KEY_NO_COMMAND_LINE, NULL, 0,
						    "Do not copy the recorder's command line", 0 },
						  { 0 } };

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Remove program data from a capture: keep only words of stacks and registers that "
	"unwinding may follow, as stackreel-record does by default.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input. Traces stay the same. Names and paths are kept; stackreel(1) "
	"lists them. If FILE is encrypted, --encrypt-to or --decrypt is required. The exit status "
	"is 1 if FILE is damaged; its readable part is scrubbed.",
	children,
	NULL,
	NULL,
};

static struct reel_error *make(void *context, struct reel_capture *capture, const char *output,
			       struct new_capture *ret)
{
	const struct scrub *scrub = context;
	const struct reel_scrub_options options = {
		.size = sizeof(options),
		.no_command_line = scrub->no_command_line,
		.recipients = scrub->common.recipients.items,
		.decrypt = scrub->common.decrypt,
	};
	struct reel_scrub_counts counts = { .size = sizeof(counts) };
	struct reel_error *error = reel_capture_scrub(capture, output, &options, &counts);

	ret->samples = counts.samples;
	ret->bytes_written = counts.bytes_written;
	if (counts.unknown)
		ret->remark = memory_print("skipped %s records or blocks of a newer version",
					   format_count(counts.unknown).text);
	return error;
}

int command_scrub(int argc, char **argv)
{
	struct scrub scrub = { 0 };
	int status;

	options_init(&scrub.common);
	argp_parse(&parser, argc, argv, 0, NULL, &scrub);
	status = new_capture_make(&scrub.common, make, &scrub);
	options_free(&scrub.common);
	return status;
}
