/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/maps_reader.h"
#include "record/proc.h"

#define PATH_SIZE 128 /* of names that are made here */

bool reel_proc_is_ours(void)
{
	char target[32];
	ssize_t size = readlink("/proc/self", target, sizeof(target) - 1);

	if (size <= 0)
		return false;
	target[size] = '\0';
	return strtol(target, NULL, 10) == getpid();
}

bool reel_proc_read(const char *path, struct reel_buffer *ret)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	ret->size = 0;
	ret->failed = false;
	if (fd < 0)
		return false;
	for (;;) {
		uint8_t *room = reel_buffer_reserve(ret, 16 << 10);
		ssize_t n;

		if (!room)
			return false;
		/* One byte stays for the NUL. */
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

/* The number behind `key` in a status file, the last of several; 0 if there is none. */
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

bool reel_proc_status(uint32_t tid, struct reel_proc_status *ret)
{
	_cleanup_buffer_ struct reel_buffer buffer = { 0 };
	char path[PATH_SIZE];
	const char *status;

	/* /proc/TID is there for threads too, though not listed. */
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", tid);
	if (!reel_proc_read(path, &buffer))
		return false;
	status = (const char *)buffer.bytes;
	ret->pid = status_number(status, "\nTgid:\t");
	ret->namespace_pid = status_number(status, "\nNStgid:\t");
	ret->namespace_tid = status_number(status, "\nNSpid:\t");
	return ret->pid != 0;
}

bool reel_proc_comm(uint32_t tid, char ret[REEL_COMM_SIZE])
{
	_cleanup_buffer_ struct reel_buffer buffer = { 0 };
	char path[PATH_SIZE];
	size_t size;

	memset(ret, 0, REEL_COMM_SIZE);
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", tid, tid);
	if (!reel_proc_read(path, &buffer))
		return false;
	size = buffer.size;
	if (size && buffer.bytes[size - 1] == '\n')
		size--;
	/* Kernel threads' names are longer here than elsewhere (fs/proc/array.c, proc_task_name).
	 */
	memcpy(ret, buffer.bytes, size < REEL_COMM_SIZE ? size : REEL_COMM_SIZE - 1);
	return true;
}

bool reel_proc_elf_kind(uint32_t pid, struct reel_elf_kind *ret)
{
	uint8_t header[20];
	char path[PATH_SIZE];
	_cleanup_fd_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && pread(fd, header, sizeof(header), 0) == sizeof(header) &&
	       reel_elf_kind_of(header, sizeof(header), ret);
}

/* ---- mappings ------------------------------------------------------------------- */

enum reel_maps_answer reel_proc_maps(uint32_t pid, const struct reel_maps_limits *limits,
				     void (*visit)(void *context, const struct reel_proc_map *map),
				     void *context)
{
	char path[PATH_SIZE];
	_cleanup_fd_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? reel_maps_read(fd, limits, visit, context) : REEL_MAPS_NONE;
}

/* An open file of that name if it is the mapping's. */
static int open_if_same(const char *path, const struct reel_proc_map *map)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0)
		return -1;
	/*
	 * The device is not compared: stat and the kernel's events name different
	 * ones on btrfs and overlayfs.
	 */
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_ino != map->inode) {
		close(fd);
		return -1;
	}
	return fd;
}

int reel_proc_open_mapped(uint32_t pid, const struct reel_proc_map *map)
{
	char path[PATH_MAX + PATH_SIZE];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid,
		 map->address, map->address + map->size);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0) {
		struct stat status;

		/* Device nodes are mapped too, and reading them is not harmless. */
		if (!fstat(fd, &status) && S_ISREG(status.st_mode))
			return fd;
		close(fd);
		return -1;
	}
	if (map->path[0] != '/' || strlen(map->path) >= PATH_MAX)
		return -1;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root%s", pid, map->path);
	fd = open_if_same(path, map);
	return fd >= 0 ? fd : open_if_same(map->path, map);
}

bool reel_proc_memory(uint32_t pid, uint64_t address, void *ret, size_t size)
{
	char path[PATH_SIZE];
	_cleanup_fd_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && pread(fd, ret, size, (off_t)address) == (ssize_t)size;
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
		if (count == capacity) {
			size_t grown_capacity = capacity ? 2 * capacity : 64;
			uint32_t *grown = reallocarray(numbers, grown_capacity, sizeof(*grown));

			if (!grown)
				break;
			numbers = grown;
			capacity = grown_capacity;
		}
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
