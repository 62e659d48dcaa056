/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of the capture's records, and the stored ones. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/perf_data/perf_data.h"

const struct reel_field *perf_field_of(const struct reel_field *fields, size_t n, const char *name)
{
	static const struct reel_field none = { .kind = REEL_FIELD_NULL };

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	}
	return &none;
}

uint64_t perf_number_of(const struct reel_record_view *record, const char *name)
{
	return perf_field_of(record->fields, record->n_fields, name)->value;
}

char *perf_text_of(const struct reel_record_view *record, const char *name)
{
	const struct reel_field *found = perf_field_of(record->fields, record->n_fields, name);
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
