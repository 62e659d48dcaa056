/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel scrub: makes a capture without the recorded programs' data. */
#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/session/new_capture.h"

static const struct argp_option own_options[] = {
	{ "no-cmdline", OPTION_FLAG(struct new_capture, rewrite.no_command_line), NULL, 0,
	  "Do not copy the recorder's command line", 0 },
	{ "keep", NEW_CAPTURE_KEEP, "FUNC:EXPR", 0,
	  "Keep the values of a variable, or of a part of one, in calls of FUNC (repeatable)", 0 },
	{ 0 }
};

static char *make_remark(const struct reel_rewrite_options *options,
			 const struct reel_rewrite_counts *counts)
{
	_cleanup_free_ char *left_out = NULL;

	(void)options;
	if (counts->values_left_out)
		left_out = memory_print("left out %s values of outer calls, of samples with many",
					format_count(counts->values_left_out).text);
	if (!counts->unknown)
		return left_out ? memory_print("%s", left_out) : NULL;
	return memory_print("skipped %s records or blocks of a newer version%s%s",
			    format_count(counts->unknown).text, left_out ? ", " : "",
			    left_out ? left_out : "");
}

static const char doc[] =
	"Remove program data from a capture: keep only words of stacks and registers that "
	"unwinding may follow, as stackreel-record does by default.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input. Traces stay the same. Names and paths are kept; stackreel(1) "
	"lists them. Values to keep are found as by 'values': FILE needs raw stacks, and the "
	"program's debug information must be here. If FILE is encrypted, --encrypt-to or --decrypt "
	"is required. The exit status is 1 if FILE is damaged; its readable part is scrubbed.";

static const struct new_capture_verb verb = {
	.doc = doc,
	.options = own_options,
	.children = options_of_rewriting,
	.make = reel_capture_scrub,
	.remark = make_remark,
};

int command_scrub(int argc, char **argv)
{
	return new_capture_command(&verb, argc, argv);
}
