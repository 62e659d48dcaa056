/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/commands.h"
#include "base/quantity.h"
#include "record/processes/tracker_internal.h"

/* Time for reading running processes before the first sample. */
#define SETUP_NS (2 * REEL_NS_PER_SECOND)
/* How long a program takes to begin its interpreter. */
#define BEGIN_TIME REEL_NS_PER_SECOND

struct reel_error *reel_tracker_create(const struct reel_tracker_options *options,
				       struct reel_tracker **ret)
{
	struct reel_tracker *tracker = calloc(1, sizeof(*tracker));
	struct reel_error *error;

	if (!tracker)
		return reel_error_no_memory();
	tracker->options = *options;
	tracker->programs = (struct reel_programs){
		.native = options->target->elf,
		.compat_machine = options->target->compat_machine,
		.code_mask = options->target->code_mask,
		.data_mask = options->target->data_mask,
	};
	tracker->dead_end = &tracker->dead;
	tracker->proc_is_ours = reel_proc_is_ours();
	tracker->setup_end = reel_now() + SETUP_NS;
	error = reel_timeline_create(false, &tracker->timeline);
	if (error) {
		free(tracker);
		return error;
	}
	reel_timeline_keep_ended(tracker->timeline);
	*ret = tracker;
	return NULL;
}

void tracker_forget_service(struct process *process)
{
	free(process->service.is);
	process->service.is = NULL;
	process->service.next = (struct next_question){ 0 };
}

static void process_free(struct process *process)
{
	tracker_forget_service(process);
	free(process->cgroups);
	free(process);
}

/* Accounts of ended processes count for minutes: with many starts per second, they would be most of
 * the recorder's memory. */
static void process_forget(struct reel_tracker *tracker, struct process *process)
{
	uint32_t pid = (uint32_t)process->entry.id;

	/* Unless a new process has the number. */
	if (!tracker_process_find(tracker, pid))
		reel_budget_forget(tracker->options.budget, pid);
	process_free(process);
}

static void free_tid(void *context, struct reel_id_entry *entry)
{
	struct tid_entry *tid = (struct tid_entry *)entry;

	(void)context;
	while (tid->newest) {
		struct thread *thread = tid->newest;
		struct process *process = thread->process;

		tid->newest = thread->older;
		/* Living processes are freed with the table of processes. */
		if (!--process->n_references && !process->alive)
			process_free(process);
		free(thread);
	}
	free(tid);
}

static void free_process(void *context, struct reel_id_entry *entry)
{
	(void)context;
	process_free((struct process *)entry);
}

void reel_tracker_destroy(struct reel_tracker *tracker)
{
	if (!tracker)
		return;
	reel_id_table_visit(&tracker->tids, free_tid, NULL);
	reel_id_table_free(&tracker->tids);
	reel_id_table_visit(&tracker->processes, free_process, NULL);
	reel_id_table_free(&tracker->processes);
	reel_cgroup_table_free(&tracker->cgroups);
	reel_timeline_destroy(tracker->timeline);
	free(tracker->resync.pids);
	free(tracker);
}

/* ---- records ------------------------------------------------------------------------ */

struct reel_error *tracker_write(struct reel_tracker *tracker, const struct reel_record *record)
{
	const struct reel_record_sink *sink = &tracker->options.sink;

	if (record->id == REEL_RECORD_MAP)
		TRY(reel_module_table_write(tracker->options.modules, record->map.module, sink));
	return sink->put(sink->context, record);
}

struct reel_error *tracker_put(struct reel_tracker *tracker, const struct process *process,
			       const struct reel_record *record)
{
	TRY(reel_timeline_add(tracker->timeline, record));
	return process->written ? tracker_write(tracker, record) : NULL;
}

/* ---- look-ups ----------------------------------------------------------------------- */

struct process *tracker_process_find(const struct reel_tracker *tracker, uint32_t pid)
{
	return (struct process *)reel_id_table_find(&tracker->processes, pid);
}

struct process *tracker_forked_from(const struct reel_tracker *tracker,
				    const struct process *process)
{
	const struct reel_space_state *state =
		reel_timeline_space(tracker->timeline, process->space.parent);
	struct process *parent = state ? tracker_process_find(tracker, (uint32_t)state->pid) : NULL;

	return parent && parent->space.id == process->space.parent &&
			       process->space.origin == REEL_ORIGIN_FORK
		       ? parent
		       : NULL;
}

static struct tid_entry *tid_find(const struct reel_tracker *tracker, uint32_t tid)
{
	return (struct tid_entry *)reel_id_table_find(&tracker->tids, tid);
}

