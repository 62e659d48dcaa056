/* SPDX-License-Identifier: Apache-2.0 */
/* Nested functions, a gcc extension: their DIEs are inside others with code. */
#include <stdio.h>

static int volatile sink;

int main(int argc, char **argv)
{
	int total = 0;

	__attribute__((noinline)) int outer(int x)
	{
		__attribute__((noinline)) int inner(int y)
		{
			inline __attribute__((always_inline)) int innermost(int z)
			{
				total += z;
				return z * 3 + sink;
			}
			return innermost(y + total) + 1;
		}
		return inner(x) + inner(x + total);
	}
	for (int i = 0; i < argc + 3; i++)
		total += outer(i);
	printf("%d\n", total);
	return 0;
}
