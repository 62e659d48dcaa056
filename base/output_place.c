/* SPDX-License-Identifier: Apache-2.0 */
/* The names of files in a place; host/ has the rest of output_place.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/output_place.h"
#include "base/text.h"

void reel_output_place_close(struct reel_output_place *place)
{
	if (place->folder >= 0)
		close(place->folder);
	free(place->name);
	free(place->path);
	*place = (struct reel_output_place){ .folder = -1 };
}

char *reel_output_place_temporary_name(void)
{
	uint64_t number;
	char *name;

	while (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
		if (errno != EINTR)
			return NULL;
	}
	return asprintf(&name, ".stackreel-%016" PRIx64, number) < 0 ? NULL : name;
}

struct reel_error *reel_output_place_create_temporary(const struct reel_output_place *place,
						      char **name_ret, int *fd_ret)
{
	_cleanup_free_ char *name = reel_output_place_temporary_name();

	if (!name)
		return reel_error_no_memory();
	*fd_ret = reel_output_place_create(place, name);
	if (*fd_ret < 0)
		return reel_error_os(errno, "creating %s", place->path);
	*name_ret = name;
	name = NULL;
	return NULL;
}

struct reel_error *reel_output_place_take_name(const struct reel_output_place *place,
					       const char *from)
{
	int errnum;

	if (!renameat(place->folder, from, place->folder, place->name))
		return NULL;
	errnum = errno;
	unlinkat(place->folder, from, 0);
	return reel_error_os(errnum, "creating %s", place->path);
}

/* Whether nobody loses a file of theirs, and nothing but a file, when `status` becomes NAME.old. */
static bool may_replace(const struct reel_output_place *place, const struct stat *status,
			const char *name)
{
	struct stat folder, other;

	if (fstatat(place->folder, name, &other, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT;
	if (!S_ISREG(other.st_mode) && !S_ISLNK(other.st_mode))
		return false;
	return (!fstat(place->folder, &folder) && !(folder.st_mode & (S_IWGRP | S_IWOTH))) ||
	       (other.st_uid == status->st_uid && status->st_nlink == 1);
}

struct reel_error *reel_output_place_move_old(const struct reel_output_place *place)
{
	_cleanup_free_ char *name = NULL, *random = NULL;
	struct stat status;

	if (fstatat(place->folder, place->name, &status, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(status.st_mode) || !status.st_size)
		return NULL;
	name = reel_text_print("%s.old", place->name);
	if (name && !may_replace(place, &status, name)) {
		free(name);
		random = reel_output_place_temporary_name();
		name = random ? reel_text_print("%s.old%s", place->name, strchr(random, '-'))
			      : NULL;
	}
	if (!name)
		return reel_error_no_memory();
	return renameat(place->folder, place->name, place->folder, name)
		       ? reel_error_os(errno, "renaming %s to %s", place->path, name)
		       : NULL;
}
