/* SPDX-License-Identifier: Apache-2.0 */
/* Student's t and F distributions, and variances that are estimated together. */
#ifndef CLI_DIFF_STATISTICS_H
#define CLI_DIFF_STATISTICS_H

#include <stddef.h>

/* More make no difference to Student's t. */
#define FREEDOM_MAX 1000

/*
 * The probability of a value at least as far from 0 as `t`, on either side; `freedom` is above 0.
 */
double student_two_sided(double t, double freedom);
/* The t of which student_two_sided is `p`, above 0 and at most 1. */
double student_limit(double p, double freedom);

/* The probability that an F of that many degrees of freedom exceeds f. */
double f_above(double f, double numerator, double denominator);

/*
 * Variances that are estimated together, because each alone has too few values: empirical Bayes, as
 * in limma (Smyth 2004, Statistical Applications in Genetics and Molecular Biology 3(1), article
 * 3). The true variances are assumed to follow a scaled inverse chi-squared distribution, the
 * prior, so the estimates follow a scaled F. The prior is fitted to all estimates by maximum
 * likelihood; each estimate is then shrunk towards it and gains degrees of freedom.
 */
struct diff_prior {
	double variance, freedom; /* freedom 0: no prior */
	double likelihood;	  /* its logarithm, up to a constant */
	double freedom_max;	  /* after shrinking: limited by the information of all estimates */
	size_t n;		  /* estimates it was fitted to */
};

/* Of n estimates with `freedom` degrees of freedom each; fewer than 3 give no prior. */
void diff_prior_fit(const double *variances, size_t n, double freedom, struct diff_prior *ret);
/*
 * Shrinks one estimate and sets its new degrees of freedom. An estimate too large to come from the
 * prior is kept as it is.
 */
double diff_prior_shrink(const struct diff_prior *prior, double variance, double *freedom);

#endif
