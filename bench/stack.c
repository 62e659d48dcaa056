/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   stack BYTES SECONDS [THREADS]
 *
 * Spins with about BYTES of live stack in each thread; a few words change from sample to sample.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static size_t bytes;
static double end;

static double now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static __attribute__((noinline)) uint64_t spin(volatile uint64_t *words, size_t n)
{
	uint64_t state = 88172645463325252u, sum = 0;

	while (now() < end) {
		for (size_t i = 0; i < 20000; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			if (!(i % 1000))
				words[state % n] = state;
			sum += state;
		}
	}
	return sum;
}

/* Frames of 128 bytes or so. */
static __attribute__((noinline)) uint64_t deepen(size_t left)
{
	volatile uint64_t words[12];

	for (size_t i = 0; i < 12; i++)
		words[i] = left * i;
	if (left < 160)
		return spin(words, 12);
	return deepen(left - 128) + words[3];
}

static void *thread(void *unused)
{
	(void)unused;
	return (void *)(uintptr_t)deepen(bytes);
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[3]) : 1;
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));

	if (argc < 3 || n < 1 || !threads) {
		fputs("usage: stack BYTES SECONDS [THREADS]\n", stderr);
		return 2;
	}
	/* The thread name that bench/callback counts. */
	prctl(PR_SET_NAME, "bench-stack");
	bytes = strtoull(argv[1], NULL, 10);
	end = now() + atof(argv[2]);
	for (int i = 1; i < n; i++) {
		if (pthread_create(&threads[i], NULL, thread, NULL))
			return 1;
	}
	thread(NULL);
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}
