/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/change.h"
#include "cli/diff/statistics.h"
#include "cli/diff/variances.h"
#include "cli/print/text.h"

#define INTERVAL 0.95
/* The probability of detecting a visible change. */
#define POWER 0.8
/* The part of a change that explains it. */
#define MOST 0.5

/* ---- limits --------------------------------------------------------------------------------- */

/* Student's limits for one probability, by degrees of freedom, computed on demand. */
struct student_limits {
	double probability;
	double found[FREEDOM_MAX + 1]; /* 0: not yet */
};

static double limit_of(struct student_limits *limits, double freedom)
{
	double *found = &limits->found[(size_t)freedom];

	if (*found == 0)
		*found = student_limit(limits->probability, freedom);
	return *found;
}

/* ---- changes -------------------------------------------------------------------------------- */

/* Of a side's only capture. */
static double freedom_of_blocks(const struct diff_counts *counts, int side)
{
	size_t n = counts->captures[side == SIDE_OLD ? 0 : counts->n - 1].n_blocks;

	return n > 1 ? (double)(n - 1) : 1;
}

/* For a side with one capture. A share of 100 % does not differ between runs. */
static double variance_of_runs(const struct diff_counts *counts, enum diff_side side,
			       const struct diff_change *change, double run_noise)
{
	double share = change->item->weight[side][change->part] / counts->weight[side];
	double rest = counts->per == PER_ALL ? 1 - share : 1;

	if (counts->n_captures[side] > 1)
		return 0;
	return pow(run_noise * rest * change->value[side], 2);
}

/* A side could always have one sample more or less. */
static double variance_of_a_sample(const struct diff_counts *counts, enum diff_side side)
{
	return pow(counts->weight[side] / (double)counts->samples[side] / counts->base[side], 2);
}

/*
 * The error of a difference, and its degrees of freedom: Welch's, of the variances that were
 * found, among those that are known. Sides with several captures have their variance and its
 * freedom together. Rounded down, and no more than that it matters.
 */
static void find_error(const struct diff_counts *counts, const struct diff_variances *variances,
		       size_t i, double run_noise, struct diff_change *change)
{
	double sum = 0, terms = 0, of_several = 0;

	for (int side = 0; side < SIDES; side++) {
		double variance = variances->sides[side][i];

		change->value[side] = change->item->weight[side][change->part] / counts->base[side];
		sum += variance + variance_of_a_sample(counts, (enum diff_side)side) +
		       variance_of_runs(counts, (enum diff_side)side, change, run_noise);
		if (counts->n_captures[side] > 1)
			of_several += variance;
		else
			terms += variance * variance / freedom_of_blocks(counts, side);
	}
	if (of_several > 0)
		terms += of_several * of_several / variances->freedom[i];
	change->error = sqrt(sum);
	change->freedom = terms > 0 ? floor(fmin(sum * sum / terms, FREEDOM_MAX)) : FREEDOM_MAX;
	change->freedom = fmax(change->freedom, 1);
}

static void judge(struct diff_change *change, enum diff_kind kind, struct student_limits *limits)
{
	double wide = limit_of(limits, change->freedom) * change->error;

	change->difference = change->value[SIDE_NEW] - change->value[SIDE_OLD];
	change->low = change->difference - wide;
	change->high = change->difference + wide;
	change->probability =
		student_two_sided(change->difference / change->error, change->freedom);
	/* Only the total is shown for paths. */
	change->is_tested = (kind == KIND_FUNCTION || change->part == PART_TOTAL) &&
			    diff_item_has_enough(change->item, change->part);
}

static int compare_probabilities(const void *a, const void *b)
{
	const struct diff_change *const *x = a, *const *y = b;

	return ((*x)->probability > (*y)->probability) - ((*x)->probability < (*y)->probability);
}

static void find_sure(struct diff_changes *changes, double false_rate)
{
	struct diff_change **tested = memory_get((changes->n + 1) * sizeof(*tested));
	size_t n = 0;

	for (size_t i = 0; i < changes->n; i++) {
		if (changes->items[i].is_tested)
			tested[n++] = &changes->items[i];
	}
	changes->n_tested = n;
	qsort(tested, n, sizeof(*tested), compare_probabilities);
	while (n && tested[n - 1]->probability > false_rate * (double)n / (double)changes->n_tested)
		n--;
	for (size_t i = 0; i < n; i++)
		tested[i]->is_sure = true;
	changes->n_sure = n;
	free(tested);
}

static void find_rest(struct diff_changes *changes, double false_rate)
{
	struct student_limits seen = { .probability = 2 * (1 - POWER) };
	struct student_limits strict = { .probability = false_rate / (double)changes->n_tested };

	for (size_t i = 0; i < changes->n; i++) {
		struct diff_change *change = &changes->items[i];
		double most = fmax(fabs(change->low), fabs(change->high));

		if (!change->is_tested)
			continue;
		changes->visible = fmax(changes->visible, (limit_of(&strict, change->freedom) +
							   limit_of(&seen, change->freedom)) *
								  change->error);
		if (!change->is_sure && most > changes->rest) {
			changes->rest = most;
			changes->widest = change;
		}
	}
}

