/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/change.h"
#include "cli/diff/student.h"
#include "cli/print/text.h"

#define REPLICATES 1000
/* The same captures give the same result. */
#define SEED UINT64_C(0x5eed0f57ac4ee1)
/* With fewer samples on both sides together nothing can be said. */
#define SAMPLES_MIN 20
#define INTERVAL    0.95
#define FREEDOM_MAX 1000
/* How often a change that can be seen is seen. */
#define POWER 0.8

struct draw {
	const struct diff_counts *counts;
	enum diff_kind kind;
	size_t n; /* values */
	uint64_t random;
	/* How often each block of each capture was drawn. */
	double **times;
	/* Of one replicate. */
	double base[SIDES];
	double *value[SIDES]; /* by thing and part */
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

static void draw_blocks(struct draw *draw, size_t capture)
{
	size_t n = draw->counts->captures[capture].n_blocks;

	for (size_t i = 0; i < n; i++)
		draw->times[capture][random_below(draw, n)]++;
}

static void draw_side(struct draw *draw, enum diff_side side)
{
	const struct diff_counts *counts = draw->counts;
	size_t n = counts->n_captures[side],
	       first = side == SIDE_OLD ? 0 : counts->n_captures[SIDE_OLD];

	for (size_t i = 0; i < n; i++)
		draw_blocks(draw, first + (n > 1 ? random_below(draw, n) : 0));
}

/* Values with the blocks as often as `times` says. */
static void sum_up(struct draw *draw)
{
	const struct diff_counts *counts = draw->counts;

	for (int side = 0; side < SIDES; side++) {
		memset(draw->value[side], 0, draw->n * sizeof(double));
		draw->base[side] = 0;
	}
	for (size_t i = 0; i < counts->n; i++) {
		const struct diff_capture *capture = &counts->captures[i];
		const struct diff_cells *cells = &capture->cells[draw->kind];
		const double *times = draw->times[i];
		double *value = draw->value[capture->side];

		for (size_t j = 0; j < capture->n_blocks; j++)
			draw->base[capture->side] += times[j] * capture->base[j];
		for (size_t j = 0; j < cells->n; j++) {
			const struct diff_cell *cell = &cells->items[j];

			for (int part = 0; part < PARTS; part++)
				value[cell->item * PARTS + (size_t)part] +=
					times[cell->block] * cell->weight[part];
		}
	}
}

static double ratio(double weight, double base)
{
	return base > 0 ? weight / base : 0;
}

static double value_of(const struct draw *draw, int side, size_t i)
{
	return ratio(draw->value[side][i], draw->base[side]);
}

static void set_times(struct draw *draw, double times)
{
	for (size_t i = 0; i < draw->counts->n; i++) {
		for (size_t j = 0; j < draw->counts->captures[i].n_blocks; j++)
			draw->times[i][j] = times;
	}
}

static void add_replicate(struct draw *draw, enum diff_side side)
{
	for (size_t i = 0; i < draw->n; i++) {
		double value = value_of(draw, side, i);

		draw->sum[side][i] += value;
		draw->squares[side][i] += value * value;
	}
}

static void draw_all(struct draw *draw)
{
	for (int i = 0; i < REPLICATES; i++) {
		set_times(draw, 0);
		draw_side(draw, SIDE_OLD);
		draw_side(draw, SIDE_NEW);
		sum_up(draw);
		add_replicate(draw, SIDE_OLD);
		add_replicate(draw, SIDE_NEW);
	}
}

/* ---- limits --------------------------------------------------------------------------------- */

/* Student's of one probability, of each number of degrees of freedom that was asked for. */
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

/* ---- what is made of it --------------------------------------------------------------------- */

/* How many are drawn: a side's captures, or the blocks of its only one. */
static size_t units_of(const struct diff_counts *counts, enum diff_side side)
{
	size_t n = counts->n_captures[side];

	return n > 1 ? n : counts->captures[side == SIDE_OLD ? 0 : counts->n - 1].n_blocks;
}

/* Of a side's value, as its captures tell; of n that are drawn with replacement the spread is
 * smaller than that of n anew. */
static double variance_of(const struct draw *draw, enum diff_side side, size_t i)
{
	double mean = draw->sum[side][i] / REPLICATES;
	double spread = fmax(draw->squares[side][i] / REPLICATES - mean * mean, 0);
	size_t units = units_of(draw->counts, side);

	return units > 1 ? spread * (double)units / (double)(units - 1) : spread;
}

/* Where a side has one capture. Of a share that is all there is, runs do not differ. */
static double variance_of_runs(const struct draw *draw, enum diff_side side, size_t i,
			       double run_noise)
{
	const struct diff_counts *counts = draw->counts;
	double share = ratio(draw->value[side][i], counts->weight[side]);
	double rest = counts->per == PER_ALL ? 1 - share : 1;

	if (counts->n_captures[side] > 1)
		return 0;
	return pow(run_noise * rest * value_of(draw, side, i), 2);
}

/* That a side has a sample more or less is never certain. */
static double variance_of_a_sample(const struct draw *draw, enum diff_side side)
{
	const struct diff_counts *counts = draw->counts;
	double weight = ratio(counts->weight[side], (double)counts->samples[side]);

	return pow(ratio(weight, draw->base[side]), 2);
}

/*
 * What a value has of each, and how many degrees of freedom the difference has: Welch's, of the
 * variances that were found, among those that are known. Rounded down, and no more than that it
 * matters.
 */
static void find_error(const struct draw *draw, size_t i, double run_noise,
		       struct diff_change *change)
{
	double sum = 0, terms = 0;

