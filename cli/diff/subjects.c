/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/diff/subjects.h"
#include "cli/print/text.h"

#define FIRST_SIZE 256
/* With fewer samples, a function cannot be compared. */
#define SAMPLES_MIN 20

static void items_add(struct diff_items *items, struct diff_item *item)
{
	items->items =
		memory_reserve(items->items, &items->capacity, items->n, sizeof(*items->items));
	item->number = items->n;
	items->items[items->n++] = item;
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
	*subjects = (struct diff_subjects){ .n_buckets = FIRST_SIZE, .n_edge_buckets = FIRST_SIZE };
	subjects->buckets = memory_get(FIRST_SIZE * sizeof(*subjects->buckets));
	subjects->edges = memory_get(FIRST_SIZE * sizeof(*subjects->edges));
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
		free(function->symbol.module);
		free(function);
	}
	for (size_t i = 0; i < subjects->kinds[KIND_PATH].n; i++)
		free(subjects->kinds[KIND_PATH].items[i]);
	for (size_t i = 0; i < subjects->n_edge_buckets; i++) {
		for (struct diff_edge *edge = subjects->edges[i], *next; edge; edge = next) {
			next = edge->next;
			free(edge);
		}
	}
	for (int kind = 0; kind < KINDS; kind++)
		free(subjects->kinds[kind].items);
	free(subjects->buckets);
	free(subjects->edges);
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

static void put_function(struct diff_subjects *subjects, struct diff_function *function)
{
	struct diff_function **bucket =
		&subjects->buckets[function->hash & (subjects->n_buckets - 1)];

	function->next = *bucket;
	*bucket = function;
}

static void grow_functions(struct diff_subjects *subjects)
{
	const struct diff_items *functions = &subjects->kinds[KIND_FUNCTION];

	free(subjects->buckets);
	subjects->n_buckets *= 2;
	subjects->buckets = memory_get(subjects->n_buckets * sizeof(*subjects->buckets));
	for (size_t i = 0; i < functions->n; i++)
		put_function(subjects, functions->items[i]->function);
}

struct diff_function *diff_function_get(struct diff_subjects *subjects, const char *name,
					const char *module, bool is_mark)
{
	uint64_t hash = hash_text(hash_text(0xcbf29ce484222325 ^ is_mark, name), module);
	struct diff_function *function = subjects->buckets[hash & (subjects->n_buckets - 1)];

	while (function &&
	       (function->hash != hash || function->symbol.pseudo != is_mark ||
		strcmp(function->raw, name) != 0 || strcmp(function->raw_module, module) != 0))
		function = function->next;
	if (function)
		return function;
	if (subjects->kinds[KIND_FUNCTION].n == subjects->n_buckets)
		grow_functions(subjects);
	function = memory_get(sizeof(*function));
	*function = (struct diff_function){
		.item.function = function,
		.symbol.name = text_escape(name, ""),
		.symbol.module = text_escape(module, ""),
		.symbol.pseudo = is_mark,
		.raw = memory_print("%s", name),
		.raw_module = memory_print("%s", module),
		.hash = hash,
	};
	items_add(&subjects->kinds[KIND_FUNCTION], &function->item);
	put_function(subjects, function);
	return function;
}

/* ---- edges -------------------------------------------------------------------------------- */

static struct diff_edge **edge_bucket(const struct diff_subjects *subjects,
				      const struct diff_function *function,
				      const struct diff_function *caller)
{
	uint64_t hash = (function->item.number * 0x9e3779b97f4a7c15 + caller->item.number) *
			0x9e3779b97f4a7c15;

	return &subjects->edges[(hash >> 32) & (subjects->n_edge_buckets - 1)];
}

static void put_edge(struct diff_subjects *subjects, struct diff_edge *edge)
{
	struct diff_edge **bucket = edge_bucket(subjects, edge->function, edge->caller);

	edge->next = *bucket;
	*bucket = edge;
}

static void grow_edges(struct diff_subjects *subjects)
{
	struct diff_edge **old = subjects->edges;
	size_t n_old = subjects->n_edge_buckets;

	subjects->n_edge_buckets *= 2;
	subjects->edges = memory_get(subjects->n_edge_buckets * sizeof(*subjects->edges));
	for (size_t i = 0; i < n_old; i++) {
		for (struct diff_edge *edge = old[i], *next; edge; edge = next) {
			next = edge->next;
			put_edge(subjects, edge);
		}
	}
	free(old);
}

struct diff_edge *diff_edge_get(struct diff_subjects *subjects, struct diff_function *function,
				struct diff_function *caller)
{
	struct diff_edge *edge = *edge_bucket(subjects, function, caller);

	while (edge && (edge->function != function || edge->caller != caller))
		edge = edge->next;
	if (edge)
		return edge;
	if (subjects->n_edges++ == subjects->n_edge_buckets)
		grow_edges(subjects);
	edge = memory_get(sizeof(*edge));
	*edge = (struct diff_edge){ .function = function, .caller = caller };
	put_edge(subjects, edge);
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
