/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/bytes.h"

uint64_t reel_cursor_uleb_slow(struct reel_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0; cursor->at < cursor->end; shift += 7) {
		uint8_t byte = *cursor->at++;

		/* The tenth byte holds bit 63 only. */
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	reel_cursor_fail(cursor);
	return 0;
}

void reel_buffer_free(struct reel_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct reel_buffer){ 0 };
}

uint8_t *reel_buffer_reserve(struct reel_buffer *buffer, size_t size)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 256;
	uint8_t *bytes;

	if (buffer->failed)
		return NULL;
	if (buffer->bytes && size <= buffer->capacity - buffer->size)
		return buffer->bytes + buffer->size;
	while (capacity - buffer->size < size) {
		if (capacity > SIZE_MAX / 2) {
			buffer->failed = true;
			return NULL;
		}
		capacity *= 2;
	}
	bytes = realloc(buffer->bytes, capacity);
	if (!bytes) {
		buffer->failed = true;
		return NULL;
	}
	buffer->bytes = bytes;
	buffer->capacity = capacity;
	return bytes + buffer->size;
}

void reel_buffer_append(struct reel_buffer *buffer, const void *bytes, size_t size)
{
	uint8_t *room = reel_buffer_reserve(buffer, size);

	if (!room || !size)
		return;
	memcpy(room, bytes, size);
	buffer->size += size;
}

void reel_buffer_u8(struct reel_buffer *buffer, uint8_t value)
{
	reel_buffer_append(buffer, &value, 1);
}

void reel_buffer_u32(struct reel_buffer *buffer, uint32_t value)
{
	uint8_t bytes[4];

	reel_store32(bytes, value);
	reel_buffer_append(buffer, bytes, sizeof(bytes));
}

void reel_buffer_u64(struct reel_buffer *buffer, uint64_t value)
{
	uint8_t bytes[8];

	reel_store64(bytes, value);
	reel_buffer_append(buffer, bytes, sizeof(bytes));
}

void reel_buffer_uleb(struct reel_buffer *buffer, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	while (value >= 0x80) {
		bytes[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[n++] = (uint8_t)value;
	reel_buffer_append(buffer, bytes, n);
}

struct reel_bytes reel_bytes_of_string(const char *string)
{
	return (struct reel_bytes){ (const uint8_t *)string, string ? strlen(string) : 0 };
}

bool reel_path_is_deleted(struct reel_bytes path)
{
	static const char end[] = " (deleted)";
	const size_t size = sizeof(end) - 1;

	return path.size > size && !memcmp(path.data + path.size - size, end, size);
}

uint64_t reel_bytes_hash(uint64_t from, struct reel_bytes bytes)
{
	for (size_t i = 0; i < bytes.size; i++)
		from = (from ^ bytes.data[i]) * 0x100000001b3;
	return from;
}