	for (int side = 0; side < SIDES; side++) {
		double variance = variance_of(draw, (enum diff_side)side, i);
		size_t units = units_of(draw->counts, (enum diff_side)side);

		change->value[side] = value_of(draw, side, i);
		sum += variance + variance_of_a_sample(draw, (enum diff_side)side) +
		       variance_of_runs(draw, (enum diff_side)side, i, run_noise);
		terms += variance * variance / (units > 1 ? (double)(units - 1) : 1);
	}
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
	/* Of paths only the total is shown. */
	change->is_tested = (kind == KIND_FUNCTION || change->part == PART_TOTAL) &&
			    change->item->samples[SIDE_OLD][change->part] +
					    change->item->samples[SIDE_NEW][change->part] >=
				    SAMPLES_MIN;
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

static void draw_init(struct draw *draw, const struct diff_counts *counts, enum diff_kind kind)
{
	*draw = (struct draw){
		.counts = counts,
		.kind = kind,
		.n = counts->things.kinds[kind].n * PARTS,
		.random = SEED,
		.times = memory_get(counts->n * sizeof(*draw->times)),
	};
	for (size_t i = 0; i < counts->n; i++)
		draw->times[i] = memory_get(counts->captures[i].n_blocks * sizeof(double));
	for (int side = 0; side < SIDES; side++) {
		draw->value[side] = memory_get(draw->n * sizeof(double));
		draw->sum[side] = memory_get(draw->n * sizeof(double));
		draw->squares[side] = memory_get(draw->n * sizeof(double));
	}
}

static void draw_free(struct draw *draw)
{
	for (size_t i = 0; i < draw->counts->n; i++)
		free(draw->times[i]);
	free(draw->times);
	for (int side = 0; side < SIDES; side++) {
		free(draw->value[side]);
		free(draw->sum[side]);
		free(draw->squares[side]);
	}
}

void diff_changes_find(const struct diff_counts *counts, enum diff_kind kind,
		       const struct diff_doubts *doubts, struct diff_changes *ret)
{
	struct student_limits interval = { .probability = 1 - INTERVAL };
	struct draw draw;

	draw_init(&draw, counts, kind);
	*ret = (struct diff_changes){
		.n = draw.n,
		.items = memory_get((draw.n + 1) * sizeof(*ret->items)),
		.is_one_run =
			counts->n_captures[SIDE_OLD] == 1 || counts->n_captures[SIDE_NEW] == 1,
	};
	draw_all(&draw);
	set_times(&draw, 1);
	sum_up(&draw);
	for (size_t i = 0; i < draw.n; i++) {
		struct diff_change *change = &ret->items[i];

		change->item = counts->things.kinds[kind].items[i / PARTS];
		change->part = (enum diff_part)(i % PARTS);
		find_error(&draw, i, doubts->run_noise, change);
		judge(change, kind, &interval);
	}
	find_sure(ret, doubts->false_rate);
	find_rest(ret, doubts->false_rate);
	draw_free(&draw);
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
