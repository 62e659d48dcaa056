/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the commands that make a capture from another file. */
#ifndef CLI_SESSION_NEW_CAPTURE_H
#define CLI_SESSION_NEW_CAPTURE_H

#include "cli/session/session.h"

struct new_capture {
	uint64_t samples, bytes_written, bytes_read;
	const char *samples_are; /* " with the same traces", or "" */
	char *remark;		 /* a further remark, or NULL; the caller frees it */
};

/* One line on stderr, unless -q or where the capture itself goes to standard output. */
void new_capture_print(const struct options *options, const char *output,
		       const struct new_capture *capture);

/* For `problem` in the library's options, with struct options as the context. Its wording differs
 * from the capture's own problems, since these concern files on this host. */
void new_capture_print_problem(void *context, const char *path, const char *why);
/* "2 modules embedded, 1.2 MB, 1 missing here"; the caller frees it. */
char *new_capture_images(uint64_t modules, uint64_t missing, uint64_t left_out, uint64_t bytes);

/* Reports the error. STATUS_USAGE if the options ask for the impossible, else STATUS_ERROR. */
int new_capture_failed(struct reel_error *error);

/*
 * Makes a capture from a capture: opens the one named in `options`, calls `make`, which writes the
 * new one and fills in `ret` (except bytes_read), and prints a summary. Returns the exit status.
 */
int new_capture_make(const struct options *options,
		     struct reel_error *(*make)(void *context, struct reel_capture *capture,
						const char *output, struct new_capture *ret),
		     void *context);

#endif
