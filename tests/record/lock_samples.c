/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_samples CAPTURE: a line for each sample of a thread that waits for a lock,
 *
 *   TIME WEIGHT TID NAMESPACE_TID LOCK OWNER
 *
 * where times are in ns of CLOCK_MONOTONIC, and OWNER is "-" if the lock's owner is not known.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "include/stackreel.h"

static const char *label(const struct reel_trace *trace, const char *key)
{
	for (size_t i = 0; i < trace->n_labels; i++) {
		if (!strcmp(trace->labels[i].key, key))
			return trace->labels[i].text;
	}
	return NULL;
}

static struct reel_error *print(struct reel_capture *capture)
{
	const struct reel_trace *trace;
	struct reel_traces *traces;
	struct reel_error *error = reel_traces_create(capture, NULL, &traces);

	if (error)
		return error;
	while (!(error = reel_traces_next(traces, &trace)) && trace) {
		const char *lock = label(trace, "lock"), *owner = label(trace, "lock-owner");

		if (lock)
			printf("%" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %s %s\n",
			       trace->time, trace->weight, trace->tid, trace->namespace_tid, lock,
			       owner ? owner : "-");
	}
	reel_traces_destroy(traces);
	return error;
}

int main(int argc, char **argv)
{
	struct reel_capture *capture = NULL;
	struct reel_error *error = argc == 2 ? reel_capture_open(argv[1], NULL, &capture) : NULL;
	int failed;

	if (argc == 2 && !error)
		error = print(capture);
	failed = argc != 2 || error;
	if (error)
		fprintf(stderr, "%s\n", reel_error_message(error));
	reel_error_destroy(error);
	reel_capture_close(capture);
	return failed;
}
