/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command, and reports its cost:
 *
 *   measure FILE COMMAND...
 *
 * writes a line to FILE: wall, user and system seconds, peak memory in KiB. The exit status is the
 * command's. A separate program, since the kernel includes the forking process's peak memory in the
 * child's: Python's would hide a small program's.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	double start, end;
	int status;
	FILE *file;
	pid_t pid;

	if (argc < 3)
		errx(125, "measure FILE COMMAND...");
	file = fopen(argv[1], "we");
	if (!file)
		err(125, "%s", argv[1]);
	start = seconds();
	pid = fork();
	if (pid < 0)
		err(125, "fork");
	if (!pid) {
		execvp(argv[2], argv + 2);
		err(127, "%s", argv[2]);
	}
	if (wait4(pid, &status, 0, &usage) != pid)
		err(125, "wait4");
	end = seconds();
	fprintf(file, "%.6f %.6f %.6f %ld\n", end - start, of(usage.ru_utime), of(usage.ru_stime),
		usage.ru_maxrss);
	if (fclose(file))
		err(125, "%s", argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
