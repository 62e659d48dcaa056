/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures of two sides as `stackreel diff` counts them, made by a seeded random generator: the
 * test sets how functions differ between runs, and the change.
 */
#ifndef TESTS_SUPPORT_DIFF_RUNS_H
#define TESTS_SUPPORT_DIFF_RUNS_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/change.h"

#define RUNS_FUNCTIONS_MAX 512
/* The function that changes. */
#define RUNS_CHANGED 2
#define RUNS_BLOCKS  32

struct runs_plan {
	size_t n_captures[SIDES];
	size_t n_functions;
	size_t samples;	   /* of a capture */
	double dispersion; /* variance of a function's count, relative to Poisson's */
	double noise;	   /* of a function from run to run: a standard deviation, relative */
	double mixed;	   /* functions differ in their dispersion: of its logarithm */
	double change;	   /* relative, of RUNS_CHANGED's weight */
};

static uint64_t runs_random;

/* Vigna's splitmix64. */
static double runs_uniform(void)
{
	uint64_t z = runs_random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double runs_normal(void)
{
	double radius = sqrt(-2 * log(runs_uniform()));

	return radius * cos(2 * M_PI * runs_uniform());
}

/* Marsaglia and Tsang 2000; a shape below 1 uses the shape plus 1. */
static double runs_gamma(double shape)
{
	double d, c, x, v;

	if (shape < 1)
		return runs_gamma(shape + 1) * pow(runs_uniform(), 1 / shape);
	d = shape - 1.0 / 3;
	c = 1 / sqrt(9 * d);
	do {
		x = runs_normal();
		v = pow(fmax(1 + c * x, 0), 3);
	} while (v <= 0 || log(runs_uniform()) >= x * x / 2 + d - d * v + d * log(v));
	return d * v;
}

/* Weights of functions in one run: the k-th about 1/k, each with its own random part. */
static void runs_rates(const struct runs_plan *plan, const double *dispersion, enum diff_side side,
		       double *rate)
{
	double sum = 0;

	for (size_t i = 0; i < plan->n_functions; i++) {
		rate[i] = 1 / (double)(i + 1);
		sum += rate[i];
	}
	for (size_t i = 0; i < plan->n_functions; i++) {
		double extra = dispersion[i] - 1, mean = rate[i] * (double)plan->samples / sum;

		mean *= exp(plan->noise * runs_normal());
		if (i == RUNS_CHANGED && side == SIDE_NEW)
			mean *= 1 + plan->change;
		rate[i] = extra > 0 ? runs_gamma(mean / extra) * extra : mean;
	}
}

static size_t runs_pick(const double *up_to, size_t n)
{
	double x = runs_uniform() * up_to[n - 1];
	size_t low = 0, high = n - 1;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (up_to[middle] > x)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void runs_count(struct diff_capture *capture, struct diff_function *function,
		       enum diff_part part, uint64_t block)
{
	struct diff_item *item = &function->item;

	diff_cells_get(&capture->cells[KIND_FUNCTION], item->number, block, &item->newest)
		->weight[part]++;
	item->weight[capture->side][part]++;
	item->samples[capture->side][part]++;
}

/* Function i is called by (i - 1) / 3. */
static void runs_add_capture(const struct runs_plan *plan, const double *dispersion,
			     struct diff_function *const *functions, struct diff_counts *counts,
			     enum diff_side side)
{
	struct diff_capture *capture = &counts->captures[counts->n++];
	double up_to[RUNS_FUNCTIONS_MAX];

	capture->side = side;
	capture->n_blocks = plan->n_captures[side] > 1 ? 1 : RUNS_BLOCKS;
	capture->base = calloc(capture->n_blocks, sizeof(double));
	runs_rates(plan, dispersion, side, up_to);
	for (size_t i = 1; i < plan->n_functions; i++)
		up_to[i] += up_to[i - 1];
	for (size_t i = 0; i < plan->samples; i++) {
		size_t at = runs_pick(up_to, plan->n_functions);
		uint64_t block = i * capture->n_blocks / plan->samples;

		capture->base[block]++;
		runs_count(capture, functions[at], PART_SELF, block);
		for (;; at = (at - 1) / 3) {
			runs_count(capture, functions[at], PART_TOTAL, block);
			if (!at)
				break;
		}
	}
	for (size_t i = 0; i < plan->n_functions; i++)
		functions[i]->item.newest = 0;
	diff_cells_merge(&capture->cells[KIND_FUNCTION]);
	counts->samples[side] += plan->samples;
	counts->weight[side] += (double)plan->samples;
	counts->base[side] += (double)plan->samples;
}

static void runs_make(const struct runs_plan *plan, struct diff_counts *counts)
{
	struct diff_function *functions[RUNS_FUNCTIONS_MAX];
	double dispersion[RUNS_FUNCTIONS_MAX];

	diff_counts_init(counts);
	for (size_t i = 0; i < plan->n_functions; i++) {
		char name[24];

		snprintf(name, sizeof(name), "f%zu", i);
		functions[i] = diff_function_get(&counts->subjects, name, "program", false);
		dispersion[i] = 1 + (plan->dispersion - 1) * exp(plan->mixed * runs_normal());
	}
	counts->captures = calloc(plan->n_captures[SIDE_OLD] + plan->n_captures[SIDE_NEW],
				  sizeof(*counts->captures));
	for (int side = 0; side < SIDES; side++) {
		counts->n_captures[side] = plan->n_captures[side];
		for (size_t i = 0; i < plan->n_captures[side]; i++)
			runs_add_capture(plan, dispersion, functions, counts, (enum diff_side)side);
	}
}

struct runs_result {
	size_t n;	/* comparisons */
	size_t any;	/* comparisons with any sure change */
	size_t found;	/* comparisons where RUNS_CHANGED was sure */
	size_t held;	/* whose 95 % interval contains 0, the true change without one */
	double visible; /* the mean */
	double freedom; /* of RUNS_CHANGED: the mean */
};

static void runs_compare(const struct runs_plan *plan, size_t n, struct runs_result *ret)
{
	struct diff_doubts doubts = { .false_rate = 0.05, .run_noise = 0.05 };

	*ret = (struct runs_result){ .n = n };
	for (size_t i = 0; i < n; i++) {
		const struct diff_change *change;
		struct diff_changes changes;
		struct diff_counts counts;

		runs_make(plan, &counts);
		diff_changes_find(&counts, KIND_FUNCTION, &doubts, &changes);
		change = &changes.items[RUNS_CHANGED * PARTS + PART_SELF];
		ret->any += changes.n_sure > 0;
		ret->found += change->is_sure && change->difference > 0;
		ret->held += change->low <= 0 && change->high >= 0;
		ret->visible += changes.visible / (double)n;
		ret->freedom += change->freedom / (double)n;
		diff_changes_free(&changes);
		diff_counts_free(&counts);
	}
}

#endif
