/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "record/proc/maps_reader.h"
#include "record/proc/proc.h"
#include "base/quantity.h"

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
