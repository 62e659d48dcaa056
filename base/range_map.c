/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "base/range_map.h"

void reel_range_map_free(struct reel_range_map *map)
{
	free(map->entries);
	*map = (struct reel_range_map){ 0 };
}

bool reel_range_map_add(struct reel_range_map *map, uint64_t begin, uint64_t end, uint32_t value,
			uint32_t priority)
{
	if (begin >= end)
		return true;
	if (!reel_array_reserve(&map->entries, map->n, &map->capacity, sizeof(*map->entries)))
		return false;
	map->entries[map->n++] = (struct reel_range_entry){ begin, end, value, priority };
	return true;
}

static int compare_begins(const void *left, const void *right)
{
	const struct reel_range_entry *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->priority > b->priority) - (a->priority < b->priority);
}

/* A heap of entries (by index), the highest priority on top. */
struct heap {
	const struct reel_range_entry *entries;
	uint32_t *items;
	size_t n;
};

static bool heap_before(const struct heap *heap, size_t a, size_t b)
{
	return heap->entries[heap->items[a]].priority > heap->entries[heap->items[b]].priority;
}

static void heap_swap(struct heap *heap, size_t a, size_t b)
{
	uint32_t item = heap->items[a];

	heap->items[a] = heap->items[b];
	heap->items[b] = item;
}

static void heap_push(struct heap *heap, uint32_t item)
{
	size_t at = heap->n++;

	heap->items[at] = item;
	while (at && heap_before(heap, at, (at - 1) / 2)) {
		heap_swap(heap, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

static void heap_pop(struct heap *heap)
{
	size_t at = 0;

	heap->items[0] = heap->items[--heap->n];
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= heap->n)
			return;
		if (child + 1 < heap->n && heap_before(heap, child + 1, child))
			child++;
		if (!heap_before(heap, child, at))
			return;
		heap_swap(heap, at, child);
		at = child;
	}
}

/*
 * Sweeps over the begins, with a heap of the ranges that hold the current address.  Every step
 * either adds a begin or drops an end, so each input range makes at most two output ranges.
 */
static struct reel_error *flatten(struct reel_range_map *map, uint32_t *items)
{
	const struct reel_range_entry *entries = map->entries;
	struct heap heap = { entries, items, 0 };
	struct reel_range_map flat = { 0 };
	uint64_t at = 0;
	size_t next = 0;

	while (next < map->n || heap.n) {
		const struct reel_range_entry *top;
		uint64_t end;

		if (!heap.n && entries[next].begin > at)
			at = entries[next].begin;
		while (next < map->n && entries[next].begin <= at)
			heap_push(&heap, (uint32_t)next++);
		while (heap.n && entries[heap.items[0]].end <= at)
			heap_pop(&heap);
		if (!heap.n)
			continue;
		top = &entries[heap.items[0]];
		end = top->end;
		if (next < map->n && entries[next].begin < end)
			end = entries[next].begin;
		if (flat.n && flat.entries[flat.n - 1].end == at &&
		    flat.entries[flat.n - 1].value == top->value) {
			flat.entries[flat.n - 1].end = end;
		} else if (!reel_range_map_add(&flat, at, end, top->value, top->priority)) {
			reel_range_map_free(&flat);
			return reel_error_no_memory();
		}
		at = end;
	}
	reel_range_map_free(map);
	*map = flat;
	return NULL;
}

struct reel_error *reel_range_map_build(struct reel_range_map *map)
{
	_cleanup_free_ uint32_t *items = NULL;
	bool sorted = true, disjoint = true;

	if (map->n > UINT32_MAX)
		return reel_error_create(REEL_ERROR_UNSUPPORTED, "more than 2^32 address ranges");
	for (size_t i = 1; i < map->n && sorted; i++)
		sorted = compare_begins(&map->entries[i - 1], &map->entries[i]) <= 0;
	if (!sorted)
		qsort(map->entries, map->n, sizeof(*map->entries), compare_begins);
	for (size_t i = 1; i < map->n && disjoint; i++)
		disjoint = map->entries[i - 1].end <= map->entries[i].begin;
	if (disjoint)
		return NULL;
	items = reallocarray(NULL, map->n, sizeof(*items));
	if (!items)
		return reel_error_no_memory();
	return flatten(map, items);
}

const struct reel_range_entry *reel_range_map_find(const struct reel_range_map *map,
						   uint64_t address)
{
	size_t low = REEL_PARTITION_POINT(map->n, i, map->entries[i].begin <= address);

	return low && address < map->entries[low - 1].end ? &map->entries[low - 1] : NULL;
}

const struct reel_range_entry *reel_range_map_find_unbuilt(const struct reel_range_map *map,
							   uint64_t address)
{
	const struct reel_range_entry *best = NULL;

	for (size_t i = 0; i < map->n; i++) {
		const struct reel_range_entry *it = &map->entries[i];

		if (address >= it->begin && address < it->end &&
		    (!best || it->priority >= best->priority))
			best = it;
	}
	return best;
}
