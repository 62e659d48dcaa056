/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_samples CAPTURE: a line for each sample of a thread that waits for a lock,
 *
 *   TIME WEIGHT TID NAMESPACE_TID LOCK OWNER VARIABLE+OFFSET MODULE
 *
 * where times are in ns of CLOCK_MONOTONIC, and OWNER is "-" if the lock's owner is not known.
 * VARIABLE is "" if the lock's variable is not known, and MODULE if its module is not.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "include/commands.h"

static const struct reel_label *label(const struct reel_trace *trace, const char *key)
{
	for (size_t i = 0; i < trace->n_labels; i++) {
		if (!strcmp(trace->labels[i].key, key))
			return &trace->labels[i];
	}
	return NULL;
}

static struct reel_error *print_lock(struct reel_capture *capture, const struct reel_trace *trace,
				     const struct reel_label *lock, const struct reel_label *owner)
{
	struct reel_variable variable;
	struct reel_error *error =
		reel_capture_variable(capture, trace->thread, trace->time, lock->number, &variable);

	if (error)
		return error;
	printf("%" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %s %s %s+%#" PRIx64 " %s\n",
	       trace->time, trace->weight, trace->tid, trace->namespace_tid, lock->text,
	       owner ? owner->text : "-", variable.name, variable.offset, variable.module_path);
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
		const struct reel_label *lock = label(trace, "lock");

		if (lock)
			error = print_lock(capture, trace, lock, label(trace, "lock-owner"));
		if (error)
			break;
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
