/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel: runs the given command. */
#include <argp.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/print/output.h"
#include "cli/print/text.h"
#include "include/commands.h"

struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
	{ "record", "record call stacks of programs or the whole system (stackreel-record)",
	  command_record },
	{ "view", "show a capture in a browser: timeline, flame graphs, call trees", command_view },
	{ "report", "show where the time went: as a table, a call tree, or stacks",
	  command_report },
	{ "top", "show live where the time goes", command_top },
	{ "annotate", "show the instructions and source lines of a function with their shares",
	  command_annotate },
	{ "values", "show which values a function's variables had, with the time of each",
	  command_values },
	{ "gdb", "open a sample in gdb: backtrace, arguments, local variables", command_gdb },
	{ "core", "write a sample as a core file, for debuggers", command_core },
	{ "script", "print every sample with its stack, in the format of perf script",
	  command_script },
	{ "folded", "print one line per stack, 'a;b;c 10', for flame graph tools", command_folded },
	{ "flamegraph", "draw a flame graph: an SVG picture, or the page of view",
	  command_flamegraph },
	{ "aggregate", "add up the stacks of many captures in one small profile",
	  command_aggregate },
	{ "export", "convert samples to pprof, Perfetto, SQLite, CSV and other formats",
	  command_export },
	{ "sql", "run an SQL query on a capture", command_sql },
	{ "diff", "compare captures: which functions got slower or faster, and how certain it is",
	  command_diff },
	{ "info", "summarize a capture: metadata, modules, losses, completeness of its traces",
	  command_info },
	{ "doctor", "diagnose missing symbols and debug information", command_doctor },
	{ "ls", "list the captures in a directory: host, time, samples, losses, programs",
	  command_ls },
	{ "dump", "print every record of a capture, as text or JSON", command_dump },
	{ "table", "print the unwind table of an ELF file", command_table },
	{ "import", "convert a perf.data file to a capture", command_import },
	{ "keygen", "make a key pair for encrypted captures", command_keygen },
	{ "scrub", "remove program data from a capture", command_scrub },
	{ "shrink", "remove stack bytes that unwinding does not read", command_shrink },
	{ "cut", "copy selected samples to a new capture", command_cut },
	{ "merge", "merge captures of several hosts, or the parts of a recording", command_merge },
	{ "pack", "embed the symbols and unwind information that the traces need", command_pack },
	{ "unpack", "extract module files embedded in a capture, for gdb and perf",
	  command_unpack },
	{ "resolve", "replace stacks by their finished traces", command_resolve },
	{ "verify", "check captures for damage", command_verify },
	{ "repair", "write an intact capture with the readable parts of a damaged one",
	  command_repair },
};

static void print_usage(FILE *file)
{
	fputs("Usage: stackreel COMMAND [OPTION...] [FILE]\n\n", file);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "'sudo stackreel record -- PROGRAM' followed by 'stackreel flamegraph' shows where "
	      "PROGRAM spends its time.\n"
	      "'stackreel COMMAND --help' lists the options of a command. See stackreel(1) for "
	      "details.\n",
	      file);
}

/* The command with the most similar name; NULL: none is similar. */
static const char *similar_command(const char *name)
{
	const char *best = NULL;
	size_t least = 3;

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		size_t distance = text_distance(name, commands[i].name);

		/* Short names must match more closely. */
		if (distance < least && distance * 2 < strlen(commands[i].name)) {
			best = commands[i].name;
			least = distance;
		}
	}
	return best;
}

static int unknown_command(const char *name)
{
	const char *similar = similar_command(name);

	if (similar) {
		complain("unknown command '%s'; did you mean '%s'?", name, similar);
		return STATUS_USAGE;
	}
	complain("unknown command '%s'", name);
	print_usage(stderr);
	return STATUS_USAGE;
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_free_ char *name = NULL;

	if (command->run == command_record)
		return command_record(argc, argv);
	/* argp's prefix for messages. */
	name = memory_print("stackreel %s", command->name);
	argv[0] = name;
	return command->run(argc, argv);
}

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	}
	return NULL;
}

/* `stackreel help COMMAND`. */
static int help(const char *name)
{
	const struct command *command = command_find(name);
	char *argv[] = { NULL, (char *)"--help", NULL };

	return command ? run(command, 2, argv) : unknown_command(name);
}

/* Every module keeps its files open: large captures exceed 1024, a common limit. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;

	/* Characters only: numbers always use a decimal point. */
	setlocale(LC_CTYPE, "");
	argp_err_exit_status = STATUS_USAGE;
	argp_program_version = "stackreel " REEL_VERSION_STRING;
	if (!name) {
		print_usage(stderr);
		return STATUS_USAGE;
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		printf("%s\n", argp_program_version);
		return STATUS_OK;
	}
	if (!strcmp(name, "help") && argc > 2)
		return help(argv[2]);
	if (!strcmp(name, "--help") || !strcmp(name, "-?") || !strcmp(name, "help")) {
		print_usage(stdout);
		return STATUS_OK;
	}
	allow_many_files();
	command = command_find(name);
	return command ? run(command, argc - 1, argv + 1) : unknown_command(name);
}
