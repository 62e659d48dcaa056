/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/output_place.h"

/* The kernel's limit for one path (MAXSYMLINKS in include/linux/namei.h). */
#define LINKS_MAX 40

#define READER_TIMEOUT_MS 5000
#define READER_POLL_MS	  20

/* ---- trust ------------------------------------------------------------------------------ */

static bool can_others_write(const struct stat *folder)
{
	/* With an access control list, the group bits are its mask, so they cover the list. */
	return folder->st_mode & (S_IWGRP | S_IWOTH);
}

/*
 * Nobody else can have put the file there.  Our own files can get other names: with a second link,
 * this name may not be ours.
 */
static bool is_trusted(int folder, const struct stat *status)
{
	struct stat parent;

	if (status->st_uid == geteuid() && (status->st_nlink == 1 || S_ISDIR(status->st_mode)))
		return true;
	return !fstat(folder, &parent) && !can_others_write(&parent) &&
	       (!parent.st_uid || parent.st_uid == geteuid());
}

static struct reel_error *distrust(const struct reel_output_place *place, const char *what,
				   const struct stat *status, const char *refused)
{
	return reel_error_create(
		REEL_ERROR_PERMISSION,
		"%s: %s of user %u in a folder writable by others is not %s; remove it, use "
		"another file name, or redirect the output: -o - >%s",
		place->path, what, (unsigned int)status->st_uid, refused, place->path);
}

/* Names below /proc/PID/fd lead to open files, which may have no name. */
static bool is_descriptor_folder(int folder)
{
	struct statfs status;

	return !fstatfs(folder, &status) && status.f_type == PROC_SUPER_MAGIC;
}

/* ---- the folder ----------------------------------------------------------------------- */

/* `link` is an O_PATH descriptor: nobody can replace the link between the check and its use. */
static struct reel_error *read_link(struct reel_output_place *place, int link, char **ret)
{
	char target[PATH_MAX];
	struct stat status;
	ssize_t size;

	if (fstat(link, &status))
		return reel_error_os(errno, "opening %s", place->path);
	if (!S_ISLNK(status.st_mode))
		return reel_error_os(ENOTDIR, "creating %s", place->path);
	if (place->links++ == LINKS_MAX)
		return reel_error_os(ELOOP, "opening %s", place->path);
	if (!is_trusted(place->folder, &status))
		return distrust(place, "a symbolic link", &status, "followed");
	size = readlinkat(link, "", target, sizeof(target));
	if (size <= 0 || (size_t)size == sizeof(target))
		return reel_error_os(size < 0 ? errno : ENAMETOOLONG, "opening %s", place->path);
	*ret = strndup(target, (size_t)size);
	return *ret ? NULL : reel_error_no_memory();
}

static void go_to(struct reel_output_place *place, int folder)
{
	if (place->folder >= 0)
		close(place->folder);
	place->folder = folder;
}

static struct reel_error *walk(struct reel_output_place *place, const char *path);

/* Enters one folder of the place's folder, or follows the link there if it is trusted. */
static struct reel_error *step(struct reel_output_place *place, const char *name)
{
	_cleanup_fd_ int link = -1;
	_cleanup_free_ char *target = NULL;
	int fd = openat(place->folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOTDIR) {
		link = openat(place->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (link < 0)
			return reel_error_os(errno, "creating %s", place->path);
		TRY(read_link(place, link, &target));
		if (!is_descriptor_folder(place->folder))
			return walk(place, target);
		/* The kernel's own links need not have a path as their target. */
		fd = openat(place->folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0)
		return reel_error_os(errno, "creating %s", place->path);
	go_to(place, fd);
	return NULL;
}

/* Each component is opened by itself, since another user may have planted a link instead of it. */
static struct reel_error *walk(struct reel_output_place *place, const char *path)
{
	_cleanup_free_ char *names = strdup(path);
	char *rest = NULL;

	if (!names)
		return reel_error_no_memory();
	if (*path == '/' || place->folder < 0) {
		int fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			return reel_error_os(errno, "creating %s", place->path);
		go_to(place, fd);
	}
	for (char *name = strtok_r(names, "/", &rest); name; name = strtok_r(NULL, "/", &rest))
		TRY(step(place, name));
	return NULL;
}

/* Opens the folder of `path`, relative to the place's folder if it has one, and stores the name. */
static struct reel_error *enter(struct reel_output_place *place, const char *path)
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	_cleanup_free_ char *folder = strndup(path, (size_t)(last - path)), *name = strdup(last);

	if (!folder || !name)
		return reel_error_no_memory();
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return reel_error_os(*path ? EISDIR : ENOENT, "opening %s", place->path);
	TRY(walk(place, folder));
	free(place->name);
	place->name = name;
	name = NULL;
	return NULL;
}

static struct reel_error *begin(const char *path, struct reel_output_place *ret)
{
	*ret = (struct reel_output_place){
		.folder = -1,
		.mode = REEL_PLACE_PRIVATE,
		.path = strdup(path),
	};
	return ret->path ? NULL : reel_error_no_memory();
}

struct reel_error *reel_output_place_open_folder(const char *path, struct reel_output_place *ret)
{
	struct reel_error *error = begin(path, ret);

