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
/* How often a change that can be seen is seen. */
#define POWER 0.8

struct draw {
	const struct diff_counts *counts;
	uint64_t random;
	/* How often each block of each capture was drawn. */
	double **times;
	/* Of one replicate. */
	double base[SIDES];
	double *value[SIDES];  /* by function and part */
	double *sum, *squares; /* of the differences */
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
		memset(draw->value[side], 0, counts->n_functions * PARTS * sizeof(double));
		draw->base[side] = 0;
	}
	for (size_t i = 0; i < counts->n; i++) {
		const struct diff_capture *capture = &counts->captures[i];
		const double *times = draw->times[i];
		double *value = draw->value[capture->side];

		for (size_t j = 0; j < capture->n_blocks; j++)
			draw->base[capture->side] += times[j] * capture->base[j];
		for (size_t j = 0; j < capture->n_cells; j++) {
			const struct diff_cell *cell = &capture->cells[j];

			for (int part = 0; part < PARTS; part++)
				value[cell->function * PARTS + (size_t)part] +=
					times[cell->block] * cell->weight[part];
		}
	}
}

static double ratio(double weight, double base)
{
	return base > 0 ? weight / base : 0;
}

static double difference_of(const struct draw *draw, size_t i)
{
	return ratio(draw->value[SIDE_NEW][i], draw->base[SIDE_NEW]) -
	       ratio(draw->value[SIDE_OLD][i], draw->base[SIDE_OLD]);
}

static void set_times(struct draw *draw, double times)
{
	for (size_t i = 0; i < draw->counts->n; i++) {
		for (size_t j = 0; j < draw->counts->captures[i].n_blocks; j++)
			draw->times[i][j] = times;
	}
}

static void draw_all(struct draw *draw, size_t n)
{
	for (int i = 0; i < REPLICATES; i++) {
		set_times(draw, 0);
		draw_side(draw, SIDE_OLD);
		draw_side(draw, SIDE_NEW);
		sum_up(draw);
		for (size_t j = 0; j < n; j++) {
			double difference = difference_of(draw, j);

			draw->sum[j] += difference;
			draw->squares[j] += difference * difference;
		}
	}
}

/* ---- what is made of it --------------------------------------------------------------------- */

/* What is drawn: a side's captures, or the blocks of its only one; of the side that has fewer. */
static size_t units_of(const struct diff_counts *counts)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < counts->n; i++) {
		size_t n = counts->n_captures[counts->captures[i].side];

		n = n > 1 ? n : counts->captures[i].n_blocks;
		least = n < least ? n : least;
	}
	return least;
}

/* Of a value that is all there is, runs do not differ. */
static double error_of_runs(const struct draw *draw, size_t i, double run_noise)
{
	const struct diff_counts *counts = draw->counts;
	double sum = 0;

	for (int side = 0; side < SIDES; side++) {
		double rest = 1 - ratio(draw->value[side][i], counts->weight[side]);

		if (counts->n_captures[side] == 1)
			sum += pow(run_noise * rest * ratio(draw->value[side][i], draw->base[side]),
				   2);
	}
	return sum;
}

/* That a side has a sample more or less is never certain. */
static double error_of_a_sample(const struct diff_counts *counts, const double base[SIDES])
{
	double sum = 0;

	for (int side = 0; side < SIDES; side++) {
		double weight = ratio(counts->weight[side], (double)counts->samples[side]);

		sum += pow(ratio(weight, base[side]), 2);
	}
	return sum;
}

static void judge(struct diff_change *change, const struct diff_changes *changes, double limit)
{
	change->difference = change->value[SIDE_NEW] - change->value[SIDE_OLD];
	change->low = change->difference - limit * change->error;
	change->high = change->difference + limit * change->error;
	change->probability =
		student_two_sided(change->difference / change->error, changes->freedom);
	change->is_tested = change->function->samples[SIDE_OLD][change->part] +
				    change->function->samples[SIDE_NEW][change->part] >=
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
	double strict, seen;

	if (!changes->n_tested)
		return;
	strict = student_limit(false_rate / (double)changes->n_tested, changes->freedom);
	seen = student_limit(2 * (1 - POWER), changes->freedom);
	for (size_t i = 0; i < changes->n; i++) {
		struct diff_change *change = &changes->items[i];
		double most = fmax(fabs(change->low), fabs(change->high));

		if (!change->is_tested)
			continue;
		changes->visible = fmax(changes->visible, (strict + seen) * change->error);
		if (!change->is_sure && most > changes->rest) {
			changes->rest = most;
			changes->widest = change;
		}
	}
}

void diff_changes_find(const struct diff_counts *counts, const struct diff_doubts *doubts,
		       struct diff_changes *ret)
{
	struct draw draw = { .counts = counts, .random = SEED };
	size_t n = counts->n_functions * PARTS;
	size_t units = units_of(counts);
	/* Of n that are drawn with replacement the spread is smaller than that of n anew. */
	double more = units > 1 ? (double)units / (double)(units - 1) : 1;
	double least, limit;

	*ret = (struct diff_changes){
		.n = n,
		.items = memory_get((n + 1) * sizeof(*ret->items)),
		.freedom = units > 1 ? 2 * (double)(units - 1) : 1,
		.is_one_run =
			counts->n_captures[SIDE_OLD] == 1 || counts->n_captures[SIDE_NEW] == 1,
	};
	draw.times = memory_get(counts->n * sizeof(*draw.times));
	for (size_t i = 0; i < counts->n; i++)
		draw.times[i] = memory_get(counts->captures[i].n_blocks * sizeof(double));
	for (int side = 0; side < SIDES; side++)
		draw.value[side] = memory_get((n + 1) * sizeof(double));
	draw.sum = memory_get((n + 1) * sizeof(double));
	draw.squares = memory_get((n + 1) * sizeof(double));

	draw_all(&draw, n);
	set_times(&draw, 1);
	sum_up(&draw);
	least = error_of_a_sample(counts, draw.base);
	limit = student_limit(1 - INTERVAL, ret->freedom);
	for (size_t i = 0; i < n; i++) {
		double mean = draw.sum[i] / REPLICATES;
		double spread = fmax(draw.squares[i] / REPLICATES - mean * mean, 0);

		ret->items[i] = (struct diff_change){
			.function = counts->functions[i / PARTS],
			.part = (enum diff_part)(i % PARTS),
			.error = sqrt(more * spread + least +
				      error_of_runs(&draw, i, doubts->run_noise)),
		};
		for (int side = 0; side < SIDES; side++)
			ret->items[i].value[side] = ratio(draw.value[side][i], draw.base[side]);
		judge(&ret->items[i], ret, limit);
	}
	find_sure(ret, doubts->false_rate);
	find_rest(ret, doubts->false_rate);

	for (size_t i = 0; i < counts->n; i++)
		free(draw.times[i]);
	free(draw.times);
	free(draw.value[SIDE_OLD]);
	free(draw.value[SIDE_NEW]);
	free(draw.sum);
	free(draw.squares);
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
