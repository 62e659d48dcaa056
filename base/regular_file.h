/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files that somebody else named: a capture, or a process that has them mapped.  Opening
 * alone can do harm (create a terminal, start a watchdog, let a FIFO's writer go on) or block for
 * ever, so only known regular files are opened.
 */
#ifndef BASE_REGULAR_FILE_H
#define BASE_REGULAR_FILE_H

#include <sys/stat.h>

#include "base/error.h"

/*
 * Opens `path` for reading; NOT_A_CAPTURE if it is not a regular file, or is on a file system not
 * known to store files.  A file server that does not answer blocks the caller: only another process
 * can bound that.
 */
struct reel_error *reel_regular_file_open(const char *path, int *fd_ret,
					  struct stat *status_ret) REEL_MUST_CHECK;

/* The same for a place (O_PATH), which stays open; `name` is for messages. */
struct reel_error *reel_regular_file_reopen(int place, const char *name, int *fd_ret,
					    struct stat *status_ret) REEL_MUST_CHECK;

#endif
