/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a CPU busy in ways that a recorder must handle. SECONDS are of each thread's CPU time, so
 * that there is as much to sample on a busy machine.
 *
 *   busy spin SECONDS [STATUS]       exits with STATUS
 *   busy threads COUNT SECONDS       COUNT threads besides the first
 *   busy noise BYTES SECONDS         BYTES of live stack, with ever different bytes
 *   busy faults COUNT BYTES          COUNT page faults with such a stack
 *   busy exec COUNT SECONDS          COUNT execs, SECONDS in each
 *   busy thread-exec SECONDS         a thread other than the first calls exec, then spins
 *   busy reuse COUNT SECONDS         COUNT processes with one pid (clone3's set_tid), in turn
 *   busy kernel SECONDS              in system calls
 *   busy remap                       maps a different file over a mapping, both executable
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void spin(double seconds)
{
	double end = cpu_time() + seconds;
	volatile unsigned sum = 0;

	while (cpu_time() < end) {
		for (unsigned i = 0; i < 10000; i++)
			sum += i;
	}
}

static void *spin_thread(void *seconds)
{
	spin(*(double *)seconds);
	return NULL;
}

static int threads(int count, double seconds)
{
	pthread_t *ids = calloc((size_t)count, sizeof(*ids));

	for (int i = 0; ids && i < count; i++)
		pthread_create(&ids[i], NULL, spin_thread, &seconds);
	spin(seconds);
	for (int i = 0; ids && i < count; i++)
		pthread_join(ids[i], NULL);
	free(ids);
	return 0;
}

static void fill(volatile uint64_t *words, size_t size)
{
	static uint64_t state = 88172645463325252u;

	for (size_t i = 0; i < size / 8; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		words[i] = state;
	}
}

static int noise(size_t size, double seconds)
{
	uint64_t *words = __builtin_alloca(size);
	double end = cpu_time() + seconds;

	while (cpu_time() < end)
		fill(words, size);
	return 0;
}

static int faults(size_t count, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t *words = __builtin_alloca(size);
	volatile char *memory = mmap(NULL, count * page, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED || madvise((void *)memory, count * page, MADV_NOHUGEPAGE))
		return 1;
	for (size_t i = 0; i < count; i++) {
		fill(words, size);
		memory[i * page] = 1;
		if (i % 1024 == 1023)
			madvise((void *)(memory + (i - 1023) * page), 1024 * page, MADV_DONTNEED);
	}
	return 0;
}

static int exec_again(int count, const char *seconds)
{
	char left[16];

	spin(atof(seconds));
	if (count <= 1)
		return 0;
	snprintf(left, sizeof(left), "%d", count - 1);
	execl("/proc/self/exe", "busy", "exec", left, seconds, (char *)NULL);
	return 1;
}

static void *exec_thread(void *seconds)
{
	execl("/proc/self/exe", "busy", "spin", (char *)seconds, (char *)NULL);
	exit(1);
}

static int thread_exec(char *seconds)
{
	pthread_t id;

	spin(0.05);
	pthread_create(&id, NULL, exec_thread, seconds);
	spin(10);
	return 1;
}

static int reuse(int count, double seconds)
{
	pid_t wanted = fork();

	if (!wanted)
		_exit(0);
	waitpid(wanted, NULL, 0);
	for (int i = 0; i < count; i++) {
		struct clone_args arguments = {
			.exit_signal = SIGCHLD,
			.set_tid = (uintptr_t)&wanted,
			.set_tid_size = 1,
		};
		long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));

		if (!pid) {
			spin(seconds);
			_exit(0);
		}
		if (pid < 0)
			return 1;
		waitpid((pid_t)pid, NULL, 0);
	}
	return 0;
}

static int kernel(double seconds)
{
	static char buffer[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);
	double end = cpu_time() + seconds;

	while (cpu_time() < end) {
		if (read(fd, buffer, sizeof(buffer)) < 0)
			return 1;
	}
	return 0;
}

static int remap(const char *other)
{
	int first = open("/proc/self/exe", O_RDONLY), second = open(other, O_RDONLY);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *place = mmap(NULL, 3 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, first, 0);

	/* Only processes with samples are in the file. */
	spin(0.2);
	return place == MAP_FAILED || mmap(place + page, page, PROT_READ | PROT_EXEC,
					   MAP_PRIVATE | MAP_FIXED, second, 0) == MAP_FAILED;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "spin") && argc > 2) {
		spin(atof(argv[2]));
		return argc > 3 ? atoi(argv[3]) : 0;
	}
	if (!strcmp(what, "threads") && argc > 3)
		return threads(atoi(argv[2]), atof(argv[3]));
	if (!strcmp(what, "noise") && argc > 3)
		return noise((size_t)atol(argv[2]), atof(argv[3]));
	if (!strcmp(what, "faults") && argc > 3)
		return faults((size_t)atol(argv[2]), (size_t)atol(argv[3]));
	if (!strcmp(what, "exec") && argc > 3)
		return exec_again(atoi(argv[2]), argv[3]);
	if (!strcmp(what, "thread-exec") && argc > 2)
		return thread_exec(argv[2]);
	if (!strcmp(what, "reuse") && argc > 3)
		return reuse(atoi(argv[2]), atof(argv[3]));
	if (!strcmp(what, "kernel") && argc > 2)
		return kernel(atof(argv[2]));
	if (!strcmp(what, "remap"))
		return remap("/bin/sh");
	fprintf(stderr, "busy: see the source for how to call it\n");
	return 2;
}
