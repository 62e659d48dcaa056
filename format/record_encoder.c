/* SPDX-License-Identifier: Apache-2.0 */
#include "format/record_coder.h"
#include "format/schema.h"

static bool is_number(const struct reel_schema_field *field)
{
	return field->kind == REEL_SCHEMA_NUMBER || field->kind == REEL_SCHEMA_ADDRESS;
}

/* The number of fields to write. */
static size_t count_fields(const struct reel_schema *schema, const struct reel_record *record)
{
	size_t n = schema->n_fields;

	for (; n && schema->fields[n - 1].left_out; n--) {
		const struct reel_schema_field *field = &schema->fields[n - 1];

		if (is_number(field) ? reel_schema_number(field, record) != 0
				     : reel_schema_bytes(field, record).size != 0)
			break;
	}
	return n;
}

static size_t payload_size(const struct reel_schema *schema, const struct reel_record *record)
{
	size_t size = 0, n = count_fields(schema, record);

	for (size_t i = 0; i < n; i++) {
		const struct reel_schema_field *field = &schema->fields[i];

		if (is_number(field)) {
			size += reel_uleb_size(reel_schema_number(field, record));
		} else {
			struct reel_bytes bytes = reel_schema_bytes(field, record);

			size += reel_uleb_size(bytes.size) + bytes.size;
		}
	}
	return size;
}

static uint64_t tag_of(const struct reel_schema *schema, const struct reel_record *record)
{
	return (uint64_t)record->id << 1 | schema->critical;
}

size_t reel_record_encoded_size(const struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);
	size_t size = payload_size(schema, record);

	return reel_uleb_size(tag_of(schema, record)) + reel_uleb_size(size) + size;
}

void reel_record_encode(struct reel_buffer *buffer, const struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);
	size_t n = count_fields(schema, record);

	/* One reservation: appends the whole record or nothing. */
	if (!reel_buffer_reserve(buffer, reel_record_encoded_size(record)))
		return;
	reel_buffer_uleb(buffer, tag_of(schema, record));
	reel_buffer_uleb(buffer, payload_size(schema, record));
	for (size_t i = 0; i < n; i++) {
		const struct reel_schema_field *field = &schema->fields[i];

		if (is_number(field)) {
			reel_buffer_uleb(buffer, reel_schema_number(field, record));
		} else {
			struct reel_bytes bytes = reel_schema_bytes(field, record);

			reel_buffer_uleb(buffer, bytes.size);
			reel_buffer_append(buffer, bytes.data, bytes.size);
		}
	}
}

void reel_record_frame_append(struct reel_buffer *buffer, const struct reel_record_frame *frame)
{
	size_t size = reel_cursor_left(&frame->payload);

	reel_buffer_uleb(buffer, frame->id << 1 | frame->critical);
	reel_buffer_uleb(buffer, size);
	reel_buffer_append(buffer, frame->payload.at, size);
}
