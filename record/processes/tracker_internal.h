/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that implement tracker.h. */
#ifndef RECORD_PROCESSES_TRACKER_INTERNAL_H
#define RECORD_PROCESSES_TRACKER_INTERNAL_H

#include "record/processes/cgroup_table.h"
#include "record/processes/tracker.h"
#include "base/id_table.h"
#include "format/timeline/space.h"
#include "format/timeline/space_start.h"

/* Which of the kernel's two vDSOs a program has; known once the program starts. */
enum vdso_kind {
	VDSO_UNKNOWN,
	VDSO_NATIVE,
	VDSO_COMPAT,
};

/* In the file, the process's space is in this cgroup from `time` on. */
struct cgroup_span {
	uint64_t time, space, kernel_id;
};

/* When a process is asked again, and how long that is after the last time. */
struct next_question {
	uint64_t time, delay;
};

/* What a process's interpreter is, as far as it is known. */
struct process_interpreter {
	struct reel_runtime_place place; /* kind NONE: none */
	struct reel_bpf_interpreter is;	 /* kind NONE: not known yet */
	struct next_question next;
};

struct process {
	struct reel_id_entry entry; /* pid; in the table while it lives */
	/* It is recorded, and written with its first sample (tracker_file.c). */
	bool followed;
	/* The file has its space; or had it when this round began. */
	bool written, was_written;
	uint64_t base; /* the space of the nearest written ancestor when it forked; 0: none */
	bool follow_children;
	bool alive;
	uint32_t user; /* UINT32_MAX: unknown */
	/* Earlier events are contained in the data from /proc. */
	uint64_t known;
	/* The SPACE record as last put. */
	struct reel_record_space space;
	uint32_t n_mappings;
	uint64_t file_bytes; /* of its mappings in the file that need no budget */
	/* Recent amount of events, and its time (tracker_limits.c). */
	uint64_t noise, noise_time;
	/* Data from /proc: losses up to this count are made up for, some data was left out since,
	 * and the earliest time to read it again (tracker_scan.c). */
	uint64_t losses;
	bool is_stale;
	uint64_t read_after;
	uint32_t threads_read; /* number of threads read; 0 if all were */
	enum vdso_kind vdso_kind;
	/* The living processes with the same memory, in a ring; NULL: it has its own. */
	struct process *sharer;
	struct thread *threads;	     /* living ones */
	size_t n_references;	     /* by threads, including dead ones */
	struct cgroup_span *cgroups; /* ascending; those that samples to come may be in */
	size_t n_cgroups, cgroups_capacity;
	struct reel_bpf_publisher publisher; /* of its requests; kind NONE: it is not */
	struct {
		struct reel_proc_service *is; /* NULL: unknown */
		struct next_question next;
	} service;
	struct process_interpreter interpreter;
	bool is_heir; /* BPF does not know yet what it inherited */
};

struct thread {
	struct thread *older; /* an earlier thread with this tid */
	struct thread *next,
		*previous; /* living ones of the process; or dead ones in order of end */
	struct process *process;
	uint64_t id;
	uint32_t tid;
	bool is_target;	     /* given to reel_tracker_add_thread */
	uint64_t start, end; /* UINT64_MAX while it lives */
	uint64_t known;
	uint64_t named; /* when /proc had its name, if name events may have been lost */
	char comm[REEL_COMM_SIZE];
	uint64_t renamed; /* 0: never */
	char comm_before[REEL_COMM_SIZE];
	enum reel_origin origin;
	uint64_t parent;
	uint32_t parent_tid, namespace_tid;
	uint64_t first_space; /* the first space it has in the file; 0: not in the file */
	bool was_written;     /* when this round began */
	/* An earlier space, for samples that arrived late, and the thread's id there. */
	uint64_t earlier_space, earlier_id;
};

/* All threads that had a tid, newest first. */
struct tid_entry {
	struct reel_id_entry entry;
	struct thread *newest;
};

/* Finding lost events in /proc, some processes at a time. */
struct resync {
	bool is_wanted, has_stale;
	uint32_t *pids;
	size_t count, at;
	uint64_t resume;  /* not before */
	uint32_t sampled; /* next in turn: process of the last sample after a loss; or 0 */
};

/* A fork's event mostly arrives before its details from BPF. */
#define FORKS_MAX 1024
/* Children whose BPF maps are not updated yet. */
#define HEIRS_MAX 1024
/* Ended threads that may still have samples. */
#define DEAD_MAX 65536

