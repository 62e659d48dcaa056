/* SPDX-License-Identifier: Apache-2.0 */
/* Student's t distribution. */
#ifndef CLI_DIFF_STUDENT_H
#define CLI_DIFF_STUDENT_H

/*
 * The probability of a value at least as far from 0 as `t`, on either side; `freedom` is above 0.
 */
double student_two_sided(double t, double freedom);
/* The t of which student_two_sided is `p`, above 0 and at most 1. */
double student_limit(double p, double freedom);

/* The probability that an F of that many degrees of freedom exceeds f. */
double f_above(double f, double numerator, double denominator);

#endif
