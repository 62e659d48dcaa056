/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel scrub: a capture without what programs worked with. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text.h"

enum {
	KEY_NO_COMMAND_LINE = OPTION_KEY_OWN,
	KEY_ENCRYPT_TO,
};

struct scrub {
	struct options common;
	bool no_command_line;
	struct string_list recipients;
};

static const struct argp_child children[] = {
	{ &options_keys, 0, "Other options:", 1 },
	{ &options_file, 0, NULL, 1 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct scrub *scrub = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, children, &scrub->common);
		return 0;
	case KEY_NO_COMMAND_LINE:
		scrub->no_command_line = true;
		return 0;
	case KEY_ENCRYPT_TO:
		string_list_add(&scrub->recipients, arg);
		return 0;
	case ARGP_KEY_END:
		if (!scrub->common.output)
			argp_error(state, "where to? Name the new capture with -o FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = { { "no-cmdline", KEY_NO_COMMAND_LINE, NULL, 0,
						    "Leave the recorder's command line out", 0 },
						  { "encrypt-to", KEY_ENCRYPT_TO, "PUBLIC_KEY", 0,
						    "Encrypt the new capture to this key, or to "
						    "those in the file of this name, as `stackreel "
						    "keygen' makes them (may be given again)",
						    0 },
						  { 0 } };

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Makes a capture of a capture, without what the recorded programs worked with: of stacks "
	"and registers only the words stay that unwinding may follow, as stackreel-record leaves "
	"them unless it is told to keep --raw-stacks.\v"
	"FILE is " DEFAULT_CAPTURE " if not given, `-' is standard input. Unwinding gives the same "
	"traces. Names and paths stay; stackreel(1) lists them. The exit status is 1 if FILE is "
	"damaged; what could be read of it is written nevertheless.",
	children,
	NULL,
	NULL,
};

static void print_counts(const char *output, const struct reel_scrub_counts *counts,
			 uint64_t bytes_read)
{
	_cleanup_free_ char *escaped = text_escape(output, "");
	uint64_t samples = counts->samples ? counts->samples : 1;

	fprintf(stderr, "stackreel: %s: %s samples, %s (%s a sample, of %s", escaped,
		format_count(counts->samples).text, format_bytes(counts->bytes_written).text,
		format_bytes(counts->bytes_written / samples).text,
		format_bytes(bytes_read / samples).text);
	if (counts->unknown)
		fprintf(stderr, "; %s records or blocks that are too new were left out",
			format_count(counts->unknown).text);
	fputs(")\n", stderr);
}

static int run(const struct scrub *scrub)
{
	const struct reel_scrub_options options = {
		.size = sizeof(options),
		.no_command_line = scrub->no_command_line,
		.recipients = scrub->recipients.items,
	};
	struct reel_scrub_counts counts = { .size = sizeof(counts) };
	const char *output = scrub->common.output;
	struct session session;
	struct reel_error *error;
	int status;

	if (!session_open(&session, &scrub->common))
		return STATUS_ERROR;
	error = reel_capture_scrub(session.capture, output, &options, &counts);
	progress_end(&session.progress);
	if (error) {
		status = reel_error_code(error) == REEL_ERROR_INVALID ? STATUS_USAGE : STATUS_ERROR;
		no_error(error);
	} else {
		session_warn(&session);
		status = *reel_capture_info(session.capture)->problems ? STATUS_ERROR : STATUS_OK;
		if (!scrub->common.quiet && strcmp(output, "-") != 0)
			print_counts(output, &counts, session.info->file_size);
	}
	session_close(&session);
	return status;
}

int command_scrub(int argc, char **argv)
{
	struct scrub scrub = { 0 };
	int status;

	options_init(&scrub.common);
	argp_parse(&parser, argc, argv, 0, NULL, &scrub);
	status = run(&scrub);
	free(scrub.recipients.items);
	options_free(&scrub.common);
	return status;
}
