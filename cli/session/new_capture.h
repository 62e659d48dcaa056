/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share that make a capture of another file. */
#ifndef CLI_SESSION_NEW_CAPTURE_H
#define CLI_SESSION_NEW_CAPTURE_H

#include "cli/session/session.h"

struct new_capture {
	uint64_t samples, bytes_written, bytes_read;
	const char *samples_are; /* " with the same traces", or "" */
	char *remark;		 /* what else is to be said, or NULL; to be freed */
};

/* One line on stderr, unless -q or where the capture itself goes to standard output. */
void new_capture_print(const struct options *options, const char *output,
		       const struct new_capture *capture);

/* For `problem` of options of the library, with struct options for a context: another sentence than
 * the capture's problems, as these are of files here. */
void new_capture_print_problem(void *context, const char *path, const char *why);
/* "2 modules embedded, 1.2 MB, 1 missing here", to be freed. */
char *new_capture_images(uint64_t modules, uint64_t missing, uint64_t left_out, uint64_t bytes);

/* Says what is wrong.  STATUS_USAGE if the options ask for what is not possible, else
 * STATUS_ERROR. */
int new_capture_failed(struct reel_error *error);

/*
 * A capture of a capture: opens the one that `options` name, calls `make`, which writes the other
 * and fills in `ret` (but for bytes_read), and tells.  Gives the exit status.
 */
int new_capture_make(const struct options *options,
		     struct reel_error *(*make)(void *context, struct reel_capture *capture,
						const char *output, struct new_capture *ret),
		     void *context);

#endif
