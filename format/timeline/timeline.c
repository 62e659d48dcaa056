/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/quantity.h"
#include "format/schema.h"
#include "format/timeline/timeline.h"

/* ---- records that wait to be sorted by time ----------------------------------------------- */

/* Only the struct of each record's own kind is kept, as there may be millions. */
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
	start = reel_arena_allocate(&timeline->arena, sizeof(*start));
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

/* Keeps a copy of the record. */
static struct reel_error *collect(struct reel_timeline *timeline, const struct reel_record *record)
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
		uint8_t *data = reel_arena_allocate(
			stays ? &timeline->code_arena : &timeline->arena, bytes->size);

		if (!data)
			return reel_error_no_memory();
		memcpy(data, bytes->data, bytes->size);
		bytes->data = data;
	}
	pending.payload = reel_arena_allocate(&timeline->arena, size);
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

/* Applies a checked record with a time; ignores others. */
static struct reel_error *apply(struct reel_timeline *timeline, const struct reel_record *record)
{
	switch (record->id) {
	case REEL_RECORD_SPACE:
		return reel_space_define(timeline, &record->space);
	case REEL_RECORD_SPACE_EXIT:
		reel_space_end(timeline, record->space_exit.space, record->space_exit.time);
		return NULL;
	case REEL_RECORD_THREAD:
		return reel_thread_define(timeline, &record->thread);
	case REEL_RECORD_THREAD_COMM:
		return reel_thread_rename(timeline, &record->thread_comm);
	case REEL_RECORD_THREAD_EXEC:
		return reel_thread_exec(timeline, &record->thread_exec);
	case REEL_RECORD_THREAD_EXIT:
		reel_thread_end(timeline, record->thread_exit.thread, record->thread_exit.time);
		return NULL;
	case REEL_RECORD_MAP:
		return reel_space_map(timeline, &record->map);
	case REEL_RECORD_UNMAP:
		return reel_space_unmap(timeline, &record->unmap);
	case REEL_RECORD_CODE_END:
		return reel_space_end_code(timeline, &record->code_end);
	case REEL_RECORD_JIT_SYMBOL:
	case REEL_RECORD_JIT_UNWIND:
		return reel_space_add_jit(timeline, record);
	case REEL_RECORD_SPACE_CGROUP:
		return reel_space_set_cgroup(timeline, &record->space_cgroup);
	default:
		return NULL;
	}
}

static struct reel_error *apply_one(struct reel_timeline *timeline,
				    const struct reel_pending_record *pending)
{
	struct reel_record record = { .id = pending->id };
	struct code_payload *code = pending->payload;

	if (pending->id == REEL_RECORD_CODE)
		return pending->is_expected
			       ? reel_space_expect_code(timeline, &code->record, &code->piece)
			       : reel_space_add_code(timeline, &code->record, code->piece);
	memcpy(&record.space, pending->payload, reel_schema_of(pending->id)->size);
	return apply(timeline, &record);
}

static void drop_pending(struct reel_timeline *timeline)
{
	reel_id_table_free(&timeline->starts);
	timeline->starts = (struct reel_id_table){ 0 };
	reel_arena_free(&timeline->arena);
	free(timeline->pending);
	timeline->pending = NULL;
	timeline->n_pending = timeline->pending_capacity = 0;
}

/* Applies the collected records, in order of time, and drops them. */
static struct reel_error *apply_pending(struct reel_timeline *timeline)
{
	struct reel_error *error = NULL;

	if (!is_sorted(timeline))
		qsort(timeline->pending, timeline->n_pending, sizeof(*timeline->pending),
		      compare_pending);
	for (size_t i = 0; i < timeline->n_pending && !error; i++)
		error = apply_one(timeline, &timeline->pending[i]);
	drop_pending(timeline);
	return error;
}

/* ---- the timeline ------------------------------------------------------------------- */

struct reel_error *reel_timeline_create(bool keep_past, struct reel_timeline **ret)
{
	struct reel_timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return reel_error_no_memory();
	timeline->keep_past = keep_past;
	*ret = timeline;
	return NULL;
}

void reel_timeline_destroy(struct reel_timeline *timeline)
{
	if (!timeline)
		return;
	drop_pending(timeline);
	reel_threads_free(timeline);
	reel_jit_free(timeline);
	reel_spaces_free(timeline);
	reel_modules_free(timeline);
	reel_cgroups_free(timeline);
	reel_mapping_pool_free(&timeline->pool);
	reel_mapping_pool_free(&timeline->code_pool);
	reel_arena_free(&timeline->code_arena);
	free(timeline->pieces);
	free(timeline);
}

struct reel_error *reel_timeline_add(struct reel_timeline *timeline,
				     const struct reel_record *record)
{
	const char *problem = reel_record_check(record);

	if (problem)
		return reel_error_create(REEL_ERROR_INVALID, "%s: %s", reel_record_name(record->id),
					 problem);
	if (timeline->sealed)
		return reel_error_create(REEL_ERROR_INVALID,
					 "cannot add a record to a sealed timeline");
	if (record->id == REEL_RECORD_MODULE)
		return reel_module_define(timeline, &record->module);
	if (timeline->keep_past && record->id == REEL_RECORD_JIT_LINE)
		return reel_jit_add_line(timeline, &record->jit_line);
	if (timeline->keep_past && record->id == REEL_RECORD_CGROUP)
		return reel_cgroup_define(timeline, &record->cgroup);
	if (timeline->keep_past)
		return collect(timeline, record);
	return apply(timeline, record);
}

struct reel_error *reel_timeline_seal(struct reel_timeline *timeline)
{
	if (!timeline->keep_past || timeline->sealed)
		return NULL;
	timeline->sealed = true;
	reel_modules_sort(timeline);
	TRY(apply_pending(timeline));
	return reel_jit_seal(timeline);
}
