/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes in and out: little-endian load/store, LEB128, a bounded cursor to read
 * hostile bytes with, and a growing buffer.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

/* Borrowed from a decoded block, a file, or the caller. */
struct reel_bytes {
	const uint8_t *data;
	size_t size;
};

struct reel_bytes reel_bytes_of_string(const char *string);
/* Whether a mapping's path is one of the kernel's for a deleted file (fs/d_path.c). */
bool reel_path_is_deleted(struct reel_bytes path);
/* FNV-1a of the bytes, continuing from the hash of the previous ones (or from REEL_HASH_BEGIN).
 * Anyone who chooses the bytes can construct collisions. */
#define REEL_HASH_BEGIN 0xcbf29ce484222325
uint64_t reel_bytes_hash(uint64_t from, struct reel_bytes bytes);

/* The part of an ELF file that is loaded at its own address. */
struct reel_loaded_bytes {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
};

static inline uint16_t reel_load16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

/* Inlined: a load is one instruction, and a call would take several times as long. */
static inline __attribute__((always_inline)) uint32_t reel_load32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline __attribute__((always_inline)) uint64_t reel_load64(const uint8_t *p)
{
	return reel_load32(p) | (uint64_t)reel_load32(p + 4) << 32;
}

static inline void reel_store16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

/* Not byte by byte: gcc 12 vectorizes that, with ten times the instructions of one store. */
static inline void reel_store32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void reel_store64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

/* `size` bytes, 1 to 8, as a number. */
static inline uint64_t reel_load_target(const uint8_t *bytes, unsigned size, bool big_endian)
{
	uint64_t value = 0;

	switch (size) {
	case 1:
		return bytes[0];
	case 2:
		return big_endian ? __builtin_bswap16(reel_load16(bytes)) : reel_load16(bytes);
	case 4:
		return big_endian ? __builtin_bswap32(reel_load32(bytes)) : reel_load32(bytes);
	case 8:
		return big_endian ? __builtin_bswap64(reel_load64(bytes)) : reel_load64(bytes);
	default:
		break;
	}
	for (unsigned i = 0; i < size; i++)
		value = value << 8 | bytes[big_endian ? i : size - 1 - i];
	return value;
}

/* The reverse; bits that do not fit are lost. */
static inline void reel_store_target(uint8_t *bytes, unsigned size, bool big_endian, uint64_t value)
{
	if (size == 8) {
		reel_store64(bytes, big_endian ? __builtin_bswap64(value) : value);
		return;
	}
	for (unsigned i = 0; i < size; i++, value >>= 8)
		bytes[big_endian ? size - 1 - i : i] = (uint8_t)value;
}

/* Maps signed to unsigned and keeps small magnitudes small: 0, -1, 1, -2 … -> 0, 1, 2, 3 … */
static inline uint64_t reel_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t reel_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

/*
 * A cursor never reads past `end`.  The first read that would do so sets `failed`, and every later
 * read returns zeros, so a decoder checks once when it finishes.
 */
struct reel_cursor {
	const uint8_t *start, *at, *end;
	bool failed;
};

static inline struct reel_cursor reel_cursor(const uint8_t *bytes, size_t size)
{
	/* NULL has no bytes, and C does not define NULL + 0. */
	return (struct reel_cursor){ bytes, bytes, size ? bytes + size : bytes, false };
}

static inline size_t reel_cursor_left(const struct reel_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline size_t reel_cursor_offset(const struct reel_cursor *cursor)
{
	return (size_t)(cursor->at - cursor->start);
}

/* Marks the cursor failed and moves it to its end. */
static inline void reel_cursor_fail(struct reel_cursor *cursor)
{
	cursor->failed = true;
	cursor->at = cursor->end;
}

/* `size` bytes in place; NULL if fewer remain. */
static inline const uint8_t *reel_cursor_take(struct reel_cursor *cursor, uint64_t size)
{
	const uint8_t *bytes = cursor->at;

	if (size > reel_cursor_left(cursor)) {
		reel_cursor_fail(cursor);
		return NULL;
	}
	cursor->at += size;
	return bytes;
}

static inline uint8_t reel_cursor_u8(struct reel_cursor *cursor)
{
	const uint8_t *p = reel_cursor_take(cursor, 1);

	return p ? *p : 0;
}

static inline uint16_t reel_cursor_u16(struct reel_cursor *cursor)
{
	const uint8_t *p = reel_cursor_take(cursor, 2);

	return p ? reel_load16(p) : 0;
}

static inline uint32_t reel_cursor_u32(struct reel_cursor *cursor)
{
	const uint8_t *p = reel_cursor_take(cursor, 4);

	return p ? reel_load32(p) : 0;
}

static inline uint64_t reel_cursor_u64(struct reel_cursor *cursor)
{
	const uint8_t *p = reel_cursor_take(cursor, 8);

	return p ? reel_load64(p) : 0;
}

/* Unsigned LEB128 of at most 10 bytes; a longer one, or a value over 64 bits, fails. */
uint64_t reel_cursor_uleb_slow(struct reel_cursor *cursor);

static inline uint64_t reel_cursor_uleb(struct reel_cursor *cursor)
{
	if (cursor->at < cursor->end && *cursor->at < 0x80)
		return *cursor->at++;
	return reel_cursor_uleb_slow(cursor);
}

/* A zigzag value as LEB128. */
static inline int64_t reel_cursor_zigzag(struct reel_cursor *cursor)
{
	return reel_unzigzag(reel_cursor_uleb(cursor));
}

/* The number of bytes that the LEB128 of a value takes. */
static inline size_t reel_uleb_size(uint64_t value)
{
	size_t size = 1;

	while (value >>= 7)
		size++;
	return size;
}

/*
 * A growing buffer.  Appending has no visible errors: when memory runs out, `failed` is set and the
 * buffer keeps its contents.  Check `failed` before use.
 */
struct reel_buffer {
	uint8_t *bytes;
	size_t size, capacity;
	bool failed;
};

void reel_buffer_free(struct reel_buffer *buffer);
/* Makes room for `size` more bytes, which the caller writes and adds to `size`; NULL if there is
 * not enough memory. */
uint8_t *reel_buffer_reserve(struct reel_buffer *buffer, size_t size);
void reel_buffer_append(struct reel_buffer *buffer, const void *bytes, size_t size);
void reel_buffer_u8(struct reel_buffer *buffer, uint8_t value);
void reel_buffer_u32(struct reel_buffer *buffer, uint32_t value);
void reel_buffer_u64(struct reel_buffer *buffer, uint64_t value);
void reel_buffer_uleb(struct reel_buffer *buffer, uint64_t value);
static inline void reel_buffer_zigzag(struct reel_buffer *buffer, int64_t value)
{
	reel_buffer_uleb(buffer, reel_zigzag(value));
}

#define _cleanup_buffer_ __attribute__((cleanup(reel_buffer_free)))

/* The step in which stacks are compared: most of a stack equals the previous sample's. */
#define REEL_STEP_BYTES 64

static inline bool reel_step_differs(const uint8_t *a, const uint8_t *b)
{
	uint64_t difference = 0;

	for (size_t i = 0; i < REEL_STEP_BYTES; i += 8)
		difference |= reel_load64(a + i) ^ reel_load64(b + i);
	return difference;
}

#endif
