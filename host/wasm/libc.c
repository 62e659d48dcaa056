/* SPDX-License-Identifier: Apache-2.0 */
/* What emscripten's libc has not, or does otherwise than glibc in a way that shows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "host/wasm/libc.h"

typedef int (*compare_function)(const void *, const void *, void *);

static void merge_sort(char *items, size_t n, size_t size, char *spare, compare_function compare,
		       void *context)
{
	size_t half = n / 2, left = 0, right = half, done = 0;

	if (n < 2)
		return;
	merge_sort(items, half, size, spare, compare, context);
	merge_sort(items + half * size, n - half, size, spare, compare, context);
	while (left < half && right < n) {
		size_t *next = compare(items + left * size, items + right * size, context) <= 0
				       ? &left
				       : &right;

		memcpy(spare + done++ * size, items + (*next)++ * size, size);
	}
	memcpy(spare + done * size, items + left * size, (half - left) * size);
	memcpy(items, spare, (done + half - left) * size);
}

void qsort_r(void *items, size_t n, size_t size, compare_function compare, void *context)
{
	char *spare = malloc(n * size);

	if (n < 2)
		return free(spare);
	/* Nobody expects sorting to fail. */
	if (!spare)
		abort();
	merge_sort(items, n, size, spare, compare, context);
	free(spare);
}

static int call(const void *a, const void *b, void *context)
{
	return (*(int (**)(const void *, const void *))context)(a, b);
}

/* As glibc's, which keeps equal items in their order; musl's does not. */
void qsort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	qsort_r(items, n, size, call, &compare);
}

ssize_t getrandom(void *bytes, size_t size, unsigned int flags)
{
	(void)flags;
	if (size > 256) {
		errno = EINVAL;
		return -1;
	}
	return getentropy(bytes, size) ? -1 : (ssize_t)size;
}

void *reallocarray(void *memory, size_t n, size_t size)
{
	size_t all;

	if (!__builtin_mul_overflow(n, size, &all))
		return realloc(memory, all);
	errno = ENOMEM;
	return NULL;
}

/* The environment is the user's own. */
char *secure_getenv(const char *name)
{
	return getenv(name);
}
