/* SPDX-License-Identifier: Apache-2.0 */
/* format/schema.c, record_encoder.c, record_decoder.c, record_check.c. */
#include "format/schema.h"
#include "tests/support/capture.h"
#include "tests/support/test.h"

static const uint64_t interesting[] = { 0, 1, 127, 128, 16384, UINT32_MAX, 1ull << 63, UINT64_MAX };

/* Fills every field by the schema, with distinct values. */
static void fill(struct reel_record *record, uint64_t id, size_t round)
{
	const struct reel_schema *schema = reel_schema_of(id);

	memset(record, 0, sizeof(*record));
	record->id = (enum reel_record_id)id;
	for (size_t i = 0; i < schema->n_fields; i++) {
		char *member = (char *)record + schema->fields[i].offset;
		uint64_t number = interesting[(i + round) % 8];
		struct reel_bytes bytes = { (const uint8_t *)"0123456789" + i % 8, round % 3 };

		if (schema->fields[i].kind == REEL_SCHEMA_NUMBER ||
		    schema->fields[i].kind == REEL_SCHEMA_ADDRESS)
			memcpy(member, &number, sizeof(number));
		else
			memcpy(member, &bytes, sizeof(bytes));
	}
}

static void assert_records_equal(const struct reel_record *a, const struct reel_record *b)
{
	const struct reel_schema *schema = reel_schema_of(a->id);

	assert_int_equal(a->id, b->id);
	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct reel_schema_field *field = &schema->fields[i];
		struct reel_bytes x, y;

		if (field->kind == REEL_SCHEMA_NUMBER || field->kind == REEL_SCHEMA_ADDRESS) {
			assert_true(reel_schema_number(field, a) == reel_schema_number(field, b));
			continue;
		}
		x = reel_schema_bytes(field, a);
		y = reel_schema_bytes(field, b);
		assert_int_equal(x.size, y.size);
		assert_memory_equal(x.data, y.data, x.size);
	}
}

TEST(test_round_trip)
{
	for (uint64_t id = 0; id < REEL_RECORD_ID_LIMIT; id++) {
		if (!reel_schema_of(id))
			continue;
		for (size_t round = 0; round < 24; round++) {
			_cleanup_buffer_ struct reel_buffer buffer = { 0 };
			struct reel_record record, decoded;
			struct reel_record_frame frame;
			struct reel_cursor cursor;

			fill(&record, id, round);
			reel_record_encode(&buffer, &record);
			assert_false(buffer.failed);
			assert_int_equal(buffer.size, reel_record_encoded_size(&record));
			cursor = reel_cursor(buffer.bytes, buffer.size);
			must(reel_record_frame_next(&cursor, &frame));
			assert_int_equal(frame.id, id);
			assert_int_equal(frame.critical, reel_schema_of(id)->critical);
			must(reel_record_decode(&frame, &decoded));
			assert_records_equal(&record, &decoded);
			must(reel_record_frame_next(&cursor, &frame));
			assert_int_equal(frame.id, 0);
		}
	}
}

static enum reel_error_code decode_code(const struct reel_record_frame *frame)
{
	struct reel_record record;
	_cleanup_error_ struct reel_error *error = reel_record_decode(frame, &record);

	return error ? reel_error_code(error) : 0;
}

/*
 * Whether that is the size of its last fields, all of which were added later. A payload may omit
 * them.
 */
static bool lacks_added_fields(const struct reel_record *record, size_t left_out)
{
	const struct reel_schema *schema = reel_schema_of(record->id);
	size_t added = 0;

	for (size_t i = schema->n_fields; i-- && schema->fields[i].added;) {
		_cleanup_buffer_ struct reel_buffer number = { 0 };

		if (schema->fields[i].kind == REEL_SCHEMA_BYTES ||
		    schema->fields[i].kind == REEL_SCHEMA_TEXT) {
			added += reel_schema_bytes(&schema->fields[i], record).size;
			reel_buffer_uleb(&number,
					 reel_schema_bytes(&schema->fields[i], record).size);
		} else {
			reel_buffer_uleb(&number, reel_schema_number(&schema->fields[i], record));
		}
		added += number.size;
		if (added == left_out)
			return true;
	}
	return false;
}

