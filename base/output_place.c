/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/output_place.h"

/* The kernel's limit for one path (MAXSYMLINKS in include/linux/namei.h). */
#define LINKS_MAX 40

#define READER_TIMEOUT_MS 5000
#define READER_POLL_MS	  20

/* ---- the folder ----------------------------------------------------------------------- */

/* Opens the folder of `path`, relative to the folder `from`, and stores the name in it. */
static struct reel_error *enter(struct reel_output_place *place, int from, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_free_ char *folder = NULL;
	_cleanup_fd_ int fd = -1;
	int before;

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return reel_error_os(*path ? EISDIR : ENOENT, "opening %s", place->path);
	folder = !slash ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (!folder)
		return reel_error_no_memory();
	fd = openat(from, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return reel_error_os(errno, "creating %s", place->path);
	name = strdup(name);
	if (!name)
		return reel_error_no_memory();
	free(place->name);
	place->name = (char *)name;
	before = place->folder;
	place->folder = fd;
	fd = before;
	return NULL;
}

struct reel_error *reel_output_place_open_folder(const char *path, struct reel_output_place *ret)
{
	struct reel_error *error;

	*ret = (struct reel_output_place){
		.folder = -1,
		.mode = REEL_PLACE_PRIVATE,
		.path = strdup(path),
	};
	error = ret->path ? enter(ret, AT_FDCWD, path) : reel_error_no_memory();
	if (error)
		reel_output_place_close(ret);
	return error;
}

void reel_output_place_close(struct reel_output_place *place)
{
	if (place->folder >= 0)
		close(place->folder);
	free(place->name);
	free(place->path);
	*place = (struct reel_output_place){ .folder = -1 };
}

/* ---- the existing file ------------------------------------------------------------------ */

/*
 * Nobody else can have put the file there.  Our own files can get other names: with a second link,
 * this name may not be ours.
 */
static bool is_trusted(const struct reel_output_place *place)
{
	struct stat folder;

	if (place->status.st_uid == geteuid() && place->status.st_nlink == 1)
		return true;
	/* With an access control list, the group bits are its mask, so they cover the list. */
	return !fstat(place->folder, &folder) && !(folder.st_mode & (S_IWGRP | S_IWOTH)) &&
	       (!folder.st_uid || folder.st_uid == geteuid());
}

static struct reel_error *distrust(const struct reel_output_place *place, const char *what,
				   const char *refused)
{
	return reel_error_create(
		REEL_ERROR_PERMISSION,
		"%s: %s of user %u in a folder writable by others is not %s; remove it, use "
		"another file name, or redirect the output: -o - >%s",
		place->path, what, (unsigned int)place->status.st_uid, refused, place->path);
}

/* Names below /proc/PID/fd lead to open files, which may have no name. */
static bool is_descriptor_folder(int folder)
{
	struct statfs status;

	return !fstatfs(folder, &status) && status.f_type == PROC_SUPER_MAGIC;
}

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
	char target[PATH_MAX];
	struct reel_error *error;
	ssize_t size;

	if (!is_trusted(place))
		return distrust(place, "a symbolic link", "followed");
	size = readlinkat(place->folder, place->name, target, sizeof(target));
	if (size < 0 || (size_t)size == sizeof(target))
		return reel_error_os(size < 0 ? errno : ENAMETOOLONG, "opening %s", place->path);
	target[size] = '\0';
	error = enter(place, place->folder, target);
	return error ? error : look(place);
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
	return is_trusted(place) ? NULL
				 : distrust(place, is_device ? "a device" : "a FIFO", "written to");
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
	unsigned int links = 0;

	while (!error && place->exists && S_ISLNK(place->status.st_mode))
		error = links++ < LINKS_MAX ? follow(place)
					    : reel_error_os(ELOOP, "opening %s", place->path);
	if (error || !place->exists)
		return error;
	if (S_ISDIR(place->status.st_mode))
		return reel_error_os(EISDIR, "opening %s", place->path);
	if (!S_ISREG(place->status.st_mode) || place->is_descriptor)
		return check_lasting(place, links);
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
