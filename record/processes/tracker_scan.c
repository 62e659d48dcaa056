/* SPDX-License-Identifier: Apache-2.0 */
/* Reads processes from /proc that existed before the recording, or whose events were lost. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/quantity.h"
#include "record/processes/tracker_internal.h"

/* Time limits while samples wait, and before. */
#define LOOK_NS	      (10 * REEL_NS_PER_MS)
#define LOOK_SETUP_NS (250 * REEL_NS_PER_MS)

/* Time to work at once, followed by this many times as long a rest. */
#define WORK_NS	   (5 * REEL_NS_PER_MS)
#define REST_TIMES 4
/* A process is read again after this many times its last reading time. */
#define AGAIN_TIMES 20
/* Between two rounds: after another loss, and for processes with data left out. */
#define LOSS_INTERVAL  (100 * REEL_NS_PER_MS)
#define STALE_INTERVAL REEL_NS_PER_SECOND

static void add_properties(struct reel_tracker *tracker, const struct map_list *maps,
			   struct reel_record_space *space)
{
	space->namespace_pid = maps->process.namespace_pid;
	space->vdso = map_list_vdso(maps);
	/* If this is unknown, the first sample sets it. */
	if (maps->process.word_bits)
		reel_space_set_program(space, &tracker->programs, maps->process.word_bits == 32);
}

/* Handles each thread of a process in /proc. */
struct thread_scan {
	struct reel_tracker *tracker;
	struct process *process;
	uint64_t time;
	bool rename; /* also rename known threads */
	uint32_t n;
	struct reel_error *error;
};

static struct reel_error *find_thread(struct thread_scan *scan,
				      const struct reel_proc_thread *details)
{
	struct thread *known = tracker_thread_find(scan->tracker, details->tid);
	struct thread_start start = {
		.time = scan->time,
		.known = details->time,
		.tid = details->tid,
		.namespace_tid = details->namespace_tid,
		.origin = REEL_ORIGIN_FOUND,
		.comm = details->comm,
	};

	scan->process->user = details->user;
	if (known && known->process == scan->process) {
		if (!scan->rename)
			return NULL;
		/* It may be dead without a reported end, so only its name is known. */
		known->named = details->time;
		return tracker_thread_rename(scan->tracker, known, details->time, details->comm);
	}
	if (known)
		TRY(tracker_thread_end(scan->tracker, known, scan->time, false));
	return tracker_thread_create(scan->tracker, scan->process, &start, NULL);
}

static void visit_thread(void *context, const struct reel_proc_thread *details)
{
	struct thread_scan *scan = context;

	scan->n++;
	if (!scan->error)
		scan->error = find_thread(scan, details);
}

/* Threads skipped for lack of time are found by their samples. */
static struct reel_error *scan_threads(struct reel_tracker *tracker, struct process *process,
				       uint64_t time, uint64_t deadline, bool rename)
{
	struct thread_scan scan = { tracker, process, time, rename, 0, NULL };

	enum reel_answer answer;

	answer = reel_inspector_threads(tracker->options.inspector, (uint32_t)process->entry.id,
					process->threads_read, deadline, visit_thread, &scan);
	/* If there are many, the next call continues after these. */
	process->threads_read = answer == REEL_ANSWER_PART ? process->threads_read + scan.n : 0;
	return scan.error;
}

/* Time for the mappings of one process, and again for its threads: if mappings always take too
 * long, threads are found nevertheless. */
static uint64_t deadline_of(const struct reel_tracker *tracker, uint64_t now)
{
	return now + (tracker->has_samples ? LOOK_NS : LOOK_SETUP_NS);
}

/* Whether it is a requested process with many threads, before the first sample. */
static bool is_worth_waiting_for(const struct reel_tracker *tracker, const struct process *process,
				 bool followed)
{
	const struct reel_tracker_options *options = &tracker->options;

	if (!process->threads_read || !followed || options->everything || tracker->has_samples ||
	    reel_now() > tracker->setup_end)
		return false;
	if (options->progress)
		options->progress(options->progress_context, (uint32_t)process->entry.id,
				  process->threads_read);
	return true;
}