struct thread *tracker_thread_find(const struct reel_tracker *tracker, uint32_t tid)
{
	const struct tid_entry *entry = tid_find(tracker, tid);
	struct thread *thread = entry ? entry->newest : NULL;

	return thread && thread->end == UINT64_MAX ? thread : NULL;
}

struct thread *tracker_thread_at(const struct reel_tracker *tracker, uint32_t pid, uint32_t tid,
				 uint64_t time)
{
	const struct tid_entry *entry = tid_find(tracker, tid);
	struct thread *thread = entry ? entry->newest : NULL, *found = NULL;

	for (; thread; thread = thread->older) {
		/* When another thread than the first calls exec, it gets the first thread's tid. */
		if (thread->process->entry.id != pid)
			continue;
		found = thread;
		if (thread->start <= time)
			break;
	}
	return found;
}

const char *reel_tracker_name(const void *tracker, uint32_t pid)
{
	const struct thread *thread = tracker_thread_at(tracker, pid, pid, UINT64_MAX);

	return thread ? thread->comm : "";
}

uint32_t reel_tracker_user(const void *tracker, uint32_t pid)
{
	const struct process *process = tracker_process_find(tracker, pid);

	return process ? process->user : UINT32_MAX;
}

struct reel_runtime_place reel_tracker_interpreter(const struct reel_tracker *tracker, uint32_t pid)
{
	const struct process *process = tracker_process_find(tracker, pid);

	return process ? process->interpreter.place : (struct reel_runtime_place){ 0 };
}

size_t reel_tracker_living(const struct reel_tracker *tracker)
{
	return tracker->n_living;
}

/* ---- processes ---------------------------------------------------------------------- */

struct reel_error *tracker_process_create(struct reel_tracker *tracker,
					  const struct reel_record_space *space, bool followed,
					  uint64_t known, struct process **ret)
{
	struct reel_record record = { .id = REEL_RECORD_SPACE, .space = *space };
	struct process *process =
		reel_id_table_add(&tracker->processes, space->pid, sizeof(*process));

	if (!process)
		return reel_error_no_memory();
	process->followed = followed;
	process->follow_children = followed;
	process->known = known;
	process->losses = tracker->losses;
	process->alive = true;
	process->user = UINT32_MAX;
	record.space.id = ++tracker->last_space;
	process->space = record.space;
	if (followed && !tracker->counts_threads)
		tracker->n_living++;
	*ret = process;
	return tracker_put(tracker, process, &record);
}

struct reel_error *tracker_space_update(struct reel_tracker *tracker, struct process *process)
{
	struct reel_record record = { .id = REEL_RECORD_SPACE, .space = process->space };

	return tracker_put(tracker, process, &record);
}

static void tell_publisher(const struct reel_tracker *tracker, const struct process *process)
{
	if (tracker->options.publish && !process->is_heir)
		tracker->options.publish(tracker->options.callbacks, (uint32_t)process->entry.id,
					 process->publisher.kind ? &process->publisher : NULL);
}

static void tell_interpreter(const struct reel_tracker *tracker, const struct process *process)
{
	if (tracker->options.interpret && !process->is_heir)
		tracker->options.interpret(tracker->options.callbacks, (uint32_t)process->entry.id,
					   process->interpreter.is.kind ? &process->interpreter.is
									: NULL);
}

void tracker_publish(struct reel_tracker *tracker, struct process *process,
		     struct reel_bpf_publisher publisher)
{
	bool is_new = memcmp(&publisher, &process->publisher, sizeof(publisher)) != 0;

	process->publisher = publisher;
	if (is_new)
		tell_publisher(tracker, process);
}

void tracker_interpret(struct reel_tracker *tracker, struct process *process,
		       const struct process_interpreter *interpreter)
{
	bool was_known = process->interpreter.is.kind, is_known = interpreter->is.kind;

	process->interpreter = *interpreter;
	if (was_known || is_known)
		tell_interpreter(tracker, process);
}

void tracker_inherit(struct reel_tracker *tracker, const struct process *parent,
		     struct process *child)
{
	if (!parent->publisher.kind && !parent->interpreter.place.kind)
		return;
	if (tracker->n_heirs == HEIRS_MAX)
		reel_tracker_tell_heirs(tracker);
	child->publisher = parent->publisher;
	child->interpreter = parent->interpreter;
	child->is_heir = true;
	tracker->heirs[tracker->n_heirs++] = (uint32_t)child->entry.id;
}

