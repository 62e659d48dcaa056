/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/regular_file.h"
#include "record/proc/maps_reader.h"
#include "record/proc/jit_list.h"
#include "record/proc/proc.h"
#include "record/proc/rights.h"
#include "base/quantity.h"

/* A longer digest, as on a slow disk, would make others wait. */
#define DIGEST_TIME (20 * REEL_NS_PER_MS)

#define PATH_SIZE 128 /* of names made here */

bool reel_proc_is_ours(void)
{
	char target[32];
	ssize_t size = readlink("/proc/self", target, sizeof(target) - 1);

	if (size <= 0)
		return false;
	target[size] = '\0';
	return strtol(target, NULL, 10) == getpid();
}

bool reel_proc_read_at(int folder, const char *path, struct reel_buffer *ret)
{
	_cleanup_fd_ int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);

	ret->size = 0;
	ret->failed = false;
	if (fd < 0)
		return false;
	for (;;) {
		uint8_t *room = reel_buffer_reserve(ret, 16 << 10);
		ssize_t n;

		if (!room)
			return false;
		/* Reserve one byte for the NUL. */
		n = read(fd, room, (16 << 10) - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		ret->size += (size_t)n;
		if (!n) {
			*room = '\0';
			return true;
		}
	}
}

bool reel_proc_read(const char *path, struct reel_buffer *ret)
{
	return reel_proc_read_at(AT_FDCWD, path, ret);
}

/* The number after `key` in a status file, the last of several; 0 if missing. */
static uint32_t status_number(const char *status, const char *key)
{
	const char *at = strstr(status, key);
	uint32_t number = 0;

	if (!at)
		return 0;
	at += strlen(key);
	while (*at && *at != '\n') {
		char *end;

		number = (uint32_t)strtoul(at, &end, 10);
		if (end == at)
			break;
		for (at = end; *at == '\t' || *at == ' ';)
			at++;
	}
	return number;
}

static void read_comm(uint32_t tid, char ret[REEL_COMM_SIZE])
{
	_cleanup_buffer_ struct reel_buffer buffer = { 0 };
	char path[PATH_SIZE];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", tid, tid);
	if (!reel_proc_read(path, &buffer))
		return;
	size = buffer.size;
	if (size && buffer.bytes[size - 1] == '\n')
		size--;
	/* Kernel threads' names are longer here than elsewhere (fs/proc/array.c,
	 * proc_task_name). */
	memcpy(ret, buffer.bytes, size < REEL_COMM_SIZE ? size : REEL_COMM_SIZE - 1);
}

bool reel_proc_thread(uint32_t tid, struct reel_proc_thread *ret)
{
	_cleanup_buffer_ struct reel_buffer buffer = { 0 };
	char path[PATH_SIZE];
	const char *status;

	*ret = (struct reel_proc_thread){ .time = reel_now(), .tid = tid };
	/* /proc/TID also exists for threads, though it is not listed. */
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", tid);
	if (!reel_proc_read(path, &buffer))
		return false;
	status = (const char *)buffer.bytes;
	ret->pid = status_number(status, "\nTgid:\t");
	ret->parent = status_number(status, "\nPPid:\t");
	ret->namespace_pid = status_number(status, "\nNStgid:\t");
	ret->namespace_tid = status_number(status, "\nNSpid:\t");
	/* The last of four: the one for files. */
	ret->user = status_number(status, "\nUid:\t");
	read_comm(tid, ret->comm);
	return ret->pid != 0;
}

static bool has_pair(const struct reel_buffer *auxv, size_t word, uint64_t type, uint64_t value)
{
	for (size_t at = 0; auxv->size - at >= 2 * word; at += 2 * word) {
		uint64_t pair[2] = { 0 };

		for (size_t i = 0; i < 2; i++) {
			uint32_t half;

			if (word == sizeof(half)) {
				memcpy(&half, auxv->bytes + at + i * word, word);
				pair[i] = half;
			} else {
				memcpy(&pair[i], auxv->bytes + at + i * word, word);
			}
		}
		if (pair[0] == type && pair[1] == value)
			return true;
	}
	return false;
}

/*
 * Does not use the executable, which may be made unreadable: the kernel stores the auxiliary vector
 * in words of the process's size, with the size of program headers in it.  (A process may replace
 * the vector with PR_SET_MM_MAP: that affects only itself, until its first sample.)
 */
