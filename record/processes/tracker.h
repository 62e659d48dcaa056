/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes, threads and mappings: turns events from the kernel and /proc into side records, and
 * finds the thread of a sample.  Records are written with a process's or thread's first sample.
 *
 * Calls must be in order of time, except for samples: ended threads are remembered until
 * reel_tracker_forget.
 */
#ifndef RECORD_PROCESSES_TRACKER_H
#define RECORD_PROCESSES_TRACKER_H

#include "bpf/runtime.h"
#include "bpf/sample.h"
#include "record/helper/inspector.h"
#include "record/proc/target.h"
#include "record/processes/module_table.h"
#include "record/processes/process_events.h"
#include "format/timeline/space.h"

struct reel_tracker;

struct reel_tracker_options {
	const struct reel_target *target;
	struct reel_module_table *modules;
	struct reel_inspector *inspector;
	struct reel_budget *budget;
	struct reel_record_sink sink;
	uint64_t memory; /* bytes for mappings and modules; 0: as usual */
	/* Record every process of the host. */
	bool everything;
	/* Every process is known; it and its children are recorded from its first sample on
	 * (cgroups: the kernel does not report processes that enter one). */
	bool on_first_sample;
	/* NULL, or reports progress with a process whose threads take long to read. */
	void (*progress)(void *context, uint32_t pid, size_t n_threads);
	void *progress_context;
	/* NULL, or takes a process that publishes its requests, or no longer does (NULL). */
	void (*publish)(void *context, uint32_t pid, const struct reel_bpf_publisher *publisher);
	/* The same of one whose interpreter's frames can be read. */
	void (*interpret)(void *context, uint32_t pid,
			  const struct reel_bpf_interpreter *interpreter);
	void *callbacks; /* context of both */
};

struct reel_error *reel_tracker_create(const struct reel_tracker_options *options,
				       struct reel_tracker **ret) REEL_MUST_CHECK;
void reel_tracker_destroy(struct reel_tracker *tracker);

/* Records a process and its threads, as found in /proc; NOT_FOUND if it does not exist. */
struct reel_error *reel_tracker_add_process(struct reel_tracker *tracker,
					    uint32_t pid) REEL_MUST_CHECK;
/* Records the thread's process, but not its children. */
struct reel_error *reel_tracker_add_thread(struct reel_tracker *tracker,
					   uint32_t tid) REEL_MUST_CHECK;
/* The command, before its exec: its mappings up to then will never be sampled. */
struct reel_error *reel_tracker_add_command(struct reel_tracker *tracker,
					    uint32_t pid) REEL_MUST_CHECK;
/* All processes in /proc. */
struct reel_error *reel_tracker_add_all(struct reel_tracker *tracker) REEL_MUST_CHECK;

/* The process's interpreter; kind NONE: it has none. */
struct reel_runtime_place reel_tracker_interpreter(const struct reel_tracker *tracker,
						   uint32_t pid);

struct reel_error *reel_tracker_event(struct reel_tracker *tracker,
				      const struct reel_process_event *event) REEL_MUST_CHECK;
/* A fork may be given before the event of the same time, an exec not. */
struct reel_error *reel_tracker_process(struct reel_tracker *tracker,
					const struct reel_bpf_process *process) REEL_MUST_CHECK;

/* The path of a cgroup that samples name. */
struct reel_error *reel_tracker_cgroup(struct reel_tracker *tracker,
				       const struct reel_bpf_cgroup *report) REEL_MUST_CHECK;

/* Where a sample was taken. */
struct reel_tracker_place {
	uint64_t thread;	      /* THREAD's id */
	const char *comm;	      /* the thread's name; until the next call */
	struct reel_space_view space; /* its mappings, until the next call */
	/* NULL: unknown; until the next call. */
	const struct reel_proc_service *service;
};

/* Makes an unknown thread from /proc. */
struct reel_error *reel_tracker_place(struct reel_tracker *tracker,
				      const struct reel_bpf_sample *sample,
				      struct reel_tracker_place *ret) REEL_MUST_CHECK;

/* The tid, in the recorder's PID namespace, of the process's thread at that time with this one in
 * its own, or 0.  If the namespaces differ, only threads that live now are found. */
uint32_t reel_tracker_find_tid(const struct reel_tracker *tracker, uint32_t pid,
			       uint32_t namespace_tid, uint64_t time);

/*
 * The callbacks for processes that inherited something by a fork.  To be called when all events so
 * far were given: most children have executed another program by then.
 */
void reel_tracker_tell_heirs(struct reel_tracker *tracker);

/* The kernel dropped events: checks in /proc for the changes that they reported. */
void reel_tracker_resync(struct reel_tracker *tracker);
/* Does some of this work if it is due: a few milliseconds, a fifth of the time at most. */
struct reel_error *reel_tracker_work(struct reel_tracker *tracker) REEL_MUST_CHECK;
/* When the next work is due; UINT64_MAX: none. */
uint64_t reel_tracker_work_time(const struct reel_tracker *tracker);
/* When samples are due; UINT64_MAX: it is not urgent. */
uint64_t reel_tracker_sample_time(const struct reel_tracker *tracker);
/* When something new was last found that can be read only while its process lives. */
uint64_t reel_tracker_news(const struct reel_tracker *tracker);
/* Level of data waiting for the file: 0 little, 1, 2 samples are about to be dropped; from 4 on, no
 * mapping is taken. */
void reel_tracker_set_backlog(struct reel_tracker *tracker, unsigned int level);
/* Mappings and names missing from the file because of limits. */
uint64_t reel_tracker_left_out(const struct reel_tracker *tracker);
/* No more samples before `horizon` will arrive. */
void reel_tracker_forget(struct reel_tracker *tracker, uint64_t horizon);
/* Frees the memory that more mappings took before. */
void reel_tracker_trim(struct reel_tracker *tracker);

/* A new file begins, without any records; its records begin at `time`. */
void reel_tracker_restart(struct reel_tracker *tracker, uint64_t time);
/*
 * A round of a ring begins (format/block_ring.h).  As its file may have the round before as well,
 * the living processes and threads of that are stated anew at once: their changes then reach a
 * reader whether it has the earlier round or not.
 */
struct reel_error *reel_tracker_begin_round(struct reel_tracker *tracker,
					    uint64_t time) REEL_MUST_CHECK;

/* Of the main thread; "": unknown, or ended some time ago.  For struct reel_ring_users. */
const char *reel_tracker_name(const void *tracker, uint32_t pid);

/* For reel_budget_set_users; UINT32_MAX: unknown. */
uint32_t reel_tracker_user(const void *tracker, uint32_t pid);

/* Recorded processes that live; with reel_tracker_add_thread: only the given threads. */
size_t reel_tracker_living(const struct reel_tracker *tracker);

#endif
