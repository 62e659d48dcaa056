/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that g++ -O2 clones (.constprop, .isra) or splits (.part, .cold), for
 * tests/cli/test-diff.sh; and a lambda, whose number changes if EXTRA is defined. With these passes
 * switched off, they are whole.
 */
#include <cstdint>
#include <cstdlib>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

struct basket {
	uint64_t a, b;
};

/* .constprop: the second argument is always the same. */
static NOINLINE uint64_t mix(uint64_t n, int shift)
{
	uint64_t x = n;

	for (uint64_t i = 0; i < n; i++)
		sink = x ^= x << shift, x ^= x >> 7;
	return x;
}

/* .isra: it only needs one number from the object of the first argument. */
static NOINLINE uint64_t add(const struct basket *basket, uint64_t n)
{
	uint64_t x = basket->a;

	for (uint64_t i = 0; i < n; i++)
		sink = x = x * 5 + i;
	return x;
}

/* .part: the test is inlined into its callers, the rest is not. */
uint64_t fold(const struct basket *basket, uint64_t n)
{
	uint64_t x = 1;

	if (!n)
		return 0;
	for (uint64_t i = 0; i < n; i++) {
		sink = x = x * 3 + (i ^ basket->b);
		sink = x = x / (i + 7) + basket->a;
		sink = x += x >> 3 ^ i;
		sink = x -= sink % (x | 1);
		sink = x ^= sink / (i + 9);
		sink = x = x * 5 + (i ^ basket->a);
	}
	return x;
}

static __attribute__((noinline, cold)) void complain(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink = n ^ i;
}

/* .cold: the part that calls a function marked as cold. */
static NOINLINE uint64_t check(uint64_t n, bool wrong)
{
	if (wrong) {
		complain(n);
		sink = n;
	}
	return n + 1;
}

template <typename Function> static NOINLINE uint64_t call(Function function, uint64_t n)
{
	return function(n) + 1;
}

static NOINLINE void handle(uint64_t n)
{
	struct basket basket = { n, n };

#ifdef EXTRA
	sink = call([](uint64_t k) { return k / 7; }, n);
#endif
	sink = mix(n, 13);
	sink = add(&basket, n);
	sink = fold(&basket, n / 16);
	sink = fold(&basket, n / 32);
	sink = check(n, n > 0);
	sink = call(
		[](uint64_t k) __attribute__((noinline)) {
			uint64_t x = k;

			for (uint64_t i = 0; i < k; i++)
				sink = x ^= x << 7 ^ i;
			return x;
		},
		n);
}

int main(int argc, char **argv)
{
	int requests = argc > 1 ? atoi(argv[1]) : 100;

	for (int i = 0; i < requests; i++)
		handle(500000);
	return 0;
}
