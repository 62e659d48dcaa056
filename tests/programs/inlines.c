/* SPDX-License-Identifier: Apache-2.0 */
/* Like tests/programs/inlines.cc, in C and without a C library: for other CPUs and byte orders.
 */

#define INLINE	 static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

volatile int sink;

INLINE int fourth(int x)
{
	sink += x;
	return x * 7 + sink;
}

INLINE int third(int x)
{
	int y = fourth(x) + 1;
	return fourth(y) ^ fourth(y + 1);
}

static inline int second(int x)
{
	return third(x) + third(x + 1);
}

INLINE int first(int x)
{
	if (x & 1)
		return second(x);
	return second(x) - fourth(x);
}

static int helper(int x)
{
	return first(x) + 1;
}

NOINLINE int recursive(int n)
{
	return n <= 0 ? helper(n) : recursive(n - 1) + first(n);
}

NOINLINE int loop(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i % 3 ? helper(i) : first(i);
	return sum;
}

void _start(void)
{
	sink = loop(sink) + recursive(sink);
	for (;;)
		;
}
