/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process to be recorded that is large in one respect:
 *
 *   crowd mappings|threads|processes N SECONDS
 *
 * waits for a line on standard input, then makes N executable mappings of its own file, threads, or
 * children that end at once, prints a line when all exist, and spins from then on for SECONDS.
 * Threads hardly run, so that thousands of them leave the host alone.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile bool done;

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void spin(double end)
{
	while (seconds() < end)
		;
}

static void make_mappings(unsigned long n)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (unsigned long i = 0; i < n; i++) {
		/* Each begins at the file's first page, so that the kernel does not merge them. */
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			err(1, "mapping %lu", i);
	}
	close(fd);
}

static void *thread(void *unused)
{
	(void)unused;
	while (!done) {
		spin(seconds() + 0.0002);
		usleep(1000000);
	}
	return NULL;
}

static void make_threads(unsigned long n, pthread_t *threads)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	for (unsigned long i = 0; i < n; i++) {
		if (pthread_create(&threads[i], &attributes, thread, NULL))
			errx(1, "thread %lu", i);
	}
}

static void make_processes(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "process %lu", i);
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	pthread_t *threads = NULL;

	if (!n)
		errx(2, "crowd mappings|threads|processes N SECONDS");
	if (getchar() == EOF)
		return 1;
	if (!strcmp(argv[1], "mappings")) {
		make_mappings(n);
	} else if (!strcmp(argv[1], "threads")) {
		threads = calloc(n, sizeof(*threads));
		if (!threads)
			err(1, "memory");
		make_threads(n, threads);
	} else if (!strcmp(argv[1], "processes")) {
		make_processes(n);
	} else {
		errx(2, "unknown kind '%s'; use mappings, threads or processes", argv[1]);
	}
	puts("ready");
	fflush(stdout);
	spin(seconds() + strtod(argv[3], NULL));
	done = true;
	for (unsigned long i = 0; threads && i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
