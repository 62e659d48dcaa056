/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel pack: makes a capture that needs no files. */
#include "cli/commands.h"
#include "cli/new_capture.h"
#include "cli/print/text.h"

#define KEY_NO_SYMBOLS OPTION_KEY_OWN

struct pack {
	struct options common;
	bool no_symbols;
};

static const struct argp_child children[] = {
	{ &options_recipients, 0, NULL, 0 },
	{ &options_rewrite, 0, NULL, 0 },
	{ &options_search, 0, "Where modules come from:", 1 },
	{ &options_keys, 0, "Other options:", 2 },
	{ &options_file, 0, NULL, 2 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct pack *pack = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, children, &pack->common);
		return 0;
	case KEY_NO_SYMBOLS:
		pack->no_symbols = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "no-symbols", KEY_NO_SYMBOLS, NULL, 0, "Leave the names of functions out", 0 }, { 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Makes a capture of a capture that needs no files: with the unwind information, names and "
	"bytes of code that its traces ask of the modules that are found here. Elsewhere they are "
	"the same, without any of these files.\v"
	"FILE is " DEFAULT_CAPTURE " if not given, `-' is standard input. Inlined functions and "
	"source lines are not kept, nor "
	"files of the kernel. An encrypted FILE becomes another encrypted capture, with "
	"--encrypt-to, or a plain one, with --decrypt. The exit status is 1 if FILE is damaged; "
	"what could be read of it is written nevertheless.",
	children,
	NULL,
	NULL,
};

static char *make_remark(const struct reel_pack_counts *counts)
{
	_cleanup_free_ char *missing = NULL, *left_out = NULL;

	if (counts->missing)
		missing = memory_print(", %s missing here", format_count(counts->missing).text);
	if (counts->left_out)
		left_out = memory_print(", %s too large", format_count(counts->left_out).text);
	return memory_print("%s modules embedded, %s%s%s", format_count(counts->modules).text,
			    format_bytes(counts->image_bytes).text, missing ? missing : "",
			    left_out ? left_out : "");
}

static struct reel_error *make(void *context, struct reel_capture *capture, const char *output,
			       struct new_capture *ret)
{
	const struct pack *pack = context;
	const struct reel_pack_options options = {
		.size = sizeof(options),
		.recipients = pack->common.recipients.items,
		.decrypt = pack->common.decrypt,
		.no_symbols = pack->no_symbols,
	};
	struct reel_pack_counts counts = { .size = sizeof(counts) };
	struct reel_error *error = reel_capture_pack(capture, output, &options, &counts);

	if (error)
		return error;
	ret->samples = counts.samples;
	ret->bytes_written = counts.bytes_written;
	ret->remark = make_remark(&counts);
	return NULL;
}

int command_pack(int argc, char **argv)
{
	struct pack pack = { 0 };
	int status;

	options_init(&pack.common);
	argp_parse(&parser, argc, argv, 0, NULL, &pack);
	status = new_capture_make(&pack.common, make, &pack);
	options_free(&pack.common);
	return status;
}
