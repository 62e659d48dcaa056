/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/output.h"
#include "cli/print/text.h"
#include "cli/protobuf/numbers.h"

#define FIRST_SLOTS 256
#define ALIGNMENT   8

_Static_assert(sizeof(((struct numbers *)0)->seed) == crypto_shorthash_KEYBYTES, "SipHash's key");

void numbers_init(struct numbers *numbers)
{
	*numbers = (struct numbers){ 0 };
	randombytes_buf(numbers->seed, sizeof(numbers->seed));
	numbers->n_slots = FIRST_SLOTS;
	numbers->slots = memory_get(FIRST_SLOTS * sizeof(*numbers->slots));
	numbers->ends_capacity = FIRST_SLOTS;
	numbers->ends = memory_get(FIRST_SLOTS * sizeof(*numbers->ends));
}

void numbers_free(struct numbers *numbers)
{
	free(numbers->bytes);
	free(numbers->ends);
	free(numbers->slots);
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

static struct number_slot *slot_of(const struct numbers *numbers, uint32_t hash, const void *bytes,
				   size_t size)
{
	size_t i = hash & (numbers->n_slots - 1);

	for (; numbers->slots[i].number; i = (i + 1) & (numbers->n_slots - 1)) {
		const struct number_slot *slot = &numbers->slots[i];

		if (slot->hash == hash && numbers_size(numbers, slot->number) == size &&
		    !memcmp(numbers_get(numbers, slot->number), bytes, size))
			break;
	}
	return &numbers->slots[i];
}

static void grow_slots(struct numbers *numbers)
{
	struct number_slot *old = numbers->slots;
	size_t n_old = numbers->n_slots;

	numbers->n_slots *= 2;
	numbers->slots = memory_get(numbers->n_slots * sizeof(*numbers->slots));
	for (size_t i = 0; i < n_old; i++) {
		size_t at = old[i].hash & (numbers->n_slots - 1);

		while (old[i].number && numbers->slots[at].number)
			at = (at + 1) & (numbers->n_slots - 1);
		if (old[i].number)
			numbers->slots[at] = old[i];
	}
	free(old);
}

static void append(struct numbers *numbers, const void *bytes, size_t size)
{
	uint32_t number = ++numbers->count;
	size_t begin = begin_of(numbers, number), end = begin + size;

	/* Slots are looked up by 32 bits of a hash. */
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
	struct number_slot *slot;
	uint64_t hash;

	crypto_shorthash((unsigned char *)&hash, bytes, size, numbers->seed);
	slot = slot_of(numbers, (uint32_t)hash, bytes, size);
	if (slot->number)
		return slot->number;
	append(numbers, bytes, size);
	*slot = (struct number_slot){ (uint32_t)hash, numbers->count };
	if ((size_t)numbers->count * 3 > numbers->n_slots * 2)
		grow_slots(numbers);
	return numbers->count;
}
