/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads numbers of either byte order from hostile bytes, and never past the end: the first such
 * read sets `failed`, and all later reads return zero.
 */
#ifndef FORMAT_PERF_PERF_CURSOR_H
#define FORMAT_PERF_PERF_CURSOR_H

#include "base/bytes.h"
#include "format/record.h"

struct perf_cursor {
	struct reel_cursor bytes;
	bool big_endian;
};

static inline struct perf_cursor perf_cursor(const uint8_t *bytes, size_t size, bool big_endian)
{
	return (struct perf_cursor){ reel_cursor(bytes, size), big_endian };
}

static inline size_t perf_cursor_left(const struct perf_cursor *cursor)
{
	return reel_cursor_left(&cursor->bytes);
}

static inline const uint8_t *perf_cursor_take(struct perf_cursor *cursor, uint64_t size)
{
	return reel_cursor_take(&cursor->bytes, size);
}

static inline uint16_t perf_cursor_u16(struct perf_cursor *cursor)
{
	uint16_t value = reel_cursor_u16(&cursor->bytes);

	return cursor->big_endian ? __builtin_bswap16(value) : value;
}

static inline uint32_t perf_cursor_u32(struct perf_cursor *cursor)
{
	uint32_t value = reel_cursor_u32(&cursor->bytes);

	return cursor->big_endian ? __builtin_bswap32(value) : value;
}

static inline uint64_t perf_cursor_u64(struct perf_cursor *cursor)
{
	uint64_t value = reel_cursor_u64(&cursor->bytes);

	return cursor->big_endian ? __builtin_bswap64(value) : value;
}

/* A NUL-terminated string, in place and without the NUL; fails without a NUL. */
static inline struct reel_bytes perf_cursor_string(struct perf_cursor *cursor)
{
	const uint8_t *start = cursor->bytes.at;
	const uint8_t *end = memchr(start, 0, perf_cursor_left(cursor));

	if (!end) {
		reel_cursor_fail(&cursor->bytes);
		return (struct reel_bytes){ (const uint8_t *)"", 0 };
	}
	cursor->bytes.at = end + 1;
	return (struct reel_bytes){ start, (size_t)(end - start) };
}

/* A string of a feature: u32 size, then that many bytes, with NULs after the text. */
static inline struct reel_bytes perf_cursor_padded(struct perf_cursor *cursor)
{
	uint32_t size = perf_cursor_u32(cursor);
	const uint8_t *bytes = perf_cursor_take(cursor, size);

	if (!bytes)
		return (struct reel_bytes){ (const uint8_t *)"", 0 };
	return (struct reel_bytes){ bytes, strnlen((const char *)bytes, size) };
}

#endif
