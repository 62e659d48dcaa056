/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: their spaces and names over time. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/timeline/timeline.h"

static struct reel_thread *thread_find(const struct reel_timeline *timeline, uint64_t id)
{
	return (struct reel_thread *)reel_id_table_find(&timeline->threads, id);
}

static void thread_free(struct reel_thread *thread)
{
	for (size_t i = 0; i < thread->n_names; i++)
		free(thread->names[i].comm);
	free(thread->names);
	free(thread->spans);
	free(thread);
}

/* Finds or creates the thread. */
static struct reel_error *thread_get(struct reel_timeline *timeline, uint64_t id,
				     struct reel_thread **ret)
{
	struct reel_thread *thread = thread_find(timeline, id);

	if (!thread) {
		thread = reel_id_table_add(&timeline->threads, id, sizeof(*thread));
		if (!thread)
			return reel_error_no_memory();
		thread->state = (struct reel_thread_state){
			.id = id,
			.end = UINT64_MAX,
		};
	}
	*ret = thread;
	return NULL;
}

static struct reel_error *thread_move(const struct reel_timeline *timeline,
				      struct reel_thread *thread, uint64_t time, uint64_t space)
{
	struct reel_thread_span *last =
		thread->n_spans ? &thread->spans[thread->n_spans - 1] : NULL;
	struct reel_space *to = reel_space_find(timeline, space);

	if (to && to->defined && to->state.pid == thread->state.tid)
		to->state.main_thread = thread->state.id;
	if (!last || (timeline->keep_past && last->time != time)) {
		if (!reel_array_reserve(&thread->spans, thread->n_spans, &thread->spans_capacity,
					sizeof(*thread->spans)))
			return reel_error_no_memory();
		last = &thread->spans[thread->n_spans++];
	}
	*last = (struct reel_thread_span){ .time = time, .space = space };
	return NULL;
}

static struct reel_error *thread_name(const struct reel_timeline *timeline,
				      struct reel_thread *thread, uint64_t time,
				      struct reel_bytes comm)
{
	struct reel_thread_name *last =
		thread->n_names ? &thread->names[thread->n_names - 1] : NULL;
	char *copy;

	if (!last || (timeline->keep_past && last->time != time)) {
		if (!reel_array_reserve(&thread->names, thread->n_names, &thread->names_capacity,
					sizeof(*thread->names)))
			return reel_error_no_memory();
		last = NULL;
	}
	copy = strndup(comm.size ? (const char *)comm.data : "", comm.size);
	if (!copy)
		return reel_error_no_memory();
	if (last)
		free(last->comm);
	else
		last = &thread->names[thread->n_names++];
	*last = (struct reel_thread_name){ .time = time, .comm = copy };
	return NULL;
}

struct reel_error *reel_thread_define(struct reel_timeline *timeline,
				      const struct reel_record_thread *record)
{
	struct reel_thread *thread;

	TRY(thread_get(timeline, record->id, &thread));
	if (thread->defined)
		return NULL;
	thread->defined = true;
	thread->state.tid = record->tid;
	thread->state.namespace_tid = record->namespace_tid;
	thread->state.parent = record->parent;
	/* If an exec or a rename was read before this definition, its values stay. */
	if (!thread->n_spans)
		TRY(thread_move(timeline, thread, record->time, record->space));
	if (!thread->n_names && record->comm.size)
		TRY(thread_name(timeline, thread, record->time, record->comm));
	return NULL;
}

struct reel_error *reel_thread_rename(struct reel_timeline *timeline,
				      const struct reel_record_thread_comm *record)
{
	struct reel_thread *thread;

	if (!record->thread)
		return NULL;
	TRY(thread_get(timeline, record->thread, &thread));
	return thread_name(timeline, thread, record->time, record->comm);
}

struct reel_error *reel_thread_exec(struct reel_timeline *timeline,
				    const struct reel_record_thread_exec *record)
{
	struct reel_thread *thread;
	uint64_t old;

	if (!record->thread)
		return NULL;
	TRY(thread_get(timeline, record->thread, &thread));
	old = thread->n_spans ? thread->spans[thread->n_spans - 1].space : 0;
	TRY(thread_move(timeline, thread, record->time, record->space));
	/* The kernel ends all other threads of the process first, so the old space is empty. */
	if (old && old != record->space)
		reel_space_end(timeline, old, record->time);
	return NULL;
}

void reel_thread_end(struct reel_timeline *timeline, uint64_t id, uint64_t time)
{
	struct reel_thread *thread;

	if (!timeline->keep_past) {
		thread = (struct reel_thread *)reel_id_table_remove(&timeline->threads, id);
		if (thread)
			thread_free(thread);
		return;
	}
	thread = thread_find(timeline, id);
	if (thread && thread->state.end == UINT64_MAX)
		thread->state.end = time;
}

static void free_entry(void *context, struct reel_id_entry *entry)
{
	(void)context;
	thread_free((struct reel_thread *)entry);
}

void reel_threads_free(struct reel_timeline *timeline)
{
	reel_id_table_visit(&timeline->threads, free_entry, NULL);
	reel_id_table_free(&timeline->threads);
}

/* ---- look-ups ------------------------------------------------------------------- */

const struct reel_thread_state *reel_timeline_thread(const struct reel_timeline *timeline,
						     uint64_t thread)
{
	const struct reel_thread *found = thread_find(timeline, thread);

	return found && found->defined ? &found->state : NULL;
}

uint64_t reel_timeline_thread_space(const struct reel_timeline *timeline, uint64_t thread,
				    uint64_t time)
{
	const struct reel_thread *found = thread_find(timeline, thread);
	size_t n = found ? found->n_spans : 0;

	if (timeline->keep_past)
		n = REEL_PARTITION_POINT(n, i, found->spans[i].time <= time);
	return n ? found->spans[n - 1].space : 0;
}

const char *reel_timeline_thread_comm(const struct reel_timeline *timeline, uint64_t thread,
				      uint64_t time)
{
	const struct reel_thread *found = thread_find(timeline, thread);
	size_t n = found ? found->n_names : 0;

	if (timeline->keep_past)
		n = REEL_PARTITION_POINT(n, i, found->names[i].time <= time);
	return n ? found->names[n - 1].comm : "";
}
