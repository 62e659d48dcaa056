/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded by plugins.c; -DPADDING=N makes a different file, with the function at another place. */
#include <stdlib.h>

#ifndef PADDING
#define PADDING 1
#endif
void padding(void);
void work(void);

__attribute__((used)) void padding(void)
{
	__asm__ volatile(".skip 4096 * %c0, 0x90" ::"i"(PADDING));
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void sort(int *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), by_value);
	__asm__ volatile("" ::: "memory");
}

void work(void)
{
	static int values[20000];

	for (int i = 0; i < 20000; i++)
		values[i] = rand();
	sort(values, 20000);
}
