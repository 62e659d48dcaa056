/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a module that has another name on the other side. */
#include <stdlib.h>
#include <string.h>

#include "cli/diff/counts.h"
#include "cli/print/text.h"

struct candidate {
	struct diff_function *function;
	unsigned sides; /* that have its module: bits */
};

static int by_module(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return strcmp(x->function->module, y->function->module);
}

static int by_name(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return strcmp(x->function->raw, y->function->raw);
}

static unsigned sides_of(const struct diff_function *function)
{
	unsigned sides = 0;

	for (int side = 0; side < SIDES; side++)
		sides |= (unsigned)(function->samples[side][PART_TOTAL] > 0) << side;
	return sides;
}

/* Of `n` functions in order of their modules, those whose module is on one side only come first;
 * gives how many. */
static size_t keep_one_sided(struct candidate *list, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0, end; i < n; i = end) {
		unsigned sides = 0;

		for (end = i; end < n && !by_module(&list[i], &list[end]); end++)
			sides |= sides_of(list[end].function);
		for (size_t j = i; j < end && sides != 1u << SIDE_OLD && sides != 1u << SIDE_NEW;
		     j++)
			list[j].function = NULL;
		for (size_t j = i; j < end && list[j].function; j++)
			list[kept++] = (struct candidate){ list[j].function, sides };
	}
	return kept;
}

static void join(struct diff_function *old, struct diff_function *new)
{
	char *module = memory_print("%s -> %s", old->module, new->module);

	free(old->module);
	old->module = module;
	for (int part = 0; part < PARTS; part++) {
		old->weight[SIDE_NEW][part] = new->weight[SIDE_NEW][part];
		old->samples[SIDE_NEW][part] = new->samples[SIDE_NEW][part];
		new->weight[SIDE_NEW][part] = 0;
		new->samples[SIDE_NEW][part] = 0;
	}
	old->inlined[SIDE_NEW] = new->inlined[SIDE_NEW];
	new->inlined[SIDE_NEW] = 0;
	new->same = old;
}

/* Two of a name, one on each side. */
static void join_pairs(struct candidate *list, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && !by_name(&list[i], &list[end]);)
			end++;
		if (end - i != 2 || list[i].sides == list[i + 1].sides)
			continue;
		if (list[i].sides == 1u << SIDE_OLD)
			join(list[i].function, list[i + 1].function);
		else
			join(list[i + 1].function, list[i].function);
	}
}

static struct diff_function *joined(struct diff_function *function)
{
	return function->same ? function->same : function;
}

static void move_edges(struct diff_counts *counts)
{
	struct diff_edge **list = memory_get((counts->n_edges + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < counts->n_edge_buckets; i++) {
		for (struct diff_edge *edge = counts->edges[i]; edge; edge = edge->next) {
			if (edge->function->same || edge->caller->same)
				list[n++] = edge;
		}
	}
	for (size_t i = 0; i < n; i++) {
		struct diff_edge *to = diff_counts_edge(counts, joined(list[i]->function),
							joined(list[i]->caller));

		for (int part = 0; part < PARTS; part++) {
			to->weight[SIDE_NEW][part] += list[i]->weight[SIDE_NEW][part];
			list[i]->weight[SIDE_NEW][part] = 0;
		}
	}
	free(list);
}

void diff_counts_join_renamed(struct diff_counts *counts)
{
	size_t n = counts->n_functions;
	struct candidate *list = memory_get((n + 1) * sizeof(*list));

	for (size_t i = 0; i < n; i++)
		list[i].function = counts->functions[i];
	if (n)
		qsort(list, n, sizeof(*list), by_module);
	n = keep_one_sided(list, n);
	if (n)
		qsort(list, n, sizeof(*list), by_name);
	join_pairs(list, n);
	free(list);
	for (size_t i = 0; i < counts->n; i++) {
		struct diff_capture *capture = &counts->captures[i];

		for (size_t j = 0; j < capture->n_cells; j++)
			capture->cells[j].function =
				joined(counts->functions[capture->cells[j].function])->number;
	}
	move_edges(counts);
}
