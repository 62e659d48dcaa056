/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/quantity.h"
#include "base/regular_file.h"
#include "record/proc/process_file.h"

/* A longer digest, as on a slow disk, would make others wait. */
#define DIGEST_TIME (20 * REEL_NS_PER_MS)

#define PATH_SIZE 128 /* of names made here */

/* ---- rights ------------------------------------------------------------------------------ */

#define ALL_READ (S_IRUSR | S_IRGRP | S_IROTH)

static bool has_access_list(int file)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* The numbers after `key`, one of which is `wanted`; only the last one counts if `is_last`. */
static bool has_number(const char *status, const char *key, bool is_last, uint64_t wanted)
{
	const char *at = strstr(status, key);
	bool is_wanted = false;
	char *end;

	for (at = at ? at + strlen(key) : "\n"; *at != '\n'; at = end) {
		uint64_t number = strtoull(at, &end, 10);

		if (end == at)
			break;
		is_wanted = number == wanted || (is_wanted && !is_last);
		end += strspn(end, " \t");
	}
	return is_wanted;
}

/* Whether the process's user namespace has this user or group: its map has lines of the first number
 * inside, the first one outside, and their count. */
static bool is_in_namespace(int process, const char *map, uint64_t number)
{
	_cleanup_buffer_ struct reel_buffer text = { 0 };
	uint64_t first, count;
	int size;

	if (!reel_proc_read_at(process, map, &text))
		return false;
	for (const char *at = (const char *)text.bytes;
	     sscanf(at, "%*u %" SCNu64 " %" SCNu64 "%n", &first, &count, &size) == 2; at += size) {
		if (number >= first && number - first < count)
			return true;
	}
	return false;
}

/* capable_wrt_inode_uidgid() of the kernel's kernel/capability.c */
static bool overrides(int process, const char *status, const struct stat *file)
{
	const char *at = strstr(status, "\nCapEff:\t");
	uint64_t set = at ? strtoull(at + strlen("\nCapEff:\t"), NULL, 16) : 0;

	return set & (UINT64_C(1) << CAP_DAC_OVERRIDE | UINT64_C(1) << CAP_DAC_READ_SEARCH) &&
	       is_in_namespace(process, "uid_map", file->st_uid) &&
	       is_in_namespace(process, "gid_map", file->st_gid);
}

int reel_rights_of(int process, int file)
{
	_cleanup_buffer_ struct reel_buffer buffer = { 0 };
	const char *status;
	bool has_list;
	struct stat at;
	mode_t bits;

	if (fstat(file, &at))
		return X_OK;
	has_list = has_access_list(file);
	if ((at.st_mode & ALL_READ) == ALL_READ && !has_list)
		return R_OK;
	if (!reel_proc_read_at(process, "status", &buffer))
		return X_OK;
	status = (const char *)buffer.bytes;
	/* generic_permission() of the kernel's fs/namei.c.  The last number is for files. */
	if (overrides(process, status, &at))
		return R_OK;
	if (has_number(status, "\nUid:\t", true, at.st_uid))
		bits = at.st_mode >> 6;
	else if (has_list)
		return X_OK;
	else if (has_number(status, "\nGid:\t", true, at.st_gid) ||
		 has_number(status, "\nGroups:\t", false, at.st_gid))
		bits = at.st_mode >> 3;
	else
		bits = at.st_mode;
	return bits & R_OK ? R_OK : bits & X_OK;
}

/* ---- mapped files ------------------------------------------------------------------------ */

/*
 * Whether mappings of the file have the device and inode of the given one: on btrfs and overlayfs,
 * stat(2) has others.  So we also map the file.
 */
static bool is_mapped_as(int place, const struct reel_proc_map *map)
{
	_cleanup_buffer_ struct reel_buffer maps = { 0 };
	unsigned int device_major, device_minor;
	_cleanup_fd_ int fd = -1;
	const char *line = NULL;
	struct stat status;
	uint64_t inode = 0;
	char start[32];
	void *mapped;

	reel_error_destroy(reel_regular_file_reopen(place, "", &fd, &status));
	if (fd < 0)
		return false;
	mapped = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED)
		return false;
	snprintf(start, sizeof(start), "\n%08" PRIxPTR "-", (uintptr_t)mapped);
	if (reel_proc_read("/proc/self/maps", &maps))
		line = strstr((const char *)maps.bytes, start);
	munmap(mapped, 1);
	return line &&
	       sscanf(line, "%*x-%*x %*s %*x %x:%x %" SCNu64, &device_major, &device_minor,
		      &inode) == 3 &&
	       device_major == map->device_major && device_minor == map->device_minor &&
	       inode == map->inode;
}

static bool is_same_file(int place, const struct reel_proc_map *map, const struct stat *status)
{
	return !map->inode ||
	       (status->st_ino == map->inode && major(status->st_dev) == map->device_major &&
		minor(status->st_dev) == map->device_minor) ||
	       is_mapped_as(place, map);
}

