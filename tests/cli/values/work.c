/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of many types, with values that tests know. */
#include <stdlib.h>
#include <time.h>
struct string {
	const char *str;
	long len;
};
struct request {
	int length;
	const char *name;
	struct string title;
	unsigned flag : 3;
	struct {
		short a, b;
	} pair;
	double ratio;
	char text[8];
};
enum color { RED, GREEN = 7 };
volatile unsigned long sink;
int global = 5;
__attribute__((noinline)) void work(const struct request *request, enum color color, char letter,
				    double *heap, long negative, _Bool flag, struct request copy)
{
	for (int i = 0; i < 100000; i++)
		sink += (unsigned long)request->length * (unsigned long)i + color +
			(unsigned long)letter + (heap != NULL) + flag;
	sink += (unsigned long)negative + (unsigned long)copy.length;
}
static inline __attribute__((always_inline)) void inlined(int times, const struct request *request,
							  double *heap)
{
	for (int j = 0; j < times; j++)
		work(request, GREEN, 'x', heap, -times, 1, *request);
}
__attribute__((noinline)) void caller(int depth, const struct request *request, double *heap)
{
	if (depth)
		caller(depth - 1, request, heap);
	else
		inlined(3, request, heap);
	sink++;
}
int main(void)
{
	struct request request = {
		1234567, "a name", { "a title", 3 }, 5, { -3, 4 }, 1.5, "hello"
	};
	double *heap = malloc(sizeof(*heap));

	*heap = global;
	while (clock() < CLOCKS_PER_SEC * 6 / 10) {
		caller(3, &request, heap);
		__asm__ volatile("" : : "r"(&request) : "memory");
	}
}
