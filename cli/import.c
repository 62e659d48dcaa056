/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel import: make a capture from perf record's output. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/session/new_capture.h"
#include "cli/print/text.h"

#define DEFAULT_RECORDING "perf.data"

#define KEY_SCRUB OPTION_KEY_OWN

struct import {
	struct options common;
	const char *arch, *kallsyms, *jit;
	bool raw_stacks, no_command_line;

	struct progress progress;
	bool damaged;
};

static const struct argp_child children[] = {
	{ &options_recipients, 0, NULL, 0 },
	{ &options_file, 0, "Other options:", 1 },
	{ 0 },
};

static error_t parse_import_option(int key, char *arg, struct argp_state *state)
{
	struct import *import = state->input;

	(void)arg;
	if (key != KEY_SCRUB)
		return ARGP_ERR_UNKNOWN;
	import->raw_stacks = false;
	return 0;
}

static const struct argp_option own_options[] = {
	{ "arch", OPTION_TEXT(struct import, arch), "CPU", 0,
	  "Set the CPU of a recording that does not name it: x86_64, aarch64, riscv64, s390x or "
	  "i386",
	  0 },
	{ "kallsyms", OPTION_TEXT(struct import, kallsyms), "FILE", 0,
	  "Read the recorded kernel's symbols from FILE, a copy of its /proc/kallsyms (default: "
	  "perf's cache in ~/.debug, or this host's if the kernel is the same)",
	  0 },
	{ "jit", OPTION_TEXT(struct import, jit), "DIR|none", 0,
	  "Look for JIT names, perf-PID.map and jit-PID.dump, in DIR (default: /tmp and perf's "
	  "paths, for recordings of this host)",
	  0 },
	{ "scrub", KEY_SCRUB, NULL, 0,
	  "Keep only words of stacks and registers that unwinding may follow: addresses of stack "
	  "and code (default)",
	  0 },
	{ "raw-stacks", OPTION_FLAG(struct import, raw_stacks), NULL, 0,
	  "Keep stacks and registers unchanged, with all program data", 0 },
	{ "no-cmdline", OPTION_FLAG(struct import, no_command_line), NULL, 0,
	  "Do not store perf's command line", 0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_import_option,
	.args_doc = "[FILE]",
	.doc = "Convert a recording of perf record --call-graph dwarf, fp or lbr to a capture: a "
	       "file or a pipe, compressed (-z) or not, from x86_64, aarch64, riscv64, s390x or "
	       "i386.\v"
	       "FILE defaults to " DEFAULT_RECORDING
	       "; '-' is standard input. The capture is written to FILE with .reel in place of "
	       ".data, or to -o FILE. The exit status is 1 if FILE is damaged; its readable part "
	       "is imported.",
	.children = children,
};

/* perf.data -> perf.reel, old.perf -> old.perf.reel; standard input -> stackreel.reel. */
static char *default_output(const char *file)
{
	size_t size = strlen(file);

	if (!strcmp(file, "-"))
		return memory_print("%s", DEFAULT_CAPTURE);
	if (size > strlen(".data") && !strcmp(file + size - strlen(".data"), ".data"))
		size -= strlen(".data");
	return memory_print("%.*s.reel", (int)size, file);
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct import *import = context;

	progress_show(&import->progress, done, total, 0);
}

static void show_problem(void *context, enum reel_error_code code, const char *message)
{
	struct import *import = context;
	bool is_damage = code == REEL_ERROR_CORRUPT || code == REEL_ERROR_TRUNCATED;

	import->damaged |= is_damage;
	progress_end(&import->progress);
	if (is_damage || !import->common.quiet)
		complain("%s", message);
}

static void print_counts(const struct import *import, const char *output,
			 const struct reel_import_counts *counts)
{
	_cleanup_free_ char *remark = NULL;

	if (counts->lost)
		remark = memory_print("perf lost %s records", format_count(counts->lost).text);
	new_capture_print(&import->common, output,
			  &(struct reel_rewrite_counts){
				  .samples = counts->samples,
				  .bytes_written = counts->bytes_written,
				  .bytes_read = counts->bytes_read,
			  },
			  NULL, remark);
}

static int run(struct import *import, const char *file, const char *output)
{
	REEL_SIZED(reel_import_options, options, .arch = import->arch, .kallsyms = import->kallsyms,
		   .jit = import->jit, .raw_stacks = import->raw_stacks,
		   .no_command_line = import->no_command_line,
		   .recipients = import->common.recipients.items, .progress = show_progress,
		   .problem = show_problem, .context = import);
	REEL_SIZED(reel_import_counts, counts);
	struct reel_error *error;

	progress_start(&import->progress, !import->common.quiet);
	error = reel_import_perf(file, output, &options, &counts);
	progress_end(&import->progress);
	if (error)
		return new_capture_failed(error);
	print_counts(import, output, &counts);
	return import->damaged ? STATUS_ERROR : STATUS_OK;
}

int command_import(int argc, char **argv)
{
	struct import import = { .common.default_file = DEFAULT_RECORDING };
	_cleanup_free_ char *output = NULL;
	const char *file;
	int status;

	options_parse(&parser, argc, argv, 0, &import);
	file = import.common.file;
	output = import.common.output ? memory_print("%s", import.common.output)
				      : default_output(file);
	status = run(&import, file, output);
	options_free(&import.common);
	return status;
}