	if (!error)
		error = enter(ret, path);
	if (error)
		reel_output_place_close(ret);
	return error;
}

/* Enters the folder of the place's name, which is created if it is missing. */
static struct reel_error *enter_new(struct reel_output_place *place)
{
	_cleanup_fd_ int parent = fcntl(place->folder, F_DUPFD_CLOEXEC, 3);
	struct stat status;
	gid_t group;
	uid_t user;

	if (parent < 0)
		return reel_error_os(errno, "creating %s", place->path);
	if (mkdirat(parent, place->name, 0700) && errno != EEXIST) {
		int errnum = errno;

		if (fstatat(parent, place->name, &status, AT_SYMLINK_NOFOLLOW))
			return reel_error_os(errnum, "creating %s", place->path);
	}
	TRY(step(place, place->name));
	if (fstat(place->folder, &status))
		return reel_error_os(errno, "creating %s", place->path);
	if (is_trusted(parent, &status) || !status.st_uid ||
	    (reel_output_place_caller(&user, &group) && user == status.st_uid))
		return NULL;
	return distrust(place, "the folder", &status, "written to");
}

struct reel_error *reel_output_folder_open(const char *path, int *fd_ret)
{
	_cleanup_place_ struct reel_output_place place;
	_cleanup_free_ char *trimmed = strdup(path);
	const char *last;

	TRY(begin(path, &place));
	if (!trimmed)
		return reel_error_no_memory();
	for (size_t size = strlen(trimmed); size > 1 && trimmed[size - 1] == '/';)
		trimmed[--size] = '\0';
	last = strrchr(trimmed, '/');
	last = last ? last + 1 : trimmed;
	if (!*last || !strcmp(last, ".") || !strcmp(last, "..")) {
		TRY(walk(&place, trimmed));
	} else {
		TRY(enter(&place, trimmed));
		TRY(enter_new(&place));
	}
	*fd_ret = place.folder;
	place.folder = -1;
	return NULL;
}

/* ---- the existing file ------------------------------------------------------------------ */

static struct reel_error *look(struct reel_output_place *place)
{
	place->is_descriptor = is_descriptor_folder(place->folder);
	place->exists = !fstatat(place->folder, place->name, &place->status,
				 place->is_descriptor ? 0 : AT_SYMLINK_NOFOLLOW);
	if (!place->exists && (errno != ENOENT || place->is_descriptor))
		return reel_error_os(errno, "opening %s", place->path);
	return NULL;
}

/* The link's target becomes the place. */
static struct reel_error *follow(struct reel_output_place *place)
{
	_cleanup_fd_ int link = openat(place->folder, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_free_ char *target = NULL;

	if (link < 0)
		return reel_error_os(errno, "opening %s", place->path);
	TRY(read_link(place, link, &target));
	TRY(enter(place, target));
	return look(place);
}

static struct reel_error *check_lasting(struct reel_output_place *place, bool was_link)
{
	mode_t mode = place->status.st_mode;
	bool is_device = S_ISCHR(mode) || S_ISBLK(mode);

	place->is_lasting = true;
	if (place->is_descriptor)
		return NULL;
	if (S_ISSOCK(mode))
		return reel_error_os(ENXIO, "opening %s, a socket", place->path);
	if (was_link && is_device)
		return reel_error_create(REEL_ERROR_PERMISSION,
					 "%s: not written to, since it is a link to a device; name "
					 "the device itself",
					 place->path);
	return is_trusted(place->folder, &place->status)
		       ? NULL
		       : distrust(place, is_device ? "a device" : "a FIFO", &place->status,
				  "written to");
}

/* A rename would fail, perhaps after hours of work. */
static bool is_anothers_in_sticky_folder(const struct reel_output_place *place)
{
	struct stat folder;
	uid_t user = geteuid();

	return user && place->status.st_uid != user && !fstat(place->folder, &folder) &&
	       folder.st_mode & S_ISVTX && folder.st_uid != user;
}

static struct reel_error *judge(struct reel_output_place *place)
{
	struct reel_error *error = look(place);
	bool was_link = false;

	for (; !error && place->exists && S_ISLNK(place->status.st_mode); was_link = true)
		error = follow(place);
	if (error || !place->exists)
		return error;
	if (S_ISDIR(place->status.st_mode))
		return reel_error_os(EISDIR, "opening %s", place->path);
	if (!S_ISREG(place->status.st_mode) || place->is_descriptor)
		return check_lasting(place, was_link);
	if (is_anothers_in_sticky_folder(place))
		return reel_error_create(REEL_ERROR_PERMISSION,
					 "%s: belongs to user %u, who alone can replace it in this "
					 "folder; use another file name",
					 place->path, (unsigned int)place->status.st_uid);
	return NULL;
}

struct reel_error *reel_output_place_open(const char *path, struct reel_output_place *ret)
{
	struct reel_error *error = reel_output_place_open_folder(path, ret);

