/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm COUNT: forks COUNT children, one after the other. Most exit at once; of 64, one works in
 * work_in_child, one maps code and then does so, and one works in work_after_exec, after an exec.
 * Each works for 20 ms of CPU time.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((noipa)) static void spin(void)
{
	double end = cpu_time() + 0.02;
	volatile unsigned sum = 0;

	while (cpu_time() < end) {
		for (unsigned i = 0; i < 10000; i++)
			sum += i;
	}
}

/* The code after the call keeps it from becoming a jump. */
__attribute__((noipa)) static int work_in_child(void)
{
	spin();
	return getpid() == 0;
}

__attribute__((noipa)) static int work_after_exec(void)
{
	spin();
	return getpid() == 0;
}

static int child(unsigned i, char **argv)
{
	switch (i % 64) {
	case 2:
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		    MAP_FAILED)
			return 1;
		/* fallthrough */
	case 1:
		return work_in_child();
	case 3:
		execl("/proc/self/exe", argv[0], "exec", (char *)NULL);
		return 1;
	default:
		return 0;
	}
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 0;

	/* Not in tail position, so that main stays its caller. */
	if (argc > 1 && !strcmp(argv[1], "exec"))
		return work_after_exec() + work_after_exec();
	for (unsigned i = 0; i < count; i++) {
		pid_t pid = fork();
		int status = 0;

		if (!pid)
			_exit(child(i, argv));
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
			return 1;
	}
	return 0;
}
