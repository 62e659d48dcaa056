/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variance of values between the captures of a side; of a side's only capture, by a bootstrap of
 * its blocks of time.
 *
 * Few captures give little information on one function, so all functions of both sides are
 * estimated together. A value's expected variance has two parts: that of counting samples, and a
 * part of the value by which runs differ, one for all functions (the estimate of Paule and Mandel
 * 1982). How far a function's own variance is from that is estimated from its captures, and shrunk
 * (statistics.h).
 */
#ifndef CLI_DIFF_VARIANCES_H
#define CLI_DIFF_VARIANCES_H

#include "cli/diff/counts.h"

/* Of value i: subject * PARTS + part. */
struct diff_variances {
	double *sides[SIDES];
	double *freedom; /* degrees of it, of sides with several captures */
};

void diff_variances_find(const struct diff_counts *counts, enum diff_kind kind,
			 struct diff_variances *ret);
void diff_variances_free(struct diff_variances *variances);

#endif
