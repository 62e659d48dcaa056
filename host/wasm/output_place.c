/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing here judges users or links: a page's files are the page's alone, and systems without
 * O_PATH cannot say what a name leads to before it is opened.  A new file still never opens an
 * existing one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/output_place.h"

struct reel_error *reel_output_place_open_folder(const char *path, struct reel_output_place *ret)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_free_ char *folder = strndup(path, (size_t)(name - path));

	*ret = (struct reel_output_place){ .folder = -1, .mode = REEL_PLACE_PRIVATE };
	ret->path = strdup(path);
	ret->name = strdup(name);
	if (!folder || !ret->path || !ret->name) {
		reel_output_place_close(ret);
		return reel_error_no_memory();
	}
	ret->folder = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY);
	if (ret->folder < 0 || !*name) {
		struct reel_error *error =
			reel_error_os(ret->folder < 0 ? errno : EISDIR, "creating %s", path);

		reel_output_place_close(ret);
		return error;
	}
	return NULL;
}

struct reel_error *reel_output_place_open(const char *path, struct reel_output_place *ret)
{
	struct reel_error *error = reel_output_place_open_folder(path, ret);

	if (error)
		return error;
	ret->exists = !stat(path, &ret->status);
	ret->is_lasting = ret->exists && !S_ISREG(ret->status.st_mode);
	if (!ret->exists || !S_ISDIR(ret->status.st_mode))
		return NULL;
	reel_output_place_close(ret);
	return reel_error_os(EISDIR, "opening %s", path);
}

struct reel_error *reel_output_folder_open(const char *path, int *fd_ret)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		return reel_error_os(errno, "creating %s", path);
	*fd_ret = open(path, O_RDONLY | O_DIRECTORY);
	return *fd_ret < 0 ? reel_error_os(errno, "creating %s", path) : NULL;
}

bool reel_output_place_caller(uid_t *user_ret, gid_t *group_ret)
{
	(void)user_ret;
	(void)group_ret;
	return false;
}

int reel_output_place_create_nameless(const struct reel_output_place *place)
{
	(void)place;
	return -1;
}

int reel_output_place_create(const struct reel_output_place *place, const char *name)
{
	return openat(place->folder, name, O_RDWR | O_CREAT | O_EXCL, place->mode);
}

struct reel_error *reel_output_place_open_lasting(const struct reel_output_place *place,
						  int *fd_ret)
{
	*fd_ret = openat(place->folder, place->name, O_WRONLY);
	return *fd_ret < 0 ? reel_error_os(errno, "opening %s", place->path) : NULL;
}
