/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel pack, resolve: make a capture that needs no files, or only contains traces. */
#include "cli/commands.h"
#include "cli/session/new_capture.h"

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

static char *make_remark(const struct reel_rewrite_options *options,
			 const struct reel_rewrite_counts *counts)
{
	(void)options;
	return new_capture_images(counts);
}

static const char pack_doc[] =
	"Copy a capture, and embed everything that its traces need from the modules found here: "
	"unwind information, names, inlined functions, source lines and code. Elsewhere, its "
	"traces are the same without any of these files.\v" DOC;

static const struct new_capture_verb pack = {
	.doc = pack_doc,
	.options = pack_options,
	.children = options_of_rewriting,
	.make = reel_capture_pack,
	.remark = make_remark,
};

static const char resolve_doc[] =
	"Copy a capture without stacks, registers and code: keep the addresses, names and lines of "
	"its traces. All commands print the same for it as for FILE.\v" DOC;

static const struct new_capture_verb resolve = {
	.doc = resolve_doc,
	.options = pack_options + 1,
	.children = options_of_rewriting,
	.make = reel_capture_resolve,
	.remark = make_remark,
};

int command_pack(int argc, char **argv)
{
	return new_capture_command(&pack, argc, argv);
}

int command_resolve(int argc, char **argv)
{
	return new_capture_command(&resolve, argc, argv);
}
