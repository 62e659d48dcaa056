/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "import/perf_abi.h"
#include "import/perf_events.h"

/* Events beyond this are no recording, but would make the search for one slow. */
#define EVENTS_MAX 65536

void perf_events_free(struct perf_events *events)
{
	for (size_t i = 0; i < events->n_events; i++)
		free(events->events[i].name);
	free(events->events);
	free(events->ids);
	*events = (struct perf_events){ 0 };
}

/* A C bit-field of a big-endian CPU begins at the highest bit. */
static uint64_t flags_of(uint64_t word, bool big_endian)
{
	uint64_t flags = 0;

	if (!big_endian)
		return word;
	for (unsigned int bit = 0; bit < 64; bit++)
		flags |= (word >> (63 - bit) & 1) << bit;
	return flags;
}

/* include/uapi/linux/perf_event.h; fields that an older perf did not write are 0. */
static void read_attr(struct perf_cursor *cursor, struct perf_event *event)
{
	bool big_endian = cursor->big_endian;

	event->type = perf_cursor_u32(cursor);
	(void)perf_cursor_u32(cursor); /* size */
	event->config = perf_cursor_u64(cursor);
	event->period_or_frequency = perf_cursor_u64(cursor);
	event->sample_type = perf_cursor_u64(cursor);
	event->read_format = perf_cursor_u64(cursor);
	event->flags = flags_of(perf_cursor_u64(cursor), big_endian);
	(void)perf_cursor_take(cursor, 24); /* wakeup, breakpoint type, addresses */
	event->branch_sample_type = perf_cursor_u64(cursor);
	event->user_registers = perf_cursor_u64(cursor);
	event->stack_size = perf_cursor_u32(cursor);
	event->clock = (int32_t)perf_cursor_u32(cursor);
}

static struct reel_error *add_id(struct perf_events *events, uint64_t id, size_t event)
{
	if (events->n_ids == events->ids_capacity) {
		size_t capacity = events->ids_capacity ? 2 * events->ids_capacity : 64;
		struct perf_id *ids = reallocarray(events->ids, capacity, sizeof(*ids));

		if (!ids)
			return reel_error_no_memory();
		events->ids = ids;
		events->ids_capacity = capacity;
	}
	events->ids[events->n_ids++] = (struct perf_id){ id, event };
	return NULL;
}

struct reel_error *perf_events_add(struct perf_events *events, struct perf_cursor *attr,
				   struct perf_cursor *ids)
{
	struct perf_event event = { 0 };

	if (perf_cursor_left(attr) < PERF_ATTR_SIZE_MIN)
		return reel_error_create(REEL_ERROR_CORRUPT, "an event's attributes of %zu bytes",
					 perf_cursor_left(attr));
	read_attr(attr, &event);
	if (events->n_events == EVENTS_MAX)
		return reel_error_create(REEL_ERROR_UNSUPPORTED, "more than %d events", EVENTS_MAX);
	if (events->n_events == events->capacity) {
		size_t capacity = events->capacity ? 2 * events->capacity : 8;
		struct perf_event *grown = reallocarray(events->events, capacity, sizeof(*grown));

		if (!grown)
			return reel_error_no_memory();
		events->events = grown;
		events->capacity = capacity;
	}
	events->events[events->n_events++] = event;
	while (perf_cursor_left(ids) >= 8) {
		struct reel_error *error =
			add_id(events, perf_cursor_u64(ids), events->n_events - 1);

		if (error)
			return error;
	}
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	const struct perf_id *left = a, *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

static struct perf_event *event_by_id(const struct perf_events *events, uint64_t id)
{
	struct perf_id key = { .id = id };
	const struct perf_id *found = NULL;

	if (events->n_ids)
		found = bsearch(&key, events->ids, events->n_ids, sizeof(key), by_id);
	/* What perf made up has no id. */
	if (found)
		return &events->events[found->event];
	return id ? NULL : events->events;
}

struct reel_error *perf_events_name(struct perf_events *events, uint64_t id, struct reel_bytes name)
{
	struct perf_event *event = id ? event_by_id(events, id) : NULL;

	if (!event || event->name || !name.size)
		return NULL;
	event->name = strndup((const char *)name.data, name.size);
	return event->name ? NULL : reel_error_no_memory();
}

/* Where a sample has its id: PERF_SAMPLE_IP, TID, TIME and ADDR stand before it. */
static size_t offset_of_id(uint64_t sample_type)
{
	return 8 *
	       (size_t)__builtin_popcountll(sample_type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							   PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR));
}

struct reel_error *perf_events_seal(struct perf_events *events)
{
	bool identifier = true, id = true;

	if (!events->n_events)
		return reel_error_create(REEL_ERROR_INVALID, "no event is described");
	if (events->n_ids)
		qsort(events->ids, events->n_ids, sizeof(*events->ids), by_id);
	events->id_offset = offset_of_id(events->events[0].sample_type);
	for (size_t i = 0; i < events->n_events; i++) {
		uint64_t type = events->events[i].sample_type;

		identifier &= !!(type & PERF_SAMPLE_IDENTIFIER);
		id &= type & PERF_SAMPLE_ID && offset_of_id(type) == events->id_offset;
	}
	if (identifier)
		events->by = PERF_BY_IDENTIFIER;
	else if (events->n_events == 1)
		events->by = PERF_ONE_EVENT;
	else if (id)
		events->by = PERF_BY_ID;
	else
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%zu events, and no identifiers that tell their samples "
					 "apart",
					 events->n_events);
	return NULL;
}

static uint64_t word_at(struct perf_cursor payload, size_t offset, bool *failed)
{
	(void)perf_cursor_take(&payload, offset);
	offset = perf_cursor_u64(&payload);
	*failed = payload.bytes.failed;
	return offset;
}

const struct perf_event *perf_events_of_sample(const struct perf_events *events,
					       struct perf_cursor payload)
{
	bool failed;
	uint64_t id;

	if (events->by == PERF_ONE_EVENT)
		return events->events;
	id = word_at(payload, events->by == PERF_BY_ID ? events->id_offset : 0, &failed);
	return failed ? NULL : event_by_id(events, id);
}

/* struct sample_id: its words, from the last one back: IDENTIFIER, CPU, STREAM_ID, ID. */
static size_t id_from_end(const struct perf_events *events)
{
	uint64_t type = events->events[0].sample_type;

	if (events->by == PERF_BY_IDENTIFIER)
		return 8;
	return 8 + (type & PERF_SAMPLE_CPU ? 8 : 0) + (type & PERF_SAMPLE_STREAM_ID ? 8 : 0);
}

const struct perf_event *perf_events_of_record(const struct perf_events *events,
					       struct perf_cursor payload)
{
	size_t left = perf_cursor_left(&payload), back;
	bool failed;
	uint64_t id;

	if (events->by == PERF_ONE_EVENT)
		return events->events;
	/* sample_id_all may be off, and then nothing in the record tells. */
	if (!(events->events[0].flags >> PERF_ATTR_SAMPLE_ID_ALL & 1))
		return events->events;
	back = id_from_end(events);
	if (left < back)
		return NULL;
	id = word_at(payload, left - back, &failed);
	return failed ? NULL : event_by_id(events, id);
}
