/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/files.h"
#include "base/output_place.h"
#include "replay/files/build_id_folder.h"

struct reel_error *reel_build_id_folder_open(const char *name, struct reel_build_id_folder *ret)
{
	*ret = (struct reel_build_id_folder){ .name = name, .fd = -1 };
	return reel_output_folder_open(name, &ret->fd);
}

void reel_build_id_folder_close(struct reel_build_id_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
}

/* ---- paths ---------------------------------------------------------------------------------- */

static void put_hex(char *text, struct reel_bytes bytes)
{
	for (size_t i = 0; i < bytes.size; i++)
		sprintf(text + 2 * i, "%02x", bytes.data[i]);
}

void reel_build_id_path_make(const struct reel_record_module *module, const char *suffix,
			     struct reel_build_id_path *ret)
{
	char digits[2 * REEL_BUILD_ID_MAX + 1] = "";
	uint8_t path[8];
	struct reel_bytes id = module->build_id;

	ret->top = ".build-id";
	if (id.size < 2 || id.size > REEL_BUILD_ID_MAX) {
		ret->top = ".no-build-id";
		id = module->file_digest;
	}
	if (id.size < 2 || id.size > REEL_BUILD_ID_MAX) {
		reel_store64(path, reel_bytes_hash(REEL_HASH_BEGIN, module->path));
		id = (struct reel_bytes){ path, sizeof(path) };
	}
	put_hex(digits, id);
	memcpy(ret->middle, digits, 2);
	ret->middle[2] = '\0';
	snprintf(ret->name, sizeof(ret->name), "%s%s", digits + 2, suffix);
	snprintf(ret->whole, sizeof(ret->whole), "%s/%s/%s", ret->top, ret->middle, ret->name);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Opens or creates a folder in a folder, but not through a link; -1 and errno. */
static int open_folder(int folder, const char *name)
{
	if (mkdirat(folder, name, 0700) && errno != EEXIST)
		return -1;
	return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int create(int folder, const struct reel_build_id_path *path, bool replace, int *folder_ret)
{
	_cleanup_fd_ int top = open_folder(folder, path->top);

	*folder_ret = top < 0 ? -1 : open_folder(top, path->middle);
	if (*folder_ret < 0)
		return -1;
	if (replace)
		unlinkat(*folder_ret, path->name, 0);
	return openat(*folder_ret, path->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      0600);
}

struct reel_error *reel_build_id_folder_write(const struct reel_build_id_folder *folder,
					      const struct reel_build_id_path *path,
					      const struct reel_contents *contents, bool replace)
{
	_cleanup_fd_ int parent = -1;
	_cleanup_fd_ int fd = create(folder->fd, path, replace, &parent);
	int errnum;

	if (fd < 0 && errno == EEXIST)
		return reel_error_create(REEL_ERROR_OS,
					 "%s/%s already exists; use --force to replace it",
					 folder->name, path->whole);
	if (fd < 0)
		return reel_error_os(errno, "%s/%s", folder->name, path->whole);
	errnum = contents->bytes ? reel_write_all(fd, contents->bytes, contents->size, NULL)
				 : reel_copy_all(contents->fd, fd);
	if (!errnum)
		return NULL;
	unlinkat(parent, path->name, 0);
	return reel_error_os(errnum, "%s/%s", folder->name, path->whole);
}
