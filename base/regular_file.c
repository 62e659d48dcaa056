/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/regular_file.h"

/* O_NONBLOCK: an open may wait for somebody's lease (fcntl(2)). */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/*
 * Files of the kernel's own say that they are regular, but reading one of a PCI device's talks to
 * the device, /proc/kmsg and trace_pipe take what they give away from others, and wait for more.
 */
static bool keeps_files(int place)
{
	struct statfs status;

	if (fstatfs(place, &status))
		return false;
	switch ((unsigned long)status.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
		return false;
	default:
		return true;
	}
}

/* A place (O_PATH) that may be opened; neither call opens it. */
static struct reel_error *check(int place, const char *name, struct stat *ret)
{
	if (fstat(place, ret))
		return reel_error_os(errno, "%s", name);
	if (!S_ISREG(ret->st_mode))
		return reel_error_create(REEL_ERROR_NOT_A_CAPTURE, "%s: not a regular file", name);
	if (!keeps_files(place))
		return reel_error_create(REEL_ERROR_NOT_A_CAPTURE,
					 "%s: not a file, but something of the kernel's", name);
	return NULL;
}

/* `path` leads to what was looked at, unless somebody replaced that. */
static struct reel_error *open_checked(const char *path, const char *name,
				       const struct stat *expected, int *fd_ret,
				       struct stat *status_ret)
{
	int fd = open(path, READ_FLAGS);

	if (fd < 0)
		return reel_error_os(errno, "%s", name);
	if (fstat(fd, status_ret) || !S_ISREG(status_ret->st_mode) ||
	    status_ret->st_dev != expected->st_dev || status_ret->st_ino != expected->st_ino) {
		close(fd);
		return reel_error_create(REEL_ERROR_OS, "%s: replaced while it was opened", name);
	}
	*fd_ret = fd;
	return NULL;
}

struct reel_error *reel_regular_file_reopen(int place, const char *name, int *fd_ret,
					    struct stat *status_ret)
{
	struct stat status;
	struct reel_error *error = check(place, name, &status);
	char link[32];

	/* The link leads to the very file that was looked at, whatever has its name by now. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	return error ? error : open_checked(link, name, &status, fd_ret, status_ret);
}

struct reel_error *reel_regular_file_open(const char *path, int *fd_ret, struct stat *status_ret)
{
	_cleanup_fd_ int place = open(path, O_PATH | O_CLOEXEC);
	struct reel_error *error;
	struct stat status;

	if (place < 0)
		return reel_error_os(errno, "%s", path);
	if (!access("/proc/self/fd", X_OK))
		return reel_regular_file_reopen(place, path, fd_ret, status_ret);
	/* Without /proc the name has to do. */
	error = check(place, path, &status);
	return error ? error : open_checked(path, path, &status, fd_ret, status_ret);
}
