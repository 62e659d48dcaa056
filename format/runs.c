/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "format/bytes.h"
#include "format/runs.h"

void reel_runs_free(struct reel_runs *runs)
{
	free(runs->runs);
	*runs = (struct reel_runs){ 0 };
}

static bool runs_append(struct reel_runs *runs, size_t offset, size_t size)
{
	if (runs->n == runs->capacity) {
		size_t capacity = runs->capacity ? runs->capacity * 2 : 64;
		struct reel_run *grown = realloc(runs->runs, capacity * sizeof(*grown));

		if (!grown)
			return false;
		runs->runs = grown;
		runs->capacity = capacity;
	}
	runs->runs[runs->n++] = (struct reel_run){ (uint32_t)offset, (uint32_t)size };
	return true;
}

/* In the host's byte order: only to be compared with 0. */
static inline uint64_t difference_at(const uint8_t *a, const uint8_t *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x ^ y;
}

/* Where the first difference from `at` on lies, `size` if there is none. */
static size_t first_difference(const uint8_t *a, const uint8_t *b, size_t at, size_t size)
{
	/* Most bytes of a stack are those of the sample before: 64 at a time. */
	for (; size - at >= 64; at += 64) {
		uint64_t difference = 0;

		for (size_t i = 0; i < 64; i += 8)
			difference |= difference_at(a + at + i, b + at + i);
		if (difference)
			break;
	}
	while (size - at >= 8 && !difference_at(a + at, b + at))
		at += 8;
	while (at < size && a[at] == b[at])
		at++;
	return at;
}

/* The end of the run that begins with a difference at `start`. */
static size_t run_end(const uint8_t *a, const uint8_t *b, size_t start, size_t size)
{
	size_t end = start + 1, at = start;

	for (; size - at >= 8; at += 8) {
		/* Bytes in ascending order are bits in ascending order, on any host. */
		uint64_t difference = reel_load64(a + at) ^ reel_load64(b + at);

		if (!difference) {
			if (at + 8 - end >= REEL_RUN_GAP)
				return end;
			continue;
		}
		if (at + (size_t)__builtin_ctzll(difference) / 8 >= end + REEL_RUN_GAP)
			return end;
		end = at + 8 - (size_t)__builtin_clzll(difference) / 8;
	}
	for (; at < size && at < end + REEL_RUN_GAP; at++) {
		if (a[at] != b[at])
			end = at + 1;
	}
	return end;
}

bool reel_runs_find(struct reel_runs *runs, const uint8_t *a, const uint8_t *b, size_t size)
{
	size_t at = first_difference(a, b, 0, size);

	runs->n = 0;
	while (at < size) {
		size_t end = run_end(a, b, at, size);

		if (!runs_append(runs, at, end - at))
			return false;
		at = first_difference(a, b, end, size);
	}
	return true;
}
