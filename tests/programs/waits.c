/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits SECONDS: threads that wait in ways and for times known to them.  At the end, each prints
 *
 *   NAME TID ns: wall CPU run-delay began, switches: voluntary involuntary
 *
 * where the run delay is how long the thread could run, but had no CPU (the kernel's schedstat), and
 * it began at that CLOCK_MONOTONIC.
 * All of a thread's time is within a function with its name.
 */
#define BUSY_CPU 0

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t end;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static void pause_for(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

/* Waits of 200 us, thousands of them: found by chance. */
__attribute__((noinline)) static void short_sleeps(void)
{
	while (now(CLOCK_MONOTONIC) < end)
		pause_for(200);
}

/* One wait that lasts until the end. */
__attribute__((noinline)) static void long_sleep(void)
{
	uint64_t left = end - now(CLOCK_MONOTONIC);

	nanosleep(&(struct timespec){ .tv_sec = (time_t)(left / 1000000000),
				      .tv_nsec = (long)(left % 1000000000) },
		  NULL);
}

/* Holds the lock for 30 ms of 40. */
__attribute__((noinline)) static void holder(void)
{
	while (now(CLOCK_MONOTONIC) < end) {
		pthread_mutex_lock(&lock);
		pause_for(30000);
		pthread_mutex_unlock(&lock);
		pause_for(10000);
	}
}

__attribute__((noinline)) static void locker(void)
{
	while (now(CLOCK_MONOTONIC) < end) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		pause_for(5000);
	}
}

__attribute__((noinline)) static void pipe_writer(void)
{
	while (now(CLOCK_MONOTONIC) < end) {
		pause_for(7000);
		if (write(ends[1], "", 1) != 1)
			abort();
	}
	close(ends[1]);
}

__attribute__((noinline)) static void pipe_reader(void)
{
	char byte;

	while (read(ends[0], &byte, 1) == 1)
		;
}

/* Two of these share a CPU: each is preempted half of the time. */
__attribute__((noinline)) static void busy(void)
{
	volatile uint64_t n = 0;

	while (now(CLOCK_MONOTONIC) < end)
		for (int i = 0; i < 10000; i++)
			n++;
}

/* Is woken on that CPU while they have it. */
__attribute__((noinline)) static void late(void)
{
	while (now(CLOCK_MONOTONIC) < end)
		pause_for(3000);
}

struct thread {
	const char *name;
	void (*run)(void);
	int on_busy_cpu;
	pthread_t id;
	pid_t tid;
	uint64_t wall, cpu, delay, began;
	long voluntary, involuntary;
};

static struct thread threads[] = {
	{ .name = "short_sleeps", .run = short_sleeps },
	{ .name = "long_sleep", .run = long_sleep },
	{ .name = "holder", .run = holder },
	{ .name = "locker", .run = locker },
	{ .name = "pipe_writer", .run = pipe_writer },
	{ .name = "pipe_reader", .run = pipe_reader },
	{ .name = "busy", .run = busy, .on_busy_cpu = 1 },
	{ .name = "busy", .run = busy, .on_busy_cpu = 1 },
	{ .name = "late", .run = late, .on_busy_cpu = 1 },
};
#define N_THREADS (sizeof(threads) / sizeof(*threads))

/* The second number of /proc/thread-self/schedstat: ns. */
static uint64_t run_delay(void)
{
	char text[128] = "";
	unsigned long long cpu, delay;
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%llu %llu", &cpu, &delay) != 2) {
		fprintf(stderr, "no /proc/thread-self/schedstat\n");
		exit(2);
	}
	close(fd);
	return delay;
}

static void *run(void *argument)
{
	struct thread *thread = argument;
	struct rusage before, after;
	uint64_t cpu, delay;

	if (thread->on_busy_cpu) {
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		CPU_SET(BUSY_CPU, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus)) {
			perror("sched_setaffinity");
			exit(2);
		}
	}
	pthread_setname_np(pthread_self(), thread->name);
	thread->tid = (pid_t)syscall(SYS_gettid);
	delay = run_delay();
	thread->began = now(CLOCK_MONOTONIC);
	getrusage(RUSAGE_THREAD, &before);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	thread->run();
	thread->cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	getrusage(RUSAGE_THREAD, &after);
	thread->wall = now(CLOCK_MONOTONIC) - thread->began;
	thread->voluntary = after.ru_nvcsw - before.ru_nvcsw;
	thread->involuntary = after.ru_nivcsw - before.ru_nivcsw;
	thread->delay = run_delay() - delay;
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 2 || pipe(ends)) {
		fprintf(stderr, "usage: waits SECONDS\n");
		return 2;
	}
	end = now(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[1]) * 1e9);
	for (size_t i = 0; i < N_THREADS; i++)
		if (pthread_create(&threads[i].id, NULL, run, &threads[i]))
			return 2;
	for (size_t i = 0; i < N_THREADS; i++)
		pthread_join(threads[i].id, NULL);
	for (size_t i = 0; i < N_THREADS; i++)
		printf("%s %d %llu %llu %llu %llu %ld %ld\n", threads[i].name, threads[i].tid,
		       (unsigned long long)threads[i].wall, (unsigned long long)threads[i].cpu,
		       (unsigned long long)threads[i].delay, (unsigned long long)threads[i].began,
		       threads[i].voluntary, threads[i].involuntary);
	return 0;
}