struct reel_tracker {
	struct reel_tracker_options options;
	struct reel_programs programs;
	struct reel_timeline *timeline; /* the present, without threads */
	struct reel_id_table processes, tids;
	uint64_t last_space, last_thread;
	struct thread *dead, **dead_end;
	size_t n_living; /* see reel_tracker_living */
	bool counts_threads;
	bool proc_is_ours;
	size_t n_dead;
	/* BPF's details of forks whose events did not arrive yet: the last ones. */
	struct reel_bpf_process forks[FORKS_MAX];
	size_t n_forks;
	uint64_t vdso, compat_vdso; /* modules, 0 until one is seen */
	unsigned int backlog;	    /* reel_tracker_set_backlog */
	uint64_t left_out;
	uint64_t part_start; /* of the file; 0 for the first file */
	uint64_t horizon;    /* reel_tracker_forget */
	uint64_t losses;     /* how often events were lost */
	bool has_samples;    /* samples are waiting during other work */
	uint64_t setup_end;  /* until then, processes may be read before the first sample */
	struct resync resync;
	struct reel_cgroup_table cgroups;
	uint64_t interpreters_begin_until; /* some may begin up to then */
	uint32_t heirs[HEIRS_MAX];	   /* pids of those since reel_tracker_tell_heirs */
	size_t n_heirs;
};

/* ---- tracker.c ---- */

/* Puts the record into the timeline and, if the process is written, into the file. */
struct reel_error *tracker_put(struct reel_tracker *tracker, const struct process *process,
			       const struct reel_record *record) REEL_MUST_CHECK;
/* Writes to the file only; writes the module of a MAP first. */
struct reel_error *tracker_write(struct reel_tracker *tracker,
				 const struct reel_record *record) REEL_MUST_CHECK;

struct process *tracker_process_find(const struct reel_tracker *tracker, uint32_t pid);
/* The process from which it was forked, if that lives and neither has executed another program
 * since; else NULL. */
struct process *tracker_forked_from(const struct reel_tracker *tracker,
				    const struct process *process);
/* The newest thread of a tid if it lives. */
struct thread *tracker_thread_find(const struct reel_tracker *tracker, uint32_t tid);

/* The thread that had the tid at that time; samples may be older than all known threads. */
struct thread *tracker_thread_at(const struct reel_tracker *tracker, uint32_t pid, uint32_t tid,
				 uint64_t time);

/* Makes a process with `space`, and sets the space's id. */
struct reel_error *tracker_process_create(struct reel_tracker *tracker,
					  const struct reel_record_space *space, bool followed,
					  uint64_t known, struct process **ret) REEL_MUST_CHECK;
/* Puts the space's record again, with newly known properties. */
struct reel_error *tracker_space_update(struct reel_tracker *tracker,
					struct process *process) REEL_MUST_CHECK;

/* The process publishes its requests in this way, from now on; kind NONE: not at all. */
void tracker_publish(struct reel_tracker *tracker, struct process *process,
		     struct reel_bpf_publisher publisher);

/* The process runs this interpreter from now on; with kinds NONE, none. */
void tracker_interpret(struct reel_tracker *tracker, struct process *process,
		       const struct process_interpreter *interpreter);
/* A child has its parent's publisher and interpreter; BPF is told later (reel_tracker_tell_heirs). */
void tracker_inherit(struct reel_tracker *tracker, const struct process *parent,
		     struct process *child);
/* A process may begin an interpreter soon. */
void tracker_expect_interpreter(struct reel_tracker *tracker);
/* A file that the process maps has an interpreter's state, or none (kind NONE). */
void tracker_set_interpreter(struct reel_tracker *tracker, struct process *process,
			     struct reel_runtime_place place);
/* Another program begins, or the process ends. */
void tracker_forget_service(struct process *process);

/* The child has its parent's memory (CLONE_VM; vfork): a mapping of one is a mapping of both. */
void tracker_share(struct process *parent, struct process *child);
/* The process ends, or executes another program. */
void tracker_unshare(struct process *process);

struct thread_start {
	uint64_t time, known;
	uint32_t tid, namespace_tid;
	enum reel_origin origin;
	uint64_t parent; /* THREAD id */
	uint32_t parent_tid;
	const char *comm;
};

struct reel_error *tracker_thread_create(struct reel_tracker *tracker, struct process *process,
					 const struct thread_start *start,
					 struct thread **ret) REEL_MUST_CHECK;
/* Puts nothing if the name is unchanged. */
struct reel_error *tracker_thread_rename(struct reel_tracker *tracker, struct thread *thread,
					 uint64_t time, const char *comm) REEL_MUST_CHECK;
