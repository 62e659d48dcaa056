/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs in Thrift's compact protocol (thrift, doc/specs/thrift-compact-protocol.md), which
 * Parquet's footer and the headers of its pages have.
 */
#ifndef CLI_PARQUET_THRIFT_H
#define CLI_PARQUET_THRIFT_H

#include "base/bytes.h"

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

struct thrift {
	struct reel_buffer buffer;
	/* The last field's number, of each struct around the current place. */
	uint8_t last[8];
	unsigned int depth;
};

/* A struct that is an element of a list, or the outermost. */
static inline void thrift_begin(struct thrift *thrift)
{
	thrift->last[++thrift->depth] = 0;
}

static inline void thrift_end(struct thrift *thrift)
{
	reel_buffer_u8(&thrift->buffer, 0);
	thrift->depth--;
}

/* Fields have ascending numbers, with less than 16 between two. */
static inline void thrift_field(struct thrift *thrift, uint8_t number, enum thrift_type type)
{
	uint8_t *last = &thrift->last[thrift->depth];

	reel_buffer_u8(&thrift->buffer, (uint8_t)((number - *last) << 4 | type));
	*last = number;
}

static inline void thrift_i32(struct thrift *thrift, uint8_t number, int32_t value)
{
	thrift_field(thrift, number, THRIFT_I32);
	reel_buffer_zigzag(&thrift->buffer, value);
}

static inline void thrift_i64(struct thrift *thrift, uint8_t number, uint64_t value)
{
	thrift_field(thrift, number, THRIFT_I64);
	reel_buffer_zigzag(&thrift->buffer, (int64_t)value);
}

/* An element of a list. */
static inline void thrift_bytes(struct thrift *thrift, struct reel_bytes bytes)
{
	reel_buffer_uleb(&thrift->buffer, bytes.size);
	reel_buffer_append(&thrift->buffer, bytes.data, bytes.size);
}

static inline void thrift_binary(struct thrift *thrift, uint8_t number, struct reel_bytes bytes)
{
	thrift_field(thrift, number, THRIFT_BINARY);
	thrift_bytes(thrift, bytes);
}

/* The elements follow. */
static inline void thrift_list(struct thrift *thrift, uint8_t number, enum thrift_type type,
			       size_t n)
{
	thrift_field(thrift, number, THRIFT_LIST);
	reel_buffer_u8(&thrift->buffer, (uint8_t)((n < 15 ? n : 15) << 4 | type));
	if (n >= 15)
		reel_buffer_uleb(&thrift->buffer, n);
}

/* thrift_end ends it. */
static inline void thrift_struct(struct thrift *thrift, uint8_t number)
{
	thrift_field(thrift, number, THRIFT_STRUCT);
	thrift_begin(thrift);
}

#endif
