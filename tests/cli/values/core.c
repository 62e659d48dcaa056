/* SPDX-License-Identifier: Apache-2.0 */
/* Values on the stack, in constants and in memory that captures do not have, for test-core.py. */
#include <stdlib.h>
struct request {
	int length;
	const char *name;
	unsigned flag : 3;
};
enum color { RED, GREEN = 7 };
volatile unsigned long sink;
int global = 5;
__attribute__((noinline)) void work(const struct request *request, enum color color, char letter,
				    double *heap)
{
	for (volatile int i = 0; i < 1000000; i++)
		sink += (unsigned long)request->length * (unsigned long)i + color +
			(unsigned long)letter + (heap != NULL);
}
__attribute__((noinline)) void caller(int depth, const struct request *request, double *heap)
{
	if (depth)
		caller(depth - 1, request, heap);
	else
		work(request, GREEN, 'x', heap);
	sink++;
}
int main(void)
{
	const struct request request = { 1234567, "a name", 5 };
	double *heap = malloc(sizeof(*heap));

	*heap = global;
	for (;;)
		caller(3, &request, heap);
}
