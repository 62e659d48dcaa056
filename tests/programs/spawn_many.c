/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn_many COUNT [fork|exec|spawn] [MICROSECONDS]: runs COUNT processes of about 1 ms, four at a
 * time; prints the pid of each.
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 4

extern char **environ;

static void spin(long microseconds)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 <
		 microseconds);
}

static pid_t start(const char *how, const char *microseconds)
{
	char *arguments[] = { "spawn_many", "child", (char *)microseconds, NULL };
	pid_t pid;

	if (!strcmp(how, "spawn")) {
		if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ))
			exit(1);
		return pid;
	}
	pid = fork();
	if (pid)
		return pid;
	if (!strcmp(how, "exec"))
		execv("/proc/self/exe", arguments);
	spin(atol(microseconds));
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "exec";
	const char *microseconds = argc > 3 ? argv[3] : "1000";
	long count;

	if (argc > 2 && !strcmp(argv[1], "child")) {
		spin(atol(argv[2]));
		return 0;
	}
	count = argc > 1 ? atol(argv[1]) : 1;
	for (long i = 0; i < count; i++) {
		pid_t pid = start(how, microseconds);

		if (pid < 0)
			return 1;
		printf("%d\n", (int)pid);
		if (i >= AT_ONCE - 1)
			wait(NULL);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
