/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the kernel's events as they happen. */
#include <string.h>

#include "record/processes/tracker_internal.h"

/* ---- BPF's details of a fork ----------------------------------------------------------- */

/* Keeps details until the fork's event arrives, which has none and may have been lost. */
static void keep_fork(struct reel_tracker *tracker, const struct reel_bpf_process *process)
{
	if (tracker->n_forks == FORKS_MAX) {
		tracker->n_forks /= 2;
		memmove(tracker->forks, tracker->forks + tracker->n_forks,
			tracker->n_forks * sizeof(*tracker->forks));
	}
	tracker->forks[tracker->n_forks++] = *process;
}

static bool remove_fork(struct reel_tracker *tracker, uint32_t pid, uint32_t tid,
			struct reel_bpf_process *ret)
{
	for (size_t i = tracker->n_forks; i-- > 0;) {
		if (tracker->forks[i].pid != pid || tracker->forks[i].tid != tid)
			continue;
		*ret = tracker->forks[i];
		tracker->forks[i] = tracker->forks[--tracker->n_forks];
		return true;
	}
	return false;
}

static bool add_details(struct reel_tracker *tracker, const struct reel_bpf_process *details,
			struct reel_record_space *space)
{
	struct reel_record_space before = *space;

	space->namespace_pid = details->namespace_pid;
	if (details->vdso)
		space->vdso = details->vdso;
	reel_space_set_program(space, &tracker->programs, details->flags & REEL_BPF_COMPAT);
	return memcmp(&before, space, sizeof(before));
}

struct reel_error *reel_tracker_process(struct reel_tracker *tracker,
					const struct reel_bpf_process *details)
{
	struct process *process = tracker_process_find(tracker, details->pid), *parent;
	struct thread *thread;

	if (!details->is_exec && (!process || !tracker_thread_find(tracker, details->tid))) {
		keep_fork(tracker, details);
		return NULL;
	}
	/* With several rings it may arrive after the next exec, which it does not apply to. */
	if (!process || process->space.time > details->time)
		return NULL;
	/* A thread is written with its first sample, so this is mostly in time. */
	thread = tracker_thread_find(tracker, details->tid);
	if (thread && thread->process == process && !thread->namespace_tid)
		thread->namespace_tid = details->namespace_tid;
	process->user = details->user;
	parent = tracker_forked_from(tracker, process);
	if (parent && details->flags & REEL_BPF_SHARES_MEMORY)
		tracker_share(parent, process);
	if (add_details(tracker, details, &process->space))
		TRY(tracker_space_update(tracker, process));
	/* Code of the other kind may run later; the vDSO does not change. */
	if (!details->is_exec)
		return NULL;
	return tracker_vdso_told(tracker, process, details->time,
				 details->flags & REEL_BPF_COMPAT ? VDSO_COMPAT : VDSO_NATIVE);
}

/* ---- fork ------------------------------------------------------------------------------ */

static struct reel_error *start_thread(struct reel_tracker *tracker, struct process *process,
				       const struct reel_process_event *event,
				       uint32_t namespace_tid)
{
	const struct thread *parent = tracker_thread_find(tracker, event->parent_tid);
	struct thread_start start = {
		.time = event->time > process->space.time ? event->time : process->space.time,
		.known = event->time,
		.tid = event->tid,
		.namespace_tid = namespace_tid,
		.origin = REEL_ORIGIN_FORK,
		.parent = parent ? parent->id : 0,
		.parent_tid = event->parent_tid,
		.comm = parent ? parent->comm : "",
	};

	return tracker_thread_create(tracker, process, &start, NULL);
}

