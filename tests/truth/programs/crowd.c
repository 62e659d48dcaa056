/* SPDX-License-Identifier: Apache-2.0 */
/* crowd SECONDS: ten thousand threads at a time, each of which works briefly and ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 10000 };
static pthread_barrier_t all;

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void *work(void *number)
{
	unsigned state = (unsigned)(size_t)number;
	int values[500];

	pthread_barrier_wait(&all);
	for (int i = 0; i < 500; i++)
		values[i] = rand_r(&state);
	qsort(values, 500, sizeof(int), by_value);
	return NULL;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS];
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	do {
		int n = 0;

		pthread_barrier_init(&all, NULL, THREADS);
		while (n < THREADS && !pthread_create(&threads[n], &attributes, work, threads + n))
			n++;
		if (n < THREADS) {
			fprintf(stderr, "only %d threads\n", n);
			return 1;
		}
		while (n)
			pthread_join(threads[--n], NULL);
	} while (time(NULL) < end);
	return 0;
}
