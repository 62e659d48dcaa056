/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/statistics.h"
#include "cli/diff/variances.h"
#include "cli/print/text.h"

/* ---- of a single capture: a bootstrap of its blocks of time --------------------------------- */

#define REPLICATES 1000
/* The same captures give the same result. */
#define SEED UINT64_C(0x5eed0f57ac4ee1)

struct draw {
	const struct diff_counts *counts;
	enum diff_kind kind;
	size_t n; /* values */
	uint64_t random;
	/* For each side with a single capture, which is NULL otherwise. */
	const struct diff_capture *capture[SIDES];
	double *times[SIDES]; /* how often each of its blocks was drawn */
	/* Of one replicate. */
	double *value[SIDES]; /* by subject and part */
	/* Of the values of all replicates. */
	double *sum[SIDES], *squares[SIDES];
};

/* Vigna's splitmix64. */
static uint64_t random_next(struct draw *draw)
{
	uint64_t z = draw->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static size_t random_below(struct draw *draw, size_t n)
{
	return (size_t)((random_next(draw) >> 32) * n >> 32);
}

static void draw_blocks(struct draw *draw, int side)
{
	size_t n = draw->capture[side]->n_blocks;

	memset(draw->times[side], 0, n * sizeof(double));
	for (size_t i = 0; i < n; i++)
		draw->times[side][random_below(draw, n)]++;
}

/* Sums up values with each block counted as often as `times` states. */
static void sum_up(struct draw *draw, int side)
{
	const struct diff_capture *capture = draw->capture[side];
	const struct diff_cells *cells = &capture->cells[draw->kind];
	const double *times = draw->times[side];
	double *value = draw->value[side], base = 0;

	memset(value, 0, draw->n * sizeof(double));
	for (size_t i = 0; i < capture->n_blocks; i++)
		base += times[i] * capture->base[i];
	for (size_t i = 0; i < cells->n; i++) {
		const struct diff_cell *cell = &cells->items[i];

		for (int part = 0; part < PARTS; part++)
			value[cell->item * PARTS + (size_t)part] +=
				times[cell->block] * cell->weight[part];
	}
	for (size_t i = 0; i < draw->n; i++)
		value[i] = base > 0 ? value[i] / base : 0;
}

static void add_replicate(struct draw *draw, int side)
{
	for (size_t i = 0; i < draw->n; i++) {
		double value = draw->value[side][i];

		draw->sum[side][i] += value;
		draw->squares[side][i] += value * value;
	}
}

static void draw_all(struct draw *draw)
{
	for (int i = 0; i < REPLICATES; i++) {
		for (int side = 0; side < SIDES; side++) {
			if (!draw->capture[side])
				continue;
			draw_blocks(draw, side);
			sum_up(draw, side);
			add_replicate(draw, side);
		}
	}
}

/* The spread of n blocks drawn with replacement is smaller than n new ones'. */
static double variance_of_draws(const struct draw *draw, int side, size_t i)
{
	double mean = draw->sum[side][i] / REPLICATES;
	double spread = fmax(draw->squares[side][i] / REPLICATES - mean * mean, 0);
	size_t n = draw->capture[side]->n_blocks;

	return n > 1 ? spread * (double)n / (double)(n - 1) : spread;
}

static void draw_init(struct draw *draw, const struct diff_counts *counts, enum diff_kind kind)
{
	*draw = (struct draw){
		.counts = counts,
		.kind = kind,
		.n = counts->subjects.kinds[kind].n * PARTS,
		.random = SEED,
	};
	for (int side = 0; side < SIDES; side++) {
		if (counts->n_captures[side] > 1)
			continue;
		draw->capture[side] = &counts->captures[side == SIDE_OLD ? 0 : counts->n - 1];
		draw->times[side] = memory_get(draw->capture[side]->n_blocks * sizeof(double));
		draw->value[side] = memory_get(draw->n * sizeof(double));
		draw->sum[side] = memory_get(draw->n * sizeof(double));
		draw->squares[side] = memory_get(draw->n * sizeof(double));
	}
}

static void draw_free(struct draw *draw)
{
	for (int side = 0; side < SIDES; side++) {
		free(draw->times[side]);
		free(draw->value[side]);
		free(draw->sum[side]);
		free(draw->squares[side]);
	}
}

static void resample(const struct diff_counts *counts, enum diff_kind kind, double *variance[SIDES])
{
	struct draw draw;

	draw_init(&draw, counts, kind);
	draw_all(&draw);
	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; draw.capture[side] && i < draw.n; i++)
			variance[side][i] = variance_of_draws(&draw, side, i);
	}
	draw_free(&draw);
}

/* ---- between captures ----------------------------------------------------------------------- */

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

static void find_between_runs(const struct diff_counts *counts, enum diff_kind kind,
			      double *variance[SIDES], double *freedom)
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

/* ---- both ------------------------------------------------------------------------------------ */

void diff_variances_find(const struct diff_counts *counts, enum diff_kind kind,
			 struct diff_variances *ret)
{
	size_t n = counts->subjects.kinds[kind].n * PARTS;

	for (int side = 0; side < SIDES; side++)
		ret->sides[side] = memory_get(n * sizeof(double));
	ret->freedom = memory_get(n * sizeof(double));
	if (counts->n_captures[SIDE_OLD] == 1 || counts->n_captures[SIDE_NEW] == 1)
		resample(counts, kind, ret->sides);
	if (counts->n_captures[SIDE_OLD] > 1 || counts->n_captures[SIDE_NEW] > 1)
		find_between_runs(counts, kind, ret->sides, ret->freedom);
}

void diff_variances_free(struct diff_variances *variances)
{
	for (int side = 0; side < SIDES; side++)
		free(variances->sides[side]);
	free(variances->freedom);
}
