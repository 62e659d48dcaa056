/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind tracker.h share. */
#ifndef RECORD_TRACKER_PARTS_H
#define RECORD_TRACKER_PARTS_H

#include "record/tracker.h"
#include "space/id_table.h"
#include "space/space.h"

struct process {
	struct reel_id_entry entry; /* pid; in the table while it lives */
	/* Its records are written. */
	bool followed;
	bool follow_children;
	bool alive;
	/* Events before this time are contained in what /proc said. */
	uint64_t known;
	/* The SPACE record as it was put last. */
	struct reel_record_space space;
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
};

/* All threads that had a tid, the newest first. */
struct tid_entry {
	struct reel_id_entry entry;
	struct thread *newest;
};

struct reel_tracker {
	struct reel_tracker_options options;
	struct reel_timeline *timeline; /* the present */
	struct reel_id_table processes, tids;
	uint64_t last_space, last_thread;
	struct thread *dead, **dead_end;
	size_t n_living; /* see reel_tracker_living */
	bool counts_threads;
	bool proc_is_ours;
	/* What BPF said of forks whose events did not come yet. */
	struct reel_bpf_process *forks;
	size_t n_forks, forks_capacity;
	uint64_t vdso, compat_vdso; /* modules, 0 until one is seen */
};

/* ---- tracker.c ---- */

/* Takes the record into the timeline and, if the process is followed, into the file. */
struct reel_error *tracker_put(struct reel_tracker *tracker, const struct process *process,
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

/* Native user code, as a SPACE's properties. */
void tracker_native(const struct reel_tracker *tracker, struct reel_record_space *space);
void tracker_compat(const struct reel_tracker *tracker, struct reel_record_space *space);

/* ---- tracker_maps.c ---- */

/* A mapping is there from `time` on; what it overlaps is not. Nothing is put if it was there
 * already. */
struct reel_error *tracker_map(struct reel_tracker *tracker, struct process *process, uint64_t time,
			       const struct reel_proc_map *map,
			       const struct reel_build_id *build_id,
			       uint64_t generation) REEL_MUST_CHECK;

/* Mappings that were read, with paths of their own. */
struct map_list {
	struct reel_proc_map *maps;
	size_t count, capacity;
	bool failed; /* no memory */
};

void map_list_free(struct map_list *list);
/* False if nothing could be read. */
bool map_list_read(uint32_t pid, struct map_list *ret);
/* Address of "[vdso]", 0 if there is none. */
uint64_t map_list_vdso(const struct map_list *list);

/* Removes what the process has not mapped any more according to the list, and adds what is new. */
struct reel_error *tracker_maps_replace(struct reel_tracker *tracker, struct process *process,
					uint64_t time, const struct map_list *list) REEL_MUST_CHECK;

/* ---- tracker_scan.c ---- */

/*
 * A process that no event told of, from /proc, with all its threads; records get
 * the time `time`.  Where /proc has nothing, the process has nothing mapped and no threads.
 */
struct reel_error *tracker_scan(struct reel_tracker *tracker, uint32_t pid, uint64_t time,
				bool followed, struct process **ret) REEL_MUST_CHECK;

#endif
