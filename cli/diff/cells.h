/* SPDX-License-Identifier: Apache-2.0 */
/* Weights by subject (a number) and time. */
#ifndef CLI_DIFF_CELLS_H
#define CLI_DIFF_CELLS_H

#include <stddef.h>
#include <stdint.h>

/* A subject's two counts: alone, and including its callees. */
enum diff_part {
	PART_SELF,
	PART_TOTAL,
	PARTS,
};

struct diff_cell {
	size_t item;
	uint64_t block; /* of time */
	double weight[PARTS];
};

/* Several cells may have the same subject and block, until they are merged. */
struct diff_cells {
	struct diff_cell *items;
	size_t n, capacity;
};

void diff_cells_free(struct diff_cells *cells);
/*
 * The cell at *newest, if it has that subject and block, or a new one: samples are nearly in order of
 * time, so a subject's newest cell is mostly the right one.  Valid until the next call.
 */
struct diff_cell *diff_cells_get(struct diff_cells *cells, size_t item, uint64_t block,
				 size_t *newest);
/* Sorts by subject, then by block, and merges equal ones. */
void diff_cells_merge(struct diff_cells *cells);
/* Moves the cells of subject i to numbers[i]. */
void diff_cells_renumber(struct diff_cells *cells, const size_t *numbers);
/* Merges 2^shift blocks into one. */
void diff_cells_coarsen(struct diff_cells *cells, unsigned int shift);

#endif
