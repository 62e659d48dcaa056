/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/regular_file.h"

/* The embedder gives out files, none of which starts devices; node opens no FIFO without waiting. */
struct reel_error *reel_regular_file_open(const char *path, int *fd_ret, struct stat *status_ret)
{
	_cleanup_fd_ int fd = -1;

	if (stat(path, status_ret))
		return reel_error_os(errno, "%s", path);
	if (!S_ISREG(status_ret->st_mode))
		return reel_error_create(REEL_ERROR_NOT_A_CAPTURE, "%s: not a regular file", path);
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, status_ret))
		return reel_error_os(errno, "%s", path);
	*fd_ret = fd;
	fd = -1;
	return NULL;
}

int reel_reopen(int fd); /* in system.js */

/* The place is open for reading already. */
struct reel_error *reel_regular_file_reopen(int place, const char *name, int *fd_ret,
					    struct stat *status_ret)
{
	int fd = reel_reopen(place);

	if (fd < 0 || fstat(fd, status_ret))
		return reel_error_os(fd < 0 ? -fd : errno, "%s", name);
	*fd_ret = fd;
	return NULL;
}