/* Before Linux 6.18, perf's events have the file below overlayfs (kernel/events/core.c). */
static bool is_overlay_of(int place, const struct reel_proc_map *map, const struct stat *status)
{
	struct statfs system;

	return status->st_ino == map->inode && !fstatfs(place, &system) &&
	       system.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* A mapping's path has no links, so any link is somebody's that leads to another file. */
static int find_below(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Size without the kernel's suffix for deleted files (fs/d_path.c). */
static size_t name_size(const char *name, size_t size)
{
	static const char deleted[] = " (deleted)";
	size_t n = sizeof(deleted) - 1;

	return size >= n && !memcmp(name + size - n, deleted, n) ? size - n : size;
}

/*
 * Whether the file mapped there now is the given mapping's file: another mapping may have taken its
 * place.  If stat(2) and mappings have different devices (btrfs, overlayfs), inodes may also
 * differ, and the name decides; it starts at our root, the mapping's at the process's.  The file's
 * attributes may be cached ones, so that no server is asked (FUSE, NFS).
 */
static bool is_mapped_still(int place, int process, const char *link,
			    const struct reel_proc_map *map)
{
	size_t wanted = name_size(map->path, strlen(map->path)), found;
	_cleanup_free_ char *name = malloc(PATH_MAX);
	struct statx status;
	ssize_t size;

	if (statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &status))
		return false;
	if (status.stx_dev_major == map->device_major && status.stx_dev_minor == map->device_minor)
		return status.stx_ino == map->inode;
	size = name ? readlinkat(process, link, name, PATH_MAX) : -1;
	if (size < 0)
		return false;
	found = name_size(name, (size_t)size);
	return found >= wanted && !memcmp(name + found - wanted, map->path, wanted);
}

/* Closes the place unless `keeps`. */
static int only_if(bool keeps, int place)
{
	if (keeps || place < 0)
		return place;
	close(place);
	return -1;
}

static int find_mapping(int process, const struct reel_proc_map *map)
{
	char link[PATH_SIZE];
	int place;

	snprintf(link, sizeof(link), "map_files/%" PRIx64 "-%" PRIx64, map->address,
		 map->address + map->size);
	place = openat(process, link, O_PATH | O_CLOEXEC);
	return only_if(place >= 0 && is_mapped_still(place, process, link, map), place);
}

/* In a namespace of its own, the process can have mounted another file there by now. */
static int find_path(int process, const struct reel_proc_map *map)
{
	_cleanup_fd_ int root = openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is_ours = root < 0, is_found;
	struct stat status;
	int place;

	if (is_ours)
		root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	place = find_below(root, map->path);
	is_found = place >= 0 && !fstat(place, &status) && S_ISREG(status.st_mode) &&
		   (is_ours || reel_rights_of(process, place) == R_OK) &&
		   (is_same_file(place, map, &status) ||
		    (!is_ours && is_overlay_of(place, map, &status)));
	return only_if(is_found, place);
}

static int open_process(uint32_t pid)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int reel_proc_find_mapped(uint32_t pid, const struct reel_proc_map *map, bool *exact_ret)
{
	_cleanup_fd_ int process = open_process(pid);
	int place = find_mapping(process, map);

	*exact_ret = place >= 0;
	return place >= 0 || map->path[0] != '/' ? place : find_path(process, map);
}

bool reel_proc_only_executes(uint32_t pid, int place)
{
	_cleanup_fd_ int process = open_process(pid);

	return reel_rights_of(process, place) == X_OK;
}

bool reel_proc_file(int place, struct reel_proc_file *ret, int *fd_ret)
{
	struct reel_error *error;
	_cleanup_fd_ int fd = -1;
	struct stat status;
	long generation = 0;

	error = reel_regular_file_reopen(place, "", &fd, &status);
	reel_error_destroy(error);
	if (error)
		return false;
	*ret = (struct reel_proc_file){
		.device_major = major(status.st_dev),
		.device_minor = minor(status.st_dev),
		.inode = status.st_ino,
		.changed = status.st_ctim,
	};
	reel_file_hints_find(fd, &ret->hints);
	/* ino_generation in the kernel's mmap records; not every file system has it. */
	if (!ioctl(fd, FS_IOC_GETVERSION, &generation))
		ret->generation = (uint32_t)generation;
	if (reel_build_id_of_file(fd, &ret->build_id)) {
		*fd_ret = fd;
		fd = -1;
		return true;
	}
	ret->size = (uint64_t)status.st_size;
	ret->time = (uint64_t)status.st_mtim.tv_sec * REEL_NS_PER_SECOND +
		    (uint64_t)status.st_mtim.tv_nsec;
	ret->has_digest = reel_file_digest_of(fd, reel_now() + DIGEST_TIME, ret->digest);
	*fd_ret = fd;
	fd = -1;
	return true;
}

bool reel_proc_is_in_our_root(const char *path, const struct reel_proc_file *file)
{
	_cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int place = root >= 0 && path[0] == '/' ? find_below(root, path) : -1;
	struct stat status;

	return place >= 0 && !fstat(place, &status) && status.st_ino == file->inode &&
	       major(status.st_dev) == file->device_major &&
	       minor(status.st_dev) == file->device_minor;
}
