/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/output_file.h"

/* A capture holds what programs had on their stacks: it is for its owner alone. */
#define MODE 0600

static struct reel_error *in_place(int fd, const char *path, struct reel_output_file *file)
{
	if (fd < 0)
		return reel_error_os(errno, "opening %s", path);
	file->fd = fd;
	return NULL;
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* A file without a name vanishes by itself, whatever ends the program; -1 where there is none. */
static int open_nameless(const char *path)
{
	_cleanup_free_ char *directory = directory_of(path);
	char link[64];
	int fd = directory ? open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, MODE) : -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	/* It gets its name through /proc. */
	if (fd >= 0 && access(link, F_OK)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static struct reel_error *create(struct reel_output_file *file)
{
	file->fd = open_nameless(file->path);
	if (file->fd >= 0)
		return NULL;
	if (asprintf(&file->temporary, "%s.XXXXXX", file->path) < 0) {
		file->temporary = NULL;
		return reel_error_no_memory();
	}
	file->fd = mkostemp(file->temporary, O_CLOEXEC);
	if (file->fd < 0) {
		struct reel_error *error = reel_error_os(errno, "creating %s", file->path);

		free(file->temporary);
		file->temporary = NULL;
		return error;
	}
	return NULL;
}

static bool is_same(const struct stat *status, int fd)
{
	struct stat other;

	return !fstat(fd, &other) && other.st_dev == status->st_dev &&
	       other.st_ino == status->st_ino;
}

struct reel_error *reel_output_file_open(const char *path, int source, struct reel_output_file *ret)
{
	struct stat status;
	bool exists = strcmp(path, "-") != 0 && !stat(path, &status);
	struct reel_error *error;

	*ret = (struct reel_output_file){ .fd = STDOUT_FILENO };
	if (!strcmp(path, "-"))
		return NULL;
	if (exists && S_ISREG(status.st_mode) && is_same(&status, source))
		return reel_error_create(REEL_ERROR_INVALID,
					 "%s: it can't replace the file that it is made of", path);
	/* A device or a pipe is written to, and must not be replaced; and what has no name that
	 * could be taken (/proc/self/fd/3) can't be. */
	if (exists && (!S_ISREG(status.st_mode) || !status.st_nlink))
		return in_place(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), path, ret);
	/* A symbolic link stays one. */
	ret->path = exists ? realpath(path, NULL) : strdup(path);
	if (!ret->path)
		return reel_error_os(errno, "creating %s", path);
	error = create(ret);
	if (error)
		free(ret->path);
	return error;
}

/* A nameless file can get a name, but not one that is in use: that takes a rename. */
static struct reel_error *give_temporary_name(struct reel_output_file *file)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	for (unsigned int i = 0;; i++) {
		if (asprintf(&file->temporary, "%s.%d-%u", file->path, (int)getpid(), i) < 0) {
			file->temporary = NULL;
			return reel_error_no_memory();
		}
		if (!linkat(AT_FDCWD, link, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW))
			return NULL;
		free(file->temporary);
		file->temporary = NULL;
		if (errno != EEXIST || i == 100)
			return reel_error_os(errno, "creating %s", file->path);
	}
}

struct reel_error *reel_output_file_close(struct reel_output_file *file, struct reel_error *error)
{
	if (!error && file->path && !file->temporary)
		error = give_temporary_name(file);
	if (file->fd != STDOUT_FILENO && close(file->fd) && !error)
		error = reel_error_os(errno, "writing the capture");
	if (!error && file->path && rename(file->temporary, file->path))
		error = reel_error_os(errno, "renaming %s to %s", file->temporary, file->path);
	if (error && file->temporary)
		unlink(file->temporary);
	free(file->temporary);
	free(file->path);
	return error;
}
