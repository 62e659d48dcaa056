/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What captures of two sides, old and new, have of each function: its weight in each block of time,
 * as samples that are near to each other are alike, and only blocks can be taken for independent.
 */
#ifndef CLI_DIFF_COUNTS_H
#define CLI_DIFF_COUNTS_H

#include "cli/session.h"

enum diff_side {
	SIDE_OLD,
	SIDE_NEW,
	SIDES,
};

/* What is counted of a function: alone, and with what it calls. */
enum diff_part {
	PART_SELF,
	PART_TOTAL,
	PARTS,
};

struct diff_function {
	char *name, *module; /* escaped */
	char *raw;	     /* the name as it is */
	size_t number;	     /* its place in diff_counts.functions */
	double weight[SIDES][PARTS];
	uint64_t samples[SIDES][PARTS];
	/* Of the total, what was inlined into a caller. */
	double inlined[SIDES];
	struct diff_function *same; /* that it was joined with, and is empty since; or NULL */
	/* Of the capture that is read: the cell that was changed last, and the trace. */
	size_t cell;
	uint64_t trace;
	/* The chain of its bucket. */
	uint64_t hash;
	struct diff_function *next;
};

/* A function's weights by who called it. */
struct diff_edge {
	struct diff_function *function, *caller;
	double weight[SIDES][PARTS];
	struct diff_edge *next; /* of its bucket */
};

struct diff_cell {
	size_t function;
	uint64_t block;
	double weight[PARTS];
};

struct diff_capture {
	enum diff_side side;
	/* In order of function, then of block. */
	struct diff_cell *cells;
	size_t n_cells, cells_capacity;
	/* By block: the weight of all samples, and what weights are divided by. */
	double *all, *base;
	size_t n_blocks;
};

/* What weights are divided by. */
enum diff_per {
	PER_ALL,     /* all of the event: shares */
	PER_SECOND,  /* of time */
	PER_REQUEST, /* numbers given by the user, of what the program did */
	PER_EVENT,   /* the count of another event of the capture */
};

struct diff_counts {
	enum diff_per per;
	const char *per_event;
	double requests[SIDES]; /* in all captures of a side together */
	size_t n_captures[SIDES];
	struct diff_capture *captures; /* the old side's first */
	size_t n;		       /* of them */
	struct diff_function **functions;
	size_t n_functions, functions_capacity;
	struct diff_function **buckets;
	size_t n_buckets;
	struct diff_edge **edges; /* buckets */
	size_t n_edge_buckets, n_edges;
	/* Of all captures. */
	char *event;
	bool is_time, has_event;
	uint64_t samples[SIDES];
	double weight[SIDES], seconds[SIDES];
	double base[SIDES]; /* what weights are divided by */
	/* Complete traces, of those that have a user stack. */
	uint64_t complete[SIDES], unwound[SIDES];
};

void diff_counts_init(struct diff_counts *counts);
void diff_counts_free(struct diff_counts *counts);
/*
 * Adds all of an open capture, of which there will be n_captures of its side; the old side's
 * come first.  False after an
 * error, which was reported.
 */
bool diff_counts_add(struct diff_counts *counts, struct session *session, enum diff_side side);
/*
 * Once all are in: functions of one name that are in a module that only the old side has, and in
 * one that only the new side has, are the same: the program was renamed, as `prog-1.2' to
 * `prog-1.3'.
 */
void diff_counts_join_renamed(struct diff_counts *counts);
/* Made if there is none. */
struct diff_edge *diff_counts_edge(struct diff_counts *counts, struct diff_function *function,
				   struct diff_function *caller);
#endif
