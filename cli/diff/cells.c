/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/diff/cells.h"
#include "cli/print/text.h"

#define FIRST_SIZE 256

void diff_cells_free(struct diff_cells *cells)
{
	free(cells->items);
	*cells = (struct diff_cells){ 0 };
}

static int compare_cells(const void *a, const void *b)
{
	const struct diff_cell *x = a, *y = b;

	if (x->item != y->item)
		return x->item < y->item ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

void diff_cells_merge(struct diff_cells *cells)
{
	size_t n = 0;

	if (cells->n)
		qsort(cells->items, cells->n, sizeof(*cells->items), compare_cells);
	for (size_t i = 0; i < cells->n; i++) {
		struct diff_cell *last = n ? &cells->items[n - 1] : NULL, *cell = &cells->items[i];

		if (!last || compare_cells(last, cell) != 0) {
			cells->items[n++] = *cell;
			continue;
		}
		for (int part = 0; part < PARTS; part++)
			last->weight[part] += cell->weight[part];
	}
	cells->n = n;
}

void diff_cells_renumber(struct diff_cells *cells, const size_t *numbers)
{
	for (size_t i = 0; i < cells->n; i++)
		cells->items[i].item = numbers[cells->items[i].item];
	diff_cells_merge(cells);
}

void diff_cells_coarsen(struct diff_cells *cells, unsigned int shift)
{
	for (size_t i = 0; i < cells->n; i++)
		cells->items[i].block >>= shift;
	diff_cells_merge(cells);
}

/* Merge first, and allocate more memory only if merging does not help. */
static void make_room(struct diff_cells *cells)
{
	diff_cells_merge(cells);
	if (cells->n < cells->capacity / 2)
		return;
	cells->capacity = cells->capacity * 2 + FIRST_SIZE;
	cells->items = memory_resize(cells->items, cells->capacity, sizeof(*cells->items));
}

struct diff_cell *diff_cells_get(struct diff_cells *cells, size_t item, uint64_t block,
				 size_t *newest)
{
	if (*newest < cells->n && cells->items[*newest].item == item &&
	    cells->items[*newest].block == block)
		return &cells->items[*newest];
	if (cells->n == cells->capacity)
		make_room(cells);
	*newest = cells->n;
	cells->items[cells->n] = (struct diff_cell){ .item = item, .block = block };
	return &cells->items[cells->n++];
}
