/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives a recorder as much work as an unprivileged program can.
 *
 *   noisy memfds SECONDS       maps and unmaps ever new executable files in memory
 *   noisy addresses SECONDS    ... at ever new addresses
 *   noisy maps COUNT SECONDS   has COUNT mappings of a path of nearly 4 KB, and maps more; makes
 *                              the path below the working directory
 *   noisy forks SECONDS        starts processes and threads
 *   noisy names SECONDS        renames itself
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int memfds(double end, int moves)
{
	uintptr_t address = 0x100000000000;
	unsigned long count = 0;

	while (now() < end) {
		char name[64];
		void *at;
		int fd;

		snprintf(name, sizeof(name), "noise %lu", count++);
		fd = memfd_create(name, MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, PAGE))
			return 1;
		address += moves ? 2 * PAGE : 0;
		at = mmap((void *)address, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (at == MAP_FAILED)
			return 1;
		munmap(at, PAGE);
		close(fd);
	}
	printf("%lu files\n", count);
	return 0;
}

/* A file of two pages in enough folders for a path of nearly 4 KB. */
static int deep_file(void)
{
	char name[251];
	int fd;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 15; i++) {
		mkdir(name, 0755);
		if (chdir(name))
			return -1;
	}
	fd = open("file", O_RDWR | O_CREAT, 0755);
	return fd < 0 || ftruncate(fd, 2 * PAGE) ? -1 : fd;
}

static int maps(unsigned long count, double seconds)
{
	char *base = mmap(NULL, (count + 1) * PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int fd = deep_file();
	double end;

	if (base == MAP_FAILED || fd < 0)
		return 1;
	/* Map the same page each time: the kernel does not merge these neighbours. */
	for (unsigned long i = 0; i < count; i++) {
		if (mmap(base + i * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			break;
	}
	printf("mapped\n");
	fflush(stdout);
	end = now() + seconds;
	/* Events of 4 KB each: they soon fill any buffer. */
	while (now() < end)
		mmap(base, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
	return 0;
}

static void *nothing(void *argument)
{
	return argument;
}

static int forks(double end)
{
	unsigned long count = 0;

	for (; now() < end; count++) {
		pthread_t thread;
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		if (!pthread_create(&thread, NULL, nothing, NULL))
			pthread_join(thread, NULL);
	}
	printf("%lu processes and threads\n", count);
	return 0;
}

static int names(double end)
{
	unsigned long count = 0;

	while (now() < end) {
		char name[16];

		for (int i = 0; i < 100; i++) {
			snprintf(name, sizeof(name), "noise %lu", count++ % 100000);
			prctl(PR_SET_NAME, name);
		}
	}
	printf("%lu names\n", count);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	double seconds = argc > 2 ? atof(argv[argc - 1]) : 0;

	if (!strcmp(mode, "memfds") || !strcmp(mode, "addresses"))
		return memfds(now() + seconds, mode[0] == 'a');
	if (!strcmp(mode, "maps") && argc == 4)
		return maps(strtoul(argv[2], NULL, 10), seconds);
	if (!strcmp(mode, "forks"))
		return forks(now() + seconds);
	if (!strcmp(mode, "names"))
		return names(now() + seconds);
	fprintf(stderr, "noisy: see its source\n");
	return 2;
}
