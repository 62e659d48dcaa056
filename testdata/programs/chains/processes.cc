/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and processes.
 *
 *   threads      clone … -> worker<0> … worker<7> -> work<0> …; a thread has one of them
 *   fork         mode_fork -> fork_one -> fork_two -> fork_work in each child, not in the parent
 *   spawn        vfork, posix_spawn and execve of the program itself, in mode leaf
 *   exec         each process becomes the other of two programs, at the same address
 *   thread-exec  the same, by a thread other than the first
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chains.h"

extern char **environ;

/* ---- threads ------------------------------------------------------------------------------ */

template <int N> NOINLINE uint64_t work(uint64_t value)
{
	return spin(500000 + N, value);
}

template <int N> NOINLINE void *worker(void *seconds)
{
	uint64_t value = N;

	/* The process's time: all threads'. */
	while (cpu_seconds() < *static_cast<double *>(seconds))
		value = work<N>(value);
	sink = value;
	return nullptr;
}

int mode_threads(double seconds, char **)
{
	static void *(*const workers[])(void *) = { worker<0>, worker<1>, worker<2>, worker<3>,
						    worker<4>, worker<5>, worker<6>, worker<7> };
	pthread_t threads[8];

	for (int i = 0; i < 8; i++) {
		if (pthread_create(&threads[i], nullptr, workers[i], &seconds))
			return 1;
	}
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], nullptr);
	return 0;
}

/* ---- fork --------------------------------------------------------------------------------- */

NOINLINE uint64_t fork_work(uint64_t value)
{
	return spin(5000000, value);
}

NOINLINE int fork_two(int *n)
{
	pid_t child = fork();

	if (child == 0) {
		sink = fork_work(sink);
		_exit(0);
	}
	++*n;
	return child;
}

NOINLINE int fork_one(int *n)
{
	int child = fork_two(n);

	sink = sink + 1;
	return child;
}

/* As many children as fit into the time, four at once; the first output is their number. */
int mode_fork(double seconds, char **)
{
	int n = 0, status;
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		int running = 0;

		for (; running < 4; running++) {
			if (fork_one(&n) < 0)
				return 1;
		}
		for (; running > 0; running--) {
			if (wait(&status) < 0 || status)
				return 1;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - start.tv_sec) +
			 (double)(now.tv_nsec - start.tv_nsec) * 1e-9 <
		 seconds);
	printf("%d\n", n);
	return 0;
}

/* ---- spawn -------------------------------------------------------------------------------- */

NOINLINE bool spawn_posix(char **arguments)
{
	int status = 1;
	pid_t child;

	return posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0 &&
	       waitpid(child, &status, 0) == child && status == 0;
}

NOINLINE bool spawn_vfork(char **arguments)
{
	int status = 1;
	pid_t child = vfork();

	if (child == 0) {
		execve("/proc/self/exe", arguments, environ);
		_exit(1);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int mode_spawn(double seconds, char **)
{
	char name[] = "chains", mode[] = "leaf", time[] = "0.01";
	char *arguments[] = { name, mode, time, nullptr };
	int rounds = (int)(seconds / 0.03) + 1;

	while (rounds-- > 0) {
		if (!spawn_posix(arguments) || !spawn_vfork(arguments))
			return 1;
	}
	return 0;
}

/* ---- exec --------------------------------------------------------------------------------- */

/* The two programs differ in this function's name and in the code before it. */
#ifdef OTHER
#define exec_work exec_work_other
#define ROUNDS	  500001
NOINLINE uint64_t exec_filler(uint64_t value)
{
	return spin(7, value) ^ spin(9, value + 1);
}
#else
#define exec_work exec_work_first
#define ROUNDS	  500000
#endif

NOINLINE uint64_t exec_work(uint64_t value)
{
	return spin(ROUNDS, value);
}

/* chains exec SECONDS OTHER COUNT: works for that time, then becomes OTHER. */
static void exec_next(const char *mode, const char *seconds, char **arguments)
{
	char self[4096], count[16];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int left = atoi(arguments[1]);

	if (left <= 1)
		exit(0);
	self[length > 0 ? length : 0] = '\0';
	snprintf(count, sizeof(count), "%d", left - 1);
	execl(arguments[0], "chains", mode, seconds, self, count, (char *)nullptr);
	exit(1);
}

/* Both at the same address: /proc/sys/kernel/randomize_va_space, for all later execs.
 */
static bool fix_addresses()
{
	return personality(ADDR_NO_RANDOMIZE) >= 0;
}

static void format_seconds(double seconds, char *ret, size_t size)
{
	snprintf(ret, size, "%.3f", seconds);
}

int mode_exec(double seconds, char **arguments)
{
	char text[32];
	double end;

	if (!arguments[0] || !arguments[1] || !fix_addresses())
		return 1;
	/* The process's time, which includes that of the previous programs. */
	end = cpu_seconds() + seconds;
	while (cpu_seconds() < end)
		sink = exec_work(sink);
	format_seconds(seconds, text, sizeof(text));
	exec_next("exec", text, arguments);
	return 1;
}

struct exec_arguments {
	double seconds;
	char **arguments;
};

static void *exec_thread(void *context)
{
	struct exec_arguments *exec = static_cast<struct exec_arguments *>(context);
	double end = cpu_seconds() + exec->seconds;
	char text[32];

	while (cpu_seconds() < end)
		sink = exec_work(sink);
	format_seconds(exec->seconds, text, sizeof(text));
	exec_next("thread-exec", text, exec->arguments);
	return nullptr;
}

int mode_thread_exec(double seconds, char **arguments)
{
	struct exec_arguments exec = { seconds, arguments };
	pthread_t thread;

	if (!arguments[0] || !arguments[1] || !fix_addresses() ||
	    pthread_create(&thread, nullptr, exec_thread, &exec))
		return 1;
	pthread_join(thread, nullptr);
	return 1;
}