/* A payload that ends within a field is corrupt; bytes after the fields are ignored. */
TEST(test_payload_size)
{
	for (uint64_t id = 0; id < REEL_RECORD_ID_LIMIT; id++) {
		_cleanup_buffer_ struct reel_buffer buffer = { 0 };
		struct reel_record_frame frame;
		struct reel_record record;
		struct reel_cursor cursor;
		const uint8_t *end;

		if (!reel_schema_of(id))
			continue;
		fill(&record, id, 5);
		reel_record_encode(&buffer, &record);
		reel_buffer_append(&buffer, "more", 4);
		cursor = reel_cursor(buffer.bytes, buffer.size);
		must(reel_record_frame_next(&cursor, &frame));
		end = frame.payload.end;
		for (; frame.payload.end > frame.payload.start;) {
			frame.payload.end--;
			if (lacks_added_fields(&record, (size_t)(end - frame.payload.end)))
				assert_int_equal(decode_code(&frame), 0);
			else
				assert_int_equal(decode_code(&frame), REEL_ERROR_CORRUPT);
		}
		frame.payload.end = end + 4;
		assert_int_equal(decode_code(&frame), 0);
	}
}

static enum reel_error_code frame_code(const uint8_t *bytes, size_t size)
{
	struct reel_cursor cursor = reel_cursor(bytes, size);
	struct reel_record_frame frame;
	_cleanup_error_ struct reel_error *error = reel_record_frame_next(&cursor, &frame);

	if (error)
		assert_int_equal(reel_cursor_left(&cursor), 0);
	return error ? reel_error_code(error) : 0;
}

TEST(test_frame)
{
	static const uint8_t long_tag[] = { 0x9e, 0x80, 0x80, 0x80, 0x00, 0x81, 0x00, 7 };
	static const uint8_t ten[] = { 0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 0 };
	static const uint8_t huge[] = {
		30, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1
	};

	assert_int_equal(frame_code((const uint8_t *)"\x1e\x00", 2), 0);
	assert_int_equal(frame_code(long_tag, sizeof(long_tag)), 0);
	assert_int_equal(frame_code((const uint8_t *)"\x1e", 1), REEL_ERROR_CORRUPT);
	assert_int_equal(frame_code((const uint8_t *)"\x1e\x01", 2), REEL_ERROR_CORRUPT);
	assert_int_equal(frame_code((const uint8_t *)"\x00\x00", 2), REEL_ERROR_CORRUPT);
	assert_int_equal(frame_code((const uint8_t *)"\x01\x00", 2), REEL_ERROR_CORRUPT);
	assert_int_equal(frame_code(ten, sizeof(ten)), REEL_ERROR_CORRUPT);
	assert_int_equal(frame_code(huge, sizeof(huge)), REEL_ERROR_CORRUPT);
}

TEST(test_limits)
{
	_cleanup_free_ uint8_t *text = malloc(REEL_TEXT_MAX + 1);
	struct reel_record record = { .id = REEL_RECORD_THREAD_COMM };

	memset(text, 'x', REEL_TEXT_MAX + 1);
	for (size_t excess = 0; excess < 2; excess++) {
		_cleanup_buffer_ struct reel_buffer buffer = { 0 };
		struct reel_record_frame frame;
		struct reel_cursor cursor;

		record.thread_comm.comm = (struct reel_bytes){ text, REEL_TEXT_MAX + excess };
		reel_record_encode(&buffer, &record);
		cursor = reel_cursor(buffer.bytes, buffer.size);
		must(reel_record_frame_next(&cursor, &frame));
		assert_int_equal(decode_code(&frame), excess ? REEL_ERROR_CORRUPT : 0);
	}
}

TEST(test_check)
{
	struct reel_record map = { .id = REEL_RECORD_MAP,
				   .map = { .address = 1, .size = UINT64_MAX } };
	struct reel_record comm = { .id = REEL_RECORD_THREAD_COMM };
	struct reel_record image = { .id = REEL_RECORD_IMAGE,
				     .image = {
					     .offset = 4, .total_size = 8, .bytes = { NULL, 4 } } };
	struct reel_record capture = { .id = REEL_RECORD_CAPTURE,
				       .capture = { .word_bits = 32, .byte_order = 2 } };

	assert_null(reel_record_check(&map));
	map.map.address = 2;
	assert_non_null(reel_record_check(&map));
	map.map.size = 0;
	assert_non_null(reel_record_check(&map));
	comm.thread_comm.comm = (struct reel_bytes){ (const uint8_t *)"a\0b", 3 };
	assert_non_null(reel_record_check(&comm));
	comm.thread_comm.comm.size = 1;
	assert_null(reel_record_check(&comm));
	assert_null(reel_record_check(&image));
	image.image.base = 1;
	assert_non_null(reel_record_check(&image));
	image.image.number = 1;
	assert_null(reel_record_check(&image));
	image.image.bytes.size = 5;
	assert_non_null(reel_record_check(&image));
	/* A large record that would fit is still rejected. */
	image.image.total_size = REEL_IMAGE_MAX + 1;
	assert_non_null(reel_record_check(&image));
	map.map = (struct reel_record_map){ .size = 1, .protection = UINT64_MAX };
	assert_null(reel_record_check(&map));
	assert_null(reel_record_check(&capture));
	capture.capture.recording = (struct reel_bytes){ (const uint8_t *)"0123456789abcdef", 15 };
	assert_non_null(reel_record_check(&capture));
	capture.capture.recording.size = 16;
	assert_null(reel_record_check(&capture));
}

