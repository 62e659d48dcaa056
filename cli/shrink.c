/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel shrink: make a capture with only the stack bytes that unwinding reads. */
#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/session/new_capture.h"

static const struct argp_option own_options[] = {
	{ "archive", OPTION_FLAG(struct new_capture, rewrite.archive), NULL, 0,
	  "Also embed what the traces need of the files, like pack, with names and lines, and "
	  "compress as much as possible",
	  0 },
	{ 0 }
};

static char *make_remark(const struct reel_rewrite_options *options,
			 const struct reel_rewrite_counts *counts)
{
	_cleanup_free_ char *whole = NULL, *images = NULL;

	if (counts->whole)
		whole = memory_print("%s kept whole since modules are missing",
				     format_count(counts->whole).text);
	if (!options->archive)
		return whole ? memory_print("%s", whole) : NULL;
	images = new_capture_images(counts);
	return memory_print("%s%s%s", whole ? whole : "", whole ? "; " : "", images);
}

static const char doc[] =
	"Copy a capture for archives: keep only the stack bytes and registers that unwinding "
	"reads. Both captures are then unwound; if a trace differs, nothing is written.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input. Samples whose traces need modules that are missing here are kept "
	"whole, since they may unwind further elsewhere. If FILE is encrypted, --encrypt-to or "
	"--decrypt is required. The exit status is 1 if FILE is damaged; its readable part is "
	"kept.";

static const struct new_capture_verb verb = {
	.doc = doc,
	.options = own_options,
	.children = options_of_rewriting,
	.make = reel_capture_shrink,
	.samples_are = " with the same traces",
	.remark = make_remark,
};

int command_shrink(int argc, char **argv)
{
	return new_capture_command(&verb, argc, argv);
}
