/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address spaces over time (SPEC.md, section 7): the lifetimes of processes and threads, their
 * spaces, and the mappings.  Built from side records, by the recorder (which needs only the
 * present) and by replay (which looks up any time).
 *
 * Mappings are kept in persistent balanced trees: a change makes O(log n) new nodes and a new root,
 * a fork shares its parent's root, and a look-up at time t finds the root of that time first.  The
 * past is kept only on request.
 */
#ifndef FORMAT_TIMELINE_SPACE_H
#define FORMAT_TIMELINE_SPACE_H

#include "base/error.h"
#include "format/record.h"

struct reel_timeline;

/*
 * keep_past: look-ups at any time.  Otherwise every change drops the old state, a space is
 * forgotten at its SPACE_EXIT or when its thread moves to another (THREAD_EXEC), a thread at its
 * THREAD_EXIT, and look-ups return the present whatever time they name.
 */
struct reel_error *reel_timeline_create(bool keep_past, struct reel_timeline **ret) REEL_MUST_CHECK;
void reel_timeline_destroy(struct reel_timeline *timeline);

/*
 * Adds a side record: SPACE, SPACE_EXIT, THREAD*, MAP, UNMAP, MODULE, CODE*, JIT_*, CGROUP,
 * SPACE_CGROUP. Other records are ignored, and so are the last four kinds without a past.  With keep_past all records are collected
 * first, and reel_timeline_seal applies them in order of time; otherwise they apply at once, in the
 * order given.  INVALID for values out of range (SPEC.md section 10): the record is dropped.
 */
struct reel_error *reel_timeline_add(struct reel_timeline *timeline,
				     const struct reel_record *record) REEL_MUST_CHECK;
/* Ends the collecting; look-ups are valid from here on, from several threads.  Does nothing without
 * a past. */
struct reel_error *reel_timeline_seal(struct reel_timeline *timeline) REEL_MUST_CHECK;

/*
 * For a timeline without a past: keeps ended spaces for samples older than the latest records.
 * reel_timeline_forget_ended drops the spaces that ended before `horizon`.
 */
void reel_timeline_keep_ended(struct reel_timeline *timeline);
void reel_timeline_forget_ended(struct reel_timeline *timeline, uint64_t horizon);

#define REEL_TIME_NOW UINT64_MAX

struct reel_mapping {
	uint64_t address, size; /* of the remaining part */
	uint64_t offset;	/* in the module's file, at `address` */
	uint32_t protection, flags;
	uint64_t module;
};

/* The mapping of `space` that holds `address` at `time` (inclusive); false if nothing is mapped
 * there. */
bool reel_timeline_find(const struct reel_timeline *timeline, uint64_t space, uint64_t time,
			uint64_t address, struct reel_mapping *ret);

/*
 * The mapping state of a space at a time, for many look-ups: resolves the time once.  Equal
 * generations mean equal code: the same executable and file mappings.
 */
struct reel_space_view {
	const struct reel_timeline *timeline;
	const void *root;
	uint64_t space;
	/* Unique in the timeline for each state of each space's code; 0: no mappings. */
	uint64_t generation;
	/* The bytes of CODE records that were found up to that time, and those with others in their
	 * place that were found later but may already have been there; equal if there are none. */
	const void *code, *next_code;
	/* Equal moments mean equal reports from JITs about the space's code; 0: none. */
	uint32_t moment;
};

struct reel_space_view reel_timeline_view(const struct reel_timeline *timeline, uint64_t space,
					  uint64_t time);
bool reel_space_view_find(const struct reel_space_view *view, uint64_t address,
			  struct reel_mapping *ret);
/* The nearest mapping that ends at or below `address`, or begins above it. */
bool reel_space_view_below(const struct reel_space_view *view, uint64_t address,
			   struct reel_mapping *ret);
bool reel_space_view_above(const struct reel_space_view *view, uint64_t address,
			   struct reel_mapping *ret);

/*
 * The bytes of code at `address` that are in the view's `code`.  Returns the number of
 * contiguous bytes, though others may follow; 0 if there are none, or the mapping's module has
 * changed.  They live with the timeline.
 */
size_t reel_space_view_code(const struct reel_space_view *view, uint64_t address,
			    const uint8_t **ret);

/* Whether CODE records contain some of the module's bytes. */
bool reel_timeline_has_code(const struct reel_timeline *timeline, uint64_t module);

