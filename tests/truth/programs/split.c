/* SPDX-License-Identifier: Apache-2.0 */
/* split: recursion on split stacks (-fsplit-stack), in the main thread and in another, two seconds each. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned sum;

__attribute__((noinline)) static int down(int n)
{
	volatile char room[900];

	room[n] = (char)n;
	if (n)
		return down(n - 1) + room[n];
	for (unsigned i = 0; i < 300000; i++)
		sum += i;
	return room[0];
}

static void *work(void *unused)
{
	time_t end = time(NULL) + 2;

	while (time(NULL) < end)
		down(rand() % 200);
	return unused;
}

int main(void)
{
	pthread_t thread;

	work(NULL);
	if (!pthread_create(&thread, NULL, work, NULL))
		pthread_join(thread, NULL);
	return 0;
}
