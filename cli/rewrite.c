/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel scrub, shrink, cut, pack, resolve: make a capture from a capture. */
#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/session/new_capture.h"

/* "2 modules embedded, 1.2 MB, 1 missing here" */
static char *images_remark(const struct reel_rewrite_options *options,
			   const struct reel_rewrite_counts *counts)
{
	_cleanup_free_ char *without = NULL, *too_large = NULL;

	(void)options;
	if (counts->images_missing)
		without = memory_print(", %s missing here",
				       format_count(counts->images_missing).text);
	if (counts->images_too_large)
		too_large =
			memory_print(", %s too large", format_count(counts->images_too_large).text);
	return memory_print("%s modules embedded, %s%s%s", format_count(counts->images).text,
			    format_bytes(counts->image_bytes).text, without ? without : "",
			    too_large ? too_large : "");
}

/* ---- scrub: makes a capture without the recorded programs' data --------------------------- */

static const struct argp_option scrub_options[] = {
	{ "no-cmdline", OPTION_FLAG(struct new_capture, rewrite.no_command_line), NULL, 0,
	  "Do not copy the recorder's command line", 0 },
	{ "keep", NEW_CAPTURE_KEEP, "FUNC:EXPR", 0,
	  "Keep the values of a variable, or of a part of one, in calls of FUNC (repeatable)", 0 },
	{ 0 }
};

static char *scrub_remark(const struct reel_rewrite_options *options,
			  const struct reel_rewrite_counts *counts)
{
	(void)options;
	if (!counts->values_left_out)
		return NULL;
	return memory_print("left out %s values of outer calls, of samples with many",
			    format_count(counts->values_left_out).text);
}

static const struct new_capture_verb scrub = {
	.doc = "Remove program data from a capture: keep only words of stacks and registers that "
	       "unwinding may follow, as stackreel-record does by default.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. Traces stay the same. Names and paths are kept; "
	       "stackreel(1) lists them. Values to keep are found as by 'values': FILE needs raw "
	       "stacks, and the program's debug information must be here. If FILE is encrypted, "
	       "--encrypt-to or --decrypt is required. The exit status is 1 if FILE is damaged; "
	       "its readable part is scrubbed.",
	.options = scrub_options,
	.children = options_of_rewriting,
	.make = reel_capture_scrub,
	.remark = scrub_remark,
};

int command_scrub(int argc, char **argv)
{
	return new_capture_command(&scrub, argc, argv);
}

/* ---- shrink: make a capture with only the stack bytes that unwinding reads ---------------- */

static const struct argp_option shrink_options[] = {
	{ "archive", OPTION_FLAG(struct new_capture, rewrite.archive), NULL, 0,
	  "Also embed what the traces need of the files, like pack, with names and lines, and "
	  "compress as much as possible",
	  0 },
	{ 0 }
};

static char *shrink_remark(const struct reel_rewrite_options *options,
			   const struct reel_rewrite_counts *counts)
{
	_cleanup_free_ char *whole = NULL, *images = NULL;

	if (counts->whole)
		whole = memory_print("%s kept whole since modules are missing",
				     format_count(counts->whole).text);
	if (!options->archive)
		return whole ? memory_print("%s", whole) : NULL;
	images = images_remark(options, counts);
	return memory_print("%s%s%s", whole ? whole : "", whole ? "; " : "", images);
}

static const struct new_capture_verb shrink = {
	.doc = "Copy a capture for archives: keep only the stack bytes and registers that "
	       "unwinding reads. Both captures are then unwound; if a trace differs, nothing is "
	       "written.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. Samples whose traces need modules that are missing here "
	       "are kept whole, since they may unwind further elsewhere. If FILE is encrypted, "
	       "--encrypt-to or --decrypt is required. The exit status is 1 if FILE is damaged; "
	       "its readable part is kept.",
	.options = shrink_options,
	.children = options_of_rewriting,
	.make = reel_capture_shrink,
	.samples_are = " with the same traces",
	.remark = shrink_remark,
};

