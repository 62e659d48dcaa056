/* SPDX-License-Identifier: Apache-2.0 */
/* contexts SECONDS: two coroutines of ucontext.h that switch to each other while they sort. */
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

static ucontext_t contexts[2], back;
static char stacks[2][256 << 10];
static time_t end;

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void run(int self)
{
	int values[2000];

	while (time(NULL) < end) {
		for (int i = 0; i < 2000; i++)
			values[i] = rand();
		qsort(values, 2000, sizeof(int), by_value);
		swapcontext(&contexts[self], &contexts[!self]);
	}
}

int main(int argc, char **argv)
{
	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	for (int i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i].uc_link = &back;
		makecontext(&contexts[i], (void (*)(void))(void *)run, 1, i);
	}
	return swapcontext(&back, &contexts[0]);
}
