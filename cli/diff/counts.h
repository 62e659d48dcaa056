/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What captures of two sides, old and new, have of each function: its weight in each block of time,
 * as samples that are near to each other are alike, and only blocks can be taken for independent.
 */
#ifndef CLI_DIFF_COUNTS_H
#define CLI_DIFF_COUNTS_H

#include "cli/diff/things.h"
#include "cli/session/session.h"

struct diff_capture {
	enum diff_side side;
	struct diff_cells cells[KINDS];
	double *base; /* by block: what weights are divided by */
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
	bool has_paths; /* of calls: they are counted, too */
	struct diff_things things;
	struct diff_capture *captures; /* the old side's first */
	size_t n;		       /* of them */
	/* Of all captures. */
	char *event; /* NULL: the first that is found */
	bool is_time;
	uint64_t samples[SIDES];
	double weight[SIDES], seconds[SIDES];
	double base[SIDES]; /* what weights are divided by */
	/* Complete traces, of those that have a user stack. */
	uint64_t complete[SIDES], unwound[SIDES];
};

void diff_counts_init(struct diff_counts *counts);
void diff_counts_free(struct diff_counts *counts);
/*
 * Adds all of an open capture, of which there will be n_captures of its side; the old side's come
 * first.  False after an error, which was reported.
 */
bool diff_counts_add(struct diff_counts *counts, struct session *session, enum diff_side side);
/*
 * Once all are in: functions of one name that are in a module that only the old side has, and in
 * one that only the new side has, are the same: the program was renamed, as `prog-1.2' to
 * `prog-1.3'.
 */
void diff_counts_join_renamed(struct diff_counts *counts);

#endif
