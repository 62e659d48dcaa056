/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes known data to the file when it is needed: a thread, its process with its mappings, and the
 * process's first thread, which names it, when the thread's first sample is placed, or before the
 * process's code is replaced (tracker_maps.c).  Other processes without samples cost nothing in the
 * file, however fast they come and go.  A space that still has the mappings of a written ancestor is
 * written as its fork, so that shared mappings are written once.
 */
#include <string.h>

#include "record/processes/tracker_internal.h"

uint64_t tracker_file_time(const struct reel_tracker *tracker, uint64_t time)
{
	return time < tracker->part_start ? tracker->part_start : time;
}

/* ---- mappings ------------------------------------------------------------------------ */

struct map_writing {
	struct reel_tracker *tracker;
	struct process *process;
	uint64_t time, space;
	uint32_t left;
	struct reel_error *error;
};

static void write_mapping(void *context, const struct reel_mapping *mapping)
{
	struct map_writing *writing = context;
	struct reel_record record = { .id = REEL_RECORD_MAP };

	if (writing->error)
		return;
	if (!writing->left ||
	    !tracker_may_write(writing->tracker, writing->process, mapping->module)) {
		tracker_leave_out(writing->tracker, writing->process);
		return;
	}
	record.map = (struct reel_record_map){
		.time = writing->time,
		.space = writing->space,
		.address = mapping->address,
		.size = mapping->size,
		.offset = mapping->offset,
		.protection = mapping->protection,
		.flags = mapping->flags,
		.module = mapping->module,
	};
	writing->error = tracker_write(writing->tracker, &record);
	writing->left--;
}

static struct reel_error *write_mappings(struct reel_tracker *tracker, struct process *process,
					 uint64_t space, uint64_t time)
{
	struct map_writing writing = {
		.tracker = tracker,
		.process = process,
		.time = time,
		.space = space,
		.left = tracker_allowance(tracker),
	};

	reel_timeline_visit(tracker->timeline, space, REEL_TIME_NOW, 0, UINT64_MAX, write_mapping,
			    &writing);
	return writing.error;
}

/* ---- spaces -------------------------------------------------------------------------- */

static const void *root_of(const struct reel_tracker *tracker, uint64_t space)
{
	return reel_timeline_view(tracker->timeline, space, REEL_TIME_NOW).root;
}

/* The living process with the space; NULL unless both spaces share exactly the same mappings. */
static struct process *sharer(const struct reel_tracker *tracker, uint64_t ancestor, uint64_t space)
{
	const struct reel_space_state *state = reel_timeline_space(tracker->timeline, ancestor);
	struct process *process =
		state ? tracker_process_find(tracker, (uint32_t)state->pid) : NULL;
	const void *root = root_of(tracker, ancestor);

	return process && process->space.id == ancestor && root && root == root_of(tracker, space)
		       ? process
		       : NULL;
}

static struct reel_error *write_space(struct reel_tracker *tracker, struct process *process,
				      const struct reel_space_state *state, uint64_t parent)
{
	struct reel_record record = { .id = REEL_RECORD_SPACE };
	uint64_t time = tracker_file_time(tracker, state->start);
	bool is_exec = process->space.id == state->id && process->space.origin == REEL_ORIGIN_EXEC;

	record.space = (struct reel_record_space){
		.time = time,
		.id = state->id,
		.parent = parent,
		.origin = parent		? REEL_ORIGIN_FORK
			  : time > state->start ? REEL_ORIGIN_SNAPSHOT
			  : is_exec		? REEL_ORIGIN_EXEC
						: REEL_ORIGIN_FOUND,
		.pid = state->pid,
		.namespace_pid = state->namespace_pid,
		.machine = state->machine,
		.word_bits = state->word_bits,
		.byte_order = state->byte_order,
		.code_mask = state->code_mask,
		.data_mask = state->data_mask,
		.vdso = state->vdso,
	};
	TRY(tracker_write(tracker, &record));
	if (!parent)
		TRY(write_mappings(tracker, process, state->id, time));
	if (state->end == UINT64_MAX)
		return NULL;
	record = (struct reel_record){ .id = REEL_RECORD_SPACE_EXIT };
	record.space_exit = (struct reel_record_space_exit){ tracker_file_time(tracker, state->end),
							     state->id };
	return tracker_write(tracker, &record);
}

static struct reel_error *write_mapped(struct reel_tracker *tracker, struct process *process)
{
	const struct reel_space_state *state =
		reel_timeline_space(tracker->timeline, process->space.id);
	struct process *parent, *base;

	process->written = true;
	if (!state)
		return NULL;
	parent = state->forked ? sharer(tracker, state->parent, state->id) : NULL;
	base = parent && parent->written ? parent : sharer(tracker, process->base, state->id);
	if (!base && parent && parent->followed) {
		const struct reel_space_state *first =
			reel_timeline_space(tracker->timeline, state->parent);

		base = parent;
		base->written = true;
		TRY(write_space(tracker, base, first, 0));
	}
	return write_space(tracker, process, state, base && base->written ? base->space.id : 0);
}

/* ---- threads ------------------------------------------------------------------------- */

/* The parent's id, if it is in the file. */
static uint64_t written_parent(const struct reel_tracker *tracker, const struct thread *thread)
{
	const struct thread *parent = tracker_thread_find(tracker, thread->parent_tid);

	return parent && parent->id == thread->parent && parent->first_space ? parent->id : 0;
}

