/* SPDX-License-Identifier: Apache-2.0 */
/* How often `stackreel diff` calls a change certain, on random captures whose changes are known. */
#include "cli/diff/statistics.h"
#include "tests/support/diff_runs.h"
#include "tests/support/test.h"

#define COMPARISONS 200

TEST(equal_variances_share_freedom)
{
	struct diff_prior prior;
	double variances[20], freedom = 4;

	runs_random = 1;
	for (size_t i = 0; i < 20; i++)
		variances[i] = 3;
	diff_prior_fit(variances, 20, 4, &prior);
	assert_true(fabs(prior.variance - 3) < 0.01);
	/* More degrees of freedom than a single variance, and at most those of all together. */
	assert_true(fabs(diff_prior_shrink(&prior, 3, &freedom) - 3) < 0.01);
	assert_true(freedom > 16 && freedom <= 80);
}

/* Drawn from a prior with 4 degrees of freedom, variance 2: gamma(n / 2) is half a chi-squared. */
TEST(a_prior_is_found)
{
	static double variances[4000];
	struct diff_prior prior;
	double freedom = 6, shrunk;

	runs_random = 1;
	for (size_t i = 0; i < 4000; i++)
		variances[i] = 2 * (4 / (2 * runs_gamma(2))) * (2 * runs_gamma(3) / 6);
	diff_prior_fit(variances, 4000, 6, &prior);
	assert_true(prior.freedom > 3 && prior.freedom < 5);
	assert_true(prior.variance > 1.8 && prior.variance < 2.2);
	shrunk = diff_prior_shrink(&prior, 1, &freedom);
	assert_true(fabs(shrunk - (6 + prior.freedom * prior.variance) / freedom) < 1e-9);
	assert_true(fabs(freedom - 6 - prior.freedom) < 1e-9);
}

TEST(an_outlier_is_not_shrunk)
{
	struct diff_prior prior = { .variance = 1, .freedom = 50, .freedom_max = 400, .n = 100 };
	double freedom = 4;

	assert_true(diff_prior_shrink(&prior, 50, &freedom) == 50);
	assert_true(freedom == 4);
	assert_true(diff_prior_shrink(&prior, 2, &freedom) < 1.1);
}

/* A single function has 4 degrees of freedom: too few to see this. */
TEST(three_captures_a_side_are_enough)
{
	struct runs_plan plan = {
		.n_captures = { 3, 3 },
		.n_functions = 10,
		.samples = 3827,
		.dispersion = 1,
		.noise = 0.01,
		.change = 0.225,
	};
	struct runs_result result;

	runs_random = 1;
	runs_compare(&plan, COMPARISONS, &result);
	assert_true(result.found > COMPARISONS * 0.7);
	assert_true(result.visible < 0.05);
	assert_true(result.freedom > 8);
}

TEST(chance_is_rarely_called_sure)
{
	static const struct runs_plan plans[] = {
		{ { 2, 2 }, 40, 1000, 1, 0.02, 0, 0 }, { { 3, 3 }, 40, 1000, 3, 0.02, 1, 0 },
		{ { 3, 5 }, 10, 3000, 1, 0.05, 0, 0 }, { { 5, 5 }, 5, 3000, 2, 0.02, 1, 0 },
		{ { 1, 3 }, 40, 3000, 1, 0.02, 0, 0 },
	};

	runs_random = 1;
	for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		struct runs_result result;

		runs_compare(&plans[i], COMPARISONS, &result);
		/* 5 %, and two standard errors. */
		assert_true(result.any <= COMPARISONS * 0.08);
		assert_true(result.held >= COMPARISONS * 0.92);
	}
}

RUN_TESTS()
