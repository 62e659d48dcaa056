/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works in functions whose frames have known sizes: an array, alloca of two sizes, a recursion, an inlined
 * function; on the main thread and on another.  Prints "thread TID DEPTH", the deepest sp from the stack's top,
 * and "calls N" of the recursion.
 */
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALONE __attribute__((noinline, noclone))
#define AFTER __asm__ volatile("" ::: "memory") /* no tail call */
#define CALLS 40

extern void *__libc_stack_end;

static __thread uintptr_t lowest = UINTPTR_MAX;

ALONE static void spin(long n)
{
	uintptr_t sp;

#ifdef __x86_64__
	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
#elif defined(__aarch64__)
	__asm__ volatile("mov %0, sp" : "=r"(sp));
#else
	sp = (uintptr_t)__builtin_frame_address(0);
#endif
	if (sp < lowest)
		lowest = sp;
	while (n--)
		AFTER;
}

ALONE static void with_array(long n)
{
	char array[5000];

	memset(array, 1, sizeof(array));
	__asm__ volatile("" ::"r"(array) : "memory");
	spin(n);
	AFTER;
}

ALONE static void with_alloca(size_t size, long n)
{
	char *bytes = alloca(size);

	bytes[0] = 1;
	__asm__ volatile("" ::"r"(bytes) : "memory");
	spin(n);
	AFTER;
}

static inline __attribute__((always_inline)) void inlined(long n)
{
	char array[3000];

	memset(array, 1, sizeof(array));
	__asm__ volatile("" ::"r"(array) : "memory");
	spin(n);
	AFTER;
}

ALONE static void has_inlined(long n)
{
	inlined(n);
	AFTER;
}

ALONE static void recursive(int calls, long n)
{
	char array[2000];

	__asm__ volatile("" ::"r"(array) : "memory");
	if (calls > 1)
		recursive(calls - 1, n);
	else
		spin(n);
	AFTER;
}

static void report(uintptr_t top)
{
	printf("thread %ld %lu\n", (long)syscall(SYS_gettid), (unsigned long)(top - lowest));
}

static void *work(void *n)
{
	with_array(*(long *)n);
	/* The thread pointer, where the thread's stack begins. */
	report((uintptr_t)pthread_self());
	return NULL;
}

int main(void)
{
	long n = 300 * 1000 * 1000;
	pthread_t thread;

	with_array(n);
	with_alloca(4096, n);
	with_alloca(4096 + 32768, n / 4);
	has_inlined(n);
	recursive(CALLS, n);
	report((uintptr_t)__libc_stack_end);
	if (pthread_create(&thread, NULL, work, &n) || pthread_join(thread, NULL))
		return 1;
	printf("calls %d\n", CALLS);
	return 0;
}