int command_shrink(int argc, char **argv)
{
	return new_capture_command(&shrink, argc, argv);
}

/* ---- cut: copy selected samples to a new capture ------------------------------------------ */

static const struct argp_child cut_children[] = {
	{ &options_filter, 0, "Sample selection:", 1 },
	{ &options_recipients, 0, "New capture:", 2 },
	{ &options_rewrite, 0, NULL, 2 },
	{ &options_search, 0, "Modules and symbols, for --where:", 3 },
	{ &options_work, 0, "Speed:", 4 },
	{ &options_keys, 0, "Encrypted captures:", 5 },
	{ &options_file, 0, "Input, output, limits:", 6 },
	{ 0 },
};

static char *cut_remark(const struct reel_rewrite_options *options,
			const struct reel_rewrite_counts *counts)
{
	(void)options;
	return memory_print("%s side records not copied", format_count(counts->unneeded).text);
}

static const struct new_capture_verb cut = {
	.doc = "Copy selected samples to a new capture, with all data that their traces and names "
	       "need. All commands print the same for it as for FILE with the same options.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. Samples keep their times and numbers, and stay scrubbed "
	       "or raw. Modules are only needed for --where. If FILE is encrypted, --encrypt-to or "
	       "--decrypt is required. The exit status is 1 if the selected part of FILE is "
	       "damaged, or no sample is selected; the readable part is copied.",
	.children = cut_children,
	.make = reel_capture_cut,
	.remark = cut_remark,
};

int command_cut(int argc, char **argv)
{
	return new_capture_command(&cut, argc, argv);
}

/* ---- pack, resolve: make a capture that needs no files, or only contains traces ----------- */

/* `resolve` has all but the first. */
static const struct argp_option pack_options[] = {
	{ "values", OPTION_FLAG(struct new_capture, rewrite.values), NULL, 0,
	  "Also store what values of variables need: the functions' debug information, and "
	  "constants",
	  0 },
	{ "no-symbols", OPTION_FLAG(struct new_capture, rewrite.no_symbols), NULL, 0,
	  "Do not store function names or lines", 0 },
	{ "no-lines", OPTION_FLAG(struct new_capture, common.no_inlines), NULL, 0,
	  "Do not store inlined functions or source lines", 0 },
	{ "no-check", OPTION_FLAG(struct new_capture, rewrite.no_check), NULL, 0,
	  "Skip the comparison of the traces", 0 },
	{ 0 }
};

#define DOC                                                                                        \
	"FILE defaults to " DEFAULT_CAPTURE                                                        \
	"; '-' is standard input. Nothing is kept from the kernel's files. The traces of the new " \
	"capture are compared with those of FILE; if one differs, nothing is written. If FILE is " \
	"encrypted, --encrypt-to or --decrypt is required. The exit status is 1 if FILE is "       \
	"damaged; its readable part is copied."

static const struct new_capture_verb pack = {
	.doc = "Copy a capture, and embed everything that its traces need from the modules found "
	       "here: unwind information, names, inlined functions, source lines and code. "
	       "Elsewhere, its traces are the same without any of these files.\v" DOC,
	.options = pack_options,
	.children = options_of_rewriting,
	.make = reel_capture_pack,
	.remark = images_remark,
};

static const struct new_capture_verb resolve = {
	.doc = "Copy a capture without stacks, registers and code: keep the addresses, names and "
	       "lines of its traces. All commands print the same for it as for FILE.\v" DOC,
	.options = pack_options + 1,
	.children = options_of_rewriting,
	.make = reel_capture_resolve,
	.remark = images_remark,
};

int command_pack(int argc, char **argv)
{
	return new_capture_command(&pack, argc, argv);
}

int command_resolve(int argc, char **argv)
{
	return new_capture_command(&resolve, argc, argv);
}
