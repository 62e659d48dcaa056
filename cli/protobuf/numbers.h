/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for things that are the same where their bytes are: from 1 on, without holes, in the
 * order in which they came.  Who chooses the bytes can't foresee where they are looked for.
 */
#ifndef CLI_PROTOBUF_NUMBERS_H
#define CLI_PROTOBUF_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_slot {
	uint32_t hash, number; /* 0: the slot is empty */
};

struct numbers {
	uint8_t seed[16];
	uint32_t count;
	/* What has number n lies in front of ends[n]. */
	uint8_t *bytes;
	size_t *ends;
	size_t bytes_capacity, ends_capacity;
	struct number_slot *slots;
	size_t n_slots;
};

/* Before the sandbox is entered: it asks the system for a seed. */
void numbers_init(struct numbers *numbers);
void numbers_free(struct numbers *numbers);
/* Forgets all. */
void numbers_clear(struct numbers *numbers);
/* `bytes` are copied; structs have no bytes that are not set. */
uint32_t numbers_put(struct numbers *numbers, const void *bytes, size_t size);
/* What was put, at an address that fits any struct if that was one; until the next put. */
const void *numbers_get(const struct numbers *numbers, uint32_t number);
size_t numbers_size(const struct numbers *numbers, uint32_t number);

#endif
