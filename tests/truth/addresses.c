/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addresses FILE: a line for each trace of a capture, for comparisons.
 *
 *   TIME PID TID STOP ADDRESS:STEP…
 *
 * Time in nanoseconds, numbers of enum reel_stop and enum reel_step, addresses in hexadecimal, leaf
 * first, none twice for the functions inlined at it.
 */
#include <inttypes.h>
#include "include/stackreel.h"
#include <stdio.h>

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
			printf(" %" PRIx64 ":%u", trace->addresses[i], trace->steps[i]);
		putchar('\n');
	}
	reel_traces_destroy(traces);
	return error;
}

int main(int argc, char **argv)
{
	struct reel_capture_options options = {
		.size = sizeof(options),
		.no_inlines = true,
		.no_demangle = true,
	};
	struct reel_capture *capture;
	struct reel_error *error;

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
