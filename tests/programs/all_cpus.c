/* SPDX-License-Identifier: Apache-2.0 */
/*
 * all_cpus FAULTS: on each online CPU at the same time, that many page faults, by a thread that
 * runs on this CPU alone.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned long n_faults;
static pthread_barrier_t begin;

static __attribute__((noinline)) void fault(volatile char *page)
{
	char frame[2048];

	__asm__ volatile("" : : "r"(frame) : "memory");
	madvise((void *)page, 1, MADV_DONTNEED);
	*page = 1;
}

static void *run(void *argument)
{
	volatile char *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)argument, &set);
	if (page == MAP_FAILED || pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		abort();
	pthread_barrier_wait(&begin);
	for (unsigned long i = 0; i < n_faults; i++)
		fault(page);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[CPU_SETSIZE];
	size_t n = 0;
	cpu_set_t set;

	if (argc != 2 || sched_getaffinity(0, sizeof(set), &set)) {
		fprintf(stderr, "usage: all_cpus FAULTS\n");
		return 2;
	}
	n_faults = strtoul(argv[1], NULL, 10);
	pthread_barrier_init(&begin, NULL, (unsigned)CPU_COUNT(&set));
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &set) && pthread_create(&threads[n++], NULL, run, (void *)cpu))
			return 1;
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%zu CPUs\n", n);
	return 0;
}