static struct reel_error *fork_thread(struct reel_tracker *tracker,
				      const struct reel_process_event *event)
{
	struct process *process = tracker_process_find(tracker, event->pid);
	struct thread *old = tracker_thread_find(tracker, event->tid);
	struct reel_bpf_process details = { 0 };

	/* Not recorded; or the scan already found the thread, or found it gone. */
	if (!process || event->time < process->known)
		return NULL;
	if (old && event->time <= old->known)
		return NULL;
	if (old)
		TRY(tracker_thread_end(tracker, old, event->time, old->process == process));
	/* BPF reports only threads whose innermost number differs. */
	if (!remove_fork(tracker, event->pid, event->tid, &details))
		details.namespace_tid =
			process->space.namespace_pid == process->entry.id ? event->tid : 0;
	return start_thread(tracker, process, event, details.namespace_tid);
}

static struct reel_error *fork_process(struct reel_tracker *tracker,
				       const struct reel_process_event *event)
{
	struct process *parent = tracker_process_find(tracker, event->parent_pid);
	struct process *process = tracker_process_find(tracker, event->pid);
	bool all = tracker->options.everything || tracker->options.on_first_sample;
	struct reel_bpf_process details = { 0 };
	struct reel_record_space space;

	if (!all && (!parent || !parent->follow_children))
		return NULL;
	if (process && event->time <= process->known)
		return NULL;
	/* Its exit was lost. */
	if (process)
		TRY(tracker_process_end(tracker, process, event->time));
	if (!parent) {
		TRY(tracker_scan(tracker, event->pid, event->time, tracker->options.everything,
				 &process));
		return process->threads ? NULL : start_thread(tracker, process, event, 0);
	}
	space = reel_space_fork(&parent->space, event->time);
	space.pid = event->pid;
	details.user = parent->user;
	if (remove_fork(tracker, event->pid, event->tid, &details))
		add_details(tracker, &details, &space);
	TRY(tracker_process_create(tracker, &space, parent->followed && parent->follow_children,
				   event->time, &process));
	process->user = details.user;
	if (details.flags & REEL_BPF_SHARES_MEMORY)
		tracker_share(parent, process);
	process->base = parent->written ? parent->space.id : parent->base;
	process->n_mappings = parent->n_mappings;
	process->noise = parent->noise;
	process->noise_time = parent->noise_time;
	process->is_stale = parent->is_stale;
	process->vdso_kind = parent->vdso_kind;
	tracker_inherit(tracker, parent, process);
	if (tracker->options.everything)
		process->follow_children = true;
	return start_thread(tracker, process, event, details.namespace_tid);
}

/* ---- exec, names, exit ------------------------------------------------------------------- */

/* Later names from /proc take precedence. */
static struct reel_error *set_comm(struct reel_tracker *tracker, struct thread *thread,
				   const struct reel_process_event *event)
{
	if (event->time < thread->named || event->time < thread->known)
		return NULL;
	if (tracker_is_noise(tracker, thread->process, event->time, 1)) {
		thread->named = 0;
		tracker_leave_out(tracker, thread->process);
		return NULL;
	}
	return tracker_thread_rename(tracker, thread, event->time, event->comm);
}

static struct reel_error *rename_thread(struct reel_tracker *tracker,
					const struct reel_process_event *event)
{
	struct thread *thread = tracker_thread_find(tracker, event->tid);

	return thread ? set_comm(tracker, thread, event) : NULL;
}

/*
 * The kernel ends all other threads first (fs/exec.c, de_thread).  The caller of exec becomes the
 * first thread and takes over its tid. If the caller was a different thread, no event reports which
 * one, so the new first thread is a new THREAD.
 */
static struct reel_error *end_others(struct reel_tracker *tracker, struct process *process,
				     const struct reel_process_event *event,
				     struct thread **first_ret, uint64_t *caller_ret)
{
	struct reel_error *error = NULL;

	*first_ret = NULL;
	for (struct thread *thread = process->threads, *next; thread && !error; thread = next) {
		next = thread->next;
		if (thread->tid == event->tid) {
			*first_ret = thread;
			continue;
		}
		*caller_ret = thread->id;
		error = tracker_thread_end(tracker, thread, event->time, true);
	}
	return error;
}

