/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on_cpu NAME CPU MS: computes for MS of CPU time on that CPU alone, as a thread of that name. The
 * work begins with an exec, so that its code is mapped on that CPU as well.
 * on_cpu --limit PID: that process can open no more files, as all numbers below 5 are in use.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define STEP_MAX 10 /* ms */

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (unsigned long long)time.tv_sec * 1000 + (unsigned long long)time.tv_nsec / 1000000;
}

__attribute__((noinline)) void compute(unsigned long long ms);

volatile unsigned long sink;

/* While a busy host does not run an emulated CPU, its time goes on, for seconds, without samples:
 * so a step counts as a few ms at most. */
void compute(unsigned long long ms)
{
	unsigned long long last = now(), done = 0;

	while (done < ms) {
		unsigned long long time;

		for (unsigned i = 0; i < 10000; i++)
			sink += i;
		time = now();
		done += time - last < STEP_MAX ? time - last : STEP_MAX;
		last = time;
	}
}

static int limit(const char *pid)
{
	struct rlimit none = { 5, 5 };

	if (!prlimit((pid_t)atoi(pid), RLIMIT_NOFILE, &none, NULL))
		return 0;
	perror("prlimit");
	return 1;
}

int main(int argc, char **argv)
{
	cpu_set_t set;

	if (argc == 3 && !strcmp(argv[1], "--limit"))
		return limit(argv[2]);
	if (argc == 3) {
		prctl(PR_SET_NAME, argv[1]);
		compute(strtoull(argv[2], NULL, 10));
		return 0;
	}
	if (argc != 4)
		return 2;
	CPU_ZERO(&set);
	CPU_SET((size_t)atoi(argv[2]), &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		return 1;
	}
	execl("/proc/self/exe", argv[0], argv[1], argv[3], (char *)NULL);
	perror("execl");
	return 1;
}
