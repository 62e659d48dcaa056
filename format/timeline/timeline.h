/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that implement space.h. */
#ifndef FORMAT_TIMELINE_TIMELINE_H
#define FORMAT_TIMELINE_TIMELINE_H

#include "base/error.h"
#include "base/id_table.h"
#include "base/text.h"
#include "format/timeline/mapping_tree.h"
#include "format/timeline/space.h"

/* The mappings of a space from `time` on. */
struct reel_space_version {
	uint64_t time;
	struct reel_mapping_node *root;
	uint64_t generation; /* 0 if `root` is NULL */
	/* Bytes of code: `module` is the index of a reel_code_piece, `offset` counts in it.  `next`
	 * also has those found later that may already be there, in `n_next` CODE records. */
	struct reel_mapping_node *code, *next;
	size_t n_next;
};

/* A CODE record's bytes. */
struct reel_code_piece {
	const uint8_t *bytes;
	uint64_t module; /* the module mapped there; 0: none */
};

struct reel_space {
	struct reel_id_entry entry;
	/* Set by a SPACE record; else only others named the space (SPEC.md section 10). */
	bool defined;
	struct reel_space_state state;
	struct reel_space *next_ended;
	struct reel_space_version *versions;
	size_t n_versions, capacity;
	/* JITs' reports on it or what it forked from; jit.c explains the numbers. */
	bool has_jit, jit_forked;
	struct reel_space *jit_parent; /* NULL: nothing of that kind is inherited */
	struct reel_jit_event *jit_events;
	size_t n_jit_events, jit_capacity, jit_walked;
	uint32_t jit_begin, jit_end;
	/* The cgroups of its process: ids, in order of time. */
	struct reel_cgroup_span *cgroups;
	size_t n_cgroups, cgroups_capacity;
};

struct reel_cgroup_span {
	uint64_t time, cgroup;
};

struct reel_thread_span {
	uint64_t time, space;
};

struct reel_thread_name {
	uint64_t time;
	char *comm;
};

struct reel_thread {
	struct reel_id_entry entry;
	bool defined;
	struct reel_thread_state state;
	struct reel_thread_span *spans;
	size_t n_spans, spans_capacity;
	struct reel_thread_name *names;
	size_t n_names, names_capacity;
};

struct reel_pending_record;
struct reel_jit_event;
struct reel_jit_index;
struct reel_jit_line_entry;

struct reel_timeline {
	bool keep_past;
	bool sealed;
	bool keep_ended;
	/* Spaces kept after their end, the oldest end first. */
	struct reel_space *ended, **ended_last;
	struct reel_mapping_pool pool;
	struct reel_mapping_pool code_pool;
	struct reel_texts *texts; /* of JITs; may be NULL */
	struct reel_arena_chunk *jit_arena;
	size_t n_jit_symbols, n_jit_unwinds;
	struct reel_jit_index *jit_symbols, *jit_unwinds; /* once sealed; may be NULL */
	struct reel_jit_line_entry *jit_lines;		  /* sorted once sealed */
	size_t n_jit_lines, jit_lines_capacity;
	struct reel_code_piece *pieces;
	size_t n_pieces, pieces_capacity;
	struct reel_arena_chunk *code_arena; /* the bytes */
	struct reel_id_table spaces, threads, modules, cgroups;
	uint64_t last_generation;
	/* Ascending by id once sealed (without a past: always). */
	const struct reel_record_module **module_list;
	size_t n_modules, modules_capacity;
	/* Records that wait for reel_timeline_seal. */
	struct reel_pending_record *pending;
	size_t n_pending, pending_capacity;
	struct reel_id_table starts; /* of spaces, by SPACE records so far */
	struct reel_arena_chunk *arena;
};

/* Records about spaces (spaces.c). Fields are in range. */
struct reel_space *reel_space_find(const struct reel_timeline *timeline, uint64_t id);
/* Makes the space if it is unknown. */
struct reel_error *reel_space_get(struct reel_timeline *timeline, uint64_t id, uint64_t time,
				  struct reel_space **ret) REEL_MUST_CHECK;
