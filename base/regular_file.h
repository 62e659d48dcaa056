/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are to be read because somebody else named them: a capture, or a process that has
 * them mapped.  Opening alone can do harm (a terminal is made, a watchdog starts to count, a FIFO's
 * writer goes on) or wait for ever, so only what is known to be a regular file is opened.
 */
#ifndef BASE_REGULAR_FILE_H
#define BASE_REGULAR_FILE_H

#include <sys/stat.h>

#include "base/error.h"

/*
 * Opens `path` for reading; NOT_A_CAPTURE if it is not a regular file, or is on a file system that
 * is not known to store files.  A file server that does not answer blocks the caller: only another
 * process can bound that.
 */
struct reel_error *reel_regular_file_open(const char *path, int *fd_ret,
					  struct stat *status_ret) REEL_MUST_CHECK;

/* The same of a place (O_PATH), which stays open; `name` is for messages. */
struct reel_error *reel_regular_file_reopen(int place, const char *name, int *fd_ret,
					    struct stat *status_ret) REEL_MUST_CHECK;

#endif
