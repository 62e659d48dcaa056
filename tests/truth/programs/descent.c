/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descent SECONDS: one function that calls itself about 400 deep, 32 KB of stack, until that much
 * CPU time is used: like a parser or a walk of a tree, without the random order of `recursion`.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH 400
/* Below it each call calls twice: most time is spent there. */
#define BRANCHING (DEPTH - 10)

static uint64_t work(const uint64_t *words, unsigned count, uint64_t value)
{
	for (unsigned i = 0; i < count; i++)
		value = (value ^ words[i & 3]) * 0x9e3779b97f4a7c15u + (value >> 29);
	return value;
}

__attribute__((noinline)) static uint64_t descend(unsigned depth, uint64_t value)
{
	uint64_t words[4] = { depth, depth + 1, depth * 2, 1 };

	if (depth < DEPTH) {
		words[0] = descend(depth + 1, value + depth);
		if (depth > BRANCHING)
			words[1] = descend(depth + 1, value);
	}
	return work(words, depth > BRANCHING ? 200 : 4, value + words[0]);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 3;
	uint64_t digest = 1;

	do
		digest = descend(0, digest & 0xff);
	while ((double)clock() < seconds * CLOCKS_PER_SEC);
	printf("%016llx\n", (unsigned long long)digest);
	return 0;
}
