/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "record/options/perf_options.h"

enum perf_option {
	PERF_OPTION_FIRST = 0x400,
	PERF_SAMPLE_CPU = PERF_OPTION_FIRST,
	PERF_BUILDID_ALL,
	PERF_STRICT_FREQ,
	PERF_ALL_USER,
	PERF_ALL_KERNEL,
	PERF_SWITCH_OUTPUT,
	PERF_PER_THREAD,
	PERF_FILTER,
};

#define HIDDEN(name, key, argument)                                                                \
	{                                                                                          \
		name, key, argument, OPTION_HIDDEN, NULL, 0                                        \
	}
static const struct argp_option options[] = {
	HIDDEN("timestamp", 'T', NULL),
	HIDDEN("period", 'P', NULL),
	HIDDEN("sample-cpu", PERF_SAMPLE_CPU, NULL),
	HIDDEN("no-buildid", 'B', NULL),
	HIDDEN("no-buildid-cache", 'N', NULL),
	HIDDEN("buildid-all", PERF_BUILDID_ALL, NULL),
	HIDDEN("strict-freq", PERF_STRICT_FREQ, NULL),
	HIDDEN("mmap-pages", 'm', "PAGES"),
	HIDDEN("branch-any", 'b', NULL),
	HIDDEN("branch-filter", 'j', "MASK"),
	HIDDEN("data", 'd', NULL),
	HIDDEN("weight", 'W', NULL),
	HIDDEN("raw-samples", 'R', NULL),
	HIDDEN("delay", 'D', "MS"),
	HIDDEN("uid", 'u', "USER"),
	HIDDEN("no-inherit", 'i', NULL),
	HIDDEN("realtime", 'r', "PRIORITY"),
	HIDDEN("clockid", 'k', "CLOCK"),
	HIDDEN("all-user", PERF_ALL_USER, NULL),
	HIDDEN("all-kernel", PERF_ALL_KERNEL, NULL),
	HIDDEN("per-thread", PERF_PER_THREAD, NULL),
	HIDDEN("filter", PERF_FILTER, "FILTER"),
	/* perf's argument is optional, and each of its forms has another meaning. */
	{ "switch-output", PERF_SWITCH_OUTPUT, "WHEN", OPTION_HIDDEN | OPTION_ARG_OPTIONAL, NULL,
	  0 },
	{ 0 },
};

/* The message for each option. Options without effect here are accepted, others are errors. */
static const struct {
	int key;
	bool is_accepted;
	const char *option, *text;
} remarks[] = {
	{ 'T', true, "-T", "samples always have a time" },
	{ 'P', true, "-P", "samples always have a period" },
	{ PERF_SAMPLE_CPU, true, "--sample-cpu", "samples always have a CPU" },
	{ 'B', true, "-B", "ignored: build-ids are always recorded" },
	{ 'N', true, "-N", "ignored: stackreel has no build-id cache" },
	{ PERF_BUILDID_ALL, true, "--buildid-all", "ignored: build-ids are always recorded" },
	{ 'm', true, "-m", "ignored: --ring-size BYTES sets the size of the ring buffer" },
	{ PERF_STRICT_FREQ, true, "--strict-freq",
	  "a frequency above the kernel's limit is always an error" },
	{ 'b', false, "-b", "branch stacks are not recorded; stacks are complete without them" },
	{ 'j', false, "-j", "branch stacks are not recorded; stacks are complete without them" },
	{ 'd', false, "-d", "data addresses are not recorded" },
	{ 'W', false, "-W", "memory access weights are not recorded" },
	{ 'R', false, "-R", "tracepoint fields are not recorded" },
	{ 'D', false, "-D", "delays are not supported; use -p PID once the program has started" },
	{ 'u', false, "-u",
	  "recording by user is not supported; use -p \"$(pgrep -d, -u USER)\", or -G" },
	{ 'i', false, "-i", "forked processes are always recorded; use -t TID for single threads" },
	{ 'r', false, "-r", "use chrt -f PRIORITY stackreel-record ..." },
	{ 'k', false, "-k",
	  "times are always CLOCK_MONOTONIC; script also prints wall clock times" },
	{ PERF_ALL_USER, false, "--all-user", "add :u to the event, as in -e cpu-clock:u" },
	{ PERF_ALL_KERNEL, false, "--all-kernel", "add :k to the event, as in -g -e cpu-clock:k" },
	{ PERF_PER_THREAD, false, "--per-thread", "use -t TID,... for single threads" },
	{ PERF_FILTER, false, "--filter",
	  "the kernel applies event filters only to perf's own samples, not to those of BPF "
	  "programs; select threads by -p, -t or -G" },
	{ PERF_SWITCH_OUTPUT, false, "--switch-output", "use --rotate TIME|SIZE[,KEEP]" },
};

static void note(bool quiet, const char *option, const char *text)
{
	if (!quiet)
		fprintf(stderr, "stackreel-record: note: %s: %s\n", option, text);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	const bool *quiet = state->input;

	(void)argument;
	for (size_t i = 0; i < sizeof(remarks) / sizeof(*remarks); i++) {
		if (remarks[i].key != key)
			continue;
		if (!remarks[i].is_accepted)
			argp_error(state, "%s: %s", remarks[i].option, remarks[i].text);
		note(*quiet, remarks[i].option, remarks[i].text);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp reel_perf_options = { .options = options, .parser = parse };

/* Returns the text after `mode`, as in "dwarf,8192"; NULL if `text` has another mode. */
static const char *after_mode(const char *text, const char *mode)
{
	size_t size = strlen(mode);

	if (strncmp(text, mode, size) != 0 || (text[size] && text[size] != ','))
		return NULL;
	return text + size;
}

bool reel_perf_is_call_graph(const char *text)
{
	return after_mode(text, "dwarf") || after_mode(text, "fp") || after_mode(text, "lbr");
}

void reel_perf_call_graph(struct argp_state *state, const char *mode, bool quiet)
{
	const char *size = after_mode(mode, "dwarf");

	if (after_mode(mode, "lbr"))
		argp_error(state, "--call-graph lbr: branch stacks are not recorded; use "
				  "--call-graph dwarf");
	if (!size && !after_mode(mode, "fp"))
		argp_error(
			state,
			"--call-graph: unknown mode '%s' (expected dwarf or fp; -g takes no mode)",
			mode);
	if (!size)
		note(quiet, "--call-graph fp",
		     "stacks are unwound without frame pointers; --fp also records frame-pointer "
		     "call chains");
	else if (*size)
		note(quiet, "--call-graph dwarf",
		     "size ignored: stacks are recorded whole, up to --max-stack");
}
