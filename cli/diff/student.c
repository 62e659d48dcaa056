/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "cli/diff/student.h"

#define STEPS_MAX 300

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
	for (int m = 1; m <= STEPS_MAX; m++) {
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
