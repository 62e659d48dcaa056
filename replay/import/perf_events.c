/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "format/perf/perf_abi.h"
#include "replay/import/perf_events.h"

/* No recording has more events, and more would make look-ups slow. */
#define EVENTS_MAX 16384

struct event_id {
	struct reel_id_entry entry;
	size_t event;
};

void reel_perf_events_free(struct perf_events *events)
{
	for (size_t i = 0; i < events->n_events; i++)
		free(events->events[i].name);
	free(events->events);
	reel_id_table_free_all(&events->by_id);
	*events = (struct perf_events){ 0 };
}

/* On a big-endian CPU, a C bit-field begins at the highest bit. */
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
	(void)perf_cursor_take(cursor, 12); /* sample_regs_intr, aux_watermark */
	event->max_chain = perf_cursor_u16(cursor);
	/* 0 means kernel.perf_event_max_stack at the time, with this default. */
	if (!event->max_chain)
		event->max_chain = PERF_MAX_STACK_DEPTH;
}

/* perf uses each id once; the first event counts. */
static struct reel_error *add_id(struct perf_events *events, uint64_t id, size_t event)
{
	struct event_id *added;

	if (!id || reel_id_table_find(&events->by_id, id))
		return NULL;
	added = reel_id_table_add(&events->by_id, id, sizeof(*added));
	if (!added)
		return reel_error_no_memory();
	added->event = event;
	return NULL;
}

struct reel_error *reel_perf_events_add(struct perf_events *events, struct perf_cursor *attr,
					struct perf_cursor *ids)
{
	struct perf_event event = { 0 };

	if (perf_cursor_left(attr) < PERF_ATTR_SIZE_MIN)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "an event with attributes of %zu bytes",
					 perf_cursor_left(attr));
	read_attr(attr, &event);
	if (events->n_events == EVENTS_MAX)
		return reel_error_create(REEL_ERROR_UNSUPPORTED, "more than %d events", EVENTS_MAX);
	TRY(REEL_APPEND(events->events, events->n_events, events->capacity, event));
	while (perf_cursor_left(ids) >= 8)
		TRY(add_id(events, perf_cursor_u64(ids), events->n_events - 1));
	return NULL;
}

static struct perf_event *event_by_id(const struct perf_events *events, uint64_t id)
{
	const struct event_id *found;

	/* Records made up by perf have no id. */
	if (!id)
		return events->events;
	found = (const struct event_id *)reel_id_table_find(&events->by_id, id);
	return found ? &events->events[found->event] : NULL;
}

struct reel_error *reel_perf_events_name(struct perf_events *events, uint64_t id,
					 struct reel_bytes name)
{
	struct perf_event *event = id ? event_by_id(events, id) : NULL;

	if (!event || event->name || !name.size)
		return NULL;
	event->name = strndup((const char *)name.data, name.size);
	return event->name ? NULL : reel_error_no_memory();
}

/* The position of a sample's id: PERF_SAMPLE_IDENTIFIER is the first word, but replaces the id only
 * if all events have it; PERF_SAMPLE_IP, TID, TIME and ADDR precede PERF_SAMPLE_ID. */
static size_t offset_of_id(uint64_t type)
{
	return 8 * (size_t)__builtin_popcountll(type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
							PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
							PERF_SAMPLE_ADDR));
}

/* struct sample_id: its words, backwards from the last, are IDENTIFIER, CPU, STREAM_ID and ID. */
static size_t id_from_end(uint64_t type)
{
	return 8 +
	       8 * (size_t)__builtin_popcountll(type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU |
							PERF_SAMPLE_STREAM_ID));
}

struct reel_error *reel_perf_events_seal(struct perf_events *events)
{
	bool identifier = true, id = true;

