/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs ask of their system beyond POSIX.  host/linux/ and host/wasm/ answer, and the
 * Makefile links one of them, together with base/regular_file.h and base/output_place.h.
 */
#ifndef HOST_SYSTEM_H
#define HOST_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The number of CPUs that this process may use; SIZE_MAX if there are too many to count. */
size_t reel_system_cpus(void);

/* A new file without a name, to read and write: in the folder, or in memory alone.  -1 and errno if
 * the system or the folder's file system has none. */
int reel_system_nameless_file(const char *folder);
int reel_system_memory_file(const char *label);

/* When the file was made, in seconds since 1970; false if the file system does not say. */
bool reel_system_birth_time(int fd, int64_t *ret);

/* Whole pages of private memory: clears them, at the cost of those that were written. */
void reel_system_clear_pages(void *pages, size_t size);
/* Advice about pages of memory or of a file, which the system may ignore. */
void reel_system_advise_huge_pages(void *pages, size_t size, bool wanted);

/* Copies bytes of a file or a pipe that the next read gets, and does not consume them; a pipe must have
 * some first. Fewer than `size` if no more have arrived; -1 if the input cannot be read twice. */
ssize_t reel_system_peek(int fd, void *bytes, size_t size);

/* In a child process: it gets this signal when its parent ends. */
void reel_system_end_with_parent(int signal);

#endif
