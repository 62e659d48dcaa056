/* SPDX-License-Identifier: Apache-2.0 */
/* Many calls within each other. */
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) void deep(int left)
{
	if (left)
		deep(left - 1);
	else
		for (volatile long i = 0; i < 1000000; i++)
			sink++;
	sink++;
}
int main(void)
{
	while (clock() < CLOCKS_PER_SEC * 4 / 10)
		deep(9999);
}
