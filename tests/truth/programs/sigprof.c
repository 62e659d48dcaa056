/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For preloading: a profiler's timer, SIGPROF each 4 ms of CPU time, whose handler takes about
 * one.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static long microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void on_profile(int number)
{
	long start = microseconds();

	(void)number;
	while (microseconds() - start < 1000)
		;
}

__attribute__((constructor)) static void start_profile(void)
{
	struct sigaction action = { .sa_handler = on_profile, .sa_flags = SA_RESTART };
	struct itimerval each = { { 0, 4000 }, { 0, 4000 } };

	sigaction(SIGPROF, &action, 0);
	setitimer(ITIMER_PROF, &each, 0);
}
