/* SPDX-License-Identifier: Apache-2.0 */
/* musl SECONDS: the hot parts of a C library: memory, strings, numbers, sorting, threads. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static time_t end;

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void *work(void *seed)
{
	static __thread char texts[500][32], copy[500][32];
	unsigned state = (unsigned)(size_t)seed;

	while (time(NULL) < end) {
		for (int i = 0; i < 500; i++)
			snprintf(texts[i], sizeof(texts[i]), "%d %g", rand_r(&state),
				 sin(rand_r(&state)));
		qsort(texts, 500, sizeof(texts[0]), by_text);
		for (int i = 0; i < 500; i++)
			memcpy(copy, texts, sizeof(copy) - (size_t)i * 8);
		memset(copy, 1, sizeof(copy));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	pthread_create(&thread, NULL, work, (void *)7);
	work((void *)9);
	return pthread_join(thread, NULL);
}
