/* SPDX-License-Identifier: Apache-2.0 */
/* The variance of a single capture's values: a bootstrap of its blocks of time. */
#ifndef CLI_DIFF_RESAMPLE_H
#define CLI_DIFF_RESAMPLE_H

#include "cli/diff/counts.h"

/* Sets variance[side][i] of each value i (subject * PARTS + part), of sides with a single capture. */
void diff_resample(const struct diff_counts *counts, enum diff_kind kind, double *variance[SIDES]);

#endif
