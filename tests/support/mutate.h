/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damages captures but keeps their checksums valid: so the damage gets past the framing, to
 * decoders and replay.
 */
#ifndef TESTS_SUPPORT_MUTATE_H
#define TESTS_SUPPORT_MUTATE_H

#include "tests/support/capture.h"

#include <time.h>

static inline double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *value = getenv(variable);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static inline void insert(struct reel_buffer *buffer, size_t at, const uint8_t *bytes, size_t n)
{
	if (!reel_buffer_reserve(buffer, n))
		return;
	memmove(buffer->bytes + at + n, buffer->bytes + at, buffer->size - at);
	memcpy(buffer->bytes + at, bytes, n);
	buffer->size += n;
}

static inline void cut_out(struct reel_buffer *buffer, size_t at, size_t n)
{
	memmove(buffer->bytes + at, buffer->bytes + at + n, buffer->size - at - n);
	buffer->size -= n;
}

/* LEB128 numbers at the edges of the allowed range. */
static inline void insert_number(uint64_t *random, struct reel_buffer *buffer, size_t at)
{
	static const uint64_t edges[] = {
		0,	    1,		16,	    17,
		256,	    257,	8192,	    8193,
		65536,	    65537,	16 << 20,   (16 << 20) + 1,
		UINT32_MAX, 1ull << 32, 1ull << 63, UINT64_MAX >> 1,
		UINT64_MAX,
	};
	_cleanup_buffer_ struct reel_buffer number = { 0 };

	reel_buffer_uleb(&number, edges[next_random(random) % (sizeof(edges) / sizeof(edges[0]))]);
	if (next_random(random) % 2 && at < buffer->size)
		cut_out(buffer, at, 1);
	insert(buffer, at, number.bytes, number.size);
}

static inline void mutate(uint64_t *random, struct reel_buffer *buffer)
{
	size_t at = next_random(random) % (buffer->size + 1);
	size_t left = buffer->size - at, n;
	uint8_t bytes[16];

	switch (next_random(random) % 8) {
	case 0:
	case 1:
		if (left)
			buffer->bytes[at] ^= (uint8_t)(1u << next_random(random) % 8);
		break;
	case 2:
		if (left)
			buffer->bytes[at] = (uint8_t)next_random(random);
		break;
	case 3:
		if (left)
			cut_out(buffer, at, 1 + next_random(random) % (left < 16 ? left : 16));
		break;
	case 4:
		for (n = 0; n < sizeof(bytes); n++)
			bytes[n] = (uint8_t)next_random(random);
		insert(buffer, at, bytes, 1 + next_random(random) % sizeof(bytes));
		break;
	case 5:
		insert_number(random, buffer, at);
		break;
	case 6:
		/* Copy bytes from a different place. */
		n = next_random(random) % (left < 200 ? left + 1 : 200);
		if (n && buffer->size < 100000 && reel_buffer_reserve(buffer, n)) {
			memcpy(buffer->bytes + buffer->size, buffer->bytes + at, n);
			buffer->size += n;
		}
		break;
	default:
		if (left && !(next_random(random) % 8))
			buffer->size = at;
		break;
	}
}

static inline void mutate_header(uint64_t *random, struct reel_block_header *header)
{
	switch (next_random(random) % 6) {
	case 0:
		header->type = (uint16_t)(next_random(random) % 5);
		break;
	case 1:
		header->flags = (uint8_t)(next_random(random) % 16);
		break;
	case 2:
		header->expanded_size = next_random(random) % (REEL_BLOCK_EXPANDED_MAX + 2ull);
		break;
	case 3:
		header->records += (uint32_t)(next_random(random) % 3) - 1;
		break;
	case 4:
		header->codec = (uint8_t)(next_random(random) % 3);
		break;
	default:
		header->time_first = next_random(random);
		break;
	}
}

/* A mutated copy of the parts, joined with valid checksums. */
static inline void mutated(uint64_t *random, const struct parts *original, struct reel_buffer *ret)
{
	size_t victim = next_random(random) % original->n;
	struct parts parts = *original;
	struct part *part = &parts.parts[victim];
	struct reel_buffer raw = { 0 }, payload = { 0 };
	size_t rounds = 1 + next_random(random) % 6;

	reel_buffer_append(&raw, part->raw.bytes, part->raw.size);
	part->raw = raw;
	/* Give samples all the room that they may need. */
	if (next_random(random) % 2)
		part->header.expanded_size = REEL_BLOCK_EXPANDED_MAX;
	for (size_t i = 0; i < rounds; i++)
		mutate(random, &part->raw);
	if (!(next_random(random) % 4))
		mutate_header(random, &part->header);
	if (!(next_random(random) % 8)) {
		/* The compressed bytes, with a matching checksum. */
		size_t bound = ZSTD_compressBound(part->raw.size);

		payload.size = ZSTD_compress(reel_buffer_reserve(&payload, bound), bound,
					     part->raw.bytes, part->raw.size, 1);
		mutate(random, &payload);
		part->payload = payload;
	}
	parts_join(&parts, ret);
	reel_buffer_free(&part->raw);
	reel_buffer_free(&part->payload);
}

#endif