/* The process was read from `start` on; `is_cut`: only in part. */
static void was_read(struct reel_tracker *tracker, struct process *process, uint64_t start,
		     bool is_cut)
{
	uint64_t now = reel_now();
	bool again = process->read_after != 0;

	process->losses = tracker->losses;
	process->is_stale = is_cut;
	process->read_after = now + AGAIN_TIMES * (now - start);
	if (!is_cut)
		return;
	/* The host may have been too busy once; otherwise the next read will be cut as well. */
	if (again)
		process->read_after += REEL_NS_PER_SECOND;
	tracker->left_out++;
	tracker->resync.has_stale = true;
}

struct reel_error *tracker_scan(struct reel_tracker *tracker, uint32_t pid, uint64_t time,
				bool followed, struct process **ret)
{
	struct reel_record_space space = {
		.time = time,
		.origin = REEL_ORIGIN_FOUND,
		.pid = pid,
	};
	uint64_t known = reel_now(), deadline = deadline_of(tracker, known);
	struct map_list maps = { 0 };
	struct reel_error *error;
	bool may_look = tracker->proc_is_ours && pid;
	bool look = may_look && tracker_may_read(tracker, pid);

	if (look) {
		map_list_read(tracker, pid, deadline, &maps);
		add_properties(tracker, &maps, &space);
	}
	error = maps.failed ? reel_error_no_memory()
			    : tracker_process_create(tracker, &space, followed, known, ret);
	if (!error && maps.process.word_bits)
		(*ret)->vdso_kind = maps.process.word_bits == 32 ? VDSO_COMPAT : VDSO_NATIVE;
	if (!error)
		error = tracker_maps_replace(tracker, *ret, time, deadline, &maps);
	if (!error && look)
		error = scan_threads(tracker, *ret, time, deadline_of(tracker, reel_now()), false);
	while (!error && is_worth_waiting_for(tracker, *ret, followed))
		error = scan_threads(tracker, *ret, time, reel_now() + LOOK_SETUP_NS, false);
	if (!error)
		was_read(tracker, *ret, known,
			 maps.answer == REEL_ANSWER_PART || (*ret)->threads_read ||
				 look != may_look);
	map_list_free(&maps);
	return error;
}

/* ---- targets -------------------------------------------------------------------------- */

static struct reel_error *no_such(const char *what, uint32_t number)
{
	return reel_error_create(REEL_ERROR_NOT_FOUND, "no such %s: %u", what, number);
}

/* Without our own /proc, only the number is known. */
static struct reel_error *add_blindly(struct reel_tracker *tracker, struct process *process,
				      uint32_t tid, uint64_t time)
{
	struct thread_start start = {
		.time = time,
		.known = time,
		.tid = tid,
		.origin = REEL_ORIGIN_FOUND,
		.comm = "",
	};

	return tracker_thread_create(tracker, process, &start, NULL);
}

struct reel_error *reel_tracker_add_process(struct reel_tracker *tracker, uint32_t pid)
{
	uint64_t now = reel_now();
	struct reel_proc_thread thread;
	struct process *process;

	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return no_such("process", pid);
	if (tracker->proc_is_ours &&
	    reel_inspector_thread(tracker->options.inspector, pid, pid, &thread) &&
	    thread.pid != pid)
		return reel_error_create(REEL_ERROR_NOT_FOUND,
					 "%u is a thread of process %u; use -t %u or -p %u", pid,
					 thread.pid, pid, thread.pid);
	if (tracker_process_find(tracker, pid))
		return NULL;
	TRY(tracker_scan(tracker, pid, now, true, &process));
	return process->threads ? NULL : add_blindly(tracker, process, pid, now);
}

struct reel_error *reel_tracker_add_thread(struct reel_tracker *tracker, uint32_t tid)
{
	uint64_t now = reel_now();
	struct reel_proc_thread details;
	struct process *process;
	struct thread *thread;