static struct reel_error *write_thread_record(struct reel_tracker *tracker,
					      const struct thread *thread, uint64_t id,
					      uint64_t space, uint64_t time, const char *comm)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD };

	record.thread = (struct reel_record_thread){
		.time = tracker_file_time(tracker, time),
		.id = id,
		.space = space,
		.origin = time < tracker->part_start ? REEL_ORIGIN_SNAPSHOT : thread->origin,
		.tid = thread->tid,
		.namespace_tid = thread->namespace_tid,
		.parent = written_parent(tracker, thread),
		.comm = reel_bytes_of_string(comm),
	};
	return tracker_write(tracker, &record);
}

static struct reel_error *write_exit(struct reel_tracker *tracker, uint64_t thread, uint64_t time)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD_EXIT };

	record.thread_exit =
		(struct reel_record_thread_exit){ tracker_file_time(tracker, time), thread };
	return tracker_write(tracker, &record);
}

static struct reel_error *write_thread(struct reel_tracker *tracker, struct thread *thread)
{
	const struct reel_record_space *space = &thread->process->space;
	uint64_t start = thread->start > space->time ? thread->start : space->time;
	/* Older samples with the previous name may be waiting. */
	bool renamed = thread->renamed > start && thread->renamed > tracker->horizon &&
		       thread->renamed > tracker->part_start;
	struct reel_record record = { .id = REEL_RECORD_THREAD_COMM };

	thread->first_space = space->id;
	TRY(write_thread_record(tracker, thread, thread->id, space->id, start,
				renamed ? thread->comm_before : thread->comm));
	record.thread_comm = (struct reel_record_thread_comm){ thread->renamed, thread->id,
							       reel_bytes_of_string(thread->comm) };
	if (renamed)
		TRY(tracker_write(tracker, &record));
	if (thread->end != UINT64_MAX)
		TRY(write_exit(tracker, thread->id, thread->end));
	return NULL;
}

/*
 * Handles a sample older than an exec that is already in the file, or that the file begins with:
 * the thread gets a separate record there, which ends with the exec.
 */
static struct reel_error *write_earlier(struct reel_tracker *tracker, struct thread *thread,
					const struct reel_space_state *state)
{
	uint64_t start = thread->start > state->start ? thread->start : state->start;
	struct process *base = sharer(tracker, state->parent, state->id);

	thread->earlier_space = state->id;
	thread->earlier_id = ++tracker->last_thread;
	TRY(write_space(tracker, thread->process, state,
			base && base->written ? base->space.id : 0));
	TRY(write_thread_record(tracker, thread, thread->earlier_id, state->id, start,
				thread->renamed >= state->end ? thread->comm_before
							      : thread->comm));
	return write_exit(tracker, thread->earlier_id, state->end);
}

struct reel_error *tracker_write_process(struct reel_tracker *tracker, struct process *process)
{
	struct thread *main_thread = tracker_thread_find(tracker, (uint32_t)process->entry.id);

	if (!process->written)
		TRY(write_mapped(tracker, process));
	if (!main_thread || main_thread->process != process || main_thread->first_space)
		return NULL;
	return write_thread(tracker, main_thread);
}

/* ---- samples ------------------------------------------------------------------------- */

struct reel_error *tracker_write_sampled(struct reel_tracker *tracker, struct thread *thread,
					 const struct reel_space_state *state, uint64_t *thread_ret)
{
	struct process *process = thread->process;

	if (!process->followed) {
		process->followed = process->follow_children = true;
		if (!tracker->counts_threads && process->alive)
			tracker->n_living++;
	}
	if (state && state->id < (thread->first_space ? thread->first_space : process->space.id)) {
		if (thread->earlier_space != state->id)
			TRY(write_earlier(tracker, thread, state));
		*thread_ret = thread->earlier_id;
		return NULL;
	}
	/* The process may be in the file as the parent of a space, without threads. */
	if (!thread->first_space)
		TRY(tracker_write_process(tracker, process));
	if (!thread->first_space)
		TRY(write_thread(tracker, thread));
	*thread_ret = thread->id;
	return NULL;
}

/* ---- the next file ------------------------------------------------------------------- */

static void forget_thread(struct thread *thread)
{
	thread->was_written = thread->first_space != 0;
	thread->first_space = thread->earlier_space = 0;
	thread->process->written = false;
	thread->process->base = 0;
	thread->process->n_cgroups = 0;
}

static void forget_process(void *context, struct reel_id_entry *entry)
{
	struct process *process = (struct process *)entry;

	(void)context;
	process->was_written = process->written;
	process->written = false;
	process->base = 0;
	process->file_bytes = 0;
	process->n_cgroups = 0;
	for (struct thread *thread = process->threads; thread; thread = thread->next)
		forget_thread(thread);
}

void reel_tracker_restart(struct reel_tracker *tracker, uint64_t time)
{
	tracker->part_start = time;
	reel_module_table_restart(tracker->options.modules);
	reel_cgroup_table_restart(&tracker->cgroups);
	reel_id_table_visit(&tracker->processes, forget_process, NULL);
	for (struct thread *thread = tracker->dead; thread; thread = thread->next)
		forget_thread(thread);
}

struct restating {
	struct reel_tracker *tracker;
	struct reel_error *error;
};

static void restate_process(void *context, struct reel_id_entry *entry)
{
	struct process *process = (struct process *)entry;
	struct restating *restating = context;

	if (!process->was_written || restating->error)
		return;
	if (!process->written)
		restating->error = tracker_write_process(restating->tracker, process);
	for (struct thread *thread = process->threads; thread && !restating->error;
	     thread = thread->next) {
		if (thread->was_written && !thread->first_space)
			restating->error = write_thread(restating->tracker, thread);
	}
}

struct reel_error *reel_tracker_begin_round(struct reel_tracker *tracker, uint64_t time)
{
	struct restating restating = { tracker, NULL };

	reel_tracker_restart(tracker, time);
	reel_id_table_visit(&tracker->processes, restate_process, &restating);
	return restating.error;
}
