/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "format/source.h"

#define SPOOL_CHUNK (256u << 10)

static struct reel_error *append(int fd, const uint8_t *bytes, size_t size)
{
	int errnum = reel_write_all(fd, bytes, size, NULL);

	return errnum ? reel_error_os(errnum, "writing a temporary file (TMPDIR)") : NULL;
}

/* Up to `size` bytes, fewer only at the end of the file. */
static ssize_t read_full(int fd, uint8_t *bytes, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = read(fd, bytes + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return n;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static struct reel_error *copy(int from, int to, const char *name,
			       const struct reel_source_kind *kind)
{
	_cleanup_free_ uint8_t *chunk = malloc(SPOOL_CHUNK);
	bool is_first = true;

	if (!chunk)
		return reel_error_no_memory();
	for (;;) {
		size_t size = is_first ? kind->header_size : SPOOL_CHUNK;
		ssize_t n = read_full(from, chunk, size);
		struct reel_error *error;

		if (n < 0)
			return reel_error_os(errno, "reading %s", name);
		if (is_first) {
			error = kind->check(chunk, (size_t)n);
			if (error)
				return reel_error_prefix(error, "%s", name);
		}
		error = append(to, chunk, (size_t)n);
		if (error || (size_t)n < size)
			return error;
		is_first = false;
	}
}

/* Replaces *fd by an unlinked file with the contents read from it. */
static struct reel_error *spool(int *fd, const char *name, const struct reel_source_kind *kind)
{
	_cleanup_fd_ int temporary = -1;
	int from = *fd;

	TRY(reel_temporary_file(&temporary));
	TRY(copy(from, temporary, name, kind));
	*fd = temporary;
	temporary = from; /* close this one */
	return NULL;
}

struct reel_error *reel_source_open_fd(int fd, const char *name,
				       const struct reel_source_kind *kind, struct reel_source *ret)
{
	_cleanup_fd_ int owned = fd;
	_cleanup_free_ char *copied_name = strdup(name);
	struct stat status;

	if (!copied_name)
		return reel_error_no_memory();
	if (fstat(owned, &status) < 0)
		return reel_error_os(errno, "reading %s", name);
	if (S_ISDIR(status.st_mode))
		return reel_error_os(EISDIR, "reading %s", name);
	if (!S_ISREG(status.st_mode)) {
		TRY(spool(&owned, name, kind));
		if (fstat(owned, &status) < 0)
			return reel_error_os(errno, "reading %s", name);
	}
	*ret = (struct reel_source){ owned, copied_name, (uint64_t)status.st_size };
	owned = -1;
	copied_name = NULL;
	return NULL;
}

struct reel_error *reel_source_open(const char *path, const struct reel_source_kind *kind,
				    struct reel_source *ret)
{
	_cleanup_fd_ int fd = -1;
	int handed_over;

	if (!strcmp(path, "-")) {
		/* Even a regular file is copied: its position may be in the middle. */
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return reel_error_os(errno, "reading standard input");
		TRY(spool(&fd, "standard input", kind));
		path = "standard input";
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return reel_error_os(errno, "opening %s", path);
	}
	handed_over = fd;
	fd = -1;
	return reel_source_open_fd(handed_over, path, kind, ret);
}

struct reel_error *reel_source_create(struct reel_source *ret)
{
	int fd;
	struct reel_error *error;
	char *name = strdup("a temporary file");

	if (!name)
		return reel_error_no_memory();
	error = reel_temporary_file(&fd);
	if (error) {
		free(name);
		return error;
	}
	*ret = (struct reel_source){ fd, name, 0 };
	return NULL;
}

struct reel_error *reel_source_append(struct reel_source *source, const void *bytes, size_t size)
{
	TRY(append(source->fd, bytes, size));
	source->size += size;
	return NULL;
}

void reel_source_close(struct reel_source *source)
{
	if (source->name)
		close(source->fd);
	free(source->name);
	source->name = NULL;
}

struct reel_error *reel_source_read(const struct reel_source *source, uint64_t offset, void *bytes,
				    size_t size)
{
	uint8_t *at = bytes;

	while (size) {
		ssize_t n = pread(source->fd, at, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return reel_error_os(errno, "reading %s", source->name);
		if (!n)
			return reel_error_create(
				REEL_ERROR_TRUNCATED,
				"%s: offset %llu: the file was truncated while reading it",
				source->name, (unsigned long long)offset);
		at += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return NULL;
}
