/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks SECONDS: threads that wait for locks of many kinds.  At the end, prints for each time that
 * a lock was held
 *
 *   KIND ADDRESS TID FROM TO
 *
 * in ns of CLOCK_MONOTONIC, where the address is of the futex that others wait for, if it is known
 * beforehand, and KIND is "mutex" where the lock itself tells its owner, else "other".
 */
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3     /* for each lock */
#define HELD	15000 /* us */
#define FREE	2000
#define HOLDS	20000

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void pause_for(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

static uint64_t end;

static struct hold {
	const char *kind;
	void *address;
	pid_t tid;
	uint64_t from, to;
} holds[HOLDS];
static atomic_size_t n_holds;

static void note(const char *kind, void *address, uint64_t from)
{
	size_t i = atomic_fetch_add(&n_holds, 1);

	if (i < HOLDS)
		holds[i] = (struct hold){ kind, address, gettid(), from, now() };
}

/* ---- locks -------------------------------------------------------------------------------- */

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER, recursive, checking, robust, inheriting;
static pthread_mutex_t for_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
/* A lock of the program's own, with a number after it that is not the owner. */
static struct {
	atomic_int word, unused;
	int decoy;
} own;

struct task {
	void *(*run)(void *);
	pthread_mutex_t *mutex;
};

static void init_mutex(pthread_mutex_t *mutex, int type, int robustness, int protocol)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setrobust(&attributes, robustness);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	if (pthread_mutex_init(mutex, &attributes))
		abort();
}

static void *with_mutex(void *mutex)
{
	while (now() < end) {
		uint64_t from;

		pthread_mutex_lock(mutex);
		from = now();
		pause_for(HELD);
		note("mutex", mutex, from);
		pthread_mutex_unlock(mutex);
		pause_for(FREE);
	}
	return NULL;
}

static void *with_rwlock(void *unused)
{
	(void)unused;
	while (now() < end) {
		uint64_t from;

		pthread_rwlock_wrlock(&rwlock);
		from = now();
		pause_for(HELD);
		note("other", &rwlock, from);
		pthread_rwlock_unlock(&rwlock);
		pause_for(FREE);
	}
	return NULL;
}

static void *with_semaphore(void *unused)
{
	(void)unused;
	while (now() < end) {
		uint64_t from;

		while (sem_wait(&semaphore))
			continue;
		from = now();
		pause_for(HELD);
		note("other", &semaphore, from);
		sem_post(&semaphore);
		pause_for(FREE);
	}
	return NULL;
}

static void *with_condition(void *unused)
{
	(void)unused;
	while (now() < end) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 40000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_mutex_lock(&for_condition);
		pthread_cond_timedwait(&condition, &for_condition, &until);
		pthread_mutex_unlock(&for_condition);
	}
	return NULL;
}

static void *with_own(void *unused)
{
	(void)unused;
	while (now() < end) {
		uint64_t from;
		int expected = 0;

		while (!atomic_compare_exchange_strong(&own.word, &expected, 1)) {
			syscall(SYS_futex, &own.word, FUTEX_WAIT_PRIVATE, 1, NULL);
			expected = 0;
		}
		from = now();
		pause_for(HELD);
		note("other", &own.word, from);
		atomic_store(&own.word, 0);
		syscall(SYS_futex, &own.word, FUTEX_WAKE_PRIVATE, 1);
		pause_for(FREE);
	}
	return NULL;
}

/* Ended threads are known by their tids only in this PID namespace, so they live on for a while. */
static void *run(void *arg)
{
	const struct task *task = arg;

	task->run(task->mutex);
	usleep(300000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_mutex_t *on_heap = malloc(sizeof(*on_heap));
	struct task kinds[] = {
		{ with_mutex, &normal }, { with_mutex, &recursive },  { with_mutex, &checking },
		{ with_mutex, &robust }, { with_mutex, &inheriting }, { with_mutex, on_heap },
		{ with_rwlock, NULL },	 { with_semaphore, NULL },    { with_condition, NULL },
		{ with_own, NULL },
	};
	size_t n_kinds = sizeof(kinds) / sizeof(*kinds);
	pthread_t threads[sizeof(kinds) / sizeof(*kinds)][THREADS];

	end = now() + strtoull(argc > 1 ? argv[1] : "2", NULL, 10) * 1000000000;
	init_mutex(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	init_mutex(&checking, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	init_mutex(&robust, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
	init_mutex(&inheriting, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
	init_mutex(on_heap, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	sem_init(&semaphore, 0, 1);
	own.decoy = getpid();
	for (size_t i = 0; i < n_kinds; i++)
		for (size_t j = 0; j < THREADS; j++) {
			if (pthread_create(&threads[i][j], NULL, run, &kinds[i]))
				return 1;
		}
	for (size_t i = 0; i < n_kinds; i++)
		for (size_t j = 0; j < THREADS; j++)
			pthread_join(threads[i][j], NULL);
	for (size_t i = 0; i < n_holds && i < HOLDS; i++)
		printf("%s %p %d %llu %llu\n", holds[i].kind, holds[i].address, holds[i].tid,
		       (unsigned long long)holds[i].from, (unsigned long long)holds[i].to);
	return 0;
}
