/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a known difference between its builds, for tests/cli/test-diff.sh: the time of
 * parse (PARSE; 100: unchanged), whether price is inlined, or calls a function for a part of it.
 */
#include <stdint.h>
#include <stdlib.h>

#ifndef PARSE
#define PARSE 100
#endif
#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink;

#define WORK(n, step)                                                                              \
	do {                                                                                       \
		uint64_t x = (n);                                                                  \
		for (uint64_t i = 0; i < (n); i++)                                                 \
			step;                                                                      \
		sink += x;                                                                         \
	} while (0)

NOINLINE static void parse(uint64_t n)
{
	WORK(n * PARSE / 100, (x ^= x << 13, x ^= x >> 7, x ^= x << 17));
}

NOINLINE static void price_rest(uint64_t n)
{
	WORK(n, (x = x * 5 + i));
}

#ifdef PRICE_IS_INLINED
static inline __attribute__((always_inline)) void price(uint64_t n)
#else
NOINLINE static void price(uint64_t n)
#endif
{
#ifdef PRICE_IS_SPLIT
	WORK(n, (x = x * 3 + i));
	price_rest(n);
	sink++; /* so that it is called, and not jumped to */
#else
	WORK(2 * n, (x = x * 3 + i));
#endif
}

NOINLINE static void print(uint64_t n)
{
	WORK(n, (x += x >> 3 ^ i));
}

NOINLINE static void handle(uint64_t n)
{
	parse(n);
	price(n);
	print(n);
}

int main(int argc, char **argv)
{
	int requests = argc > 1 ? atoi(argv[1]) : 100;

	(void)price_rest;
	/* Of several sizes, 1000000 on average: equal ones would fall in step with the samples. */
	for (int i = 0; i < requests; i++)
		handle(500000 + (uint64_t)i * 61803399 % 100000000 / 100);
	return 0;
}
