/* SPDX-License-Identifier: Apache-2.0 */
extern volatile int sink;

static __attribute__((noinline)) int helper(int n)
{
	sink -= n;
	return sink + 7;
}

static inline __attribute__((always_inline)) int twice(int n)
{
	return helper(n) + helper(n + 1);
}

int more(int n)
{
	return twice(n) - sink;
}
