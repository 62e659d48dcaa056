/* SPDX-License-Identifier: Apache-2.0 */
#include "format/record_coder.h"
#include "format/schema.h"

struct reel_error *reel_record_frame_next(struct reel_cursor *cursor, struct reel_record_frame *ret)
{
	const uint8_t *payload;
	uint64_t tag, size;

	*ret = (struct reel_record_frame){ .offset = reel_cursor_offset(cursor) };
	if (!reel_cursor_left(cursor))
		return NULL;
	tag = reel_cursor_uleb(cursor);
	size = reel_cursor_uleb(cursor);
	payload = reel_cursor_take(cursor, size);
	if (cursor->failed)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "record at byte %zu: exceeds the block", ret->offset);
	if (!(tag >> 1)) {
		reel_cursor_fail(cursor);
		return reel_error_create(REEL_ERROR_CORRUPT, "record at byte %zu: id is 0",
					 ret->offset);
	}
	ret->id = tag >> 1;
	ret->critical = tag & 1;
	ret->payload = reel_cursor(payload, size);
	return NULL;
}

/* False if a text or byte string exceeds its limit. */
static bool decode_field(struct reel_cursor *cursor, const struct reel_schema_field *field,
			 struct reel_record *record)
{
	char *member = (char *)record + field->offset;
	struct reel_bytes bytes;
	uint64_t value = reel_cursor_uleb(cursor);

	if (field->kind == REEL_SCHEMA_NUMBER || field->kind == REEL_SCHEMA_ADDRESS) {
		memcpy(member, &value, sizeof(value));
		return true;
	}
	if (field->max && value > field->max)
		return false;
	bytes.data = reel_cursor_take(cursor, value);
	bytes.size = bytes.data ? value : 0;
	memcpy(member, &bytes, sizeof(bytes));
	return true;
}

struct reel_error *reel_record_decode(const struct reel_record_frame *frame,
				      struct reel_record *ret)
{
	const struct reel_schema *schema = reel_schema_of(frame->id);
	struct reel_cursor cursor = frame->payload;

	if (!schema)
		return reel_error_create(REEL_ERROR_INVALID, "record %llu has no schema",
					 (unsigned long long)frame->id);
	memset(ret, 0, sizeof(*ret));
	ret->id = (enum reel_record_id)frame->id;
	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct reel_schema_field *field = &schema->fields[i];

		if (field->added && !reel_cursor_left(&cursor))
			break;
		if (!decode_field(&cursor, field, ret))
			return reel_error_create(REEL_ERROR_CORRUPT, "%s exceeds %zu bytes",
						 field->name, field->max);
		if (cursor.failed)
			return reel_error_create(REEL_ERROR_CORRUPT, "ends within %s", field->name);
	}
	ret->has_more = reel_cursor_left(&cursor) > 0;
	return NULL;
}