/* Rarely known fields take no bytes when unknown. */
TEST(test_left_out)
{
	struct reel_record record = { .id = REEL_RECORD_MODULE, .module = { .id = 1, .kind = 1 } };
	size_t size = reel_record_encoded_size(&record);

	/* Tag, size, and eight fields. */
	assert_int_equal(size, 10);
	record.module.file_time = 1;
	assert_int_equal(reel_record_encoded_size(&record), size + 2);
	record.module.file_digest = reel_bytes_of_string("0123456789abcdef");
	assert_int_equal(reel_record_encoded_size(&record), size + 2 + 17);
}

/* The table of SPEC.md, section 4. */
TEST(test_table)
{
	assert_string_equal(reel_record_name(1), "CAPTURE");
	assert_string_equal(reel_record_name(15), "END");
	assert_string_equal(reel_record_name(16), "CODE");
	assert_string_equal(reel_record_name(35), "COLUMNS");
	assert_string_equal(reel_record_name(48), "INDEX_ENTRY");
	assert_null(reel_record_name(0));
	assert_string_equal(reel_record_name(19), "JIT_LINE");
	assert_string_equal(reel_record_name(20), "TRACE_STEPS");
	assert_string_equal(reel_record_name(21), "ORIGIN");
	assert_string_equal(reel_record_name(24), "FUNCTION");
	assert_string_equal(reel_record_name(25), "MARK");
	assert_string_equal(reel_record_name(26), "CODE_END");
	assert_null(reel_record_name(27));
	/* First forms of samples. */
	assert_null(reel_record_name(33));
	assert_null(reel_record_name(50));
	assert_null(reel_record_name(UINT64_MAX));
	assert_null(reel_schema_of(32));
	assert_null(reel_schema_of(35));
	assert_int_equal(reel_record_block_type(15), REEL_BLOCK_SIDE);
	assert_int_equal(reel_record_block_type(26), REEL_BLOCK_SIDE);
	assert_int_equal(reel_record_block_type(27), 0);
	assert_int_equal(reel_record_block_type(32), REEL_BLOCK_SAMPLES);
	assert_int_equal(reel_record_block_type(38), REEL_BLOCK_SAMPLES);
	assert_int_equal(reel_record_block_type(48), REEL_BLOCK_INDEX);
	assert_true(reel_schema_of(11)->critical);
	assert_false(reel_schema_of(14)->critical);
	assert_false(reel_schema_of(16)->critical);
	assert_true(reel_schema_of(21)->critical);
}

/* A field that is named after what it relates to is marked so. */
TEST(test_roles)
{
	static const struct {
		const char *name;
		enum reel_schema_role role;
	} roles[] = {
		{ "time", REEL_ROLE_TIME },
		{ "since", REEL_ROLE_TIME },
		{ "id", REEL_ROLE_ID },
		{ "thread", REEL_ROLE_REFERENCE },
		{ "space", REEL_ROLE_REFERENCE },
		{ "module", REEL_ROLE_REFERENCE },
		{ "cgroup", REEL_ROLE_REFERENCE },
		{ "parent", REEL_ROLE_REFERENCE },
	};

	for (uint64_t id = 0; id < REEL_RECORD_ID_LIMIT; id++) {
		const struct reel_schema *schema = reel_schema_of(id);

		for (size_t i = 0; schema && i < schema->n_fields; i++) {
			const struct reel_schema_field *field = &schema->fields[i];
			enum reel_schema_role role = field->role;

			assert_int_equal(!field->ids,
					 role != REEL_ROLE_ID && role != REEL_ROLE_REFERENCE);
			if (role == REEL_ROLE_TIME_IF_KNOWN)
				role = REEL_ROLE_TIME;
			if (role == REEL_ROLE_RANGE)
				assert_string_equal(field[1].name, "size");
			for (size_t j = 0; j < sizeof(roles) / sizeof(*roles); j++)
				if (!strcmp(field->name, roles[j].name))
					assert_int_equal(role, roles[j].role);
		}
	}
}

RUN_TESTS()
