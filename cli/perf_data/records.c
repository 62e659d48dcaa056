/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of the capture's records, and builds perf's. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/perf_data/perf_data.h"

static const struct reel_field *find_field(const struct reel_field *fields, size_t n,
					   const char *name)
{
	static const struct reel_field none = { .kind = REEL_FIELD_NULL };

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	}
	return &none;
}

const struct reel_field *perf_field_of(const struct reel_record_view *record, const char *name)
{
	return find_field(record->fields, record->n_fields, name);
}

const struct reel_field *perf_subfield_of(const struct reel_field *field, const char *name)
{
	return find_field(field->items, field->n_items, name);
}

uint64_t perf_number_of(const struct reel_record_view *record, const char *name)
{
	return perf_field_of(record, name)->value;
}

char *perf_text_of(const struct reel_record_view *record, const char *name)
{
	const struct reel_field *found = perf_field_of(record, name);
	char *copy = memory_get(found->n_bytes + 1);

	if (found->n_bytes)
		memcpy(copy, found->bytes, found->n_bytes);
	return copy;
}

/* 0 is not an id. Writers count ids up, so they fit into 32-bit pointers; larger ids do not. */
const void *perf_key_of(uint64_t id)
{
	return (const void *)(uintptr_t)id;
}

/* The item of an id, made if missing; NULL if the id is invalid. */
void *perf_item_of(struct pointer_map *map, uint64_t id, size_t size)
{
	void *item = pointer_map_get(map, perf_key_of(id));

	if (!item && perf_key_of(id)) {
		item = memory_get(size);
		pointer_map_put(map, perf_key_of(id), item);
	}
	return item;
}

void perf_free_items(struct pointer_map *map)
{
	for (size_t i = 0; i < map->n_slots; i++)
		free(map->slots[i].value);
	pointer_map_free(map);
}

const struct perf_space *perf_space_of(const struct perf_data *data, uint64_t id)
{
	static const struct perf_space unknown = { .pid = NOBODY };
	const struct perf_space *space = pointer_map_get(&data->spaces, perf_key_of(id));

	return space ? space : &unknown;
}

const struct perf_thread *perf_thread_of(const struct perf_data *data, uint64_t id)
{
	static const struct perf_thread unknown = { .space = UINT64_MAX - 1, .tid = NOBODY };
	const struct perf_thread *thread = pointer_map_get(&data->threads, perf_key_of(id));

	return thread ? thread : &unknown;
}

uint32_t perf_pid_of(const struct perf_data *data, const struct perf_thread *thread)
{
	return perf_space_of(data, thread->space)->pid;
}

/* ---- perf.data's records, number by number ---------------------------------------------------- */

void perf_append_bytes(struct perf_data *data, const void *bytes, size_t size)
{
	if (size > MAX_RECORD - data->size)
		size = MAX_RECORD - data->size;
	if (size)
		memcpy(data->record + data->size, bytes, size);
	data->size += size;
}

void perf_append_number(struct perf_data *data, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[data->big_endian ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
	perf_append_bytes(data, bytes, size);
}

void perf_append_u32(struct perf_data *data, uint32_t value)
{
	perf_append_number(data, value, 4);
}

void perf_append_u64(struct perf_data *data, uint64_t value)
{
	perf_append_number(data, value, 8);
}

/* With its NUL, and zeros up to a multiple of 8. */
void perf_append_text(struct perf_data *data, const char *text)
{
	static const uint8_t zeros[8];
	size_t length = strlen(text);

	length = length < MAX_TEXT ? length : MAX_TEXT - 1;
	perf_append_bytes(data, text, length);
	perf_append_bytes(data, zeros, 8 - length % 8);
}

void perf_begin_record(struct perf_data *data, uint32_t type, uint32_t misc)
{
	data->size = 0;
	perf_append_u32(data, type);
	perf_append_number(data, misc, 2);
	perf_append_number(data, 0, 2);
}

void perf_end_record(struct perf_data *data)
{
	size_t size = data->size;

	data->size = 6;
	perf_append_number(data, size, 2);
	fwrite(data->record, 1, size, data->file);
}
