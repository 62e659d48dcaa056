/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variance of values between the captures of a side.
 *
 * Few captures give little information on one function, so all functions of both sides are
 * estimated together. A value's expected variance has two parts: that of counting samples, and a
 * part of the value by which runs differ, one for all functions (the estimate of Paule and Mandel
 * 1982). How far a function's own variance is from that is estimated from its captures, and shrunk
 * (prior.h).
 */
#ifndef CLI_DIFF_RUNS_H
#define CLI_DIFF_RUNS_H

#include "cli/diff/counts.h"

/*
 * Sets variance[side][i] of each value i (subject * PARTS + part), of sides with several captures,
 * and freedom[i], the degrees of freedom these have.
 */
void diff_runs_find(const struct diff_counts *counts, enum diff_kind kind, double *variance[SIDES],
		    double *freedom);

#endif
