/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/output_file.h"

static struct reel_error *create(struct reel_output_file *file)
{
	file->is_new = true;
	file->fd = reel_output_place_create_nameless(&file->place);
	if (file->fd >= 0)
		return NULL;
	return reel_output_place_create_temporary(&file->place, &file->temporary, &file->fd);
}

static bool is_same(const struct stat *status, int fd)
{
	struct stat other;

	return !fstat(fd, &other) && other.st_dev == status->st_dev &&
	       other.st_ino == status->st_ino;
}

struct reel_error *reel_output_file_open(const char *path, mode_t mode, int source,
					 struct reel_output_file *ret)
{
	const struct reel_output_place *place = &ret->place;
	struct reel_error *error;

	*ret = (struct reel_output_file){ .fd = STDOUT_FILENO, .place.folder = -1 };
	if (!strcmp(path, "-"))
		return NULL;
	error = reel_output_place_open(path, &ret->place);
	if (error)
		return error;
	ret->place.mode = mode;
	if (place->exists && S_ISREG(place->status.st_mode) && is_same(&place->status, source))
		error = reel_error_create(REEL_ERROR_INVALID,
					  "%s: output file is also the input file", path);
	else if (place->is_lasting)
		error = reel_output_place_open_lasting(place, &ret->fd);
	else
		error = create(ret);
	if (error)
		reel_output_place_close(&ret->place);
	return error;
}

/* A nameless file can get a new name, but not replace an existing one: that takes a rename. */
static struct reel_error *give_temporary_name(struct reel_output_file *file)
{
	char link[64];

	file->temporary = reel_output_place_temporary_name();
	if (!file->temporary)
		return reel_error_no_memory();
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	if (!linkat(AT_FDCWD, link, file->place.folder, file->temporary, AT_SYMLINK_FOLLOW))
		return NULL;
	free(file->temporary);
	file->temporary = NULL;
	return reel_error_os(errno, "creating %s", file->place.path);
}

static struct reel_error *write_out(const struct reel_output_file *file)
{
	/* When replacing a file, a power failure must not lose both the old and the new one. */
	return file->place.exists && fsync(file->fd)
		       ? reel_error_os(errno, "writing %s", file->place.path)
		       : NULL;
}

struct reel_error *reel_output_file_close(struct reel_output_file *file, struct reel_error *error)
{
	if (!error && file->is_new)
		error = write_out(file);
	if (!error && file->is_new && !file->temporary)
		error = give_temporary_name(file);
	if (file->fd != STDOUT_FILENO && close(file->fd) && !error)
		error = reel_error_os(errno, "writing %s", file->place.path);
	if (!error && file->is_new)
		error = reel_output_place_take_name(&file->place, file->temporary);
	else if (error && file->temporary)
		unlinkat(file->place.folder, file->temporary, 0);
	free(file->temporary);
	reel_output_place_close(&file->place);
	return error;
}

void reel_output_file_abandon(struct reel_output_file *file)
{
	/* Nobody sees this error: it only discards the file. */
	reel_error_destroy(
		reel_output_file_close(file, reel_error_create(REEL_ERROR_INVALID, "abandoned")));
}

struct reel_error *reel_output_file_create(const char *path, mode_t mode, bool keeps_old,
					   int *fd_ret)
{
	_cleanup_place_ struct reel_output_place place;
	_cleanup_free_ char *temporary = NULL;
	struct reel_error *error;

	TRY(reel_output_place_open(path, &place));
	if (place.is_lasting)
		return reel_output_place_open_lasting(&place, fd_ret);
	place.mode = mode;
	TRY(reel_output_place_create_temporary(&place, &temporary, fd_ret));
	error = keeps_old ? reel_output_place_move_old(&place) : NULL;
	if (error)
		unlinkat(place.folder, temporary, 0);
	else
		error = reel_output_place_take_name(&place, temporary);
	if (error)
		close(*fd_ret);
	return error;
}
