/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>

#include "cli/diff/prior.h"
#include "cli/diff/student.h"

#define ESTIMATES_MIN 3
/* The range of degrees of freedom to try for the prior, from FREEDOM_MAX down. */
#define FREEDOM_MIN  0.3
#define FREEDOM_STEP 1.3
#define STEPS	     100
/* Captures can be alike, even equal. */
#define VARIANCE_MIN 0.01
/* Few estimates do not show how alike the true variances are. So take the lower limit of the
 * degrees of freedom (90 %, one-sided): there the logarithm of the likelihood has fallen by this
 * amount.
 */
#define FALL 0.82

/* The scale of a Student's t, by the usual iteration. */
static double fit_variance(const double *variances, size_t n, double freedom, double prior,
			   double variance)
{
	for (int i = 0; i < STEPS; i++) {
		double sum = 0, before = variance;

		for (size_t j = 0; j < n; j++)
			sum += (freedom + prior) * variances[j] /
			       (prior * variance + freedom * variances[j]);
		variance = fmax(variance * sum / (double)n, VARIANCE_MIN);
		if (fabs(variance - before) < 1e-4 * variance)
			break;
	}
	return variance;
}

static double likelihood(const double *variances, size_t n, double freedom, double prior,
			 double variance)
{
	double sum = lgamma((freedom + prior) / 2) - lgamma(prior / 2) -
		     freedom / 2 * log(prior * variance);

	sum *= (double)n;
	for (size_t i = 0; i < n; i++)
		sum -= (freedom + prior) / 2 * log1p(freedom * variances[i] / (prior * variance));
	return sum;
}

void diff_prior_fit(const double *variances, size_t n, double freedom, struct diff_prior *ret)
{
	double variance = 1, most = -INFINITY;

	*ret = (struct diff_prior){ .variance = 1, .n = n };
	ret->freedom_max = fmin(freedom * (double)n, FREEDOM_MAX);
	if (n < ESTIMATES_MIN)
		return;
	for (double prior = FREEDOM_MAX; prior > FREEDOM_MIN; prior /= FREEDOM_STEP) {
		double value;

		variance = fit_variance(variances, n, freedom, prior, variance);
		value = likelihood(variances, n, freedom, prior, variance);
		most = fmax(most, value);
		/* It has one maximum. */
		if (value < most - FALL)
			break;
		ret->freedom = prior;
		ret->variance = variance;
	}
	ret->likelihood = most;
}

/* Whether the largest of all estimates is as large in less than one case of ten. */
static bool is_outlier(const struct diff_prior *prior, double variance, double freedom)
{
	return f_above(variance / prior->variance, freedom, prior->freedom) * (double)prior->n <
	       0.1;
}

double diff_prior_shrink(const struct diff_prior *prior, double variance, double *freedom)
{
	double sum = *freedom + prior->freedom;

	if (prior->freedom <= 0 || is_outlier(prior, variance, *freedom))
		return variance;
	variance = (*freedom * variance + prior->freedom * prior->variance) / sum;
	*freedom = fmax(*freedom, fmin(sum, prior->freedom_max));
	return variance;
}
