/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addresses [--names] FILE [SYMFS…]: a line for each trace of a capture, for comparisons.
 *
 *   TIME PID TID STOP ADDRESS:STEP…
 *
 * Time in nanoseconds, numbers of enum reel_stop and enum reel_step, addresses in hexadecimal, leaf
 * first, one per frame, without inlined functions. --names: each frame with a tab before it, and as
 *
 *   ADDRESS:STEP:EXACT:MODULE_ADDRESS:PATH|FUNCTION
 */
#include <inttypes.h>
#include "include/commands.h"
#include <stdio.h>
#include <string.h>

static bool names;

static void print_frame(const struct reel_trace *trace, size_t i)
{
	const struct reel_frame *frame = trace->frames[i];

	if (names)
		printf("\t%" PRIx64 ":%u:%d:%" PRIx64 ":%s|%s", trace->addresses[i],
		       trace->steps[i], frame->exact, frame->module_address, frame->module_path,
		       frame->function);
	else
		printf(" %" PRIx64 ":%u", trace->addresses[i], trace->steps[i]);
}

static struct reel_error *print_traces(struct reel_capture *capture)
{
	struct reel_traces *traces;
	const struct reel_trace *trace;
	struct reel_error *error;

	error = reel_traces_create(capture, NULL, &traces);
	while (!error) {
		error = reel_traces_next(traces, &trace);
		if (error || !trace)
			break;
		printf("%" PRIu64 " %" PRIu32 " %" PRIu32 " %d", trace->time, trace->pid,
		       trace->tid, (int)trace->stop);
		for (size_t i = 0; i < trace->n_frames; i++)
			print_frame(trace, i);
		putchar('\n');
	}
	reel_traces_destroy(traces);
	return error;
}

int main(int argc, char **argv)
{
	REEL_SIZED(reel_capture_options, options, .no_inlines = true, .no_demangle = true,
		   .runtimes = REEL_RUNTIMES_NATIVE);
	struct reel_capture *capture;
	struct reel_error *error;

	names = argc > 1 && !strcmp(argv[1], "--names");
	argv += names;
	argc -= names;
	if (argc > 2)
		options.symfs = (const char *const *)&argv[2];
	error = reel_capture_open(argc > 1 ? argv[1] : "-", &options, &capture);
	if (!error) {
		error = print_traces(capture);
		reel_capture_close(capture);
	}
	if (error) {
		fprintf(stderr, "addresses: %s\n", reel_error_message(error));
		reel_error_destroy(error);
		return 1;
	}
	return 0;
}
