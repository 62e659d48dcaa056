/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps SECONDS: spends a quarter of a second in each of its functions, one after another, so that a
 * recording needs other parts of this file all the time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Each needs unwind information of its own, for its variables' size. */
#define STEP(n)                                                                                    \
	__attribute__((noinline)) static void leaf_##n(double until)                               \
	{                                                                                          \
		volatile char room[16 * (n + 1)];                                                  \
                                                                                                   \
		while (now() < until) {                                                            \
			for (int i = 0; i < 100000; i++)                                           \
				sink += room[0] = (char)i;                                         \
		}                                                                                  \
	}                                                                                          \
	__attribute__((noinline)) static void step_##n(double until)                               \
	{                                                                                          \
		volatile char room[32 * (n + 1)];                                                  \
                                                                                                   \
		room[0] = 1;                                                                       \
		leaf_##n(until);                                                                   \
		sink += room[0];                                                                   \
	}
#define EIGHT(x, n) x(n##0) x(n##1) x(n##2) x(n##3) x(n##4) x(n##5) x(n##6) x(n##7)
#define ALL(x)	    EIGHT(x, 1) EIGHT(x, 2) EIGHT(x, 3) EIGHT(x, 4) EIGHT(x, 5)

ALL(STEP)

#define NAME(n) step_##n,
static void (*const steps[])(double until) = { ALL(NAME) };

int main(int argc, char **argv)
{
	double begin = now(), end = begin + (argc > 1 ? atof(argv[1]) : 1);

	for (size_t i = 0; now() < end; i++)
		steps[i % (sizeof(steps) / sizeof(*steps))](begin + 0.25 * (double)(i + 1));
	return 0;
}
