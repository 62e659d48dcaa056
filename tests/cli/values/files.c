/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of calls between files, for test-values.py: a program, with -DLIBRARY the library that it calls, and with -DFIRST a library
 * that the calls lead to first, which goes on to the other one with other parameters. */
#ifdef FIRST
#define _GNU_SOURCE
#endif
struct job {
	long size;
	const char *name;
};
long work(const struct job *job, long size, int level);
long each(long (*call)(const struct job *job, long n), long size);

#ifdef FIRST
#include <dlfcn.h>

static long (*real)(const struct job *job, long size, int level);

__attribute__((constructor)) static void init(void)
{
	real = (long (*)(const struct job *, long, int))dlsym(RTLD_NEXT, "work");
}

long work(const struct job *job, long size, int level)
{
	return real(job, size + 1000, level + 50);
}
#else
static volatile long sink;

__attribute__((noinline)) static long spin(long n)
{
	for (volatile long i = 0; i < n; i++)
		sink += i;
	return sink;
}
#endif

#ifdef LIBRARY
/* Does not keep its parameters. */
long work(const struct job *job, long size, int level)
{
	long n = spin(3000 + (job->size ^ size ^ level) % 3);

	return n + spin(1000);
}

long each(long (*call)(const struct job *job, long n), long size)
{
	struct job job = { size, "of the library" };

	return call(&job, 41) + spin(1000);
}
#elif !defined(FIRST)
static long back(const struct job *job, long n)
{
	long sum = spin(1000 + (job->size ^ n) % 3);

	return sum + spin(1000);
}

__attribute__((noinline)) static long serve(long size, int level)
{
	struct job job = { size, "a job" };

	return work(&job, size + 5, level * 2) + 1;
}

int main(void)
{
	for (;;) {
		serve(100, 3);
		serve(200, 4);
		each(back, 9);
	}
}
#endif
