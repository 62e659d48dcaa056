/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/distribution.h"
#include "base/array.h"
#include "cli/print/text.h"
#include "cli/profile/course.h"

/* Columns of a histogram. */
#define BINS 40

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static size_t first_cell(const struct diff_cells *cells, size_t item)
{
	return REEL_PARTITION_POINT(cells->n, i, cells->items[i].item < item);
}

static double weight_at(const struct diff_cells *cells, size_t *cell,
			const struct diff_change *change, size_t block)
{
	const struct diff_cell *at;

	if (*cell == cells->n)
		return 0;
	at = &cells->items[*cell];
	if (at->item != change->item->number || at->block != block)
		return 0;
	(*cell)++;
	return at->weight[change->part];
}

/* Cells are in order of item and block. Blocks without any samples have no share. */
static void add_capture(const struct diff_capture *capture, const struct diff_change *change,
			struct diff_values *values)
{
	const struct diff_cells *cells = &capture->cells[KIND_FUNCTION];
	size_t cell = first_cell(cells, change->item->number);

	for (size_t block = 0; block < capture->n_blocks; block++) {
		double weight = weight_at(cells, &cell, change, block);

		if (capture->base[block] > 0)
			values->items[values->n++] = weight / capture->base[block];
	}
}

struct diff_values diff_values_find(const struct diff_counts *counts,
				    const struct diff_change *change, enum diff_side side)
{
	struct diff_values values = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < counts->n; i++)
		n += counts->captures[i].n_blocks;
	values.items = memory_get((n + 1) * sizeof(double));
	for (size_t i = 0; i < counts->n; i++) {
		if (counts->captures[i].side == side)
			add_capture(&counts->captures[i], change, &values);
	}
	qsort(values.items, values.n, sizeof(double), compare_values);
	return values;
}

static double median_of(const struct diff_values *values)
{
	size_t half = values->n / 2;

	if (!values->n)
		return 0;
	return values->n % 2 ? values->items[half]
			     : (values->items[half - 1] + values->items[half]) / 2;
}

static void print_histogram(const struct diff_values *values, double low, double high,
			    const struct output *output)
{
	static const char ascii[] = " .:-=+*#@";
	size_t bins[BINS] = { 0 }, most = 1;

	for (size_t i = 0; i < values->n; i++) {
		double part = high > low ? (values->items[i] - low) / (high - low) : 0;
		size_t *bin = &bins[(size_t)fmin(part * BINS, BINS - 1)];

		most = ++*bin > most ? *bin : most;
	}
	for (size_t i = 0; i < BINS; i++) {
		double height = (double)bins[i] / (double)most;

		if (output->utf8)
			fputs(course_block(height), output->file);
		else
			fputc(ascii[(size_t)ceil(height * 8)], output->file);
	}
}

void diff_print_distribution(const struct diff_result *result, const struct diff_change *change,
			     const struct diff_unit *unit, const struct output *output)
{
	static const char *const names[SIDES] = { "old", "new" };
	const struct diff_counts *counts = result->counts;
	struct diff_values sides[SIDES];
	double low = INFINITY, high = -INFINITY;

	for (int side = 0; side < SIDES; side++) {
		sides[side] = diff_values_find(counts, change, (enum diff_side)side);
		if (!sides[side].n)
			continue;
		low = fmin(low, sides[side].items[0]);
		high = fmax(high, sides[side].items[sides[side].n - 1]);
	}
	for (int side = 0; side < SIDES; side++) {
		fprintf(output->file, "%12s  ", names[side]);
		print_histogram(&sides[side], low, high, output);
		fprintf(output->file, "  median %8.2f %s of %zu %s\n",
			median_of(&sides[side]) * unit->scale, unit->name, sides[side].n,
			counts->n_captures[side] > 1 ? "captures" : "blocks of time");
		free(sides[side].items);
	}
	fprintf(output->file, "%s%14s%-*.2f%*.2f %s%s\n", color_dim(output), "", BINS / 2,
		low * unit->scale, BINS / 2, high * unit->scale, unit->name, color_end(output));
}
