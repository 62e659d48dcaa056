/* SPDX-License-Identifier: Apache-2.0 */
/* A miniature kernel module, linked with more.c: code in several sections. */
int sink;

int more(int n);

static inline __attribute__((always_inline)) int ring(int n)
{
	*(volatile int *)&sink = n;
	return sink;
}

static __attribute__((noinline)) int helper(int n)
{
	return ring(n) + ring(n + 2);
}

__attribute__((section(".text.unlikely"), noinline)) int driver_reset(int n)
{
	return helper(n) - ring(n);
}

int driver_poll(int n)
{
	int events = helper(n) + more(n);

	if (events < 0)
		return driver_reset(events) + 1;
	return ring(events) + 3;
}