/* A function of a JIT, and the line of an address in it; they live with the timeline. */
struct reel_jit_symbol {
	uint64_t space, time, address; /* as in the record */
	const char *name;
};

struct reel_jit_line {
	const char *file;
	uint32_t line; /* 0: none */
};

/* The numbers of records about JIT code. */
struct reel_jit_counts {
	uint64_t symbols, lines, unwinds;
};
struct reel_jit_counts reel_timeline_jit_counts(const struct reel_timeline *timeline);

/* The symbol that holds an address; NULL if none does. */
const struct reel_jit_symbol *reel_space_view_jit_symbol(const struct reel_space_view *view,
							 uint64_t address);
/* False if no line is known. */
bool reel_jit_symbol_line(const struct reel_timeline *timeline,
			  const struct reel_jit_symbol *symbol, uint64_t address,
			  struct reel_jit_line *ret);
/* The unwind information for an address; NULL if unknown. */
const struct reel_record_jit_unwind *reel_space_view_jit_unwind(const struct reel_space_view *view,
								uint64_t address);

struct reel_space_state {
	uint64_t id, parent, pid, namespace_pid;
	uint64_t start, end; /* end: UINT64_MAX while alive */
	uint64_t machine, word_bits, byte_order;
	uint64_t code_mask, data_mask, vdso;
	bool forked;	      /* began with its parent's mappings */
	uint64_t main_thread; /* 0: unknown */
};

/*
 * NULL for an id that was never defined.  An exec ends the space that the thread leaves.  Without a
 * past, both results live until the next reel_timeline_add.
 */
const struct reel_space_state *reel_timeline_space(const struct reel_timeline *timeline,
						   uint64_t space);

/* All kept spaces that SPACE records defined, ascending by id. */
struct reel_error *reel_timeline_visit_spaces(const struct reel_timeline *timeline,
					      void (*visit)(void *context,
							    const struct reel_space_state *space),
					      void *context) REEL_MUST_CHECK;

struct reel_thread_state {
	uint64_t id, tid, namespace_tid, parent;
	uint64_t end;
};

const struct reel_thread_state *reel_timeline_thread(const struct reel_timeline *timeline,
						     uint64_t thread);
/* The thread's space at `time`; 0 if unknown. */
uint64_t reel_timeline_thread_space(const struct reel_timeline *timeline, uint64_t thread,
				    uint64_t time);
/* The thread's name at `time`, "" if unknown; lives with the timeline (without a past: until the
 * next change). */
const char *reel_timeline_thread_comm(const struct reel_timeline *timeline, uint64_t thread,
				      uint64_t time);

/* A CGROUP record, and what its path tells (cgroup_path.h); strings live with the timeline,
 * "" if there is none.  A container whose name is unknown has its id as name. */
struct reel_cgroup {
	uint64_t id;
	const char *path, *container, *container_name, *pod, *pod_name, *namespace, *unit;
};

/* The cgroup that the space's process was in at `time`; NULL if unknown.  Only with a past. */
const struct reel_cgroup *reel_timeline_cgroup(const struct reel_timeline *timeline, uint64_t space,
					       uint64_t time);

/* A MODULE record; strings live with the timeline. NULL if unknown. */
const struct reel_record_module *reel_timeline_module(const struct reel_timeline *timeline,
						      uint64_t id);
/* All modules, ascending by id. */
const struct reel_record_module *const *reel_timeline_modules(const struct reel_timeline *timeline,
							      size_t *count_ret);

/* Calls `visit` for the mappings of a space that overlap [address, address + size), ascending. */
void reel_timeline_visit(const struct reel_timeline *timeline, uint64_t space, uint64_t time,
			 uint64_t address, uint64_t size,
			 void (*visit)(void *context, const struct reel_mapping *mapping),
			 void *context);
/* The mappings of all spaces and times, in no order; forks that share one may report it once. */
void reel_timeline_visit_all(const struct reel_timeline *timeline,
			     void (*visit)(void *context, const struct reel_mapping *mapping),
			     void *context);
/* The number of mappings it keeps; each takes 64 bytes. */
size_t reel_timeline_mappings(const struct reel_timeline *timeline);
/* Frees the memory that more mappings took before. */
void reel_timeline_trim(struct reel_timeline *timeline);

#endif
