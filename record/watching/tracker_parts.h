/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind tracker.h share. */
#ifndef RECORD_WATCHING_TRACKER_PARTS_H
#define RECORD_WATCHING_TRACKER_PARTS_H

#include "record/watching/tracker.h"
#include "base/id_table.h"
#include "target/space.h"
#include "target/space_start.h"

/* Which of the kernel's two a program has; it is told when the program starts. */
enum vdso_kind {
	VDSO_UNKNOWN,
	VDSO_NATIVE,
	VDSO_COMPAT,
};

struct process {
	struct reel_id_entry entry; /* pid; in the table while it lives */
	/* It is recorded, and written with its first sample (tracker_samples.c). */
	bool followed;
	/* The file has its space. */
	bool written;
	uint64_t base; /* the space of the nearest written ancestor when it forked; 0: none */
	bool follow_children;
	bool alive;
	/* Events before this time are contained in what /proc said. */
	uint64_t known;
	/* The SPACE record as it was put last. */
	struct reel_record_space space;
	uint32_t n_mappings;
	/* How much it told of late, and when that was (tracker_limits.c). */
	uint64_t noise, noise_time;
	/* Of what /proc says of it: of which loss on it is known, whether something was left out
	 * since, and from when on it may be read again (tracker_resync.c). */
	uint64_t losses;
	bool is_stale;
	uint64_t read_after;
	uint32_t threads_read; /* how many, where there was no time for all */
	enum vdso_kind vdso_kind;
	struct thread *threads; /* that live */
	size_t n_references;	/* by threads, the dead ones included */
};

struct thread {
	struct thread *older; /* an earlier one of this tid */
	struct thread *next,
		*previous; /* living ones of the process; or dead ones in order of end */
	struct process *process;
	uint64_t id;
	uint32_t tid;
	bool is_target;	     /* reel_tracker_add_thread named it */
	uint64_t start, end; /* UINT64_MAX while it lives */
	uint64_t known;
	uint64_t named; /* when /proc had its name, if events of names may have been lost */
	char comm[REEL_COMM_SIZE];
	uint64_t renamed; /* 0: never */
	char comm_before[REEL_COMM_SIZE];
	enum reel_origin origin;
	uint64_t parent;
	uint32_t parent_tid, namespace_tid;
	uint64_t first_space; /* in which the file has it first; 0: it does not have it */
	/* Before that, by samples that came late: the space, and the id it has there. */
	uint64_t earlier_space, earlier_id;
};

/* All threads that had a tid, the newest first. */
struct tid_entry {
	struct reel_id_entry entry;
	struct thread *newest;
};

/* Looking into /proc for what was lost, some processes at a time. */
struct resync {
	bool is_wanted, has_stale;
	uint32_t *pids;
	size_t count, at;
	uint64_t resume;  /* not before */
	uint32_t sampled; /* the next in turn: of the last sample where a loss is not made up for;
			     or 0 */
};

/* A fork's event mostly is there before what BPF says of it. */
#define FORKS_MAX 1024
/* Threads that ended and may have samples still to come. */
#define DEAD_MAX 65536

struct reel_tracker {
	struct reel_tracker_options options;
	struct reel_programs programs;
	struct reel_timeline *timeline; /* the present */
	struct reel_id_table processes, tids;
	uint64_t last_space, last_thread;
	struct thread *dead, **dead_end;
	size_t n_living; /* see reel_tracker_living */
	bool counts_threads;
	bool proc_is_ours;
	size_t n_dead;
	/* What BPF said of forks whose events did not come yet: the last ones. */
	struct reel_bpf_process forks[FORKS_MAX];
	size_t n_forks;
	uint64_t vdso, compat_vdso; /* modules, 0 until one is seen */
	unsigned int backlog;	    /* reel_tracker_set_backlog */
	uint64_t left_out;
	uint64_t part_start;	    /* of the file, if it is not the first */
	uint64_t horizon;	    /* reel_tracker_forget */
	uint64_t burst, burst_time; /* mappings that first samples may write */
	uint64_t losses;	    /* how often events were lost */
	bool has_samples;	    /* which wait while something else is done */
	uint64_t setup_end;	    /* up to then others may be looked at before the first sample */
	struct resync resync;
};

/* ---- tracker.c ---- */

/* Takes the record into the timeline and, if the process is written, into the file. */
struct reel_error *tracker_put(struct reel_tracker *tracker, const struct process *process,
			       const struct reel_record *record) REEL_MUST_CHECK;
struct reel_error *tracker_put_thread(struct reel_tracker *tracker, const struct thread *thread,
				      const struct reel_record *record) REEL_MUST_CHECK;
/* Into the file only; the module of a MAP goes before it. */
struct reel_error *tracker_write(struct reel_tracker *tracker,
				 const struct reel_record *record) REEL_MUST_CHECK;

struct process *tracker_process_find(const struct reel_tracker *tracker, uint32_t pid);
/* The newest thread of a tid if it lives. */
struct thread *tracker_thread_find(const struct reel_tracker *tracker, uint32_t tid);

