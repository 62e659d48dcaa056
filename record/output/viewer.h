/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the capture after the recording (--view), by `stackreel view`: this program cannot replay.
 * A process waits for that from the start, since the recorder gives up its privileges, and shows it
 * as the user who called sudo: browsers do not run as root, and a user's page need not be root's.
 */
#ifndef RECORD_OUTPUT_VIEWER_H
#define RECORD_OUTPUT_VIEWER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct reel_viewer {
	pid_t pid; /* 0: none */
	int fd;
};

struct reel_error *reel_viewer_start(struct reel_viewer *viewer, const char *capture,
				     bool quiet) REEL_MUST_CHECK;
/* Shows the capture, or ends without it; waits for either. */
void reel_viewer_end(struct reel_viewer *viewer, bool shows);

#endif
