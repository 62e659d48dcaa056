/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel shrink: a capture with no more of the stacks than unwinding reads. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text.h"

static const struct argp_child children[] = {
	{ &options_search, 0, "Where modules come from:", 1 },
	{ &options_keys, 0, "Other options:", 2 },
	{ &options_file, 0, NULL, 2 },
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
	case ARGP_KEY_END:
		if (!options->output)
			argp_error(state, "where to? Name the new capture with -o FILE");
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
	"modules are. The new capture is not encrypted. The exit status is 1 if FILE is damaged; "
	"what could be read of it is written nevertheless.",
	children,
	NULL,
	NULL,
};

static void print_counts(const char *output, const struct reel_shrink_counts *counts,
			 uint64_t bytes_read)
{
	_cleanup_free_ char *escaped = text_escape(output, "");
	uint64_t samples = counts->samples ? counts->samples : 1;

	fprintf(stderr,
		"stackreel: %s: %s samples with the same traces, %s (%s a sample) of %s (%s)",
		escaped, format_count(counts->samples).text,
		format_bytes(counts->bytes_written).text,
		format_bytes(counts->bytes_written / samples).text, format_bytes(bytes_read).text,
		format_bytes(bytes_read / samples).text);
	if (counts->whole)
		fprintf(stderr, "; %s are kept whole, as modules are missing",
			format_count(counts->whole).text);
	fputc('\n', stderr);
}

static int run(const struct options *options)
{
	struct reel_shrink_counts counts = { .size = sizeof(counts) };
	struct session session;
	struct reel_error *error;
	int status;

	if (!session_open(&session, options))
		return STATUS_ERROR;
	error = reel_capture_shrink(session.capture, options->output, &counts);
	progress_end(&session.progress);
	if (error) {
		status = reel_error_code(error) == REEL_ERROR_INVALID ? STATUS_USAGE : STATUS_ERROR;
		no_error(error);
	} else {
		session_warn(&session);
		status = *reel_capture_info(session.capture)->problems ? STATUS_ERROR : STATUS_OK;
		if (!options->quiet && strcmp(options->output, "-") != 0)
			print_counts(options->output, &counts, session.info->file_size);
	}
	session_close(&session);
	return status;
}

int command_shrink(int argc, char **argv)
{
	struct options options;
	int status;

	options_init(&options);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	status = run(&options);
	options_free(&options);
	return status;
}