/* If the file has no thread that goes on, the new program is written with its first sample. */
static struct reel_error *end_space(struct reel_tracker *tracker, struct process *process,
				    const struct thread *first, uint64_t time)
{
	struct reel_record record = { .id = REEL_RECORD_SPACE_EXIT };
	bool was_written = process->written;

	record.space_exit = (struct reel_record_space_exit){ time, process->space.id };
	process->written = first && first->first_space;
	TRY(reel_timeline_add(tracker->timeline, &record));
	return was_written && !process->written ? tracker_write(tracker, &record) : NULL;
}

static struct reel_error *move_thread(struct reel_tracker *tracker, const struct process *process,
				      const struct thread *first, uint64_t time)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD_EXEC };

	if (!process->written)
		return NULL;
	record.thread_exec = (struct reel_record_thread_exec){ time, first->id, process->space.id };
	return tracker_write(tracker, &record);
}

static struct reel_error *exec_process(struct reel_tracker *tracker,
				       const struct reel_process_event *event)
{
	struct process *process = tracker_process_find(tracker, event->pid);
	struct thread_start start = {
		.time = event->time,
		.known = event->time,
		.tid = event->tid,
		.origin = REEL_ORIGIN_FORK,
		.parent_tid = event->tid,
		.comm = event->comm,
	};
	struct thread *first;

	if (!process || event->time < process->known)
		return NULL;
	TRY(end_others(tracker, process, event, &first, &start.parent));
	TRY(end_space(tracker, process, first, event->time));
	tracker_unshare(process);
	/* BPF reports 32-bit code right after this. */
	reel_space_exec(&process->space, &tracker->programs, ++tracker->last_space, event->time);
	process->base = 0;
	process->n_mappings = 0;
	process->noise = 0;
	process->vdso_kind = VDSO_UNKNOWN;
	tracker_publish(tracker, process, (struct reel_bpf_publisher){ 0 });
	tracker_interpret(tracker, process, &(struct process_interpreter){ 0 });
	tracker_forget_service(process);
	TRY(tracker_space_update(tracker, process));
	TRY(move_thread(tracker, process, first, event->time));
	return first ? set_comm(tracker, first, event)
		     : tracker_thread_create(tracker, process, &start, NULL);
}

static struct reel_error *exit_thread(struct reel_tracker *tracker,
				      const struct reel_process_event *event)
{
	struct thread *thread = tracker_thread_find(tracker, event->tid);

	if (!thread || event->time < thread->known)
		return NULL;
	return tracker_thread_end(tracker, thread, event->time, false);
}

static struct reel_error *map_into(struct reel_tracker *tracker, struct process *process,
				   const struct reel_process_event *event)
{
	if (event->time < process->known)
		return NULL;
	if (tracker_is_noise(tracker, process, event->time,
			     tracker_map_cost(tracker, &event->map, &event->build_id)) ||
	    !tracker_may_read(tracker, (uint32_t)process->entry.id))
		return tracker_map_leave_out(tracker, process, event->time, &event->map);
	return tracker_map(tracker, process, event->time, &event->map, &event->build_id,
			   event->inode_generation);
}

static struct reel_error *map_event(struct reel_tracker *tracker,
				    const struct reel_process_event *event)
{
	struct process *process = tracker_process_find(tracker, event->pid), *at = process;

	while (at) {
		TRY(map_into(tracker, at, event));
		at = at->sharer == process ? NULL : at->sharer;
	}
	return NULL;
}

struct reel_error *reel_tracker_event(struct reel_tracker *tracker,
				      const struct reel_process_event *event)
{
	switch (event->kind) {
	case REEL_PROCESS_FORK:
		return event->pid == event->parent_pid ? fork_thread(tracker, event)
						       : fork_process(tracker, event);
	case REEL_PROCESS_EXEC:
		return exec_process(tracker, event);
	case REEL_PROCESS_COMM:
		return rename_thread(tracker, event);
	case REEL_PROCESS_KERNEL_SYMBOL:
		return NULL;
	case REEL_PROCESS_EXIT:
		return exit_thread(tracker, event);
	case REEL_PROCESS_MAP:
		return map_event(tracker, event);
	}
	return NULL;
}
