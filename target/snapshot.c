/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the present state as the records with which the next part of a rotated recording
 * begins. */
#include <stdlib.h>
#include <string.h>

#include "target/timeline.h"

struct snapshot {
	const struct reel_timeline *timeline;
	uint64_t time;
	struct reel_error *(*emit)(void *context, const struct reel_record *record);
	void *context;
	/* Ascending by id. */
	struct reel_id_entry **spaces, **threads;
	/* While a space is visited. */
	uint64_t space;
	struct reel_error *error;
	/* A flag for each of the timeline's modules: a mapping uses it. */
	bool *used;
};

static const struct reel_mapping_node *present_of(const struct reel_space *space)
{
	return space->n_versions ? space->versions[space->n_versions - 1].root : NULL;
}

/* NULL for spaces that are gone, or were never defined. */
static const struct reel_space *living_space(const struct reel_id_entry *entry)
{
	const struct reel_space *space = (const struct reel_space *)entry;

	return space->defined && space->state.end == UINT64_MAX ? space : NULL;
}

static void mark_module(void *context, const struct reel_mapping *mapping)
{
	struct snapshot *snapshot = context;
	const struct reel_record_module *const *list = snapshot->timeline->module_list;
	size_t low = 0, high = snapshot->timeline->n_modules;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle]->id < mapping->module)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < snapshot->timeline->n_modules && list[low]->id == mapping->module)
		snapshot->used[low] = true;
}

static struct reel_error *emit_modules(struct snapshot *snapshot)
{
	const struct reel_timeline *timeline = snapshot->timeline;
	struct reel_error *error = NULL;

	for (size_t i = 0; i < timeline->spaces.count; i++) {
		const struct reel_space *space = living_space(snapshot->spaces[i]);

		if (space)
			reel_mapping_tree_visit(present_of(space), 0, UINT64_MAX, mark_module,
						snapshot);
	}
	for (size_t i = 0; i < timeline->n_modules && !error; i++) {
		struct reel_record record = { .id = REEL_RECORD_MODULE };

		record.module = *timeline->module_list[i];
		if (snapshot->used[i])
			error = snapshot->emit(snapshot->context, &record);
	}
	return error;
}

static struct reel_error *emit_spaces(struct snapshot *snapshot)
{
	struct reel_error *error = NULL;

	for (size_t i = 0; i < snapshot->timeline->spaces.count && !error; i++) {
		const struct reel_space *space = living_space(snapshot->spaces[i]);
		struct reel_record record = { .id = REEL_RECORD_SPACE };

		if (!space)
			continue;
		record.space = (struct reel_record_space){
			.time = snapshot->time,
			.id = space->state.id,
			.parent = space->state.parent,
			.origin = REEL_ORIGIN_SNAPSHOT,
			.pid = space->state.pid,
			.namespace_pid = space->state.namespace_pid,
			.machine = space->state.machine,
			.word_bits = space->state.word_bits,
			.byte_order = space->state.byte_order,
			.code_mask = space->state.code_mask,
			.data_mask = space->state.data_mask,
			.vdso = space->state.vdso,
		};
		error = snapshot->emit(snapshot->context, &record);
	}
	return error;
}

static struct reel_error *emit_threads(struct snapshot *snapshot)
{
	const struct reel_timeline *timeline = snapshot->timeline;
	struct reel_error *error = NULL;

	for (size_t i = 0; i < timeline->threads.count && !error; i++) {
		const struct reel_thread *thread = (struct reel_thread *)snapshot->threads[i];
		const struct reel_thread_state *state = &thread->state;
		struct reel_record record = { .id = REEL_RECORD_THREAD };

		if (!thread->defined || state->end != UINT64_MAX)
			continue;
		record.thread = (struct reel_record_thread){
			.time = snapshot->time,
			.id = state->id,
			.space = reel_timeline_thread_space(timeline, state->id, REEL_TIME_NOW),
			.origin = REEL_ORIGIN_SNAPSHOT,
			.tid = state->tid,
			.namespace_tid = state->namespace_tid,
			.parent = state->parent,
			.comm = reel_bytes_of_string(
				reel_timeline_thread_comm(timeline, state->id, REEL_TIME_NOW)),
		};
		error = snapshot->emit(snapshot->context, &record);
	}
	return error;
}

static void emit_map(void *context, const struct reel_mapping *mapping)
{
	struct snapshot *snapshot = context;
	struct reel_record record = { .id = REEL_RECORD_MAP };

	if (snapshot->error)
		return;
	record.map = (struct reel_record_map){
		.time = snapshot->time,
		.space = snapshot->space,
		.address = mapping->address,
		.size = mapping->size,
		.offset = mapping->offset,
		.protection = mapping->protection,
		.flags = mapping->flags,
		.module = mapping->module,
	};
	snapshot->error = snapshot->emit(snapshot->context, &record);
}

static struct reel_error *emit_maps(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->timeline->spaces.count && !snapshot->error; i++) {
		const struct reel_space *space = living_space(snapshot->spaces[i]);

		if (!space)
			continue;
		snapshot->space = space->state.id;
		reel_mapping_tree_visit(present_of(space), 0, UINT64_MAX, emit_map, snapshot);
	}
	return snapshot->error;
}

struct reel_error *reel_timeline_snapshot(
	const struct reel_timeline *timeline, uint64_t time,
	struct reel_error *(*emit)(void *context, const struct reel_record *record), void *context)
{
	struct snapshot snapshot = {
		.timeline = timeline,
		.time = time,
		.emit = emit,
		.context = context,
		.spaces = reel_id_table_sorted(&timeline->spaces),
		.threads = reel_id_table_sorted(&timeline->threads),
		.used = calloc(timeline->n_modules + 1, sizeof(bool)),
	};
	struct reel_error *error = NULL;

	if ((timeline->spaces.count && !snapshot.spaces) ||
	    (timeline->threads.count && !snapshot.threads) || !snapshot.used)
		error = reel_error_no_memory();
	if (!error)
		error = emit_modules(&snapshot);
	if (!error)
		error = emit_spaces(&snapshot);
	if (!error)
		error = emit_threads(&snapshot);
	if (!error)
		error = emit_maps(&snapshot);
	free(snapshot.spaces);
	free(snapshot.threads);
	free(snapshot.used);
	return error;
}
