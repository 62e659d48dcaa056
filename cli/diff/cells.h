/* SPDX-License-Identifier: Apache-2.0 */
/* Weights by thing (a number) and time. */
#ifndef CLI_DIFF_CELLS_H
#define CLI_DIFF_CELLS_H

#include <stddef.h>
#include <stdint.h>

/* What is counted of a thing: alone, and with what it calls. */
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

/* There may be several of a thing and a block, until they are merged. */
struct diff_cells {
	struct diff_cell *items;
	size_t n, capacity;
};

void diff_cells_free(struct diff_cells *cells);
/*
 * The cell at *newest, if it is of that thing and that block, or a new one: samples come nearly in
 * order of time, so a thing's newest is mostly the right one.  Valid until the next call.
 */
struct diff_cell *diff_cells_get(struct diff_cells *cells, size_t item, uint64_t block,
				 size_t *newest);
/* In order of things, then of blocks; one of each. */
void diff_cells_merge(struct diff_cells *cells);
/* What was of thing i is of numbers[i]. */
void diff_cells_renumber(struct diff_cells *cells, const size_t *numbers);
/* 2^shift blocks become one. */
void diff_cells_coarsen(struct diff_cells *cells, unsigned int shift);

#endif