/* With the last thread the process also ends, unless `keep_process`. */
struct reel_error *tracker_thread_end(struct reel_tracker *tracker, struct thread *thread,
				      uint64_t time, bool keep_process) REEL_MUST_CHECK;
struct reel_error *tracker_process_end(struct reel_tracker *tracker, struct process *process,
				       uint64_t time) REEL_MUST_CHECK;

/* ---- tracker_maps.c ---- */

/* Adds a mapping from `time` on, and removes mappings that it overlaps. Puts nothing if it exists
 * already. */
struct reel_error *tracker_map(struct reel_tracker *tracker, struct process *process, uint64_t time,
			       const struct reel_proc_map *map,
			       const struct reel_build_id *build_id,
			       uint64_t generation) REEL_MUST_CHECK;

/* A mapping that is not recorded: removes overlapped mappings, whose names would now be wrong. */
struct reel_error *tracker_map_leave_out(struct reel_tracker *tracker, struct process *process,
					 uint64_t time,
					 const struct reel_proc_map *map) REEL_MUST_CHECK;

/* Sets the kind of program, if its vDSO was mapped before the kind was known. */
struct reel_error *tracker_vdso_told(struct reel_tracker *tracker, struct process *process,
				     uint64_t time, enum vdso_kind kind) REEL_MUST_CHECK;

/* Mappings read from a process, with their own copies of paths. */
struct map_list {
	struct reel_proc_process process;
	struct reel_proc_map *maps;
	size_t count, capacity;
	bool failed; /* out of memory */
	enum reel_answer answer;
};

void map_list_free(struct map_list *list);
/* Reads as much as possible before the deadline. */
enum reel_answer map_list_read(const struct reel_tracker *tracker, uint32_t pid, uint64_t deadline,
			       struct map_list *ret);
/* Address of "[vdso]"; 0 if missing. */
uint64_t map_list_vdso(const struct map_list *list);

/*
 * Removes mappings that are missing from the list, as far as the list goes, and adds new ones.
 * After the deadline it stops, and marks the list as partial.
 */
struct reel_error *tracker_maps_replace(struct reel_tracker *tracker, struct process *process,
					uint64_t time, uint64_t deadline,
					struct map_list *list) REEL_MUST_CHECK;

/* ---- tracker_limits.c ---- */

/*
 * Number of mappings that a process may have, and of events that it may cause at once: less, the
 * more memory all mappings take, and the more data waits for the file.
 */
uint32_t tracker_allowance(const struct reel_tracker *tracker);
/* Whether `cost` exceeds the process's allowance; if not, charges the process for it. */
bool tracker_is_noise(const struct reel_tracker *tracker, struct process *process, uint64_t time,
		      uint64_t cost);
/* Cost of one mapping. */
uint64_t tracker_map_cost(const struct reel_tracker *tracker, const struct reel_proc_map *map,
			  const struct reel_build_id *build_id);
/* Whether the file may have one more mapping of the process, with its module; charges for it. */
bool tracker_may_write(const struct reel_tracker *tracker, struct process *process,
		       uint64_t module);
/* Whether the budget allows to read /proc for the process. */
bool tracker_may_read(const struct reel_tracker *tracker, uint32_t pid);
/* The same for all other questions about it, for its samples. */
bool tracker_may_ask(const struct reel_tracker *tracker, const struct process *process);
/* Has /proc read for the process soon. */
void tracker_is_outdated(struct reel_tracker *tracker, struct process *process);
/* Some of its data is missing from the file: counts that, and has /proc read later. */
void tracker_leave_out(struct reel_tracker *tracker, struct process *process);

/* ---- tracker_file.c ---- */

/* The time in the file of something that began at `time`: older records begin with the file. */
uint64_t tracker_file_time(const struct reel_tracker *tracker, uint64_t time);

/* Writes a process that is not in the file, with its main thread, whose name is the process's. */
struct reel_error *tracker_write_process(struct reel_tracker *tracker,
					 struct process *process) REEL_MUST_CHECK;
/* Writes missing records for a sample of the thread in the space; returns the THREAD's id. */
struct reel_error *tracker_write_sampled(struct reel_tracker *tracker, struct thread *thread,
					 const struct reel_space_state *state,
					 uint64_t *thread_ret) REEL_MUST_CHECK;

/* ---- tracker_scan.c ---- */

/*
 * Makes a process without events from /proc, with all its threads; records get the time `time`.  If
 * /proc has no data, the process has no mappings and no threads.
 */
struct reel_error *tracker_scan(struct reel_tracker *tracker, uint32_t pid, uint64_t time,
				bool followed, struct process **ret) REEL_MUST_CHECK;

#endif