	if (!events->n_events)
		return reel_error_create(REEL_ERROR_CORRUPT, "no events are described");
	events->id_offset = offset_of_id(events->events[0].sample_type);
	events->id_back = id_from_end(events->events[0].sample_type);
	for (size_t i = 0; i < events->n_events; i++) {
		uint64_t type = events->events[i].sample_type;

		identifier &= !!(type & PERF_SAMPLE_IDENTIFIER);
		id &= type & PERF_SAMPLE_ID && offset_of_id(type) == events->id_offset &&
		      id_from_end(type) == events->id_back;
	}
	if (events->n_events == 1) {
		events->by = PERF_ONE_EVENT;
	} else if (identifier) {
		events->by = PERF_BY_ID;
		events->id_offset = 0;
		events->id_back = 8;
	} else if (id) {
		events->by = PERF_BY_ID;
	} else {
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"%zu events, but no identifiers to tell their samples apart",
			events->n_events);
	}
	return NULL;
}

static uint64_t word_at(struct perf_cursor payload, size_t offset, bool *failed)
{
	(void)perf_cursor_take(&payload, offset);
	offset = perf_cursor_u64(&payload);
	*failed = payload.bytes.failed;
	return offset;
}

const struct perf_event *reel_perf_events_of_sample(const struct perf_events *events,
						    struct perf_cursor payload)
{
	bool failed;
	uint64_t id;

	if (events->by == PERF_ONE_EVENT)
		return events->events;
	id = word_at(payload, events->id_offset, &failed);
	return failed ? NULL : event_by_id(events, id);
}

const struct perf_event *reel_perf_events_of_record(const struct perf_events *events,
						    struct perf_cursor payload)
{
	size_t left = perf_cursor_left(&payload);
	bool failed;
	uint64_t id;

	if (events->by == PERF_ONE_EVENT)
		return events->events;
	/* sample_id_all may be off, and then the record has no id. */
	if (!(events->events[0].flags >> PERF_ATTR_SAMPLE_ID_ALL & 1))
		return events->events;
	if (left < events->id_back)
		return NULL;
	id = word_at(payload, left - events->id_back, &failed);
	return failed ? NULL : event_by_id(events, id);
}

/* ---- samples -------------------------------------------------------------------------------- */

uint64_t reel_perf_word(struct perf_words words, uint64_t index, bool big_endian)
{
	uint64_t word = reel_load64(words.bytes + 8 * index);

	return big_endian ? __builtin_bswap64(word) : word;
}

/* `count` words; fails if there are fewer. */
static struct perf_words read_words(struct perf_cursor *cursor, uint64_t count)
{
	struct perf_words words = { NULL, count };

	words.bytes = perf_cursor_take(cursor, count > UINT64_MAX / 8 ? UINT64_MAX : 8 * count);
	if (!words.bytes)
		words.count = 0;
	return words;
}

static void skip(struct perf_cursor *cursor, uint64_t size)
{
	(void)perf_cursor_take(cursor, size);
}

/* struct read_format. */
static void skip_read(struct perf_cursor *cursor, uint64_t format)
{
	uint64_t value = 8 * (1 + !!(format & PERF_READ_ID) + !!(format & PERF_READ_LOST));
	uint64_t times = 8 * (!!(format & PERF_READ_TOTAL_TIME_ENABLED) +
			      !!(format & PERF_READ_TOTAL_TIME_RUNNING));
	uint64_t count;

	if (!(format & PERF_READ_GROUP)) {
		skip(cursor, value + times);
		return;
	}
	count = perf_cursor_u64(cursor);
	skip(cursor, times);
	skip(cursor, count > UINT64_MAX / value ? UINT64_MAX : count * value);
}

static struct perf_words read_branches(struct perf_cursor *cursor, uint64_t branch_sample_type)
{
	uint64_t count = perf_cursor_u64(cursor);
	struct perf_words words;

	if (branch_sample_type & PERF_BRANCH_HW_INDEX)
		skip(cursor, 8);
	words = read_words(cursor, count > UINT64_MAX / PERF_BRANCH_WORDS
					   ? UINT64_MAX
					   : PERF_BRANCH_WORDS * count);
	if (branch_sample_type & PERF_BRANCH_COUNTERS)
		(void)read_words(cursor, count);
	return words;
}

static void read_registers(struct perf_cursor *cursor, const struct perf_event *event,
			   struct perf_sample *sample)
{
	sample->registers_abi = perf_cursor_u64(cursor);
	if (sample->registers_abi != PERF_REGS_ABI_NONE)
		sample->registers =
			read_words(cursor, (uint64_t)__builtin_popcountll(event->user_registers));
}

