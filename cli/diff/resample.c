/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/resample.h"
#include "cli/print/text.h"

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
static double variance_of(const struct draw *draw, int side, size_t i)
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

void diff_resample(const struct diff_counts *counts, enum diff_kind kind, double *variance[SIDES])
{
	struct draw draw;

	draw_init(&draw, counts, kind);
	draw_all(&draw);
	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; draw.capture[side] && i < draw.n; i++)
			variance[side][i] = variance_of(&draw, side, i);
	}
	draw_free(&draw);
}
