/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel merge: make one capture of many. */
#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/session/new_capture.h"

/* From here on, in ns, causes and effects on two hosts are hard to tell apart. */
#define CLOCK_ERROR 10000000

struct merge {
	struct new_capture command;
	struct progress progress;
};

static const char doc[] =
	"Merge captures of several hosts, or the parts of a recording, into one. Times are aligned "
	"by the wall clock.\v"
	"The order of the captures, and whether some were merged before, makes no difference. All "
	"must be from the same kind of CPU and have a start time. With several hosts, threads are "
	"named HOST:COMM. If a FILE is encrypted, --encrypt-to or --decrypt is required. The exit "
	"status is 1 if a FILE is damaged; its readable part is merged.";

static const struct new_capture_verb verb = {
	.doc = doc,
	.children = new_capture_children,
	.takes_many = true,
};

static void print_problem(void *context, const char *path, const char *message)
{
	const struct merge *merge = context;

	(void)path;
	if (!merge->command.common.quiet)
		complain("%s", message);
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct merge *merge = context;

	progress_show(&merge->progress, done, total, 0);
}

static void print_counts(const struct merge *merge, const struct reel_rewrite_counts *counts)
{
	const struct options *options = &merge->command.common;
	_cleanup_free_ char *clock = NULL, *error = NULL, *remark = NULL;

	if (counts->clock_change)
		clock = memory_print(", whose clock was changed by up to %s",
				     format_nanoseconds(counts->clock_change).text);
	if (counts->hosts > 1 && counts->clock_error > CLOCK_ERROR)
		error = memory_print(", whose clocks may be off by up to %s",
				     format_nanoseconds(counts->clock_error).text);
	remark = memory_print("%s captures of %s%s%s, %s modules",
			      format_count(counts->captures).text,
			      format_plural(counts->hosts, "host").text, clock ? clock : "",
			      error ? error : "", format_count(counts->modules).text);
	new_capture_print(options, options->output, counts, NULL, remark);
}

static int run(struct merge *merge)
{
	struct new_capture *command = &merge->command;
	REEL_SIZED(reel_rewrite_counts, counts);
	struct reel_error *error;

	command->rewrite.problem = print_problem;
	command->rewrite.progress = show_progress;
	command->rewrite.context = merge;
	progress_start(&merge->progress, !command->common.quiet);
	error = reel_captures_merge(command->files.items, command->common.output, &command->rewrite,
				    &counts);
	progress_end(&merge->progress);
	if (error)
		return new_capture_failed(error);
	print_counts(merge, &counts);
	return new_capture_left_out(&command->common, &counts) || counts.problems ? STATUS_ERROR
										  : STATUS_OK;
}

int command_merge(int argc, char **argv)
{
	struct merge merge = { 0 };
	int status;

	new_capture_parse(&verb, argc, argv, &merge.command);
	status = run(&merge);
	new_capture_free(&merge.command);
	return status;
}
