/* SPDX-License-Identifier: Apache-2.0 */
/* Builds records, number by number. */
#include <inttypes.h>
#include <string.h>

#include "cli/perf_data/perf_data.h"

void perf_put_bytes(struct perf_data *data, const void *bytes, size_t size)
{
	if (size > MAX_RECORD - data->size)
		size = MAX_RECORD - data->size;
	if (size)
		memcpy(data->record + data->size, bytes, size);
	data->size += size;
}

void perf_put_number(struct perf_data *data, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[data->big_endian ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
	perf_put_bytes(data, bytes, size);
}

void perf_put_u32(struct perf_data *data, uint32_t value)
{
	perf_put_number(data, value, 4);
}

void perf_put_u64(struct perf_data *data, uint64_t value)
{
	perf_put_number(data, value, 8);
}

/* With its NUL, and zeros up to a multiple of 8. */
void perf_put_text(struct perf_data *data, const char *text)
{
	static const uint8_t zeros[8];
	size_t length = strlen(text);

	length = length < MAX_TEXT ? length : MAX_TEXT - 1;
	perf_put_bytes(data, text, length);
	perf_put_bytes(data, zeros, 8 - length % 8);
}

void perf_begin_record(struct perf_data *data, uint32_t type, uint32_t misc)
{
	data->size = 0;
	perf_put_u32(data, type);
	perf_put_number(data, misc, 2);
	perf_put_number(data, 0, 2);
}

void perf_end_record(struct perf_data *data)
{
	size_t size = data->size;

	data->size = 6;
	perf_put_number(data, size, 2);
	fwrite(data->record, 1, size, data->file);
}
