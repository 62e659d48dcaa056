/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases whose shares of the CPU time are known, each with its own call chain.
 *
 *   phases SECONDS [PERCENT]      of CPU time; PERCENT more for the first phase
 *
 * Slices of 1 to 3 ms of CPU time, of random length so that they do not fall in step with a
 * sampler, go to the phase that is furthest behind.  Finally, it prints each phase's function and
 * its time by the thread's clock, in ns.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

/* Otherwise a call at a function's end becomes a jump, and its frame is gone. */
#define KEEP_FRAME() __asm__ volatile("")

static volatile uint64_t sink;

static NOINLINE uint64_t cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static NOINLINE void burn(void)
{
	uint64_t x = sink | 1;

	for (int i = 0; i < 40000; i++)
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
	sink = x;
}

static NOINLINE void burn_other(void)
{
	uint64_t x = sink;

	for (int i = 0; i < 40000; i++)
		x ^= (x << 1) + (uint64_t)i;
	sink = x;
}

static NOINLINE void alpha_inner(void)
{
	burn();
	KEEP_FRAME();
}

static NOINLINE void phase_alpha(uint64_t end)
{
	while (cpu_time() < end)
		alpha_inner();
}

static NOINLINE void phase_beta(uint64_t end)
{
	while (cpu_time() < end) {
		burn();
		burn_other();
	}
}

static NOINLINE void recurse(int depth)
{
	volatile char room[100];

	room[0] = 1;
	if (depth)
		recurse(depth - 1);
	else
		burn_other();
	room[1] = room[0];
}

static NOINLINE void phase_shallow(uint64_t end)
{
	while (cpu_time() < end)
		recurse(10);
}

/* About 30 KB. */
static NOINLINE void phase_deep(uint64_t end)
{
	while (cpu_time() < end)
		recurse(200);
}

static NOINLINE int compare(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static NOINLINE void phase_sort(uint64_t end)
{
	static int numbers[1000];

	while (cpu_time() < end) {
		for (int i = 0; i < 1000; i++)
			numbers[i] = i * 7919 % 1009;
		qsort(numbers, 1000, sizeof(numbers[0]), compare);
	}
}

static NOINLINE void phase_read(uint64_t end)
{
	static char buffer[1 << 18];
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	while (cpu_time() < end) {
		if (read(fd, buffer, sizeof(buffer)) < 0)
			exit(1);
	}
}

static NOINLINE void phase_memory(uint64_t end)
{
	static char buffer[1 << 18];

	while (cpu_time() < end) {
		memset(buffer, (int)sink, sizeof(buffer));
		sink += (uint64_t)buffer[sink % sizeof(buffer)];
	}
}

static struct {
	const char *name;
	void (*run)(uint64_t end);
	double share;
	uint64_t used;
} phases[] = {
	{ "phase_alpha", phase_alpha, 30, 0 },	   { "phase_beta", phase_beta, 20, 0 },
	{ "phase_shallow", phase_shallow, 15, 0 }, { "phase_deep", phase_deep, 10, 0 },
	{ "phase_sort", phase_sort, 10, 0 },	   { "phase_read", phase_read, 10, 0 },
	{ "phase_memory", phase_memory, 5, 0 },
};
#define PHASES (sizeof(phases) / sizeof(phases[0]))

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t start = cpu_time(), now = start, random = 1;
	uint64_t all = (uint64_t)(seconds * 1e9);

	if (argc > 2)
		phases[0].share += atof(argv[2]);
	while (now - start < all) {
		size_t next = 0;
		uint64_t before = now;

		for (size_t i = 1; i < PHASES; i++) {
			if ((double)phases[i].used / phases[i].share <
			    (double)phases[next].used / phases[next].share)
				next = i;
		}
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		phases[next].run(now + 1000000 + (random >> 33) % 2000000);
		now = cpu_time();
		phases[next].used += now - before;
	}
	for (size_t i = 0; i < PHASES; i++)
		printf("%s %lu\n", phases[i].name, (unsigned long)phases[i].used);
	return 0;
}
