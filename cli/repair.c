/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel repair: make a valid capture from the readable parts of a damaged one. */
#include <string.h>

#include "cli/commands.h"
#include "cli/session/new_capture.h"
#include "cli/print/text.h"

static const struct argp_child children[] = {
	{ &options_recipients, 0, NULL, 0 },
	{ &options_rewrite, 0, NULL, 0 },
	{ &options_keys, 0, "Other options:", 1 },
	{ &options_file, 0, NULL, 1 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	options_set_inputs(state, children, state->input);
	return 0;
}

static const struct argp parser = {
	NULL,
	parse_option,
	"[FILE]",
	"Write an intact capture with the readable parts of a damaged one, or of one whose "
	"recorder was killed, and report the lost parts. FILE is not changed.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input. The new capture is verified before it appears under its name, "
	"and records the losses for 'stackreel info'. If FILE is encrypted, --encrypt-to or "
	"--decrypt is required. The exit status is 1 if FILE cannot be repaired.",
	children,
	NULL,
	NULL,
};

static void tell_finding(void *context, const struct reel_finding *finding)
{
	const struct options *options = context;

	if (options->quiet || finding->is_remark)
		return;
	complain("%s%s%s", finding->message, *finding->lost ? "; lost: " : "", finding->lost);
}

static void tell_repaired(const struct options *options, const struct reel_repair_counts *counts)
{
	_cleanup_free_ char *name = text_escape(options->output, "");

	if (options->quiet || !strcmp(options->output, "-"))
		return;
	fprintf(stderr, "stackreel: %s: %s samples, %s; ", name, format_count(counts->samples).text,
		format_bytes(counts->bytes_written).text);
	if (!counts->problems)
		fputs("no damage found\n", stderr);
	else if (!counts->tells_losses)
		fputs("losses unknown, since the END record is missing\n", stderr);
	else if (!counts->lost_samples && !counts->lost_side_records)
		fputs("nothing lost\n", stderr);
	else
		fprintf(stderr, "%s samples and %s side records lost\n",
			format_count(counts->lost_samples).text,
			format_count(counts->lost_side_records).text);
}

static int repair(struct session *session, const struct options *options)
{
	const struct reel_repair_options wanted = {
		.size = sizeof(wanted),
		.recipients = options->recipients.items,
		.decrypt = options->decrypt,
		.found = tell_finding,
		.context = (void *)options,
	};
	struct reel_repair_counts counts = { .size = sizeof(counts) };
	struct reel_error *error =
		reel_capture_repair(session->capture, options->output, &wanted, &counts);

	progress_end(&session->progress);
	if (error)
		return new_capture_failed(error);
	tell_repaired(options, &counts);
	return STATUS_OK;
}

int command_repair(int argc, char **argv)
{
	struct options options;
	struct session session;
	int status = STATUS_ERROR;

	options_init(&options);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	options.no_host_files = true;
	options.may_lack_header = true;
	if (session_open(&session, &options)) {
		status = repair(&session, &options);
		session_close(&session);
	}
	options_free(&options);
	return status;
}