struct reel_error *reel_space_define(struct reel_timeline *timeline,
				     const struct reel_record_space *record) REEL_MUST_CHECK;
struct reel_error *reel_space_map(struct reel_timeline *timeline,
				  const struct reel_record_map *record) REEL_MUST_CHECK;
struct reel_error *reel_space_unmap(struct reel_timeline *timeline,
				    const struct reel_record_unmap *record) REEL_MUST_CHECK;
/* First for the time since when the bytes may have been there, then for the time when they were
 * found.  *piece_ret: their number; unchanged without the space. */
struct reel_error *reel_space_expect_code(struct reel_timeline *timeline,
					  const struct reel_record_code *record,
					  size_t *piece_ret) REEL_MUST_CHECK;
struct reel_error *reel_space_add_code(struct reel_timeline *timeline,
				       const struct reel_record_code *record,
				       size_t piece) REEL_MUST_CHECK;
struct reel_error *reel_space_end_code(struct reel_timeline *timeline,
				       const struct reel_record_code_end *record) REEL_MUST_CHECK;
struct reel_error *reel_space_add_jit(struct reel_timeline *timeline,
				      const struct reel_record *record) REEL_MUST_CHECK;
/* The first end counts; without a past the space is forgotten. */
void reel_space_end(struct reel_timeline *timeline, uint64_t id, uint64_t time);
void reel_spaces_free(struct reel_timeline *timeline);

/* Records about threads (threads.c). */
struct reel_error *reel_thread_define(struct reel_timeline *timeline,
				      const struct reel_record_thread *record) REEL_MUST_CHECK;
struct reel_error *reel_thread_rename(struct reel_timeline *timeline,
				      const struct reel_record_thread_comm *record) REEL_MUST_CHECK;
struct reel_error *reel_thread_exec(struct reel_timeline *timeline,
				    const struct reel_record_thread_exec *record) REEL_MUST_CHECK;
void reel_thread_end(struct reel_timeline *timeline, uint64_t id, uint64_t time);
void reel_threads_free(struct reel_timeline *timeline);

/* Records about JIT code (jit.c), only with a past.  In order of time, except lines. */
struct reel_error *reel_jit_add_symbol(struct reel_timeline *timeline, struct reel_space *space,
				       const struct reel_record_jit_symbol *record) REEL_MUST_CHECK;
struct reel_error *reel_jit_add_unwind(struct reel_timeline *timeline, struct reel_space *space,
				       const struct reel_record_jit_unwind *record) REEL_MUST_CHECK;
struct reel_error *reel_jit_add_line(struct reel_timeline *timeline,
				     const struct reel_record_jit_line *record) REEL_MUST_CHECK;
struct reel_error *reel_jit_fork(struct reel_space *parent, struct reel_space *child,
				 uint64_t time) REEL_MUST_CHECK;
struct reel_error *reel_jit_unmap(struct reel_space *space,
				  const struct reel_record_unmap *record) REEL_MUST_CHECK;
/* Ends adding: look-ups are valid from here on. */
struct reel_error *reel_jit_seal(struct reel_timeline *timeline) REEL_MUST_CHECK;
/* The value for reel_space_view.moment; 0: no reports. */
uint32_t reel_jit_moment(const struct reel_space *space, uint64_t time);
void reel_jit_free(struct reel_timeline *timeline);

/* CGROUP records, which apply at once, and SPACE_CGROUP (cgroups.c); only with a past. */
struct reel_error *reel_cgroup_define(struct reel_timeline *timeline,
				      const struct reel_record_cgroup *record) REEL_MUST_CHECK;
struct reel_error *reel_space_set_cgroup(struct reel_timeline *timeline,
					 const struct reel_record_space_cgroup *record)
	REEL_MUST_CHECK;
void reel_cgroups_free(struct reel_timeline *timeline);

/* MODULE records (modules.c); they have no time, so they apply at once. */
struct reel_error *reel_module_define(struct reel_timeline *timeline,
				      const struct reel_record_module *record) REEL_MUST_CHECK;
void reel_modules_sort(struct reel_timeline *timeline);
void reel_modules_free(struct reel_timeline *timeline);

#endif
