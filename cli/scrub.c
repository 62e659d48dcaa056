/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel scrub: makes a capture without the recorded programs' data. */
#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/session/new_capture.h"

static const struct argp_option own_options[] = { { "no-cmdline", NEW_CAPTURE_NO_COMMAND_LINE, NULL,
						    0, "Do not copy the recorder's command line",
						    0 },
						  { 0 } };

static char *make_remark(const struct reel_rewrite_options *options,
			 const struct reel_rewrite_counts *counts)
{
	(void)options;
	return counts->unknown ? memory_print("skipped %s records or blocks of a newer version",
					      format_count(counts->unknown).text)
			       : NULL;
}

static const char doc[] =
	"Remove program data from a capture: keep only words of stacks and registers that "
	"unwinding may follow, as stackreel-record does by default.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input. Traces stay the same. Names and paths are kept; stackreel(1) "
	"lists them. If FILE is encrypted, --encrypt-to or --decrypt is required. The exit status "
	"is 1 if FILE is damaged; its readable part is scrubbed.";

static const struct new_capture_verb verb = {
	.doc = doc,
	.options = own_options,
	.children = new_capture_children,
	.make = reel_capture_scrub,
	.remark = make_remark,
};

int command_scrub(int argc, char **argv)
{
	return new_capture_command(&verb, argc, argv);
}
