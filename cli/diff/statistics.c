/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>

#include "cli/diff/statistics.h"

/* ---- distributions -------------------------------------------------------------------------- */

/*
 * The continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8), by
 * Lentz's way; it converges quickly where x < (a + 1) / (a + b + 2).
 */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), value;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	value = d;
	for (int m = 1; m <= 300; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 + even * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + even / c;
		value *= d * c;
		d = 1 + odd * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + odd / c;
		value *= d * c;
		if (fabs(d * c - 1) < 1e-14)
			break;
	}
	return value;
}

/* The regularized incomplete beta function I_x(a, b). */
static double beta_part(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x > 0;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_two_sided(double t, double freedom)
{
	return beta_part(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_limit(double p, double freedom)
{
	double low = 0, high = 1;

	while (student_two_sided(high, freedom) > p && high < 1e12)
		high *= 2;
	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (student_two_sided(middle, freedom) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

double f_above(double f, double numerator, double denominator)
{
	return beta_part(denominator / 2, numerator / 2,
			 denominator / (denominator + numerator * f));
}

/* ---- the prior ------------------------------------------------------------------------------ */

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
