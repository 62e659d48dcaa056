/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sample shows: its thread and its space, the cgroup of its process, and that this process may
 * be asked for its service and its interpreter.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/quantity.h"
#include "record/processes/tracker_internal.h"

/* The first and the longest time between two questions for a service, and the time for an answer. */
#define SERVICE_FIRST (500 * REEL_NS_PER_MS)
#define SERVICE_MAX   (64 * REEL_NS_PER_SECOND)
#define SERVICE_TIME  (10 * REEL_NS_PER_MS)
/* How long a program has to run before it is asked: most programs of a build or a shell script have
 * ended by then, and to ask costs twice what a sample does. */
#define SERVICE_START (500 * REEL_NS_PER_MS)
/* The same for an interpreter. */
#define INTERPRETER_FIRST (2 * REEL_NS_PER_MS)
#define INTERPRETER_MAX	  (4 * REEL_NS_PER_SECOND)
/* How soon the samples of a program that begins are wanted. */
#define BEGIN_STEP (10 * REEL_NS_PER_MS)

/* ---- cgroups ------------------------------------------------------------------------- */

struct reel_error *reel_tracker_cgroup(struct reel_tracker *tracker,
				       const struct reel_bpf_cgroup *report)
{
	return reel_cgroup_table_add(&tracker->cgroups, report, &tracker->options.sink);
}

/* The last span of the space that began up to `time`; samples of several rings are not in order. */
static const struct cgroup_span *span_at(const struct process *process, uint64_t space,
					 uint64_t time)
{
	for (size_t i = process->n_cgroups; i-- > 0;) {
		const struct cgroup_span *span = &process->cgroups[i];

		if (span->space == space && span->time <= time)
			return span;
	}
	return NULL;
}

/* Drops spans that no sample to come can be in. */
static void forget_spans(struct process *process, uint64_t horizon)
{
	size_t n = 0;

	while (n + 1 < process->n_cgroups && process->cgroups[n + 1].time <= horizon)
		n++;
	process->n_cgroups -= n;
	memmove(process->cgroups, process->cgroups + n,
		process->n_cgroups * sizeof(*process->cgroups));
}

static struct reel_error *add_span(struct process *process, struct cgroup_span span)
{
	size_t at = process->n_cgroups;

	if (!reel_array_reserve(&process->cgroups, process->n_cgroups, &process->cgroups_capacity,
				sizeof(*process->cgroups)))
		return reel_error_no_memory();
	for (; at && process->cgroups[at - 1].time > span.time; at--)
		process->cgroups[at] = process->cgroups[at - 1];
	process->cgroups[at] = span;
	process->n_cgroups++;
	return NULL;
}

static struct reel_error *write_cgroup(struct reel_tracker *tracker, struct process *process,
				       const struct reel_space_state *state,
				       const struct reel_bpf_sample *sample)
{
	struct cgroup_span span = {
		.time = sample->time,
		.space = state ? state->id : process->space.id,
		.kernel_id = sample->cgroup,
	};
	const struct cgroup_span *before = span_at(process, span.space, span.time);
	struct reel_record record = { .id = REEL_RECORD_SPACE_CGROUP };

	if (!sample->cgroup || (before && before->kernel_id == sample->cgroup))
		return NULL;
	/* Earlier samples of the space may follow. */
	if (!before)
		span.time = tracker_file_time(tracker, state ? state->start : process->space.time);
	record.space_cgroup = (struct reel_record_space_cgroup){ span.time, span.space, 0 };
	TRY(reel_cgroup_table_write(&tracker->cgroups, sample->cgroup, &tracker->options.sink,
				    &record.space_cgroup.cgroup));
	if (!record.space_cgroup.cgroup)
		tracker->left_out++;
	TRY(tracker_write(tracker, &record));
	forget_spans(process, tracker->horizon);
	return add_span(process, span);
}

