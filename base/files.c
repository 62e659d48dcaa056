/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"
#include "host/system.h"

int reel_write_all(int fd, const void *bytes, size_t size, uint64_t *written)
{
	const uint8_t *at = bytes;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
		else if (n < 0 && errno != EINTR)
			return errno;
		if (n < 0)
			continue;
		at += n;
		size -= (size_t)n;
		if (written)
			*written += (uint64_t)n;
	}
	return 0;
}

int reel_copy_all(int from, int to)
{
	static const size_t size = 1 << 16;
	_cleanup_free_ uint8_t *bytes = malloc(size);
	off_t offset = 0;
	int errnum = bytes ? 0 : ENOMEM;

	while (!errnum) {
		ssize_t n = pread(from, bytes, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : 0;
		errnum = reel_write_all(to, bytes, (size_t)n, NULL);
		offset += n;
	}
	return errnum;
}

/* -1 and errno on failure. */
static int create_in(const char *directory)
{
	_cleanup_free_ char *path = NULL;
	int fd = reel_system_nameless_file(directory);

	if (fd >= 0)
		return fd;
	if (asprintf(&path, "%s/stackreel.XXXXXX", directory) < 0) {
		path = NULL;
		errno = ENOMEM;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

bool reel_read_at(int fd, void *ret, size_t size, uint64_t offset)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(fd, (uint8_t *)ret + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (!n)
			errno = 0;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

struct reel_error *reel_temporary_file(int *fd_ret)
{
	const char *directory = getenv("TMPDIR");
	bool is_told = directory && *directory;

	directory = is_told ? directory : "/var/tmp";
	*fd_ret = create_in(directory);
	if (*fd_ret < 0 && !is_told && errno == ENOENT) {
		directory = "/tmp";
		*fd_ret = create_in(directory);
	}
	if (*fd_ret < 0)
		return reel_error_os(errno, "creating a temporary file in %s (TMPDIR)", directory);
	return NULL;
}
