/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changed between two sides, and how sure that is.
 *
 * A function's value is its weight divided by what all is measured by (all samples' weight,
 * seconds, requests). How much that would vary is found by a bootstrap: the captures of a side, or
 * the blocks of time of its only one, are drawn again with replacement, and all values computed
 * anew; from the spread on each side comes the standard error of the difference. Intervals and
 * probabilities are Student's, with Welch's degrees of freedom: a side with few captures, or one
 * that differs from the others, counts as little as it tells. Which changes are sure is decided for
 * all functions, or all paths of a tree, together (Benjamini and Hochberg 1995), so that of those
 * called sure only a given part is expected to be chance.
 *
 * A single capture does not tell how runs of the same program differ, by what else the machine did
 * and where memory lay; of several a side it is seen.  For a side with one, a part of each value is
 * taken for it (run_noise), as a standard deviation.
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
};

struct diff_changes {
	/* Two for each thing, in order of their numbers: its parts. */
	struct diff_change *items;
	size_t n, n_tested, n_sure;
	/* A side has one capture only: how runs differ is assumed. */
	bool is_one_run;
	/* What a change would have to be to be seen (in 4 of 5 cases) in any of them; and how far
	 * those that are not sure can have changed at most (each at 95 %), and which. */
	double visible, rest;
	const struct diff_change *widest;
};

struct diff_doubts {
	double false_rate; /* what part of the sure changes may be chance */
	double run_noise;  /* of a value, from run to run, where that is not seen */
};

/* Of all functions, or of all paths: what is sure is decided among these. */
void diff_changes_find(const struct diff_counts *counts, enum diff_kind kind,
		       const struct diff_doubts *doubts, struct diff_changes *ret);
void diff_changes_free(struct diff_changes *changes);

/* Relative to the old value; infinite where that is 0 and the new one is not. */
double diff_change_relative(const struct diff_change *change, double difference);

#endif
