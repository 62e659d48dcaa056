/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that scrubbing keeps a capture's traces.
 *
 *     scrub_compare SCRATCH SYMFS CAPTURE...
 *
 * Scrubs each capture into the file SCRATCH, and compares every trace with that of the scrubbed
 * one: frames, addresses, steps, and the reason for its end.  SYMFS is a copy of the target's file
 * system, or "" for this host's.  Prints a line for each capture with a difference, and one for
 * all:
 *
 *     N captures, N samples, N differences, N scrubbed away
 *
 * A trace is scrubbed away, and marked so, after a signal's frame, whose registers are words of a
 * stack and not registers: the count that the CFI of the interrupted function reads is gone. Or if
 * the CFI computes with a word that is not an address of this stack, so that the raw trace runs out
 * of bytes at the same frame.
 *
 * Only this class of differences is allowed; the exit status is 1 for any other.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "include/commands.h"

struct counts {
	uint64_t captures, samples, differences, scrubbed_away;
};

struct side {
	struct reel_capture *capture;
	struct reel_traces *traces;
	const struct reel_trace *trace;
};

static bool no_error(const char *path, struct reel_error *error)
{
	if (!error)
		return true;
	printf("%s: %s\n", path, reel_error_message(error));
	reel_error_destroy(error);
	return false;
}

static bool open_side(const char *path, const char *symfs, struct side *ret)
{
	char debug_dir[4096];
	const char *const roots[] = { symfs, NULL }, *const debug_dirs[] = { debug_dir, NULL };
	REEL_SIZED(reel_capture_options, options, .no_inlines = true);

	snprintf(debug_dir, sizeof(debug_dir), "%s/usr/lib/debug", symfs);
	if (*symfs) {
		options.symfs = roots;
		options.debug_dirs = debug_dirs;
		options.no_host_files = true;
	}
	*ret = (struct side){ 0 };
	return no_error(path, reel_capture_open(path, &options, &ret->capture)) &&
	       no_error(path, reel_traces_create(ret->capture, NULL, &ret->traces));
}

static void close_side(struct side *side)
{
	reel_traces_destroy(side->traces);
	reel_capture_close(side->capture);
}

static void print_trace(const char *which, const struct reel_trace *trace)
{
	printf("    %s, sample %" PRIu64 ": %s:", which, trace->id, reel_stop_name(trace->stop));
	for (size_t i = 0; i < trace->n_frames; i++)
		printf(" %" PRIx64 "/%u", trace->addresses[i], trace->steps[i]);
	putchar('\n');
}

/* The number of equal frames, from the first on. */
static size_t same_frames(const struct reel_trace *a, const struct reel_trace *b)
{
	size_t i = 0;

	while (i < a->n_frames && i < b->n_frames && a->addresses[i] == b->addresses[i] &&
	       a->steps[i] == b->steps[i] && a->frames[i]->function &&
	       !strcmp(a->frames[i]->function, b->frames[i]->function))
		i++;
	return i;
}

static bool is_scrubbed_away(const struct reel_trace *raw, const struct reel_trace *scrubbed)
{
	size_t n = scrubbed->n_frames;

	if (scrubbed->stop != REEL_STOP_SCRUBBED || !n || same_frames(raw, scrubbed) != n)
		return false;
	return scrubbed->steps[n - 1] == REEL_STEP_SIGNAL ||
	       (raw->stop == REEL_STOP_STACK_END && raw->n_frames == n);
}

static void compare_traces(const struct reel_trace *raw, const struct reel_trace *scrubbed,
			   struct counts *counts)
{
	counts->samples++;
	if (raw->id == scrubbed->id && raw->stop == scrubbed->stop &&
	    raw->n_frames == scrubbed->n_frames && same_frames(raw, scrubbed) == raw->n_frames)
		return;
	if (raw->id == scrubbed->id && is_scrubbed_away(raw, scrubbed)) {
		counts->scrubbed_away++;
		return;
	}
	if (++counts->differences > 5)
		return;
	print_trace("raw", raw);
	print_trace("scrubbed", scrubbed);
}

static bool compare_sides(const char *path, struct side *raw, struct side *scrubbed,
			  struct counts *counts)
{
	for (;;) {
		if (!no_error(path, reel_traces_next(raw->traces, &raw->trace)) ||
		    !no_error(path, reel_traces_next(scrubbed->traces, &scrubbed->trace)))
			return false;
		if (!raw->trace && !scrubbed->trace)
			return true;
		if (!raw->trace || !scrubbed->trace) {
			printf("%s: a different number of traces when scrubbed\n", path);
			return false;
		}
		compare_traces(raw->trace, scrubbed->trace, counts);
	}
}

static bool compare(const char *path, const char *scratch, const char *symfs, struct counts *counts)
{
	struct counts of_capture = { 0 };
	struct side raw = { 0 }, scrubbed = { 0 };
	bool ok;

	ok = open_side(path, symfs, &raw) &&
	     no_error(path, reel_capture_scrub(raw.capture, scratch, NULL, NULL)) &&
	     open_side(scratch, symfs, &scrubbed) &&
	     compare_sides(path, &raw, &scrubbed, &of_capture);
	close_side(&raw);
	close_side(&scrubbed);
	if (ok && !of_capture.samples) {
		printf("%s: no samples\n", path);
		ok = false;
	}
	if (of_capture.differences || of_capture.scrubbed_away)
		printf("  %s: %" PRIu64 " samples, %" PRIu64 " differences, %" PRIu64
		       " scrubbed away\n",
		       path, of_capture.samples, of_capture.differences, of_capture.scrubbed_away);
	counts->captures++;
	counts->samples += of_capture.samples;
	counts->differences += of_capture.differences;
	counts->scrubbed_away += of_capture.scrubbed_away;
	return ok;
}

int main(int argc, char **argv)
{
	struct counts counts = { 0 };
	bool ok = argc > 3;

	for (int i = 3; i < argc; i++)
		ok &= compare(argv[i], argv[1], argv[2], &counts);
	printf("%" PRIu64 " captures, %" PRIu64 " samples, %" PRIu64 " differences, %" PRIu64
	       " scrubbed away\n",
	       counts.captures, counts.samples, counts.differences, counts.scrubbed_away);
	return ok && !counts.differences ? 0 : 1;
}