void reel_tracker_tell_heirs(struct reel_tracker *tracker)
{
	for (size_t i = 0; i < tracker->n_heirs; i++) {
		struct process *process = tracker_process_find(tracker, tracker->heirs[i]);

		/* It ended, and its pid is another's. */
		if (!process || !process->is_heir)
			continue;
		process->is_heir = false;
		if (process->publisher.kind)
			tell_publisher(tracker, process);
		if (process->interpreter.is.kind)
			tell_interpreter(tracker, process);
	}
	tracker->n_heirs = 0;
}

void tracker_expect_interpreter(struct reel_tracker *tracker)
{
	tracker->interpreters_begin_until = reel_now() + BEGIN_TIME;
}

void tracker_set_interpreter(struct reel_tracker *tracker, struct process *process,
			     struct reel_runtime_place place)
{
	/* Of several, the first counts. */
	if (!place.kind || process->interpreter.place.kind)
		return;
	tracker_interpret(tracker, process, &(struct process_interpreter){ .place = place });
	tracker_expect_interpreter(tracker);
}

/* Each mapping is added to all.  Further ones have /proc read when they run unknown code. */
#define SHARERS_MAX 64

static size_t count_sharers(const struct process *process)
{
	size_t n = 0;

	for (const struct process *at = process->sharer; at && (!n || at != process->sharer);
	     at = at->sharer)
		n++;
	return n;
}

void tracker_share(struct process *parent, struct process *child)
{
	if (child == parent || child->sharer || count_sharers(parent) >= SHARERS_MAX)
		return;
	child->sharer = parent->sharer ? parent->sharer : parent;
	parent->sharer = child;
}

void tracker_unshare(struct process *process)
{
	struct process *before = process->sharer;

	if (!before)
		return;
	while (before->sharer != process)
		before = before->sharer;
	before->sharer = before == process->sharer ? NULL : process->sharer;
	process->sharer = NULL;
}

/* Called when the last thread is gone. */
static struct reel_error *process_gone(struct reel_tracker *tracker, struct process *process,
				       uint64_t time)
{
	struct reel_record record = { .id = REEL_RECORD_SPACE_EXIT };
	struct reel_error *error;

	record.space_exit = (struct reel_record_space_exit){ time, process->space.id };
	error = tracker_put(tracker, process, &record);
	tracker_publish(tracker, process, (struct reel_bpf_publisher){ 0 });
	tracker_interpret(tracker, process, &(struct process_interpreter){ 0 });
	reel_id_table_remove(&tracker->processes, process->entry.id);
	tracker_unshare(process);
	process->alive = false;
	if (process->followed && !tracker->counts_threads)
		tracker->n_living--;
	if (!process->n_references)
		process_forget(tracker, process);
	return error;
}

struct reel_error *tracker_process_end(struct reel_tracker *tracker, struct process *process,
				       uint64_t time)
{
	if (!process->threads)
		return process_gone(tracker, process, time);
	while (process->threads->next)
		TRY(tracker_thread_end(tracker, process->threads, time, false));
	/* This may free the process. */
	return tracker_thread_end(tracker, process->threads, time, false);
}

/* ---- threads ------------------------------------------------------------------------ */

static struct reel_error *tid_add(struct reel_tracker *tracker, struct thread *thread)
{
	struct tid_entry *entry = tid_find(tracker, thread->tid);

	if (!entry) {
		entry = reel_id_table_add(&tracker->tids, thread->tid, sizeof(*entry));
		if (!entry)
			return reel_error_no_memory();
	}
	thread->older = entry->newest;
	entry->newest = thread;
	return NULL;
}

struct reel_error *tracker_thread_create(struct reel_tracker *tracker, struct process *process,
					 const struct thread_start *start, struct thread **ret)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	struct reel_error *error;

	if (!thread)
		return reel_error_no_memory();
	thread->process = process;
	thread->id = ++tracker->last_thread;
	thread->tid = start->tid;
	thread->namespace_tid = start->namespace_tid;
	thread->origin = start->origin;
	thread->parent = start->parent;
	thread->parent_tid = start->parent_tid;
	thread->start = start->time;
	thread->end = UINT64_MAX;
	thread->known = start->known;
	memcpy(thread->comm, start->comm, strnlen(start->comm, sizeof(thread->comm) - 1));
	error = tid_add(tracker, thread);
	if (error) {
		free(thread);
		return error;
	}
	process->n_references++;
	thread->next = process->threads;
	if (thread->next)
		thread->next->previous = thread;
	process->threads = thread;
	if (ret)
		*ret = thread;
	return NULL;
}

