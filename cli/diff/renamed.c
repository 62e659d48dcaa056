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

	return strcmp(x->function->raw_module, y->function->raw_module);
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
		sides |= (unsigned)(function->item.samples[side][PART_TOTAL] > 0) << side;
	return sides;
}

/* Moves functions whose module is on one side only to the front of `n` functions sorted by module;
 * returns their number. */
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

/* Moves the new side's data of `from`, which has no other. */
static void move_item(struct diff_item *to, struct diff_item *from)
{
	for (int part = 0; part < PARTS; part++) {
		to->weight[SIDE_NEW][part] += from->weight[SIDE_NEW][part];
		to->samples[SIDE_NEW][part] += from->samples[SIDE_NEW][part];
		from->weight[SIDE_NEW][part] = 0;
		from->samples[SIDE_NEW][part] = 0;
	}
}

static void rename_module(char **old, const char *new)
{
	char *both = memory_print("%s -> %s", *old, new);

	free(*old);
	*old = both;
}

static void join(struct diff_function *old, struct diff_function *new)
{
	rename_module(&old->symbol.module, new->symbol.module);
	rename_module(&old->raw_module, new->raw_module);
	move_item(&old->item, &new->item);
	old->inlined[SIDE_NEW] = new->inlined[SIDE_NEW];
	new->inlined[SIDE_NEW] = 0;
	new->same = old;
}

/* The heaviest of that side's functions of one name, or NULL. Some may be from unrelated modules:
 * each program has a _start, and so does ld.so. */
static struct diff_function *heaviest(const struct candidate *list, size_t n, int side)
{
	struct diff_function *most = NULL;

	for (size_t i = 0; i < n; i++) {
		struct diff_function *function = list[i].function;

		if (list[i].sides == 1u << side &&
		    (!most ||
		     function->item.weight[side][PART_TOTAL] > most->item.weight[side][PART_TOTAL]))
			most = function;
	}
	return most;
}

/* Joins functions of the same name, one from each side. */
static void join_pairs(struct candidate *list, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		struct diff_function *old, *new;

		for (end = i; end < n && !by_name(&list[i], &list[end]);)
			end++;
		old = heaviest(&list[i], end - i, SIDE_OLD);
		new = heaviest(&list[i], end - i, SIDE_NEW);
		if (old && new)
			join(old, new);
	}
}

static struct diff_function *joined(struct diff_function *function)
{
	return function->same ? function->same : function;
}

static void move_edges(struct diff_subjects *subjects)
{
	size_t n = subjects->n_edges;

	/* The edges that this adds are of joined functions. */
	for (size_t i = 0; i < n; i++) {
		struct diff_edge *edge = subjects->edges[i], *to;

		if (!edge->function->same && !edge->caller->same)
			continue;
		to = diff_edge_get(subjects, joined(edge->function), joined(edge->caller));
		for (int part = 0; part < PARTS; part++) {
			to->weight[SIDE_NEW][part] += edge->weight[SIDE_NEW][part];
			edge->weight[SIDE_NEW][part] = 0;
		}
	}
}

/* Returns new numbers: numbers[i] is the joined function's number for old number i. */
static size_t *move_functions(const struct diff_items *functions)
{
	size_t *numbers = memory_get((functions->n + 1) * sizeof(*numbers));

	for (size_t i = 0; i < functions->n; i++)
		numbers[i] = joined(functions->items[i]->function)->item.number;
	return numbers;
}

/* The same for paths: equal ones are merged. Paths follow their callers'. */
static size_t *move_paths(struct diff_subjects *subjects)
{
	const struct diff_items *paths = &subjects->kinds[KIND_PATH];
	size_t n = paths->n;
	size_t *numbers = memory_get(n * sizeof(*numbers));

	for (size_t i = 1; i < n; i++) {
		size_t caller = numbers[subjects->tree.nodes[i].parent];
		struct diff_item *to =
			diff_path_get(subjects, caller, joined(paths->items[i]->function));

		numbers[i] = to->number;
		if (to->number != i)
			move_item(to, paths->items[i]);
	}
	return numbers;
}

void diff_counts_join_renamed(struct diff_counts *counts)
{
	const struct diff_items *functions = &counts->subjects.kinds[KIND_FUNCTION];
	size_t n = functions->n;
	struct candidate *list = memory_get((n + 1) * sizeof(*list));
	size_t *numbers[KINDS];

	for (size_t i = 0; i < n; i++)
		list[i].function = functions->items[i]->function;
	if (n)
		qsort(list, n, sizeof(*list), by_module);
	n = keep_one_sided(list, n);
	if (n)
		qsort(list, n, sizeof(*list), by_name);
	join_pairs(list, n);
	free(list);
	move_edges(&counts->subjects);
	numbers[KIND_FUNCTION] = move_functions(functions);
	numbers[KIND_PATH] = move_paths(&counts->subjects);
	for (size_t i = 0; i < counts->n; i++) {
		for (int kind = 0; kind < KINDS; kind++)
			diff_cells_renumber(&counts->captures[i].cells[kind], numbers[kind]);
	}
	free(numbers[KIND_FUNCTION]);
	free(numbers[KIND_PATH]);
}
