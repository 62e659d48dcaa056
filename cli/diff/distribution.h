/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The repeated measurements of a change: a function's value in each block of time of a side's
 * only capture, or in each of its captures.
 */
#ifndef CLI_DIFF_DISTRIBUTION_H
#define CLI_DIFF_DISTRIBUTION_H

#include "cli/diff/diff_print.h"

/* Sorted. */
struct diff_values {
	double *items;
	size_t n;
};

/* The caller frees the items. */
struct diff_values diff_values_find(const struct diff_counts *counts,
				    const struct diff_change *change, enum diff_side side);
/* Draws both sides' values as histograms on one scale, with medians. */
void diff_print_distribution(const struct diff_result *result, const struct diff_change *change,
			     const struct diff_unit *unit, const struct output *output);

#endif
