/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that wait to be sorted by time.  Only the struct of each record's own kind is kept, as
 * there may be millions.
 */
#include <stdlib.h>
#include <string.h>

#include "format/schema.h"
#include "base/array.h"
#include "base/quantity.h"
#include "format/timeline/timeline.h"

struct reel_pending_record {
	uint64_t time;
	size_t number; /* order of arrival, for equal times */
	enum reel_record_id id;
	void *payload;
	bool is_expected; /* CODE, for `since` */
};

/* CODE has two pending records with the same payload. */
struct code_payload {
	struct reel_record_code record;
	size_t piece;
};

/* Writers without `since` read a page again after a second, and some time later than the sample
 * that led there. */
#define CODE_READ_WITHIN (2 * REEL_NS_PER_SECOND)

struct space_start {
	struct reel_id_entry entry;
	uint64_t time;
};

static struct reel_error *note_start(struct reel_timeline *timeline,
				     const struct reel_record_space *record)
{
	struct space_start *start;

	if (reel_id_table_find(&timeline->starts, record->id))
		return NULL;
	start = reel_arena_take(&timeline->arena, sizeof(*start));
	if (!start)
		return reel_error_no_memory();
	*start = (struct space_start){ { .id = record->id }, record->time };
	return reel_id_table_insert(&timeline->starts, &start->entry) ? NULL
								      : reel_error_no_memory();
}

/* Since when the bytes may have been there; not before the space. */
static uint64_t code_since(const struct reel_timeline *timeline,
			   const struct reel_record_code *record)
{
	const struct space_start *start =
		(struct space_start *)reel_id_table_find(&timeline->starts, record->space);
	uint64_t since = record->since;

	if (!since && record->time > CODE_READ_WITHIN)
		since = record->time - CODE_READ_WITHIN;
	if (start && start->time > since)
		since = start->time;
	return since < record->time ? since : record->time;
}

#define CHUNK_SIZE (64 << 10)

struct reel_arena_chunk {
	struct reel_arena_chunk *next;
	size_t used, size;
	max_align_t data[];
};

void *reel_arena_take(struct reel_arena_chunk **arena, size_t size)
{
	struct reel_arena_chunk *chunk = *arena;
	size_t wanted = size > CHUNK_SIZE ? size : CHUNK_SIZE;
	void *taken;

	size = (size + 7) & ~(size_t)7;
	if (!chunk || chunk->size - chunk->used < size) {
		wanted = (wanted + 7) & ~(size_t)7;
		chunk = malloc(sizeof(*chunk) + wanted);
		if (!chunk)
			return NULL;
		*chunk = (struct reel_arena_chunk){ .next = *arena, .size = wanted };
		*arena = chunk;
	}
	taken = (char *)chunk->data + chunk->used;
	chunk->used += size;
	return taken;
}

/* The size of the struct for relevant records with a time, else 0. */
static size_t payload_size(const struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);
	uint64_t id;
	enum reel_id_kind subject = reel_record_subject(record, &id);

	if (subject != REEL_ID_SPACE && subject != REEL_ID_THREAD)
		return 0;
	if (record->id == REEL_RECORD_CODE)
		return sizeof(struct code_payload);
	return schema->size;
}

/* Its text or bytes: each has one at most. */
static struct reel_bytes *bytes_of(struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);

	for (size_t i = 0; i < schema->n_fields; i++)
		if (schema->fields[i].kind == REEL_SCHEMA_TEXT ||
		    schema->fields[i].kind == REEL_SCHEMA_BYTES)
			return (void *)((char *)record + schema->fields[i].offset);
	return NULL;
}

static struct reel_error *add_pending(struct reel_timeline *timeline,
				      const struct reel_pending_record *pending)
{
	if (!reel_array_reserve(&timeline->pending, timeline->n_pending,
				&timeline->pending_capacity, sizeof(*timeline->pending)))
		return reel_error_no_memory();
	timeline->pending[timeline->n_pending] = *pending;
	timeline->pending[timeline->n_pending].number = timeline->n_pending;
	timeline->n_pending++;
	return NULL;
}

struct reel_error *reel_timeline_collect(struct reel_timeline *timeline,
					 const struct reel_record *record)
{
	size_t size = payload_size(record);
	struct reel_record copy = *record;
	struct reel_bytes *bytes = size ? bytes_of(&copy) : NULL;
	struct reel_pending_record pending = { .id = record->id };

	if (!size)
		return NULL;
	if (record->id == REEL_RECORD_SPACE)
		TRY(note_start(timeline, &record->space));
	if (bytes && bytes->size) {
		/* Code and its unwind information stay where they are. */
		bool stays = record->id == REEL_RECORD_CODE || record->id == REEL_RECORD_JIT_UNWIND;
		uint8_t *data = reel_arena_take(stays ? &timeline->code_arena : &timeline->arena,
						bytes->size);

		if (!data)
			return reel_error_no_memory();
		memcpy(data, bytes->data, bytes->size);
		bytes->data = data;
	}
	pending.payload = reel_arena_take(&timeline->arena, size);
	if (!pending.payload)
		return reel_error_no_memory();
	if (record->id == REEL_RECORD_CODE) {
		*(struct code_payload *)pending.payload =
			(struct code_payload){ copy.code, SIZE_MAX };
		pending.time = code_since(timeline, &copy.code);
		((struct code_payload *)pending.payload)->record.since = pending.time;
		pending.is_expected = true;
		TRY(add_pending(timeline, &pending));
		pending.is_expected = false;
	} else {
		/* All members of the union begin at the same offset. */
		memcpy(pending.payload, &copy.space, size);
	}
	(void)reel_record_time(record, &pending.time);
	return add_pending(timeline, &pending);
}

static int compare_pending(const void *a, const void *b)
{
	const struct reel_pending_record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static bool is_sorted(const struct reel_timeline *timeline)
{
	for (size_t i = 1; i < timeline->n_pending; i++) {
		if (timeline->pending[i].time < timeline->pending[i - 1].time)
			return false;
	}
	return true;
}

static struct reel_error *apply(struct reel_timeline *timeline,
				const struct reel_pending_record *pending)
{
	struct reel_record record = { .id = pending->id };
	struct code_payload *code = pending->payload;

	if (pending->id == REEL_RECORD_CODE)
		return pending->is_expected
			       ? reel_space_expect_code(timeline, &code->record, &code->piece)
			       : reel_space_add_code(timeline, &code->record, code->piece);
	memcpy(&record.space, pending->payload, reel_schema_of(pending->id)->size);
	return reel_timeline_apply(timeline, &record);
}

struct reel_error *reel_timeline_apply_pending(struct reel_timeline *timeline)
{
	struct reel_error *error = NULL;

	if (!is_sorted(timeline))
		qsort(timeline->pending, timeline->n_pending, sizeof(*timeline->pending),
		      compare_pending);
	for (size_t i = 0; i < timeline->n_pending && !error; i++)
		error = apply(timeline, &timeline->pending[i]);
	reel_timeline_drop_pending(timeline);
	return error;
}

void reel_arena_free(struct reel_arena_chunk **arena)
{
	struct reel_arena_chunk *next;

	for (struct reel_arena_chunk *chunk = *arena; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	*arena = NULL;
}

void reel_timeline_drop_pending(struct reel_timeline *timeline)
{
	reel_id_table_free(&timeline->starts);
	timeline->starts = (struct reel_id_table){ 0 };
	reel_arena_free(&timeline->arena);
	free(timeline->pending);
	timeline->pending = NULL;
	timeline->n_pending = timeline->pending_capacity = 0;
}