static struct reel_error *name_container(struct reel_tracker *tracker,
					 const struct process *process, uint64_t kernel_id)
{
	const char *id = reel_cgroup_table_unnamed(&tracker->cgroups, kernel_id);
	struct reel_container_names names;
	bool found;

	if (!id || !tracker_may_ask(tracker, process))
		return NULL;
	found = reel_inspector_container(tracker->options.inspector,
					 process->alive ? (uint32_t)process->entry.id : 0, id,
					 &names);
	return reel_cgroup_table_name(&tracker->cgroups, kernel_id, found ? &names : NULL,
				      &tracker->options.sink);
}

/* ---- services and interpreters --------------------------------------------------------- */

/*
 * The kernel does not report that a process publishes its service, or that its interpreter has begun:
 * a mapped file shows that there is one, but its data is not there before.  So a process with samples
 * is asked at its first one (for its service, not in its first milliseconds), and again after twice
 * as long each time.
 */
static void ask_later(struct next_question *next, uint64_t first, uint64_t max, uint64_t times)
{
	next->delay = times * (next->delay ? 2 * next->delay : first);
	if (next->delay > max)
		next->delay = max;
	next->time = reel_now() + next->delay;
}

static void find_service(struct reel_tracker *tracker, struct process *process, uint64_t time)
{
	const struct reel_record_space *space = &process->space;
	bool begins = space->origin == REEL_ORIGIN_EXEC && time < space->time + SERVICE_START;
	struct reel_proc_service found;
	uint64_t now = reel_now();

	if (begins || now < process->service.next.time || !tracker_may_ask(tracker, process))
		return;
	if (reel_inspector_service(tracker->options.inspector, (uint32_t)process->entry.id,
				   now + SERVICE_TIME, &found)) {
		/* Without memory, it stays unknown. */
		if (!process->service.is)
			process->service.is = malloc(sizeof(found));
		if (process->service.is)
			*process->service.is = found;
	}
	ask_later(&process->service.next, SERVICE_FIRST, SERVICE_MAX, 1);
}

/* A parent that only waits for its children has no samples, but each of them its interpreter. */
static void tell_parent(struct reel_tracker *tracker, const struct process *process)
{
	struct process *parent = tracker_forked_from(tracker, process);

	if (parent && !parent->interpreter.is.kind &&
	    !memcmp(&parent->interpreter.place, &process->interpreter.place,
		    sizeof(parent->interpreter.place)))
		tracker_interpret(tracker, parent, &process->interpreter);
}

static void find_interpreter(struct reel_tracker *tracker, struct process *process)
{
	struct process_interpreter found = process->interpreter;
	enum reel_runtime_answer answer;

	if (!found.place.kind || found.is.kind || reel_now() < found.next.time ||
	    !tracker_may_ask(tracker, process))
		return;
	answer = reel_inspector_interpreter(tracker->options.inspector, (uint32_t)process->entry.id,
					    &found.place, &found.is);
	/* A version that is not known, or a process that changed while it was read. */
	ask_later(&found.next, INTERPRETER_FIRST, INTERPRETER_MAX,
		  answer == REEL_RUNTIME_UNKNOWN ? 8 : 1);
	tracker_interpret(tracker, process, &found);
	if (found.is.kind)
		tell_parent(tracker, process);
}

/* Many programs end soon, and with them the names of their functions. */
uint64_t reel_tracker_sample_time(const struct reel_tracker *tracker)
{
	uint64_t now = reel_now();

	return now < tracker->interpreters_begin_until ? now + BEGIN_STEP : UINT64_MAX;
}

uint64_t reel_tracker_news(const struct reel_tracker *tracker)
{
	uint64_t files = reel_module_table_news(tracker->options.modules);

	return files > tracker->interpreters_begin_until ? files
							 : tracker->interpreters_begin_until;
}

/* ---- places ---------------------------------------------------------------------------- */

