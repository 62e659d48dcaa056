/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel pack, resolve: make a capture that needs no files, or only contains traces. */
#include "cli/commands.h"
#include "cli/session/new_capture.h"
#include "cli/print/text.h"

enum { KEY_NO_SYMBOLS = OPTION_KEY_OWN, KEY_NO_LINES, KEY_NO_CHECK };

struct pack {
	struct options common;
	bool no_symbols, no_check;
	struct reel_error *(*make)(struct reel_capture *capture, const char *output,
				   const struct reel_pack_options *options,
				   struct reel_pack_counts *counts);
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct pack *pack = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_rewriting, &pack->common);
		return 0;
	case KEY_NO_SYMBOLS:
		pack->no_symbols = true;
		return 0;
	case KEY_NO_LINES:
		pack->common.no_inlines = true;
		return 0;
	case KEY_NO_CHECK:
		pack->no_check = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "no-symbols", KEY_NO_SYMBOLS, NULL, 0, "Do not store function names or lines", 0 },
	{ "no-lines", KEY_NO_LINES, NULL, 0, "Do not store inlined functions or source lines", 0 },
	{ "no-check", KEY_NO_CHECK, NULL, 0, "Skip the comparison of the traces", 0 },
	{ 0 }
};

#define DOC                                                                                        \
	"FILE defaults to " DEFAULT_CAPTURE                                                        \
	"; '-' is standard input. Nothing is kept from the kernel's files. The traces of the new " \
	"capture are compared with those of FILE; if one differs, nothing is written. If FILE is " \
	"encrypted, --encrypt-to or --decrypt is required. The exit status is 1 if FILE is "       \
	"damaged; its readable part is copied."

static const struct argp resolve_parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Copy a capture without stacks, registers and code: keep the addresses, names and lines of "
	"its traces. All commands print the same for it as for FILE.\v" DOC,
	options_of_rewriting,
	NULL,
	NULL,
};

static const struct argp pack_parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Copy a capture, and embed everything that its traces need from the modules found here: "
	"unwind information, names, inlined functions, source lines and code. Elsewhere, its "
	"traces are the same without any of these files.\v" DOC,
	options_of_rewriting,
	NULL,
	NULL,
};

static struct reel_error *make(void *context, struct reel_capture *capture, const char *output,
			       struct new_capture *ret)
{
	struct pack *pack = context;
	const struct reel_pack_options options = {
		.size = sizeof(options),
		.recipients = pack->common.recipients.items,
		.decrypt = pack->common.decrypt,
		.no_symbols = pack->no_symbols,
		.no_check = pack->no_check,
		.problem = new_capture_print_problem,
		.context = &pack->common,
	};
	struct reel_pack_counts counts = { .size = sizeof(counts) };
	struct reel_error *error = pack->make(capture, output, &options, &counts);

	if (error)
		return error;
	ret->samples = counts.samples;
	ret->bytes_written = counts.bytes_written;
	ret->remark = new_capture_images(counts.modules, counts.missing, counts.left_out,
					 counts.image_bytes);
	return NULL;
}

static int run(struct pack *pack, const struct argp *parser, int argc, char **argv)
{
	int status;

	options_init(&pack->common);
	argp_parse(parser, argc, argv, 0, NULL, pack);
	status = new_capture_make(&pack->common, make, pack);
	options_free(&pack->common);
	return status;
}

int command_pack(int argc, char **argv)
{
	return run(&(struct pack){ .make = reel_capture_pack }, &pack_parser, argc, argv);
}

int command_resolve(int argc, char **argv)
{
	return run(&(struct pack){ .make = reel_capture_resolve }, &resolve_parser, argc, argv);
}
