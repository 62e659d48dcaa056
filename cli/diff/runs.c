/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "cli/diff/prior.h"
#include "cli/diff/runs.h"
#include "cli/print/text.h"

/* The range to try for the noise of runs, a standard deviation relative to the value. */
#define NOISE_MIN  0.002
#define NOISE_MAX  1.0
#define NOISE_STEP 1.3
/* Twice the logarithm of a likelihood ratio: 1 degree of freedom, 5 %. */
#define SIGNIFICANT 3.84

/* Samples at fixed intervals vary less than independent ones. By more than that few captures do not
 * show: a part of the variance. */
#define LEAST 0.25

struct runs {
	const struct diff_counts *counts;
	enum diff_kind kind;
	size_t n;	 /* values */
	double **weight; /* of each capture; NULL for the single one of a side */
	double freedom;	 /* of one value */
	double noise;	 /* a variance, relative to the value's square */
};

static bool has_runs(const struct diff_counts *counts, int side)
{
	return counts->n_captures[side] > 1;
}

static size_t first_capture(const struct diff_counts *counts, int side)
{
	return side == SIDE_OLD ? 0 : counts->n_captures[SIDE_OLD];
}

/* A capture of several is one block. */
static double base_of(const struct runs *runs, size_t capture)
{
	return runs->counts->captures[capture].base[0];
}

static const struct diff_item *item_of(const struct runs *runs, size_t i)
{
	return runs->counts->subjects.kinds[runs->kind].items[i / PARTS];
}

static double value_of(const struct runs *runs, int side, size_t i)
{
	return item_of(runs, i)->weight[side][i % PARTS] / runs->counts->base[side];
}

/* A sample's part of a side's value. */
static double step_of(const struct diff_counts *counts, int side)
{
	return counts->weight[side] / (double)counts->samples[side] / counts->base[side];
}

/*
 * The expected variance of a capture's value: of counting samples, and of runs. It is binomial for
 * a share, and Poisson's otherwise. A value of 0 or 1 could be one sample off.
 */
static double expected(const struct runs *runs, int side, size_t i, size_t capture, double noise)
{
	const struct diff_counts *counts = runs->counts;
	double step = step_of(counts, side);
	double value = fmax(value_of(runs, side, i), step);
	double rest = counts->per == PER_ALL ? fmax(1 - value, step) : 1;
	double sampling = step * counts->base[side] * value * rest / base_of(runs, capture);

	return sampling + noise * pow(value * rest, 2);
}

/* A side's value is the mean of its captures', by their bases. */
static double expected_of_side(const struct runs *runs, int side, size_t i, double noise)
{
	const struct diff_counts *counts = runs->counts;
	size_t first = first_capture(counts, side);
	double sum = 0;

	for (size_t j = first; j < first + counts->n_captures[side]; j++)
		sum += pow(base_of(runs, j) / counts->base[side], 2) *
		       expected(runs, side, i, j, noise);
	return sum;
}

/*
 * The ratio of a value's variance between captures to the expected one, and the mean logarithm of
 * each capture's expected variance.
 */
static double ratio_of(const struct runs *runs, size_t i, double noise, double *log_ret)
{
	const struct diff_counts *counts = runs->counts;
	double found = 0, all = 0, logs = 0;
	size_t n = 0;

	for (int side = 0; side < SIDES; side++) {
		size_t first = first_capture(counts, side);
		double mean = value_of(runs, side, i);
		double of_mean = expected_of_side(runs, side, i, noise);

		for (size_t j = first;
		     has_runs(counts, side) && j < first + counts->n_captures[side]; j++) {
			double base = base_of(runs, j),
			       variance = expected(runs, side, i, j, noise);

			found += pow(runs->weight[j][i] / base - mean, 2) / variance;
			all += 1 - 2 * base / counts->base[side] + of_mean / variance;
			logs += log(variance);
			n++;
		}
	}
	*log_ret = logs / (double)n;
	return found / all;
}

/* Only functions' own values: with callees they would count repeatedly. */
static bool is_for_all(const struct runs *runs, size_t i)
{
	const struct diff_item *item = item_of(runs, i);

	return i % PARTS == PART_SELF && diff_item_has_enough(item, PART_SELF);
}

static double fit_with(const struct runs *runs, double noise, double *ratios,
		       struct diff_prior *ret)
{
	double logs = 0, one;
	size_t n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		if (!is_for_all(runs, i))
			continue;
		ratios[n++] = ratio_of(runs, i, noise, &one);
		logs += one;
	}
	diff_prior_fit(ratios, n, runs->freedom, ret);
	return ret->likelihood - runs->freedom / 2 * logs;
}

/* The most likely noise of runs, or none if that is not significantly less likely. */
static void fit(struct runs *runs, struct diff_prior *ret)
{
	double *ratios = memory_get(runs->n * sizeof(*ratios));
	double most = fit_with(runs, 0, ratios, ret) + SIGNIFICANT / 2;

	for (double noise = NOISE_MIN; noise < NOISE_MAX; noise *= NOISE_STEP) {
		struct diff_prior prior;
		double likelihood = fit_with(runs, noise * noise, ratios, &prior);

		if (likelihood <= most)
			continue;
		most = likelihood;
		runs->noise = noise * noise;
		*ret = prior;
	}
	free(ratios);
}

static void runs_init(struct runs *runs, const struct diff_counts *counts, enum diff_kind kind)
{
	*runs = (struct runs){
		.counts = counts,
		.kind = kind,
		.n = counts->subjects.kinds[kind].n * PARTS,
		.weight = memory_get(counts->n * sizeof(*runs->weight)),
	};
	for (int side = 0; side < SIDES; side++)
		runs->freedom += (double)(counts->n_captures[side] - 1);
	for (size_t i = 0; i < counts->n; i++) {
		const struct diff_cells *cells = &counts->captures[i].cells[kind];

		if (!has_runs(counts, counts->captures[i].side))
			continue;
		runs->weight[i] = memory_get(runs->n * sizeof(double));
		for (size_t j = 0; j < cells->n * PARTS; j++)
			runs->weight[i][cells->items[j / PARTS].item * PARTS + j % PARTS] +=
				cells->items[j / PARTS].weight[j % PARTS];
	}
}

static void runs_free(struct runs *runs)
{
	for (size_t i = 0; i < runs->counts->n; i++)
		free(runs->weight[i]);
	free(runs->weight);
}

void diff_runs_find(const struct diff_counts *counts, enum diff_kind kind, double *variance[SIDES],
		    double *freedom)
{
	struct diff_prior prior;
	struct runs runs;

	runs_init(&runs, counts, kind);
	fit(&runs, &prior);
	for (size_t i = 0; i < runs.n; i++) {
		double ratio, unused;

		freedom[i] = runs.freedom;
		ratio = diff_prior_shrink(&prior, ratio_of(&runs, i, runs.noise, &unused),
					  &freedom[i]);
		for (int side = 0; side < SIDES; side++) {
			if (has_runs(counts, side))
				variance[side][i] =
					fmax(ratio * expected_of_side(&runs, side, i, runs.noise),
					     LEAST * expected_of_side(&runs, side, i, 0));
		}
	}
	runs_free(&runs);
}
