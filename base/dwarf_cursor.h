/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF's data types on top of the bounded cursor, in the target's byte order. */
#ifndef BASE_DWARF_CURSOR_H
#define BASE_DWARF_CURSOR_H

#include "base/bytes.h"

/* The low `bits` (1 to 64) of a number, read as two's complement. */
static inline uint64_t reel_sign_extend(uint64_t value, unsigned bits)
{
	unsigned unused = 64 - bits;

	return (uint64_t)((int64_t)(value << unused) >> unused);
}

static inline uint64_t reel_cursor_target(struct reel_cursor *cursor, unsigned size,
					  bool big_endian)
{
	const uint8_t *bytes = reel_cursor_take(cursor, size);

	return bytes ? reel_load_target(bytes, size, big_endian) : 0;
}

/* Signed LEB128 (DWARF 5, 7.6); longer than 10 bytes fails. */
static inline int64_t reel_cursor_sleb(struct reel_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte = reel_cursor_u8(cursor);

		if (cursor->failed)
			return 0;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			if (byte & 0x40 && shift < 57)
				value |= ~(uint64_t)0 << (shift + 7);
			return (int64_t)value;
		}
	}
	reel_cursor_fail(cursor);
	return 0;
}

#endif
