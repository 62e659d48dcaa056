/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/output.h"
#include "cli/print/text.h"
#include "cli/protobuf/numbers.h"

#define FIRST_ENDS 256
#define ALIGNMENT  8

_Static_assert(sizeof(((struct numbers *)0)->seed) == crypto_shorthash_KEYBYTES, "SipHash's key");

void numbers_init(struct numbers *numbers)
{
	*numbers = (struct numbers){ 0 };
	randombytes_buf(numbers->seed, sizeof(numbers->seed));
	numbers->ends_capacity = FIRST_ENDS;
	numbers->ends = memory_get(FIRST_ENDS * sizeof(*numbers->ends));
}

void numbers_free(struct numbers *numbers)
{
	free(numbers->bytes);
	free(numbers->ends);
	reel_hash_index_free(&numbers->index);
}

static size_t begin_of(const struct numbers *numbers, uint32_t number)
{
	return (numbers->ends[number - 1] + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

const void *numbers_get(const struct numbers *numbers, uint32_t number)
{
	return numbers->bytes + begin_of(numbers, number);
}

size_t numbers_size(const struct numbers *numbers, uint32_t number)
{
	return numbers->ends[number] - begin_of(numbers, number);
}

static bool is_same(const struct numbers *numbers, uint32_t number, const void *bytes, size_t size)
{
	return numbers_size(numbers, number) == size &&
	       !memcmp(numbers_get(numbers, number), bytes, size);
}

static void append(struct numbers *numbers, const void *bytes, size_t size)
{
	uint32_t number = ++numbers->count;
	size_t begin = begin_of(numbers, number), end = begin + size;

	/* They are found by 32 bits of a hash. */
	if (number == INT32_MAX) {
		complain("too many different stacks (more than 2,000 million); export less, e.g. "
			 "with --time or --pid");
		exit(STATUS_ERROR);
	}
	numbers->ends = memory_reserve(numbers->ends, &numbers->ends_capacity, number,
				       sizeof(*numbers->ends));
	numbers->bytes = memory_reserve(numbers->bytes, &numbers->bytes_capacity, end, 1);
	memcpy(numbers->bytes + begin, bytes, size);
	numbers->ends[number] = end;
}

uint32_t numbers_put(struct numbers *numbers, const void *bytes, size_t size)
{
	uint32_t found;
	uint64_t hash;

	crypto_shorthash((unsigned char *)&hash, bytes, size, numbers->seed);
	found = REEL_HASH_FIND(&numbers->index, hash, i, is_same(numbers, i, bytes, size));
	if (found != REEL_HASH_NONE)
		return found;
	append(numbers, bytes, size);
	if (!reel_hash_index_add(&numbers->index, hash, numbers->count))
		memory_check(NULL);
	return numbers->count;
}
