/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes between two sides, and their certainty.
 *
 * A function's value is its weight divided by the base (the weight of all samples, seconds,
 * requests). Its variance is estimated from the captures of each side, for all functions together
 * (variances.h); for a side's only capture, by a bootstrap of its blocks of time. Intervals
 * and probabilities are Student's, with Welch's degrees of freedom. All functions, or all paths of
 * a tree, are tested together (Benjamini and Hochberg 1995), so that only a given part of the sure
 * changes is expected to be chance.
 *
 * A single capture does not show how runs of the same program differ: other work on the machine,
 * different places in memory. For a side with one capture, a part of each value (run_noise) is
 * assumed as the standard deviation between runs.
 */
#ifndef CLI_DIFF_CHANGE_H
#define CLI_DIFF_CHANGE_H

#include "cli/diff/counts.h"

struct diff_change {
	const struct diff_item *item;
	enum diff_part part;
	double value[SIDES];
	double difference, error; /* new - old, and its standard error */
	double freedom;		  /* degrees of it */
	double low, high;	  /* 95 % interval of the difference */
	double probability;	  /* of as large a difference by chance */
	bool is_tested, is_sure;
	/* Of a sure change of a share: others' sure changes explain it, as all shares add up to
	 * 100 %. */
	bool is_share_only;
	/* Of a sure change of a total: the change it follows from, a callee's or its own; itself if
	 * none makes up most of it. */
	const struct diff_change *cause;
};

struct diff_changes {
	/* Two for each subject, in order of their numbers: its parts. */
	struct diff_change *items;
	size_t n, n_tested, n_sure;
	/* A side has only one capture, so the difference between runs is assumed. */
	bool is_one_run;
	/* The size of a change to be visible (in 4 of 5 cases) in any; and the largest
	 * possible change of those that are not sure (each at 95 %), and its owner. */
	double visible, rest;
	const struct diff_change *widest;
};

struct diff_doubts {
	double false_rate; /* part of the sure changes that may be chance */
	double run_noise;  /* of a value, between runs, if not measured */
};

/* Finds the changes of all functions, or of all paths, and tests them together. */
void diff_changes_find(const struct diff_counts *counts, enum diff_kind kind,
		       const struct diff_doubts *doubts, struct diff_changes *ret);
void diff_changes_free(struct diff_changes *changes);

/* Relative to the old value; infinite if only the old value is 0. */
double diff_change_relative(const struct diff_change *change, double difference);

#endif
