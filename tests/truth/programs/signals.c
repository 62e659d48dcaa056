/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals SECONDS: recursion interrupted by a timer's signals, until that much CPU time is used.
 *
 * Two timers: the handler of one runs on an alternate stack, the other's on the thread's own; each
 * works for a while, so that samples fall into both, into their trampoline, and into the
 * interrupted code: functions' prologues and epilogues, libc, the vDSO, system calls.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t handled[2];

__attribute__((noinline)) static uint64_t mix(uint64_t x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x = (x ^ x >> 31) * 0x9e3779b97f4a7c15 + (uint64_t)i;
	return x;
}

__attribute__((noinline)) static uint64_t nested(uint64_t x, int depth)
{
	char text[32];

	if (!depth)
		return mix(x, 2000);
	snprintf(text, sizeof(text), "%d", depth);
	return nested(x, depth - 1) + (uint64_t)text[0];
}

static void handler(int signal)
{
	handled[signal == SIGUSR2] += nested((uint64_t)signal, 1 + signal % 5) | 1;
}

static int by_value(const void *a, const void *b)
{
	const uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;

	return x < y ? -1 : x > y;
}

__attribute__((noinline)) static uint64_t descend(uint64_t seed, unsigned depth)
{
	uint16_t numbers[24];
	struct timespec now;

	if (!depth)
		return mix(seed, 100);
	for (size_t i = 0; i < 24; i++)
		numbers[i] = (uint16_t)(seed = mix(seed, 3));
	qsort(numbers, 24, sizeof(numbers[0]), by_value);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (depth % 8 == 0)
		getppid();
	return descend(seed + numbers[3] + (uint64_t)now.tv_nsec, depth - 1) + numbers[0];
}

static void start_timer(int signal, long period, int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART | flags };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
	struct itimerspec times = { { 0, period }, { 0, period } };
	timer_t timer;

	if (sigaction(signal, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &times, NULL)) {
		perror("signals");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
	const size_t size = 64 * 1024;
	stack_t stack = { .ss_sp = malloc(size), .ss_size = size };
	uint64_t digest = 1;

	if (!stack.ss_sp || sigaltstack(&stack, NULL)) {
		perror("signals");
		return 1;
	}
	start_timer(SIGUSR1, 230000, SA_ONSTACK);
	start_timer(SIGUSR2, 310000, 0);
	while ((double)clock() < seconds * CLOCKS_PER_SEC)
		digest = descend(digest, 40);
	printf("%llx %d\n", (unsigned long long)digest, handled[0] && handled[1]);
	return 0;
}