struct reel_error *tracker_thread_rename(struct reel_tracker *tracker, struct thread *thread,
					 uint64_t time, const char *comm)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD_COMM };

	if (!strcmp(thread->comm, comm))
		return NULL;
	memcpy(thread->comm_before, thread->comm, sizeof(thread->comm));
	thread->renamed = time;
	snprintf(thread->comm, sizeof(thread->comm), "%s", comm);
	record.thread_comm = (struct reel_record_thread_comm){
		.time = time,
		.thread = thread->id,
		.comm = reel_bytes_of_string(thread->comm),
	};
	return thread->first_space ? tracker_write(tracker, &record) : NULL;
}

struct reel_error *tracker_thread_end(struct reel_tracker *tracker, struct thread *thread,
				      uint64_t time, bool keep_process)
{
	struct process *process = thread->process;
	struct reel_record record = { .id = REEL_RECORD_THREAD_EXIT };
	struct reel_error *error = NULL;

	record.thread_exit = (struct reel_record_thread_exit){ time, thread->id };
	if (thread->first_space)
		error = tracker_write(tracker, &record);
	thread->end = time;
	if (thread->is_target)
		tracker->n_living--;
	if (thread->previous)
		thread->previous->next = thread->next;
	else
		process->threads = thread->next;
	if (thread->next)
		thread->next->previous = thread->previous;
	thread->next = thread->previous = NULL;
	*tracker->dead_end = thread;
	tracker->dead_end = &thread->next;
	tracker->n_dead++;
	if (!error && !process->threads && !keep_process)
		error = process_gone(tracker, process, time);
	return error;
}

/* Removes a dead thread from the list of its tid. */
static void thread_free(struct reel_tracker *tracker, struct thread *thread)
{
	struct tid_entry *entry = tid_find(tracker, thread->tid);
	struct process *process = thread->process;
	struct thread **link = &entry->newest;

	while (*link != thread)
		link = &(*link)->older;
	*link = thread->older;
	if (!entry->newest)
		free(reel_id_table_remove(&tracker->tids, thread->tid));
	if (!--process->n_references && !process->alive)
		process_forget(tracker, process);
	free(thread);
}

static void use_module(void *context, const struct reel_mapping *mapping)
{
	reel_module_table_use(context, mapping->module);
}

/* A process that maps ever new files must not make the table grow. */
static void forget_modules(struct reel_tracker *tracker)
{
	struct reel_module_table *modules = tracker->options.modules;

	reel_timeline_visit_all(tracker->timeline, use_module, modules);
	reel_module_table_use(modules, tracker->vdso);
	reel_module_table_use(modules, tracker->compat_vdso);
	reel_module_table_forget_unused(modules);
}

void reel_tracker_forget(struct reel_tracker *tracker, uint64_t horizon)
{
	size_t kept = 0;

	tracker->horizon = horizon;
	while (tracker->dead && (tracker->dead->end < horizon || tracker->n_dead > DEAD_MAX)) {
		struct thread *thread = tracker->dead;

		tracker->n_dead--;
		tracker->dead = thread->next;
		if (!tracker->dead)
			tracker->dead_end = &tracker->dead;
		thread_free(tracker, thread);
	}
	for (size_t i = 0; i < tracker->n_forks; i++) {
		if (tracker->forks[i].time >= horizon)
			tracker->forks[kept++] = tracker->forks[i];
	}
	tracker->n_forks = kept;
	reel_timeline_forget_ended(tracker->timeline, horizon);
	reel_module_table_close_unused(tracker->options.modules, reel_now());
	if (reel_module_table_is_full(tracker->options.modules))
		forget_modules(tracker);
}

void reel_tracker_trim(struct reel_tracker *tracker)
{
	reel_timeline_trim(tracker->timeline);
}

/* Threads of a process in another PID namespace than the recorder's: their numbers are not indexed. */
#define NAMESPACE_THREADS_MAX 4096

uint32_t reel_tracker_find_tid(const struct reel_tracker *tracker, uint32_t pid,
			       uint32_t namespace_tid, uint64_t time)
{
	const struct process *process = tracker_process_find(tracker, pid);
	const struct thread *thread = tracker_thread_at(tracker, pid, namespace_tid, time);
	uint32_t left = NAMESPACE_THREADS_MAX;

	if (thread && thread->end >= time && thread->process->space.namespace_pid == pid)
		return namespace_tid;
	if (!process || process->space.namespace_pid == pid)
		return 0;
	for (thread = process->threads; thread && left--; thread = thread->next)
		if (thread->namespace_tid == namespace_tid)
			return thread->tid;
	return 0;
}
