/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/diff/subjects.h"
#include "cli/print/text.h"

/* With fewer samples, a function cannot be compared. */
#define SAMPLES_MIN 20

static void items_add(struct diff_items *items, struct diff_item *item)
{
	items->items =
		memory_reserve(items->items, &items->capacity, items->n, sizeof(*items->items));
	item->number = items->n;
	items->items[items->n++] = item;
}

static void index_add(struct reel_hash_index *index, uint64_t hash, size_t number)
{
	if (number >= REEL_HASH_NONE || !reel_hash_index_add(index, hash, (uint32_t)number))
		memory_check(NULL);
}

static void add_path(struct diff_subjects *subjects, struct diff_function *function)
{
	struct diff_item *item = memory_get(sizeof(*item));

	*item = (struct diff_item){ .function = function };
	items_add(&subjects->kinds[KIND_PATH], item);
}

bool diff_item_has_enough(const struct diff_item *item, enum diff_part part)
{
	return item->samples[SIDE_OLD][part] + item->samples[SIDE_NEW][part] >= SAMPLES_MIN;
}

void diff_subjects_init(struct diff_subjects *subjects)
{
	*subjects = (struct diff_subjects){ 0 };
	call_tree_init(&subjects->tree);
	add_path(subjects, NULL);
}

void diff_subjects_free(struct diff_subjects *subjects)
{
	for (size_t i = 0; i < subjects->kinds[KIND_FUNCTION].n; i++) {
		struct diff_function *function = subjects->kinds[KIND_FUNCTION].items[i]->function;

		free(function->raw);
		free(function->raw_module);
		free(function->symbol.name);
		free(function->symbol.short_name);
		free(function->symbol.module);
		free(function);
	}
	for (size_t i = 0; i < subjects->kinds[KIND_PATH].n; i++)
		free(subjects->kinds[KIND_PATH].items[i]);
	for (size_t i = 0; i < subjects->n_edges; i++)
		free(subjects->edges[i]);
	for (int kind = 0; kind < KINDS; kind++)
		free(subjects->kinds[kind].items);
	free(subjects->edges);
	reel_hash_index_free(&subjects->functions);
	reel_hash_index_free(&subjects->edges_index);
	call_tree_free(&subjects->tree);
}

/* ---- functions -------------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
	} while (*text++);
	return hash ^ hash >> 32;
}

static bool is_function(const struct diff_function *function, const char *name, const char *module,
			bool is_mark)
{
	return function->symbol.pseudo == is_mark && !strcmp(function->raw, name) &&
	       !strcmp(function->raw_module, module);
}

struct diff_function *diff_function_get(struct diff_subjects *subjects, const char *name,
					const char *module, bool is_mark)
{
	uint64_t hash = hash_text(hash_text(0xcbf29ce484222325 ^ is_mark, name), module);
	struct diff_items *all = &subjects->kinds[KIND_FUNCTION];
	uint32_t known =
		REEL_HASH_FIND(&subjects->functions, hash, i,
			       is_function(all->items[i]->function, name, module, is_mark));
	struct diff_function *function;

	if (known != REEL_HASH_NONE)
		return all->items[known]->function;
	function = memory_get(sizeof(*function));
	*function = (struct diff_function){
		.item.function = function,
		.symbol.name = text_escape(name, ""),
		.symbol.module = text_escape(module, ""),
		.symbol.pseudo = is_mark,
		.symbol.function = !is_mark,
		.raw = memory_print("%s", name),
		.raw_module = memory_print("%s", module),
	};
	index_add(&subjects->functions, hash, all->n);
	items_add(all, &function->item);
	return function;
}

/* ---- edges -------------------------------------------------------------------------------- */

struct diff_edge *diff_edge_get(struct diff_subjects *subjects, struct diff_function *function,
				struct diff_function *caller)
{
	uint64_t hash = function->item.number * 0x9e3779b97f4a7c15 + caller->item.number;
	struct diff_edge *edge, **all = subjects->edges;
	uint32_t known = REEL_HASH_FIND(&subjects->edges_index, hash, i,
					all[i]->function == function && all[i]->caller == caller);

	if (known != REEL_HASH_NONE)
		return all[known];
	edge = memory_get(sizeof(*edge));
	*edge = (struct diff_edge){ .function = function, .caller = caller };
	index_add(&subjects->edges_index, hash, subjects->n_edges);
	subjects->edges = memory_reserve(all, &subjects->edges_capacity, subjects->n_edges,
					 sizeof(*subjects->edges));
	subjects->edges[subjects->n_edges++] = edge;
	return edge;
}

/* ---- paths -------------------------------------------------------------------------------- */

struct diff_item *diff_path_get(struct diff_subjects *subjects, size_t caller,
				struct diff_function *function)
{
	uint32_t node = call_tree_child(&subjects->tree, (uint32_t)caller, &function->symbol);

	if (node == subjects->kinds[KIND_PATH].n)
		add_path(subjects, function);
	return subjects->kinds[KIND_PATH].items[node];
}

/* ---- weights by subject and time ------------------------------------------------------------ */

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
	cells->capacity = cells->capacity * 2 + 256;
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