	if (error)
		return error;
	error = judge(ret);
	if (error)
		reel_output_place_close(ret);
	return error;
}

/* ---- new files -------------------------------------------------------------------------- */

static bool read_id(const char *name, uint32_t *ret)
{
	const char *text = secure_getenv(name);
	char *end;
	unsigned long long value;

	if (!text || *text < '0' || *text > '9')
		return false;
	value = strtoull(text, &end, 10);
	*ret = (uint32_t)value;
	return !*end && value < UINT32_MAX;
}

bool reel_output_place_caller(uid_t *user_ret, gid_t *group_ret)
{
	return !getuid() && !geteuid() && read_id("SUDO_UID", user_ret) &&
	       read_id("SUDO_GID", group_ret);
}

bool reel_output_place_is_of_caller(const struct reel_output_place *place, uid_t *user_ret,
				    gid_t *group_ret)
{
	struct stat folder;

	return reel_output_place_caller(user_ret, group_ret) && !fstat(place->folder, &folder) &&
	       folder.st_uid == *user_ret;
}

void reel_output_place_give_to_caller(const struct reel_output_place *place, int fd)
{
	uid_t user;
	gid_t group;

	/* If chown is not permitted the file stays root's, which loses nothing. */
	if (reel_output_place_is_of_caller(place, &user, &group))
		(void)!fchown(fd, user, group);
}

int reel_output_place_create(const struct reel_output_place *place, const char *name)
{
	int fd = openat(place->folder, name,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, place->mode);

	/* The folder's default access control list replaces umask and may remove too many bits. */
	if (fd >= 0 && place->mode == REEL_PLACE_PRIVATE && fchmod(fd, REEL_PLACE_PRIVATE)) {
		int errnum = errno;

		close(fd);
		unlinkat(place->folder, name, 0);
		errno = errnum;
		return -1;
	}
	if (fd >= 0)
		reel_output_place_give_to_caller(place, fd);
	return fd;
}

int reel_output_place_create_nameless(const struct reel_output_place *place)
{
	char link[64];
	int fd = openat(place->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, place->mode);

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	/* linkat() reaches the file through /proc. */
	if (fd >= 0 && ((place->mode == REEL_PLACE_PRIVATE && fchmod(fd, place->mode)) ||
			access(link, F_OK))) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		reel_output_place_give_to_caller(place, fd);
	return fd;
}

/* ---- lasting files ---------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_what_was_seen(const struct reel_output_place *place, int fd)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_dev == place->status.st_dev &&
	       status.st_ino == place->status.st_ino;
}

/* Append after existing output: opening again would start at the beginning. */
static struct reel_error *open_descriptor(const struct reel_output_place *place, int *fd_ret)
{
	char *end;
	long number = strtol(place->name, &end, 10);

	if (*end || end == place->name || number < 0 || number > INT_MAX ||
	    !is_what_was_seen(place, (int)number))
		return reel_error_create(REEL_ERROR_PERMISSION,
					 "%s: not an open file of this process", place->path);
	*fd_ret = fcntl((int)number, F_DUPFD_CLOEXEC, 3);
	return *fd_ret < 0 ? reel_error_os(errno, "opening %s", place->path) : NULL;
}

static int open_without_waiting(const struct reel_output_place *place)
{
	return openat(place->folder, place->name,
		      O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
}

struct reel_error *reel_output_place_open_lasting(const struct reel_output_place *place,
						  int *fd_ret)
{
	uint64_t deadline = now_ms() + READER_TIMEOUT_MS;
	_cleanup_fd_ int fd = -1;
	int flags;

	if (place->is_descriptor)
		return open_descriptor(place, fd_ret);
	fd = open_without_waiting(place);
	/* ENXIO: nobody has a FIFO open for reading (fifo(7)). */
	while (fd < 0 && errno == ENXIO && S_ISFIFO(place->status.st_mode)) {
		if (now_ms() >= deadline)
			return reel_error_create(REEL_ERROR_OS,
						 "%s: no process opened this FIFO for reading "
						 "within %d seconds; start its reader first",
						 place->path, READER_TIMEOUT_MS / 1000);
		poll(NULL, 0, READER_POLL_MS);
		fd = open_without_waiting(place);
	}
	if (fd < 0)
		return reel_error_os(errno, "opening %s", place->path);
	if (!is_what_was_seen(place, fd))
		return reel_error_create(REEL_ERROR_OS, "%s: replaced while it was opened",
					 place->path);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK))
		return reel_error_os(errno, "opening %s", place->path);
	*fd_ret = fd;
	fd = -1;
	return NULL;
}
