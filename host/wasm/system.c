/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "host/system.h"

/* Threads need headers that a page from a file does not get. */
size_t reel_system_cpus(void)
{
	return 1;
}

int reel_system_nameless_file(const char *folder)
{
	(void)folder;
	errno = EOPNOTSUPP;
	return -1;
}

/* reel_system_memory_file() is in system.js. */

bool reel_system_birth_time(int fd, int64_t *ret)
{
	(void)fd;
	(void)ret;
	return false;
}

void reel_system_clear_pages(void *pages, size_t size)
{
	memset(pages, 0, size);
}

void reel_system_advise_huge_pages(void *pages, size_t size, bool wanted)
{
	(void)pages;
	(void)size;
	(void)wanted;
}

/* No process has children: fork() fails. */
ssize_t reel_system_peek(int fd, void *bytes, size_t size)
{
	return pread(fd, bytes, size, lseek(fd, 0, SEEK_CUR));
}

void reel_system_end_with_parent(int signal)
{
	(void)signal;
}
