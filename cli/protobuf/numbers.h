/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers things, where equal bytes mean the same thing: from 1 on, without gaps, in order of
 * arrival. The hash is seeded, so chosen bytes cannot force collisions.
 */
#ifndef CLI_PROTOBUF_NUMBERS_H
#define CLI_PROTOBUF_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"

struct numbers {
	uint8_t seed[16];
	uint32_t count;
	/* The bytes of number n end at ends[n]. */
	uint8_t *bytes;
	size_t *ends;
	size_t bytes_capacity, ends_capacity;
	struct reel_hash_index index;
};

/* Call this before entering the sandbox: it asks the system for a seed. */
void numbers_init(struct numbers *numbers);
void numbers_free(struct numbers *numbers);
/* Copies `bytes`. Structs must have no unset padding. */
uint32_t numbers_put(struct numbers *numbers, const void *bytes, size_t size);
/* The stored bytes, aligned for any struct if they were one; valid until the next put. */
const void *numbers_get(const struct numbers *numbers, uint32_t number);
size_t numbers_size(const struct numbers *numbers, uint32_t number);

#endif
