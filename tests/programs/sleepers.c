/* SPDX-License-Identifier: Apache-2.0 */
/* sleepers THREADS: starts threads that wait for ever, and prints their number. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

int main(int argc, char **argv)
{
	int wanted = argc > 1 ? atoi(argv[1]) : 0, n = 0;
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	while (n < wanted && !pthread_create(&thread, &attributes, sleep_on, NULL))
		n++;
	printf("%d\n", n);
	fflush(stdout);
	sleep_on(NULL);
}
