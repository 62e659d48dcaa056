/* SPDX-License-Identifier: Apache-2.0 */
/* The weight of each symbol, or of each node of a call tree, over the recording's time, in total, as a
 * few characters. */
#ifndef CLI_PROFILE_COURSE_H
#define CLI_PROFILE_COURSE_H

#include <stdio.h>

#include "cli/profile/call_tree.h"
#include "cli/profile/symbols.h"

#define COURSE_COLUMNS 10

struct course_time {
	uint64_t start, last; /* ns; of the samples */
	uint64_t step;	      /* ns of each step; 0: no sample yet */
};

struct courses {
	struct course_time time;
	uint32_t traces;
};

/* Adds the trace to the course of each of its symbols. */
void courses_add(struct courses *courses, struct symbol_table *symbols,
		 const struct reel_trace *trace);
/* A block of that height, from 0 to 1; 0 only is invisible. */
const char *course_block(double height);
/* COURSE_COLUMNS blocks, each row as high as its largest one. */
void course_print(const struct courses *courses, const struct symbol *symbol, FILE *file);

/* ---- nodes of a tree ----------------------------------------------------------------------- */

/* The weight of a stack, or of the node where it ends, in a step of the time. */
struct course_part {
	uint32_t end, step;
	float weight;
};

/* The times of a tree's stacks.  All zero is an empty one. */
struct course_log {
	struct course_time time;
	struct course_part *parts; /* of one stack and step there may be several */
	size_t n, capacity;
};

/* Adds the time of a trace whose stack call_tree_add() said to end there. */
void course_log_add(struct course_log *log, const struct reel_trace *trace, uint32_t end);
/*
 * Joins logs with one clock: first extends the log's time to include `more`, for each of them, then
 * moves their parts to it, with other ends.
 */
void course_log_span(struct course_log *log, const struct course_log *more);
void course_log_move(struct course_log *log, const struct course_log *from,
		     const struct course_part *part, uint32_t end);
void course_log_free(struct course_log *log);

/* A multiple of the blocks' heights, so that rounding up to it does not change these. */
#define TREE_COURSE_MOST 65520

/* For each node of a finished tree: its columns, the largest one TREE_COURSE_MOST; NULL: none. */
struct tree_courses {
	uint16_t (*columns)[COURSE_COLUMNS];
};

/* `parts`: with nodes of the tree as their ends, in steps of `log`. */
void tree_courses_make(struct tree_courses *courses, const struct call_tree *tree,
		       const struct course_log *log, const struct course_part *parts, size_t n);
void tree_courses_free(struct tree_courses *courses);
/* Adds the node's columns, in the tree's unit. */
void tree_courses_sum(const struct tree_courses *courses, const struct call_tree *tree,
		      uint32_t node, float *columns);
/* A node's columns as blocks. */
void tree_course_print(const uint16_t *columns, FILE *file);
/* The same of columns in a unit. */
void tree_course_scale(const float *from, uint16_t *columns);

#endif
