/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that a record can hold but that have no meaning: SPEC.md, section 10, "Values out of
 * range".
 */
#include "format/schema.h"

static bool is_range(uint64_t address, uint64_t size)
{
	/* address + size <= 2^64, without the sum. */
	return size && address <= UINT64_MAX - (size - 1);
}

static const char *check_capture(const struct reel_record_capture *capture)
{
	if (capture->word_bits != 32 && capture->word_bits != 64)
		return "word_bits is not 32 or 64";
	if (capture->byte_order != REEL_BYTE_ORDER_LITTLE &&
	    capture->byte_order != REEL_BYTE_ORDER_BIG)
		return "unknown byte_order";
	if (capture->recording.size && capture->recording.size != REEL_FILE_ID_SIZE)
		return "recording is not 16 bytes";
	return NULL;
}

static const char *check_image(const struct reel_record_image *image)
{
	if (image->total_size > REEL_IMAGE_MAX)
		return "total_size exceeds 16 MiB";
	if (image->offset > image->total_size ||
	    image->bytes.size > image->total_size - image->offset)
		return "bytes exceed the image";
	if (image->base > image->number)
		return "base is not an earlier image";
	return NULL;
}

static const char *check_space(const struct reel_record_space *space)
{
	if (space->word_bits && space->word_bits != 32 && space->word_bits != 64)
		return "word_bits is not 32 or 64";
	if (space->byte_order > REEL_BYTE_ORDER_BIG)
		return "unknown byte_order";
	return NULL;
}

static const char *check_code(const struct reel_record_code *code)
{
	return is_range(code->address, code->bytes.size) ? NULL
							 : "no bytes, or their end exceeds 2^64";
}

static const char *check_trace_steps(const struct reel_record_trace_steps *record)
{
	struct reel_cursor steps = reel_cursor(record->steps.data, record->steps.size);
	uint64_t n = 0;

	if (record->id > REEL_TRACE_STEPS_MAX)
		return "id exceeds 2^20";
	while (reel_cursor_left(&steps)) {
		uint64_t count;

		(void)reel_cursor_uleb(&steps);
		count = reel_cursor_uleb(&steps);
		if (steps.failed)
			return "steps end within a pair";
		if (count > REEL_CHAIN_MAX - n || (!count && reel_cursor_left(&steps)))
			return "steps for more frames than a chain can have";
		n += count;
	}
	return NULL;
}

static const char *check_origin(const struct reel_record_origin *origin)
{
	if (origin->file.size != REEL_FILE_ID_SIZE)
		return "file is not 16 bytes";
	if (origin->recording.size && origin->recording.size != REEL_FILE_ID_SIZE)
		return "recording is not 16 bytes";
	return NULL;
}

static const char *check_function(const struct reel_record_function *function)
{
	struct reel_cursor lines = reel_cursor(function->lines.data, function->lines.size);

	if (function->id > REEL_FUNCTION_MAX)
		return "id exceeds 2^62 - 1";
	if (!function->runtime)
		return "runtime is 0";
	while (reel_cursor_left(&lines)) {
		(void)reel_cursor_uleb(&lines);
		(void)reel_cursor_zigzag(&lines);
	}
	return lines.failed ? "lines end within a pair" : NULL;
}

/* What the schema says of the fields. */
static const char *check_fields(const struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);

	for (size_t i = 0; schema && i < schema->n_fields; i++) {
		const struct reel_schema_field *field = &schema->fields[i];
		struct reel_bytes bytes;

		if (field->role == REEL_ROLE_ID && field->ids != REEL_ID_EVENT &&
		    !reel_schema_number(field, record))
			return "id is 0";
		if (field->role == REEL_ROLE_RANGE &&
		    !is_range(reel_schema_number(field, record),
			      reel_schema_number(field + 1, record)))
			return "size is 0 or the end exceeds 2^64";
		if (field->kind != REEL_SCHEMA_TEXT)
			continue;
		bytes = reel_schema_bytes(field, record);
		if (bytes.size && memchr(bytes.data, 0, bytes.size))
			return "a text contains a NUL";
	}
	return NULL;
}

const char *reel_record_check(const struct reel_record *record)
{
	const char *problem = check_fields(record);

	if (problem)
		return problem;
	switch (record->id) {
	case REEL_RECORD_CAPTURE:
		return check_capture(&record->capture);
	case REEL_RECORD_IMAGE:
		return check_image(&record->image);
	case REEL_RECORD_SPACE:
		return check_space(&record->space);
	case REEL_RECORD_CODE:
		return check_code(&record->code);
	case REEL_RECORD_TRACE_STEPS:
		return check_trace_steps(&record->trace_steps);
	case REEL_RECORD_ORIGIN:
		return check_origin(&record->origin);
	case REEL_RECORD_FUNCTION:
		return check_function(&record->function);
	case REEL_RECORD_MARK:
		return record->mark.kind ? NULL : "kind is 0";
	case REEL_RECORD_DIGEST:
		return record->digest.sha256.size == REEL_SHA256_SIZE ? NULL
								      : "sha256 is not 32 bytes";
	default:
		return NULL;
	}
}

const char *reel_sample_check(const struct reel_sample *sample)
{
	if (!sample->layout && sample->pc)
		return "pc without registers";
	if (sample->where > UINT8_MAX)
		return "where exceeds a byte";
	for (size_t i = 0; i < sample->n_regions; i++)
		if (sample->regions[i].kind > UINT8_MAX)
			return "kind of a region exceeds a byte";
	return NULL;
}

/* ---- numbers of later versions -------------------------------------------------------------- */

const struct reel_schema_field *reel_record_unlisted(const struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);

	for (size_t i = 0; schema && i < schema->n_fields; i++) {
		const struct reel_schema_field *field = &schema->fields[i];

		if (field->listed && reel_schema_number(field, record) > field->listed)
			return field;
	}
	return NULL;
}

bool reel_sample_has_unlisted(const struct reel_sample *sample)
{
	for (size_t i = 0; i < sample->n_regions; i++)
		if (sample->regions[i].kind > REEL_REGION_GOROUTINE_STATE)
			return true;
	return sample->where > REEL_WHERE_KERNEL_THREAD;
}
