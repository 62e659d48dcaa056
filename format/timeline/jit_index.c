/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A segment tree over the addresses at which ranges begin and end.  Each node lists the ranges that
 * cover it but not its parent, as changes: from which moment on which range is the last.
 */
#include <stdlib.h>

#include "base/array.h"
#include "format/timeline/jit_index.h"

/* From `moment` on. */
struct change {
	uint32_t moment;
	uint32_t range; /* range number + 1; 0: none */
};

struct reel_jit_index {
	struct reel_jit_range *ranges;
	size_t n;
	/* Where leaves begin: each ends at the next one's begin, the last at 2^64. */
	uint64_t *addresses;
	size_t n_leaves;
	/* Leaves are the nodes n_leaves and up, and the parent of i is i / 2.  A node's changes end
	 * at the next node's. */
	size_t *nodes;
	struct change *changes;
};

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The leaf that holds the address, which must not be below the first leaf. */
static size_t leaf_of(const struct reel_jit_index *index, uint64_t address)
{
	size_t low = 0, high = index->n_leaves;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (index->addresses[middle] <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static struct reel_error *make_leaves(struct reel_jit_index *index)
{
	uint64_t *addresses = calloc(2 * index->n + 1, sizeof(*addresses));
	size_t n = 0;

	index->addresses = addresses;
	if (!addresses)
		return reel_error_no_memory();
	for (size_t i = 0; i < index->n; i++) {
		addresses[n++] = index->ranges[i].first;
		if (index->ranges[i].last != UINT64_MAX)
			addresses[n++] = index->ranges[i].last + 1;
	}
	qsort(addresses, n, sizeof(*addresses), compare_addresses);
	for (size_t i = 0; i < n; i++) {
		if (!i || addresses[i] != addresses[i - 1])
			addresses[index->n_leaves++] = addresses[i];
	}
	return NULL;
}

/* Calls `visit` for the nodes that together make up the range. */
static void visit_nodes(struct reel_jit_index *index, size_t number,
			void (*visit)(struct reel_jit_index *index, size_t node, size_t number))
{
	const struct reel_jit_range *range = &index->ranges[number];
	size_t low = index->n_leaves + leaf_of(index, range->first);
	size_t high = index->n_leaves + leaf_of(index, range->last) + 1;

	for (; low < high; low /= 2, high /= 2) {
		if (low % 2)
			visit(index, low++, number);
		if (high % 2)
			visit(index, --high, number);
	}
}

static void count_range(struct reel_jit_index *index, size_t node, size_t number)
{
	(void)number;
	index->nodes[node + 1]++;
}

/* While adding ranges, a node's number is its next free place; each takes two changes. */
static void put_range(struct reel_jit_index *index, size_t node, size_t number)
{
	index->changes[2 * index->nodes[node]++].range = (uint32_t)number;
}

/* Adds a change; it replaces an earlier change of the same moment. */
static size_t add_change(struct change *changes, size_t n, uint32_t moment, uint32_t range)
{
	n -= n && changes[n - 1].moment == moment;
	changes[n] = (struct change){ moment, range };
	return n + 1;
}

/*
 * Makes changes from a node's ranges, which are at every second place of `from`, in order of their
 * beginnings; returns their number.  It makes no more changes than it read places.
 */
static size_t make_changes(const struct reel_jit_index *index, const struct change *from,
			   size_t n_from, struct change *changes, uint32_t *open)
{
	const struct reel_jit_range *ranges = index->ranges;
	size_t n_open = 0, n = 0;

	for (size_t i = 0; i <= n_from; i++) {
		uint32_t number = i < n_from ? from[2 * i].range : 0;
		uint32_t begin = i < n_from ? ranges[number].begin : UINT32_MAX;

		while (n_open && ranges[open[n_open - 1]].end <= begin) {
			uint32_t end = ranges[open[--n_open]].end;

			n = add_change(changes, n, end, n_open ? open[n_open - 1] + 1 : 0);
		}
		if (i == n_from)
			break;
		n = add_change(changes, n, begin, number + 1);
		open[n_open++] = number;
	}
	return n;
}

static struct reel_error *fill_nodes(struct reel_jit_index *index)
{
	size_t n_nodes = 2 * index->n_leaves, n_parts, begin = 0, n = 0;
	uint32_t *open = calloc(index->n + 1, sizeof(*open));

	index->nodes = calloc(n_nodes + 2, sizeof(*index->nodes));
	if (!index->nodes || !open) {
		free(open);
		return reel_error_no_memory();
	}
	for (size_t i = 0; i < index->n; i++)
		visit_nodes(index, i, count_range);
	for (size_t i = 0; i < n_nodes; i++)
		index->nodes[i + 1] += index->nodes[i];
	n_parts = index->nodes[n_nodes];
	index->changes = calloc(2 * n_parts + 1, sizeof(*index->changes));
	if (!index->changes) {
		free(open);
		return reel_error_no_memory();
	}
	for (size_t i = 0; i < index->n; i++)
		visit_nodes(index, i, put_range);
	/* From here on each node's number is where the next node's ranges begin. */
	for (size_t i = 0; i < n_nodes; i++) {
		size_t end = index->nodes[i];

		index->nodes[i] = n;
		n += make_changes(index, &index->changes[2 * begin], end - begin,
				  &index->changes[n], open);
		begin = end;
	}
	index->nodes[n_nodes] = n;
	free(open);
	return NULL;
}

struct reel_error *reel_jit_index_create(struct reel_jit_range *ranges, size_t n,
					 struct reel_jit_index **ret)
{
	struct reel_jit_index *index = calloc(1, sizeof(*index));
	struct reel_error *error;

	if (!index) {
		free(ranges);
		return reel_error_no_memory();
	}
	index->ranges = ranges;
	index->n = n;
	error = make_leaves(index);
	if (!error)
		error = fill_nodes(index);
	if (error)
		reel_jit_index_destroy(index);
	else
		*ret = index;
	return error;
}

void reel_jit_index_destroy(struct reel_jit_index *index)
{
	if (!index)
		return;
	free(index->ranges);
	free(index->addresses);
	free(index->nodes);
	free(index->changes);
	free(index);
}

/* The node's range at that moment, as its number + 1; 0: none. */
static uint32_t range_of_node(const struct reel_jit_index *index, size_t node, uint32_t moment)
{
	const struct change *changes = &index->changes[index->nodes[node]];
	size_t n = REEL_PARTITION_POINT(index->nodes[node + 1] - index->nodes[node], i,
					changes[i].moment <= moment);

	return n ? changes[n - 1].range : 0;
}

const void *reel_jit_index_find(const struct reel_jit_index *index, uint32_t moment,
				uint64_t address)
{
	uint32_t last = 0;

	if (!index || !index->n_leaves || address < index->addresses[0])
		return NULL;
	/* A higher number began later. */
	for (size_t node = index->n_leaves + leaf_of(index, address); node; node /= 2) {
		uint32_t range = range_of_node(index, node, moment);

		last = range > last ? range : last;
	}
	return last ? index->ranges[last - 1].value : NULL;
}
