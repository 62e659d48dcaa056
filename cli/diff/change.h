/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changed between two sides, and how sure that is.
 *
 * A function's value is its weight divided by what everything is measured by (the weight of all
 * samples, seconds, requests). Its variance is estimated from the captures of each side, for all
 * functions together (runs.h); for a side's only capture, by a bootstrap of its blocks of time
 * (resample.h). Intervals and probabilities are Student's, with Welch's degrees of freedom. Which
 * changes are sure is decided for all functions, or all paths of a tree, together (Benjamini and
 * Hochberg 1995), so that only a given part of those called sure is expected to be chance.
 *
 * A single capture does not show how runs of the same program differ: other work on the machine,
 * other places in memory. For a side with one, that difference is assumed to be a part of each
 * value (run_noise), as a standard deviation.
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
