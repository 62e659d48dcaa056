/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the CPU time for each of three requests, for test-where.py; the last one's fields are on the heap, so they are not captured. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
enum color { RED, GREEN = 7, BLUE };
struct request {
	long length;
	const char *name;
	double ratio;
};
volatile unsigned long sink;
__attribute__((noinline)) void work(const struct request *request, int size, enum color color,
				    _Bool urgent, char letter)
{
	for (volatile int i = 0; i < size * 10000; i++)
		sink += (unsigned long)request->length + color + urgent + letter;
}
__attribute__((noinline)) void serve(int depth, const struct request *request, int size,
				     enum color color)
{
	if (depth)
		serve(depth - 1, request, size, color);
	else
		work(request, size, color, color != RED, color == RED ? 'r' : 'x');
	sink++;
}
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}
int main(void)
{
	struct request small = { 100, "small", 0.5 }, large = { 5000, "large", -1.5 },
		       *heap = malloc(sizeof(*heap));
	double spent[3] = { 0 }, start = now(), before, after = start;

	*heap = (struct request){ 7, "heap", 2 };
	while (after - start < 1.2) {
		const struct request *requests[] = { &small, &large, heap };
		static const int sizes[] = { 600, 300, 100 };
		static const enum color colors[] = { RED, GREEN, BLUE };

		for (int i = 0; i < 3; i++) {
			before = now();
			serve(2, requests[i], sizes[i], colors[i]);
			after = now();
			spent[i] += after - before;
		}
	}
	printf("%.9f %.9f %.9f\n", spent[0], spent[1], spent[2]);
	return 0;
}