	tracker->counts_threads = true;
	if (!tracker->proc_is_ours)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "-t requires /proc of this PID namespace (as mounted by "
					 "unshare --mount-proc) to find the thread's process");
	if (!reel_inspector_thread(tracker->options.inspector, 0, tid, &details))
		return no_such("thread", tid);
	process = tracker_process_find(tracker, details.pid);
	if (!process) {
		TRY(tracker_scan(tracker, details.pid, now, true, &process));
		process->follow_children = false;
	}
	thread = tracker_thread_find(tracker, tid);
	if (!thread)
		return no_such("thread", tid);
	if (!thread->is_target) {
		thread->is_target = true;
		tracker->n_living++;
	}
	return NULL;
}

struct reel_error *reel_tracker_add_command(struct reel_tracker *tracker, uint32_t pid)
{
	uint64_t now = reel_now();
	struct reel_record_space space = { .time = now, .origin = REEL_ORIGIN_FOUND, .pid = pid };
	struct reel_proc_thread thread;
	struct process *process;
	struct thread_start start = {
		.time = now,
		.known = now,
		.tid = pid,
		.origin = REEL_ORIGIN_FOUND,
		.comm = "stackreel-recor",
	};

	if (tracker->proc_is_ours &&
	    reel_inspector_thread(tracker->options.inspector, pid, pid, &thread)) {
		space.namespace_pid = thread.namespace_pid;
		start.namespace_tid = thread.namespace_tid;
	}
	reel_space_set_program(&space, &tracker->programs, false);
	tracker_expect_interpreter(tracker);
	TRY(tracker_process_create(tracker, &space, true, now, &process));
	return tracker_thread_create(tracker, process, &start, NULL);
}

struct number_list {
	uint32_t *numbers;
	size_t count, capacity;
	bool failed; /* out of memory */
};

static void add_number(void *context, uint32_t number)
{
	struct number_list *list = context;

	if (!reel_array_reserve(&list->numbers, list->count, &list->capacity,
				sizeof(*list->numbers))) {
		list->failed = true;
		return;
	}
	list->numbers[list->count++] = number;
}

static struct reel_error *add_if_new(struct reel_tracker *tracker, uint32_t pid)
{
	struct process *process = tracker_process_find(tracker, pid);

	if (process)
		return NULL;
	if (!tracker_may_read(tracker, pid)) {
		tracker->resync.has_stale = true;
		return NULL;
	}
	TRY(tracker_scan(tracker, pid, reel_now(), tracker->options.everything, &process));
	/* It ended during the scan. */
	return process->threads ? NULL : tracker_process_end(tracker, process, reel_now());
}

void reel_tracker_resync(struct reel_tracker *tracker)
{
	tracker->losses++;
	tracker->resync.is_wanted = true;
}

struct reel_error *reel_tracker_add_all(struct reel_tracker *tracker)
{
	struct number_list pids = { 0 };
	struct reel_error *error = NULL;

	if (!tracker->proc_is_ours)
		return NULL;
	reel_inspector_processes(tracker->options.inspector, add_number, &pids);
	if (pids.failed)
		error = reel_error_no_memory();
	for (size_t i = 0; i < pids.count && !error; i++) {
		/* The remaining processes are read while sampling, or at their first sample. */
		if (reel_now() > tracker->setup_end) {
			reel_tracker_resync(tracker);
			break;
		}
		error = add_if_new(tracker, pids.numbers[i]);
	}
	free(pids.numbers);
	return error;
}

/* ---- after a loss --------------------------------------------------------------------- */

/* `last`: the process's last thread, which has not ended, since the process exists. */
static struct reel_error *resync_thread(struct reel_tracker *tracker, struct thread *thread,
					bool last)
{
	/* A thread missing from the list in /proc may still live, so check with a signal. */
	if (!last && syscall(SYS_tgkill, (pid_t)thread->process->entry.id, thread->tid, 0) &&
	    errno == ESRCH)
		return tracker_thread_end(tracker, thread, reel_now(), true);
	return NULL;
}

