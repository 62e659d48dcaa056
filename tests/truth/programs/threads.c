/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads SECONDS: eight threads, each at a different depth, until they have together used that
 * much CPU time.
 *
 * They take work from a queue with a mutex and condition variables (futex calls under contention),
 * ask for the time (vDSO), sort (libc calling back), allocate, format numbers and make short system
 * calls: frames of libc, of the vDSO and of the kernel's edge above our own.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8
#define QUEUE	4

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	uint64_t items[QUEUE];
	unsigned count;
	int done;
} queue = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, { 0 }, 0, 0
};

static uint64_t digests[THREADS];

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t sort(uint64_t seed)
{
	size_t count = 200 + seed % 800;
	uint32_t *numbers = malloc(count * sizeof(*numbers));
	uint64_t digest = seed;

	if (!numbers)
		abort();
	for (size_t i = 0; i < count; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		numbers[i] = (uint32_t)(seed >> 32);
	}
	qsort(numbers, count, sizeof(*numbers), by_value);
	for (size_t i = 0; i < count; i += 7)
		digest = digest * 31 + numbers[i];
	free(numbers);
	return digest;
}

static uint64_t ask_time(uint64_t seed)
{
	struct timespec now;

	for (unsigned i = 0; i < 500; i++) {
		clock_gettime(i % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, &now);
		seed += (uint64_t)now.tv_nsec;
	}
	return seed;
}

static uint64_t call_system(uint64_t seed)
{
	for (unsigned i = 0; i < 100; i++)
		seed = seed * 31 + (uint64_t)getppid();
	return seed;
}

static uint64_t format(uint64_t seed)
{
	char text[64];

	for (unsigned i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%llu:%g", (unsigned long long)seed,
			 (double)(seed % 1000) / 7);
		seed += strlen(text) + strtoull(text, NULL, 10) % 1000;
	}
	return seed;
}

static uint64_t work(uint64_t seed)
{
	static uint64_t (*const tasks[])(uint64_t) = { sort, ask_time, call_system, format };

	return tasks[seed % 4](seed / 4);
}

/* The thread's number gives the depth at which it works. */
__attribute__((noinline)) static uint64_t deeper(unsigned depth, uint64_t item)
{
	volatile uint64_t kept[4] = { item, depth, item ^ depth, item + depth };
	uint64_t result = depth == 0 ? work(item) : deeper(depth - 1, item + 1);

	return result ^ kept[item % 4];
}

static void put(uint64_t item)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.count == QUEUE)
		pthread_cond_wait(&queue.emptied, &queue.lock);
	queue.items[queue.count++] = item;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static int take(uint64_t *item)
{
	int any;

	pthread_mutex_lock(&queue.lock);
	while (queue.count == 0 && !queue.done)
		pthread_cond_wait(&queue.filled, &queue.lock);
	any = queue.count > 0;
	if (any)
		*item = queue.items[--queue.count];
	pthread_cond_signal(&queue.emptied);
	pthread_mutex_unlock(&queue.lock);
	return any;
}

static void *run(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument;
	uint64_t item;

	while (take(&item))
		digests[number] ^= deeper(number * 12, item);
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 3;
	pthread_t threads[THREADS];
	uint64_t random = 88172645463325252u, digest = 0;

	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i))
			abort();
	do {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		put(random);
	} while ((double)clock() < seconds * CLOCKS_PER_SEC);
	pthread_mutex_lock(&queue.lock);
	queue.done = 1;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		digest ^= digests[i];
	}
	printf("%016llx\n", (unsigned long long)digest);
	return 0;
}