static uint32_t word_bits_of(uint32_t pid)
{
	_cleanup_buffer_ struct reel_buffer auxv = { 0 };
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/auxv", pid);
	if (!reel_proc_read(path, &auxv))
		return 0;
	if (has_pair(&auxv, 8, AT_PHENT, sizeof(Elf64_Phdr)))
		return 64;
	return has_pair(&auxv, 4, AT_PHENT, sizeof(Elf32_Phdr)) ? 32 : 0;
}

bool reel_proc_process(uint32_t pid, struct reel_proc_process *ret)
{
	struct reel_proc_thread thread;

	if (!reel_proc_thread(pid, &thread))
		return false;
	*ret = (struct reel_proc_process){ thread.namespace_pid, word_bits_of(pid) };
	return true;
}

/* ---- mappings ------------------------------------------------------------------- */

enum reel_answer reel_proc_maps(uint32_t pid, const struct reel_maps_limits *limits,
				void (*visit)(void *context, const struct reel_proc_map *map),
				void *context)
{
	char path[PATH_SIZE];
	_cleanup_fd_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? reel_maps_read(fd, limits, visit, context) : REEL_ANSWER_NONE;
}

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
	struct reel_dynamic_file elf;
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
	};
	if (reel_dynamic_file_read(fd, &elf)) {
		reel_publisher_find(&elf, &ret->hints.publisher);
		reel_runtime_place_find(&elf, &ret->hints.runtime);
		ret->hints.jit_list = reel_jit_list_find(&elf);
	}
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

bool reel_proc_memory(uint32_t pid, uint64_t address, void *ret, size_t size)
{
	const struct iovec local = { ret, size };
	const struct iovec remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

size_t reel_proc_memory_places(uint32_t pid, const uint64_t *addresses, size_t n, void *ret,
			       size_t size)
{
	struct iovec local = { ret, n * size }, remote[REEL_PROC_PLACES_MAX];
	ssize_t done;

	if (n > REEL_PROC_PLACES_MAX)
		return 0;
	for (size_t i = 0; i < n; i++)
		remote[i] = (struct iovec){ (void *)(uintptr_t)addresses[i], size };
	done = process_vm_readv((pid_t)pid, &local, 1, remote, n, 0);
	return done > 0 ? (size_t)done / size : 0;
}

bool reel_proc_code(uint32_t pid, uint64_t address, struct reel_code_page *ret)
{
	*ret = (struct reel_code_page){ .address = address, .before = REEL_CODE_BEFORE };
	if (reel_proc_memory(pid, address - REEL_CODE_BEFORE, ret->bytes, sizeof(ret->bytes)))
		return true;
	ret->before = 0;
	return reel_proc_memory(pid, address, ret->bytes + REEL_CODE_BEFORE, REEL_CODE_PAGE);
}

/* Each note of a loaded module is a file of its own, named after its section. */
bool reel_proc_module_build_id(const char *name, enum reel_byte_order order,
			       struct reel_build_id *ret)
{
	char folder[PATH_SIZE], path[PATH_SIZE + NAME_MAX + 2];
	struct dirent *entry;
	DIR *directory;

	*ret = (struct reel_build_id){ 0 };
	snprintf(folder, sizeof(folder), "/sys/module/%s/notes", name);
	directory = opendir(folder);
	if (!directory)
		return false;
	while (!ret->size && (entry = readdir(directory))) {
		_cleanup_buffer_ struct reel_buffer notes = { 0 };

		if (entry->d_name[0] != '.' || !isalpha((unsigned char)entry->d_name[1]))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (reel_proc_read(path, &notes))
			reel_build_id_of_notes(notes.bytes, notes.size, order, ret);
	}
	closedir(directory);
	return ret->size != 0;
}

/* ---- lists of numbers ------------------------------------------------------------- */

static uint32_t *numbers_in(const char *path, size_t *count_ret)
{
	DIR *directory = opendir(path);
	uint32_t *numbers = NULL;
	size_t count = 0, capacity = 0;
	struct dirent *entry;

	*count_ret = 0;
	if (!directory)
		return NULL;
	while ((entry = readdir(directory))) {
		char *end;
		unsigned long number = strtoul(entry->d_name, &end, 10);

		if (end == entry->d_name || *end)
			continue;
		if (!reel_array_reserve(&numbers, count, &capacity, sizeof(*numbers)))
			break;
		numbers[count++] = (uint32_t)number;
	}
	closedir(directory);
	*count_ret = count;
	return numbers;
}

uint32_t *reel_proc_processes(size_t *count_ret)
{
	return numbers_in("/proc", count_ret);
}

uint32_t *reel_proc_threads(uint32_t pid, size_t *count_ret)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	return numbers_in(path, count_ret);
}