static const struct diff_change *largest_own_change(const struct diff_changes *changes)
{
	const struct diff_change *largest = NULL;

	for (size_t i = PART_SELF; i < changes->n; i += PARTS) {
		const struct diff_change *change = &changes->items[i];

		if (change->is_sure &&
		    (!largest || fabs(change->difference) > fabs(largest->difference)))
			largest = change;
	}
	return largest;
}

/*
 * When some functions take more, the shares of all others fall. Compares shares of the rest: of all
 * but the functions that changed in the direction of the largest change.
 */
static void find_share_only(struct diff_changes *changes)
{
	const struct diff_change *largest = largest_own_change(changes);
	double rest[SIDES] = { 1, 1 };

	for (size_t i = PART_SELF; largest && i < changes->n; i += PARTS) {
		const struct diff_change *change = &changes->items[i];

		for (int side = 0; side < SIDES && change->is_sure &&
				   change->difference * largest->difference > 0;
		     side++)
			rest[side] -= change->value[side];
	}
	for (size_t i = 0; rest[SIDE_OLD] > 0 && largest && i < changes->n; i++) {
		struct diff_change *change = &changes->items[i];
		double expected = change->value[SIDE_OLD] * rest[SIDE_NEW] / rest[SIDE_OLD];

		change->is_share_only = change->is_sure &&
					change->difference * largest->difference < 0 &&
					fabs(change->value[SIDE_NEW] - expected) <=
						(change->high - change->low) / 2;
	}
}

/*
 * The change that makes up most of this one: the function's own work, or a callee's total; else
 * this one. Of callees, one with a sure change.
 */
static const struct diff_change *most_of(const struct diff_counts *counts,
					 const struct diff_changes *changes,
					 const struct diff_change *change)
{
	const struct diff_subjects *subjects = &counts->subjects;
	const struct diff_change *most = change, *own = change - PART_TOTAL + PART_SELF;
	double largest = MOST * fabs(change->difference);
	double sign = change->difference < 0 ? -1 : 1;

	if (own->is_sure && sign * own->difference >= largest) {
		most = own;
		largest = sign * own->difference;
	}
	for (size_t i = 0; i < subjects->n_edges; i++) {
		const struct diff_edge *edge = subjects->edges[i];
		const struct diff_change *callee =
			&changes->items[edge->function->item.number * PARTS + PART_TOTAL];
		double difference = edge->weight[SIDE_NEW][PART_TOTAL] / counts->base[SIDE_NEW] -
				    edge->weight[SIDE_OLD][PART_TOTAL] / counts->base[SIDE_OLD];

		if (edge->caller == change->item->function && callee->is_sure &&
		    !callee->is_share_only && callee->difference * sign > 0 &&
		    sign * difference > largest) {
			most = callee;
			largest = sign * difference;
		}
	}
	return most;
}

/* Down the calls, from each total to the work that changed. In a circle of recursion, one of its
 * functions is the cause. */
static void find_causes(const struct diff_counts *counts, struct diff_changes *changes)
{
	for (size_t i = PART_TOTAL; i < changes->n; i += PARTS) {
		struct diff_change *change = &changes->items[i];

		if (change->is_sure && !change->is_share_only)
			change->cause = most_of(counts, changes, change);
	}
	for (size_t i = PART_TOTAL; i < changes->n; i += PARTS) {
		struct diff_change *change = &changes->items[i];

		for (size_t left = changes->n;
		     change->cause && change->cause->cause && change->cause->cause != change->cause;
		     left--)
			change->cause = left ? change->cause->cause : change;
	}
}

void diff_changes_find(const struct diff_counts *counts, enum diff_kind kind,
		       const struct diff_doubts *doubts, struct diff_changes *ret)
{
	struct student_limits interval = { .probability = 1 - INTERVAL };
	struct diff_variances variances;
	size_t n = counts->subjects.kinds[kind].n * PARTS;

	diff_variances_find(counts, kind, &variances);
	*ret = (struct diff_changes){
		.n = n,
		.items = memory_get((n + 1) * sizeof(*ret->items)),
		.is_one_run =
			counts->n_captures[SIDE_OLD] == 1 || counts->n_captures[SIDE_NEW] == 1,
	};
	for (size_t i = 0; i < n; i++) {
		struct diff_change *change = &ret->items[i];

		change->item = counts->subjects.kinds[kind].items[i / PARTS];
		change->part = (enum diff_part)(i % PARTS);
		find_error(counts, &variances, i, doubts->run_noise, change);
		judge(change, kind, &interval);
	}
	find_sure(ret, doubts->false_rate);
	find_rest(ret, doubts->false_rate);
	if (counts->per == PER_ALL && kind == KIND_FUNCTION)
		find_share_only(ret);
	if (kind == KIND_FUNCTION)
		find_causes(counts, ret);
	diff_variances_free(&variances);
}

void diff_changes_free(struct diff_changes *changes)
{
	free(changes->items);
}

double diff_change_relative(const struct diff_change *change, double difference)
{
	if (change->value[SIDE_OLD] > 0)
		return difference / change->value[SIDE_OLD];
	return difference > 0 ? INFINITY : 0;
}
