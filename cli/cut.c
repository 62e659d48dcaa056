/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel cut: copy selected samples to a new capture. */
#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/session/new_capture.h"

static const struct argp_child children[] = {
	{ &options_filter, 0, "Sample selection:", 1 },
	{ &options_recipients, 0, "New capture:", 2 },
	{ &options_rewrite, 0, NULL, 2 },
	{ &options_search, 0, "Modules and symbols, for --where:", 3 },
	{ &options_work, 0, "Speed:", 4 },
	{ &options_keys, 0, "Encrypted captures:", 5 },
	{ &options_file, 0, "Input, output, limits:", 6 },
	{ 0 },
};

static char *make_remark(const struct reel_rewrite_options *options,
			 const struct reel_rewrite_counts *counts)
{
	(void)options;
	return memory_print("%s side records not copied", format_count(counts->unneeded).text);
}

static const char doc[] =
	"Copy selected samples to a new capture, with all data that their traces and names need. "
	"All commands print the same for it as for FILE with the same options.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input. Samples keep their times and numbers, and stay scrubbed or raw. "
	"Modules are only needed for --where. If FILE is encrypted, --encrypt-to or --decrypt is "
	"required. The exit status is 1 if the selected part of FILE is damaged, or no sample is "
	"selected; the readable part is copied.";

static const struct new_capture_verb verb = {
	.doc = doc,
	.children = children,
	.make = reel_capture_cut,
	.remark = make_remark,
};

int command_cut(int argc, char **argv)
{
	return new_capture_command(&verb, argc, argv);
}
