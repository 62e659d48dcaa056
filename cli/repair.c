/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel repair: make a valid capture from the readable parts of a damaged one. */
#include <string.h>

#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/session/new_capture.h"

static const char doc[] =
	"Write an intact capture with the readable parts of a damaged one, or of one whose "
	"recorder was killed, and report the lost parts. FILE is not changed.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input. The new capture is verified before it appears under its name, "
	"and records the losses for 'stackreel info'. If FILE is encrypted, --encrypt-to or "
	"--decrypt is required. The exit status is 1 if FILE cannot be repaired, or something of a "
	"newer version "
	"was left out.";

static const struct new_capture_verb verb = {
	.doc = doc,
	.children = new_capture_children,
};

static void report_finding(void *context, const struct reel_finding *finding)
{
	const struct new_capture *command = context;

	if (command->common.quiet || finding->is_remark)
		return;
	complain("%s%s%s", finding->message, *finding->lost ? "; lost: " : "", finding->lost);
}

static void report_repaired(const struct options *options, const struct reel_rewrite_counts *counts)
{
	_cleanup_free_ char *name = text_escape(options->output, "");

	if (options->quiet || !strcmp(options->output, "-"))
		return;
	fprintf(stderr, "stackreel: %s: %s, %s; ", name,
		format_plural(counts->samples, "sample").text,
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

static int repair(struct session *session, struct new_capture *command)
{
	REEL_SIZED(reel_rewrite_counts, counts);
	struct reel_error *error;

	command->rewrite.found = report_finding;
	error = reel_capture_repair(session->capture, command->common.output, &command->rewrite,
				    &counts);
	progress_end(&session->progress);
	if (error)
		return new_capture_failed(error);
	report_repaired(&command->common, &counts);
	return new_capture_left_out(&command->common, &counts) ? STATUS_ERROR : STATUS_OK;
}

int command_repair(int argc, char **argv)
{
	struct new_capture command;
	struct session session;
	int status = STATUS_ERROR;

	new_capture_parse(&verb, argc, argv, &command);
	command.common.no_host_files = true;
	command.common.may_lack_header = true;
	if (session_open(&session, &command.common)) {
		status = repair(&session, &command);
		session_close(&session);
	}
	new_capture_free(&command);
	return status;
}