/* For an unknown thread: it existed before the recording, or its events were lost. */
static struct reel_error *find_thread(struct reel_tracker *tracker,
				      const struct reel_bpf_sample *sample, struct thread **ret)
{
	struct process *process = tracker_process_find(tracker, sample->pid);
	struct thread_start start = {
		.time = sample->time,
		.known = sample->time,
		.tid = sample->tid,
		.origin = REEL_ORIGIN_FOUND,
	};
	struct reel_proc_thread details = { 0 };

	if (!process) {
		TRY(tracker_scan(tracker, sample->pid, sample->time, true, &process));
		/* It has ended.  Kernel threads have no registers. */
		if (sample->flags & REEL_BPF_REGISTERS && !process->n_mappings)
			tracker->left_out++;
	}
	/* The scan found it, unless it is gone. */
	*ret = tracker_thread_find(tracker, sample->tid);
	if (*ret && (*ret)->process == process)
		return NULL;
	if (!sample->tid)
		strcpy(details.comm, "swapper");
	else if (tracker->proc_is_ours)
		reel_inspector_thread(tracker->options.inspector, sample->pid, sample->tid,
				      &details);
	start.comm = details.comm;
	return tracker_thread_create(tracker, process, &start, ret);
}

/* A sample may be older than the process's last exec, and belong to the previous space. */
static const struct reel_space_state *space_at(const struct reel_tracker *tracker,
					       const struct process *process, uint64_t time)
{
	const struct reel_space_state *state =
		reel_timeline_space(tracker->timeline, process->space.id);

	while (state && state->start > time) {
		const struct reel_space_state *before =
			reel_timeline_space(tracker->timeline, state->parent);

		if (!before || before->pid != state->pid)
			break;
		state = before;
	}
	return state;
}

/* It runs code that no event reported: moved by mremap, or mapped by a process with the same memory. */
static bool runs_unknown_code(const struct reel_bpf_sample *sample,
			      const struct reel_space_view *view)
{
	struct reel_mapping mapping;

	return sample->flags & REEL_BPF_REGISTERS &&
	       (!reel_space_view_find(view, sample->pc, &mapping) ||
		!(mapping.protection & PROT_EXEC));
}

struct reel_error *reel_tracker_place(struct reel_tracker *tracker,
				      const struct reel_bpf_sample *sample,
				      struct reel_tracker_place *ret)
{
	struct thread *thread = tracker_thread_at(tracker, sample->pid, sample->tid, sample->time);
	const struct reel_space_state *state;
	struct reel_record_space *space;
	uint64_t state_id = 0;
	bool compat = sample->flags & REEL_BPF_COMPAT;

	tracker->has_samples = true;
	if (!thread)
		TRY(find_thread(tracker, sample, &thread));
	space = &thread->process->space;
	state = space_at(tracker, thread->process, sample->time);
	if (state)
		state_id = state->id;
	ret->space = reel_timeline_view(tracker->timeline, state_id, REEL_TIME_NOW);
	if (state_id && thread->process->alive && state->end == UINT64_MAX &&
	    runs_unknown_code(sample, &ret->space))
		tracker_is_outdated(tracker, thread->process);
	if (thread->process->alive &&
	    (thread->process->losses != tracker->losses || thread->process->is_stale))
		tracker->resync.sampled = sample->pid;
	TRY(tracker_write_sampled(tracker, thread, state, &ret->thread));
	TRY(name_container(tracker, thread->process, sample->cgroup));
	TRY(write_cgroup(tracker, thread->process, state, sample));
	/* A sample shows best what its code is, but may be older than the last exec. */
	if (sample->flags & REEL_BPF_REGISTERS && space->time <= sample->time &&
	    thread->process->alive &&
	    (!space->machine || (space->word_bits == 32) !=
					(compat || tracker->options.target->elf.word_bits == 32))) {
		reel_space_set_program(space, &tracker->programs, compat);
		TRY(tracker_space_update(tracker, thread->process));
	}
	if (thread->process->alive && sample->flags & REEL_BPF_REGISTERS) {
		find_service(tracker, thread->process, sample->time);
		find_interpreter(tracker, thread->process);
	}
	ret->comm = thread->comm;
	ret->service = thread->process->service.is;
	ret->space = reel_timeline_view(tracker->timeline, state_id, REEL_TIME_NOW);
	return NULL;
}
