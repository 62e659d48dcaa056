/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps all CPUs busy with stacks of 10 to 40 KB that keep changing: to cause losses.
 *
 *   crowd SECONDS [THREADS]     seconds of wall time; default: a thread for each CPU
 *
 * Each thread is at  …;work;dive;…;dive;spin  or  …;work;dive;…;dive, with up to DEPTH of dive, or
 * in work itself.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 40
#define WORDS 128 /* of each frame */

static double seconds;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static __attribute__((noinline)) unsigned long spin(unsigned long seed)
{
	for (int i = 0; i < 20000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(seed));
	}
	return seed;
}

static __attribute__((noinline)) unsigned long dive(int depth, unsigned long seed)
{
	unsigned long words[WORDS];

	for (int i = 0; i < WORDS; i++)
		words[i] = seed += 0x9e3779b97f4a7c15u;
	__asm__ volatile("" : : "r"(words) : "memory");
	seed = depth > 1 ? dive(depth - 1, seed) : spin(seed);
	/* Keeps the call out of tail position. */
	__asm__ volatile("" : "+r"(seed) : "r"(words) : "memory");
	return seed ^ words[0];
}

static __attribute__((noinline)) void *work(void *argument)
{
	unsigned long seed = (unsigned long)argument;
	double end = now() + seconds;

	while (now() < end)
		seed = dive(DEPTH / 4 + (int)(seed >> 62) * (DEPTH / 4), seed);
	return (void *)seed;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t *threads;

	seconds = argc > 1 ? atof(argv[1]) : 0;
	if (seconds <= 0 || n < 1) {
		fprintf(stderr, "usage: crowd SECONDS [THREADS]\n");
		return 2;
	}
	threads = calloc((size_t)n, sizeof(*threads));
	for (long i = 0; i < n; i++) {
		if (!threads || pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
			return 1;
	}
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
