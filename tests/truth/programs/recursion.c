/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recursion SECONDS: a walk through random terms about 400 frames deep, 40 KB of stack, until that
 * much CPU time is used.
 *
 * Three functions call each other in an order known only at run time: one with a small frame, one
 * with an array, one whose frame's size depends on its argument (so that its CFA is based on rbp).
 * They work in the lower part of the stack: most samples have 30 to 45 KB.
 */
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEPTH 400

struct walk {
	uint64_t random;
	uint64_t digest;
	unsigned visits;
};

static uint64_t next(struct walk *walk)
{
	walk->random ^= walk->random << 13;
	walk->random ^= walk->random >> 7;
	walk->random ^= walk->random << 17;
	return walk->random;
}

static uint64_t descend(struct walk *walk, unsigned depth, uint64_t value);

__attribute__((noinline)) static uint64_t mix(const uint64_t *words, unsigned count, uint64_t value)
{
	for (unsigned i = 0; i < count; i++)
		value = (value ^ words[i]) * 0x9e3779b97f4a7c15u + (value >> 29);
	return value;
}

__attribute__((noinline)) static uint64_t small(struct walk *walk, unsigned depth, uint64_t value)
{
	uint64_t result = descend(walk, depth + 1, value + depth);

	return result ^ (value >> (depth & 31));
}

__attribute__((noinline)) static uint64_t array(struct walk *walk, unsigned depth, uint64_t value)
{
	uint64_t words[12];

	for (unsigned i = 0; i < 12; i++)
		words[i] = value * (i + depth);
	value = descend(walk, depth + 1, mix(words, 12, value));
	return mix(words, 12, value);
}

__attribute__((noinline)) static uint64_t sized(struct walk *walk, unsigned depth, uint64_t value)
{
	unsigned count = 4 + value % 13;
	uint64_t *words = alloca(count * sizeof(*words));

	memset(words, (int)value, count * sizeof(*words));
	value = descend(walk, depth + 1, mix(words, count, value));
	return mix(words, count, value);
}

static uint64_t (*const kinds[])(struct walk *, unsigned, uint64_t) = { small, array, sized };

__attribute__((noinline)) static uint64_t descend(struct walk *walk, unsigned depth, uint64_t value)
{
	uint64_t words[4] = { value, depth, walk->digest, walk->visits++ };
	unsigned branches = 1;

	if (depth >= DEPTH)
		return mix(words, 4, next(walk));
	/* Branches only near the end, else the walk would take for ever. */
	if (depth > DEPTH - 80 && next(walk) % 8 == 0)
		branches = 2;
	for (unsigned i = 0; i < branches; i++)
		words[i] = kinds[next(walk) % 3](walk, depth + 1, words[i] + i);
	return mix(words, 4, value);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 3;
	struct walk walk = { .random = 88172645463325252u };

	do {
		walk.digest ^= descend(&walk, 0, walk.digest);
		walk.visits = 0;
	} while ((double)clock() < seconds * CLOCKS_PER_SEC);
	printf("%016llx\n", (unsigned long long)walk.digest);
	return 0;
}