/* The kernel reserves `stack_room` bytes, followed by the number of bytes it could copy. */
static const char *read_stack(struct perf_cursor *cursor, struct perf_sample *sample)
{
	sample->stack_room = perf_cursor_u64(cursor);
	if (!sample->stack_room)
		return NULL;
	sample->stack = perf_cursor_take(cursor, sample->stack_room);
	sample->stack_size = perf_cursor_u64(cursor);
	if (sample->stack_size > sample->stack_room)
		return "stack exceeds the record";
	return NULL;
}

/* In the order of perf_output_sample (kernel/events/core.c). */
const char *reel_perf_sample_decode(const struct perf_event *event, struct perf_cursor cursor,
				    struct perf_sample *ret)
{
	uint64_t type = event->sample_type;
	const char *problem = NULL;

	*ret = (struct perf_sample){ .event = event, .cpu = UINT32_MAX, .pid = UINT32_MAX };
	ret->tid = UINT32_MAX;
	ret->period = event->flags >> PERF_ATTR_FREQ & 1 ? 1 : event->period_or_frequency;
	if (type & PERF_SAMPLE_IDENTIFIER)
		skip(&cursor, 8);
	if (type & PERF_SAMPLE_IP)
		ret->ip = perf_cursor_u64(&cursor);
	if (type & PERF_SAMPLE_TID) {
		ret->pid = perf_cursor_u32(&cursor);
		ret->tid = perf_cursor_u32(&cursor);
	}
	skip(&cursor, 8 * (uint64_t)(!!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ADDR) +
				     !!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID)));
	if (type & PERF_SAMPLE_CPU) {
		ret->cpu = perf_cursor_u32(&cursor);
		skip(&cursor, 4);
	}
	if (type & PERF_SAMPLE_PERIOD)
		ret->period = perf_cursor_u64(&cursor);
	if (type & PERF_SAMPLE_READ)
		skip_read(&cursor, event->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		ret->chain = read_words(&cursor, perf_cursor_u64(&cursor));
	if (type & PERF_SAMPLE_RAW)
		skip(&cursor, perf_cursor_u32(&cursor));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		ret->branches = read_branches(&cursor, event->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER)
		read_registers(&cursor, event, ret);
	if (type & PERF_SAMPLE_STACK_USER)
		problem = read_stack(&cursor, ret);
	if (cursor.bytes.failed)
		return "sample is shorter than its event requires";
	return problem;
}

uint64_t reel_perf_sample_time(const struct perf_event *event, struct perf_cursor cursor)
{
	uint64_t type = event->sample_type;

	if (!(type & PERF_SAMPLE_TIME))
		return 0;
	skip(&cursor, 8 * (uint64_t)(!!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_IP) +
				     !!(type & PERF_SAMPLE_TID)));
	return perf_cursor_u64(&cursor);
}

/* perf_event__output_id_sample: TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER. */
void reel_perf_sample_id_decode(const struct perf_event *event, struct perf_cursor cursor,
				struct perf_sample_id *ret)
{
	static const uint64_t parts = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				      PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
				      PERF_SAMPLE_IDENTIFIER;
	uint64_t type = event->sample_type;
	size_t size = 8 * (size_t)__builtin_popcountll(type & parts);

	*ret = (struct perf_sample_id){ 0, UINT32_MAX, UINT32_MAX };
	if (!(event->flags >> PERF_ATTR_SAMPLE_ID_ALL & 1) || perf_cursor_left(&cursor) < size)
		return;
	skip(&cursor, perf_cursor_left(&cursor) - size);
	if (type & PERF_SAMPLE_TID) {
		skip(&cursor, 4);
		ret->tid = perf_cursor_u32(&cursor);
	}
	if (type & PERF_SAMPLE_TIME)
		ret->time = perf_cursor_u64(&cursor);
	skip(&cursor, 8 * (uint64_t)(!!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID)));
	if (type & PERF_SAMPLE_CPU)
		ret->cpu = perf_cursor_u32(&cursor);
}