static struct reel_error *rescan(struct reel_tracker *tracker, struct process *process)
{
	uint32_t pid = (uint32_t)process->entry.id;
	uint64_t now = reel_now(), deadline = deadline_of(tracker, now);
	struct reel_error *error = NULL;
	struct map_list maps = { 0 };
	bool is_cut;

	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return tracker_process_end(tracker, process, now);
	if (!tracker_may_read(tracker, pid)) {
		tracker->resync.has_stale = true;
		return NULL;
	}
	if (!tracker->proc_is_ours) {
		was_read(tracker, process, now, false);
		return NULL;
	}
	/* An unreadable process is left unchanged. */
	map_list_read(tracker, pid, deadline, &maps);
	if (maps.answer != REEL_ANSWER_NONE && !maps.failed)
		error = tracker_maps_replace(tracker, process, now, deadline, &maps);
	is_cut = maps.answer == REEL_ANSWER_PART;
	map_list_free(&maps);
	deadline = deadline_of(tracker, reel_now());
	for (struct thread *thread = process->threads, *next; thread && !error; thread = next) {
		next = thread->next;
		is_cut |= reel_now() > deadline;
		if (!is_cut)
			error = resync_thread(tracker, thread, !next);
	}
	if (!error)
		error = scan_threads(tracker, process, now, deadline, true);
	if (!error)
		was_read(tracker, process, now, is_cut || process->threads_read);
	return error;
}

/*
 * All processes are read in turn.  That takes long if there are many, or some that were made slow to
 * read, and meanwhile the rings fill: so it is done piece by piece, for a fifth of the time at most;
 * the process of the last sample comes first, and a process that took long waits longer for its next
 * turn.
 */

/* ---- a round ------------------------------------------------------------------------- */

static void add_known(void *context, struct reel_id_entry *entry)
{
	add_number(context, (uint32_t)entry->id);
}

/* All known processes, and after a loss those in /proc as well. */
static struct reel_error *begin_round(struct reel_tracker *tracker)
{
	struct resync *resync = &tracker->resync;
	struct number_list pids = { 0 };

	reel_id_table_visit(&tracker->processes, add_known, &pids);
	if (resync->is_wanted && tracker->proc_is_ours &&
	    (tracker->options.everything || tracker->options.on_first_sample))
		reel_inspector_processes(tracker->options.inspector, add_number, &pids);
	resync->is_wanted = resync->has_stale = false;
	resync->pids = pids.numbers;
	resync->count = pids.count;
	resync->at = 0;
	return pids.failed ? reel_error_no_memory() : NULL;
}

static void end_round(struct resync *resync, uint64_t now)
{
	uint64_t pause = resync->is_wanted ? LOSS_INTERVAL : STALE_INTERVAL;

	free(resync->pids);
	resync->pids = NULL;
	if (resync->resume < now + pause)
		resync->resume = now + pause;
}

static struct reel_error *look_at(struct reel_tracker *tracker, uint32_t pid)
{
	struct process *process = tracker_process_find(tracker, pid);

	if (!process)
		return add_if_new(tracker, pid);
	if (process->losses == tracker->losses && !process->is_stale)
		return NULL;
	if (process->read_after > reel_now()) {
		tracker->resync.has_stale = true;
		return NULL;
	}
	return rescan(tracker, process);
}

uint64_t reel_tracker_work_time(const struct reel_tracker *tracker)
{
	const struct resync *resync = &tracker->resync;
	bool has_work = resync->pids || resync->is_wanted || resync->has_stale;

	return has_work ? resync->resume : UINT64_MAX;
}

struct reel_error *reel_tracker_work(struct reel_tracker *tracker)
{
	struct resync *resync = &tracker->resync;
	uint64_t start = reel_now(), now = start;
	struct reel_error *error = NULL;

	if (reel_tracker_work_time(tracker) > now)
		return NULL;
	if (!resync->pids)
		error = begin_round(tracker);
	if (!error && resync->sampled)
		error = look_at(tracker, resync->sampled);
	resync->sampled = 0;
	now = reel_now();
	while (!error && resync->at < resync->count && now < start + WORK_NS) {
		error = look_at(tracker, resync->pids[resync->at++]);
		now = reel_now();
	}
	resync->resume = now + REST_TIMES * (now - start);
	if (resync->at == resync->count)
		end_round(resync, now);
	return error;
}
