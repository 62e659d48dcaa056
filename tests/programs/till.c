/* SPDX-License-Identifier: Apache-2.0 */
/*
 * till SECONDS: a program that is slow but uses little CPU time (docs/waiting.md).  Customers pay
 * one after the other, since the till is locked while the bank answers; the bank is another
 * process, behind a pipe.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t till = PTHREAD_MUTEX_INITIALIZER;
static int request[2], reply[2];
static time_t end;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void bank(void)
{
	char amount;

	close(request[1]); /* so that reading ends with the customers' process */
	while (read(request[0], &amount, 1) == 1) {
		pause_ms(20);
		if (write(reply[1], &amount, 1) != 1)
			exit(1);
	}
	exit(0);
}

__attribute__((noinline)) static void ask_bank(char amount)
{
	if (write(request[1], &amount, 1) != 1 || read(reply[0], &amount, 1) != 1)
		exit(1);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static unsigned choose(unsigned seed)
{
	for (int i = 0; i < 1000000; i++)
		seed = seed * 1664525 + 1013904223;
	return seed;
}

__attribute__((noinline)) static void pay(char amount)
{
	pthread_mutex_lock(&till);
	ask_bank(amount);
	pthread_mutex_unlock(&till);
	__asm__ volatile("" ::: "memory");
}

static void *customer(void *argument)
{
	unsigned seed = *(const unsigned *)argument;

	while (time(NULL) < end) {
		seed = choose(seed);
		pay((char)(seed >> 24));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned seeds[] = { 1, 2, 3 };
	pthread_t customers[3];

	if (argc != 2 || pipe(request) || pipe(reply))
		return 2;
	end = time(NULL) + atoi(argv[1]);
	if (!fork())
		bank();
	for (int i = 0; i < 3; i++)
		if (pthread_create(&customers[i], NULL, customer, &seeds[i]))
			return 2;
	for (int i = 0; i < 3; i++)
		pthread_join(customers[i], NULL);
	close(request[1]);
	return 0;
}