/* A process with `space` but its id, which is given here. */
struct reel_error *tracker_process_create(struct reel_tracker *tracker,
					  const struct reel_record_space *space, bool followed,
					  uint64_t known, struct process **ret) REEL_MUST_CHECK;
/* Puts the space's record again, with properties that became known. */
struct reel_error *tracker_space_update(struct reel_tracker *tracker,
					struct process *process) REEL_MUST_CHECK;

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
/* Nothing is put if that is its name already. */
struct reel_error *tracker_thread_rename(struct reel_tracker *tracker, struct thread *thread,
					 uint64_t time, const char *comm) REEL_MUST_CHECK;
/* With the last thread the process ends too, unless `keep_process`. */
struct reel_error *tracker_thread_end(struct reel_tracker *tracker, struct thread *thread,
				      uint64_t time, bool keep_process) REEL_MUST_CHECK;
struct reel_error *tracker_process_end(struct reel_tracker *tracker, struct process *process,
				       uint64_t time) REEL_MUST_CHECK;

/* ---- tracker_maps.c ---- */

/* A mapping is there from `time` on; what it overlaps is not. Nothing is put if it was there
 * already. */
struct reel_error *tracker_map(struct reel_tracker *tracker, struct process *process, uint64_t time,
			       const struct reel_proc_map *map,
			       const struct reel_build_id *build_id,
			       uint64_t generation) REEL_MUST_CHECK;

/* One that is not recorded: what it overlaps is not there any more, and must not name what is. */
struct reel_error *tracker_map_leave_out(struct reel_tracker *tracker, struct process *process,
					 uint64_t time,
					 const struct reel_proc_map *map) REEL_MUST_CHECK;

/* What the program is, if its vDSO was mapped before that was known. */
struct reel_error *tracker_vdso_told(struct reel_tracker *tracker, struct process *process,
				     uint64_t time, enum vdso_kind kind) REEL_MUST_CHECK;

/* What was read of a process: mappings, with paths of their own. */
struct map_list {
	struct reel_proc_process process;
	struct reel_proc_map *maps;
	size_t count, capacity;
	bool failed; /* no memory */
	enum reel_answer answer;
};

void map_list_free(struct map_list *list);
/* What can be read until then. */
enum reel_answer map_list_read(const struct reel_tracker *tracker, uint32_t pid, uint64_t deadline,
			       struct map_list *ret);
/* Address of "[vdso]", 0 if there is none. */
uint64_t map_list_vdso(const struct map_list *list);

/*
 * Removes what the process has not mapped any more according to the list, as far as that goes, and
 * adds what is new; up to the deadline, and then the list is one of a part.
 */
struct reel_error *tracker_maps_replace(struct reel_tracker *tracker, struct process *process,
					uint64_t time, uint64_t deadline,
					struct map_list *list) REEL_MUST_CHECK;

/* ---- tracker_limits.c ---- */

/*
 * So many mappings a process may have, and so much may it tell at once: less, the more memory all
 * of them take, and the more waits for the file.
 */
uint32_t tracker_allowance(const struct reel_tracker *tracker);
/* Whether that is too much of the process, which else is charged for it. */
bool tracker_is_noise(const struct reel_tracker *tracker, struct process *process, uint64_t time,
		      uint64_t cost);
/* What one mapping costs. */
uint64_t tracker_map_cost(const struct reel_tracker *tracker, const struct reel_proc_map *map,
			  const struct reel_build_id *build_id);
/* Something of it is not in the file: counts it, and has /proc asked later. */
void tracker_leave_out(struct reel_tracker *tracker, struct process *process);

/* ---- tracker_samples.c ---- */

/* Writes what the file lacks for a sample of the thread in the space; the THREAD's id. */
struct reel_error *tracker_write_sampled(struct reel_tracker *tracker, struct thread *thread,
					 const struct reel_space_state *state,
					 uint64_t *thread_ret) REEL_MUST_CHECK;

/* ---- tracker_resync.c ---- */

/* The process was looked at from `start` on; `is_cut`: not all of it could be. */
void tracker_was_read(struct reel_tracker *tracker, struct process *process, uint64_t start,
		      bool is_cut);

/* ---- tracker_scan.c ---- */

/* Records it from now on, if it is there. */
struct reel_error *tracker_add_if_new(struct reel_tracker *tracker, uint32_t pid) REEL_MUST_CHECK;
/* Those that /proc has; the caller frees *ret. */
struct reel_error *tracker_processes(const struct reel_tracker *tracker, uint32_t **ret,
				     size_t *count_ret) REEL_MUST_CHECK;

/* What /proc says of a process that is known. */
struct reel_error *tracker_rescan(struct reel_tracker *tracker,
				  struct process *process) REEL_MUST_CHECK;

/*
 * A process that no event told of, from /proc, with all its threads; records get
 * the time `time`.  Where /proc has nothing, the process has nothing mapped and no threads.
 */
struct reel_error *tracker_scan(struct reel_tracker *tracker, uint32_t pid, uint64_t time,
				bool followed, struct process **ret) REEL_MUST_CHECK;

#endif
