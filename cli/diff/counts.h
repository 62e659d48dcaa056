/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of each function in the captures of two sides, old and new: its weight in each block of
 * time. Nearby samples are alike, so only blocks can be treated as independent.
 */
#ifndef CLI_DIFF_COUNTS_H
#define CLI_DIFF_COUNTS_H

#include "cli/diff/subjects.h"
#include "cli/profile/by.h"
#include "cli/session/session.h"

struct diff_capture {
	enum diff_side side;
	struct diff_cells cells[KINDS];
	double *base; /* by block: what weights are divided by */
	size_t n_blocks;
};

/* The base of weights. */
enum diff_per {
	PER_ALL,     /* all of the event: shares */
	PER_SECOND,  /* of time */
	PER_REQUEST, /* numbers of the program's operations, given by the user */
	PER_EVENT,   /* the count of another event of the capture */
};

struct diff_counts {
	enum diff_per per;
	const char *per_event;
	double requests[SIDES]; /* in each capture of a side */
	size_t n_captures[SIDES];
	bool has_paths; /* of calls: count these as well */
	/* Compare groups, or functions (or modules) within them; paths begin with groups. */
	struct by by;
	struct diff_subjects subjects;
	/* The samples' label keys, and whether any has each group's label. */
	struct sample_counts labels;
	bool has_label[GROUP_KEYS_MAX];
	struct diff_capture *captures; /* the old side's first */
	size_t n;		       /* of them */
	/* Of all captures. */
	char *event; /* NULL: the first one found */
	bool is_time;
	uint64_t samples[SIDES];
	/* When the first and last capture of each side started: Unix time, ns. */
	uint64_t first_start[SIDES], last_start[SIDES];
	double weight[SIDES], seconds[SIDES];
	double base[SIDES]; /* what weights are divided by */
	/* Complete traces, among those with a user stack. */
	uint64_t complete[SIDES], unwound[SIDES];
};

void diff_counts_init(struct diff_counts *counts);
void diff_counts_free(struct diff_counts *counts);
/*
 * Adds an open capture, one of its side's n_captures; the old side's come first.  False after an
 * error, which was reported.
 */
bool diff_counts_add(struct diff_counts *counts, struct session *session, enum diff_side side);
/* After all captures: false if `by` names a label that no sample has, which is reported. */
bool diff_counts_check_labels(const struct diff_counts *counts);
/* Whether the sides were recorded in turn: no side completely before the other. */
bool diff_counts_are_in_turn(const struct diff_counts *counts);
/*
 * Call this after adding all captures. Joins functions of the same name in a module of the old side
 * only and in one of the new side only: the program was renamed, as `prog-1.2' to `prog-1.3'.
 */
void diff_counts_join_renamed(struct diff_counts *counts);

#endif
