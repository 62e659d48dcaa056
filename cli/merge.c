/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel merge: make one capture of many. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/session/new_capture.h"
#include "cli/print/text.h"

struct merge {
	struct options common;
	struct string_list files;
	struct progress progress;
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
	struct merge *merge = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, children, &merge->common);
		return 0;
	case ARGP_KEY_ARG:
		string_list_add(&merge->files, arg);
		return 0;
	case ARGP_KEY_END:
		if (merge->common.file != merge->common.default_file)
			string_list_add(&merge->files, merge->common.file);
		if (!merge->files.count)
			argp_error(state, "no captures; name at least one");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	NULL,
	parse_option,
	"FILE...",
	"Merge captures of several hosts, or the parts of a recording, into one. Times are aligned "
	"by the wall clock.\v"
	"The order of the captures, and whether some were merged before, makes no difference. All "
	"must be from the same kind of CPU and have a start time. With several hosts, threads are "
	"named HOST:COMM. If a FILE is encrypted, --encrypt-to or --decrypt is required. The exit "
	"status is 1 if a FILE is damaged; its readable part is merged.",
	children,
	NULL,
	NULL,
};

static void print_problem(void *context, const char *path, const char *message)
{
	const struct merge *merge = context;

	(void)path;
	if (!merge->common.quiet)
		complain("%s", message);
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct merge *merge = context;

	progress_show(&merge->progress, done, total, 0);
}

static void print_counts(const struct merge *merge, const struct reel_merge_counts *counts)
{
	_cleanup_free_ char *clock = NULL, *unknown = NULL;
	struct new_capture made = {
		.samples = counts->samples,
		.samples_are = "",
		.bytes_written = counts->bytes_written,
		.bytes_read = counts->bytes_read,
	};

	if (counts->clock_change)
		clock = memory_print(", whose clock was changed by up to %s",
				     format_nanoseconds(counts->clock_change).text);
	if (counts->unknown)
		unknown = memory_print("; skipped %s records or blocks of a newer version",
				       format_count(counts->unknown).text);
	made.remark = memory_print("%s captures of %s%s, %s modules%s",
				   format_count(counts->captures).text,
				   format_plural(counts->hosts, "host").text, clock ? clock : "",
				   format_count(counts->modules).text, unknown ? unknown : "");
	new_capture_print(&merge->common, merge->common.output, &made);
	free(made.remark);
}

static int run(struct merge *merge)
{
	const struct reel_merge_options options = {
		.size = sizeof(options),
		.recipients = merge->common.recipients.items,
		.decrypt = merge->common.decrypt,
		.identities = merge->common.identities.items,
		.problem = print_problem,
		.progress = show_progress,
		.context = merge,
	};
	struct reel_merge_counts counts = { .size = sizeof(counts) };
	struct reel_error *error;

	progress_start(&merge->progress, !merge->common.quiet);
	error = reel_captures_merge(merge->files.items, merge->common.output, &options, &counts);
	progress_end(&merge->progress);
	if (error)
		return new_capture_failed(error);
	print_counts(merge, &counts);
	return counts.problems ? STATUS_ERROR : STATUS_OK;
}

int command_merge(int argc, char **argv)
{
	struct merge merge = { 0 };
	int status;

	options_init(&merge.common);
	/* No default capture. */
	merge.common.default_file = "";
	argp_parse(&parser, argc, argv, 0, NULL, &merge);
	status = run(&merge);
	free(merge.files.items);
	options_free(&merge.common);
	return status;
}
