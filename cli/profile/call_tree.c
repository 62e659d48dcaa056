/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/profile/call_tree.h"
#include "cli/print/output.h"
#include "cli/print/text.h"

#define FIRST_NODES 256u
/* More would not fit the 32-bit indexes of a half-full table. */
#define MAX_NODES 0x7ffffff0u

void call_tree_init(struct call_tree *tree)
{
	*tree = (struct call_tree){ .capacity = FIRST_NODES, .slot_mask = 2 * FIRST_NODES - 1 };
	tree->nodes = memory_resize(NULL, tree->capacity, sizeof(*tree->nodes));
	tree->slots = memory_get((tree->slot_mask + 1) * sizeof(*tree->slots));
	tree->nodes[tree->n_nodes++] = (struct call_tree_node){
		.parent = CALL_TREE_NONE,
		.first_child = CALL_TREE_NONE,
		.next_sibling = CALL_TREE_NONE,
	};
}

void call_tree_free(struct call_tree *tree)
{
	free(tree->nodes);
	free(tree->slots);
	free(tree->path);
	free(tree->path_frames);
	free(tree->tails);
	free(tree->tail_keys);
	*tree = (struct call_tree){ 0 };
}

/* ---- adding ------------------------------------------------------------------------ */

static uint32_t hash(uint32_t parent, const void *key)
{
	uint64_t mixed = ((uint64_t)(uintptr_t)key ^ (uint64_t)parent << 32) * 0x9e3779b97f4a7c15;

	return (uint32_t)(mixed >> 32) ^ parent * 0x85ebca6bu;
}

static void insert_slot(struct call_tree *tree, uint32_t node)
{
	uint32_t slot = hash(tree->nodes[node].parent, tree->nodes[node].key) & tree->slot_mask;

	while (tree->slots[slot])
		slot = (slot + 1) & tree->slot_mask;
	tree->slots[slot] = node;
}

static void grow_nodes(struct call_tree *tree)
{
	if (tree->capacity >= MAX_NODES / 2) {
		complain("more than %u distinct calls; narrow down with --time or --pid",
			 tree->capacity);
		exit(STATUS_ERROR);
	}
	tree->capacity *= 2;
	tree->nodes = memory_resize(tree->nodes, tree->capacity, sizeof(*tree->nodes));
	tree->slot_mask = tree->slot_mask * 2 + 1;
	free(tree->slots);
	tree->slots = memory_get(((size_t)tree->slot_mask + 1) * sizeof(*tree->slots));
	for (uint32_t node = 1; node < tree->n_nodes; node++)
		insert_slot(tree, node);
}

/* CALL_TREE_NONE: none. */
static uint32_t find_child(const struct call_tree *tree, uint32_t parent, const void *key)
{
	uint32_t slot, node = parent + 1;

	/* Most nodes of a deep stack directly follow their parents in memory, so they are in the
	 * cache. */
	if (node < tree->n_nodes && tree->nodes[node].key == key &&
	    tree->nodes[node].parent == parent)
		return node;
	slot = hash(parent, key) & tree->slot_mask;
	for (; (node = tree->slots[slot]) != 0; slot = (slot + 1) & tree->slot_mask) {
		if (tree->nodes[node].key == key && tree->nodes[node].parent == parent)
			return node;
	}
	return CALL_TREE_NONE;
}

/* The key must not have a child yet. */
static uint32_t add_child(struct call_tree *tree, uint32_t parent, const void *key)
{
	uint32_t slot, node;

	if (tree->n_nodes == tree->capacity)
		grow_nodes(tree);
	slot = hash(parent, key) & tree->slot_mask;
	while (tree->slots[slot])
		slot = (slot + 1) & tree->slot_mask;
	node = tree->n_nodes++;
	tree->nodes[node] = (struct call_tree_node){
		.key = key,
		.parent = parent,
		.first_child = CALL_TREE_NONE,
		.next_sibling = CALL_TREE_NONE,
	};
	tree->slots[slot] = node;
	return node;
}

/* ---- tails -------------------------------------------------------------------------- */

static uint32_t new_tail(struct call_tree *tree, struct call_tree_tail tail)
{
	tree->tails = memory_reserve(tree->tails, &tree->tails_capacity, tree->n_tails + 1,
				     sizeof(*tree->tails));
	if (!tree->n_tails)
		tree->n_tails = 1;
	/* A node has at most one tail, so there are fewer tails than nodes. */
	tree->tails[tree->n_tails] = tail;
	return (uint32_t)tree->n_tails++;
}

/* Attaches the rest of a tail, from key `from` on, below a node that has the previous key. */
static void attach_rest(struct call_tree *tree, uint32_t node, uint32_t index, size_t from)
{
	struct call_tree_tail *tail = &tree->tails[index];

	if (from == tail->n) {
		amount_add(&tree->nodes[node].self, tail->self);
		tail->node = node;
		return;
	}
	tail->first += from;
	tail->n -= from;
	tree->nodes[node].tail = index;
}

/*
 * Makes nodes of the tail's first `n` keys, and the rest the last node's tail. Returns that node.
 */
static uint32_t make_nodes(struct call_tree *tree, uint32_t node, size_t n)
{
	uint32_t index = tree->nodes[node].tail;
	const void **keys = tree->tail_keys + tree->tails[index].first;

	if (!n)
		return node;
	tree->nodes[node].tail = 0;
	for (size_t i = 0; i < n; i++)
		node = add_child(tree, node, keys[i]);
	attach_rest(tree, node, index, n);
	return node;
}

void call_tree_forget_frames(struct call_tree *tree)
{
	tree->path_length = tree->n_path = 0;
}

static void expand(struct call_tree *tree)
{
	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		if (tree->nodes[i].tail)
			make_nodes(tree, i, tree->tails[tree->nodes[i].tail].n);
	}
	/* From now on paths end at nodes. */
	call_tree_forget_frames(tree);
}

/* ---- adding stacks ---------------------------------------------------------------------- */

uint32_t call_tree_child(struct call_tree *tree, uint32_t parent, const void *key)
{
	uint32_t child;

	if (tree->nodes[parent].tail)
		make_nodes(tree, parent, 1);
	child = find_child(tree, parent, key);
	return child == CALL_TREE_NONE ? add_child(tree, parent, key) : child;
}

/* The number of frames, from the root on, shared with the previous stack. */
static size_t common_length(const struct call_tree *tree, uint32_t start,
			    const struct reel_frame *const *frames, size_t n)
{
	size_t limit = n < tree->path_length ? n : tree->path_length;
	size_t length = 0;

	if (!limit || tree->nodes[tree->path[0]].parent != start)
		return 0;
	while (length < limit && tree->path_frames[length] == frames[n - 1 - length])
		length++;
	return length;
}

static void reserve_path(struct call_tree *tree, size_t n)
{
	tree->path_frames = memory_reserve(tree->path_frames, &(size_t){ tree->path_capacity }, n,
					   sizeof(*tree->path_frames));
	tree->path = memory_reserve(tree->path, &tree->path_capacity, n, sizeof(*tree->path));
}

static const void *key_of(const struct call_tree *tree, const struct reel_frame *frame)
{
	return tree->key_of ? tree->key_of(tree->context, frame) : frame;
}

/* A stack on its way down the tree: root first, frame i is frames[n - 1 - i]. */
struct descent {
	const struct reel_frame *const *frames;
	size_t n;
	size_t common; /* frames shared with the previous stack */
	size_t length; /* frames down to `node` */
	uint32_t node;
};

/*
 * The node has a tail. True if the stack equals the tail; otherwise makes nodes of the common part,
 * and the stack continues from the last one.
 */
static bool follow_tail(struct call_tree *tree, struct descent *descent, struct amount amount)
{
	struct call_tree_tail *tail = &tree->tails[tree->nodes[descent->node].tail];
	size_t left = descent->n - descent->length, limit = left < tail->n ? left : tail->n;
	const void **keys = tree->tail_keys + tail->first;
	size_t same = 0;

	/* The previous stack took this path, if it reached the node. */
	if (descent->common > descent->length)
		same = descent->common - descent->length;
	if (same > limit)
		same = limit;
	while (same < limit &&
	       keys[same] == key_of(tree, descent->frames[descent->n - 1 - descent->length - same]))
		same++;
	if (same == tail->n && same == left) {
		amount_add(&tail->self, amount);
		return true;
	}
	for (size_t i = 0; i < same; i++) {
		make_nodes(tree, descent->node, 1);
		/* The last node made. */
		descent->node = tree->n_nodes - 1;
		tree->path[descent->length++] = descent->node;
	}
	if (descent->length < descent->n && tree->nodes[descent->node].tail)
		make_nodes(tree, descent->node, 1);
	return false;
}

/* The rest of the stack, from the frame at `length` on, is new below the node. */
static void add_tail(struct call_tree *tree, const struct descent *descent, struct amount amount)
{
	size_t left = descent->n - descent->length;

	if (tree->n_tail_keys + left > tree->tail_keys_capacity) {
		tree->tail_keys_capacity = tree->tail_keys_capacity * 3 / 2 + left + 64;
		tree->tail_keys = memory_resize(tree->tail_keys, tree->tail_keys_capacity,
						sizeof(*tree->tail_keys));
	}
	for (size_t i = descent->length; i < descent->n; i++)
		tree->tail_keys[tree->n_tail_keys + i - descent->length] =
			key_of(tree, descent->frames[descent->n - 1 - i]);
	tree->nodes[descent->node].tail =
		new_tail(tree, (struct call_tree_tail){ tree->n_tail_keys, left, amount, 0 });
	tree->n_tail_keys += left;
}

/* Descends to the node or tail for the whole stack, and returns it. */
static uint32_t descend(struct call_tree *tree, struct descent *descent, struct amount amount)
{
	while (descent->length < descent->n) {
		const void *key;
		uint32_t child;

		if (tree->nodes[descent->node].tail) {
			if (follow_tail(tree, descent, amount))
				return tree->nodes[descent->node].tail | CALL_TREE_TAIL;
			continue;
		}
		key = key_of(tree, descent->frames[descent->n - 1 - descent->length]);
		child = find_child(tree, descent->node, key);
		descent->node =
			child == CALL_TREE_NONE ? add_child(tree, descent->node, key) : child;
		tree->path[descent->length++] = descent->node;
		if (child == CALL_TREE_NONE && descent->length < descent->n) {
			add_tail(tree, descent, amount);
			return tree->nodes[descent->node].tail | CALL_TREE_TAIL;
		}
	}
	amount_add(&tree->nodes[descent->node].self, amount);
	return descent->node;
}

uint32_t call_tree_add(struct call_tree *tree, uint32_t start,
		       const struct reel_frame *const *frames, size_t n, struct amount amount)
{
	size_t common = common_length(tree, start, frames, n);
	size_t length = common < tree->n_path ? common : tree->n_path;
	struct descent descent = {
		.frames = frames,
		.n = n,
		.common = common,
		.length = length,
		.node = length ? tree->path[length - 1] : start,
	};

	uint32_t end;

	reserve_path(tree, n);
	end = descend(tree, &descent, amount);
	tree->n_path = descent.length;
	for (size_t i = common; i < n; i++)
		tree->path_frames[i] = frames[n - 1 - i];
	tree->path_length = n;
	return end;
}

/* ---- finishing --------------------------------------------------------------------- */

static bool is_before(const struct call_tree *tree, uint32_t a, uint32_t b)
{
	const struct call_tree_node *x = &tree->nodes[a], *y = &tree->nodes[b];

	if (tree->by_key)
		return tree->compare(x->key, y->key) < 0;
	if (x->total.weight != y->total.weight)
		return x->total.weight > y->total.weight;
	if (x->total.samples != y->total.samples)
		return x->total.samples > y->total.samples;
	return tree->compare && tree->compare(x->key, y->key) < 0;
}

/* Merges two sorted lists of siblings. */
static uint32_t merge(const struct call_tree *tree, uint32_t a, uint32_t b)
{
	uint32_t first = CALL_TREE_NONE, *link = &first;

	while (a != CALL_TREE_NONE && b != CALL_TREE_NONE) {
		uint32_t *taken = is_before(tree, b, a) ? &b : &a;

		*link = *taken;
		link = &tree->nodes[*taken].next_sibling;
		*taken = *link;
	}
	*link = a != CALL_TREE_NONE ? a : b;
	return first;
}

/* Merge sort from the bottom up: bins[i] holds a list of 2^i siblings. */
static uint32_t sort_siblings(const struct call_tree *tree, uint32_t list)
{
	struct call_tree_node *nodes = tree->nodes;
	uint32_t bins[32], sorted = CALL_TREE_NONE;
	size_t i;

	for (i = 0; i < 32; i++)
		bins[i] = CALL_TREE_NONE;
	while (list != CALL_TREE_NONE) {
		uint32_t one = list;

		list = nodes[one].next_sibling;
		nodes[one].next_sibling = CALL_TREE_NONE;
		for (i = 0; i < 31 && bins[i] != CALL_TREE_NONE; i++) {
			one = merge(tree, bins[i], one);
			bins[i] = CALL_TREE_NONE;
		}
		bins[i] = one;
	}
	/* Higher bins hold earlier siblings. */
	for (i = 0; i < 32; i++)
		sorted = merge(tree, bins[i], sorted);
	return sorted;
}

void call_tree_link(struct call_tree *tree)
{
	struct call_tree_node *nodes = tree->nodes;

	for (uint32_t i = 0; i < tree->n_nodes; i++)
		nodes[i].first_child = nodes[i].next_sibling = CALL_TREE_NONE;
	/* From the end: lists in the order of creation. */
	for (uint32_t i = tree->n_nodes; i-- > 1;) {
		nodes[i].next_sibling = nodes[nodes[i].parent].first_child;
		nodes[nodes[i].parent].first_child = i;
	}
}

void call_tree_finish(struct call_tree *tree)
{
	struct call_tree_node *nodes;

	expand(tree);
	call_tree_link(tree);
	nodes = tree->nodes;
	for (uint32_t i = 0; i < tree->n_nodes; i++)
		nodes[i].total = nodes[i].self;
	/* From the end: children before their parents. */
	for (uint32_t i = tree->n_nodes; i-- > 1;)
		amount_add(&nodes[nodes[i].parent].total, nodes[i].total);
	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		if (nodes[i].first_child != CALL_TREE_NONE)
			nodes[i].first_child = sort_siblings(tree, nodes[i].first_child);
	}
}

void call_tree_map(struct call_tree *tree, const void *(*key)(void *context, const void *key),
		   void *context, int collapse, struct call_tree *ret)
{
	uint32_t *mapped;

	expand(tree);
	mapped = memory_resize(NULL, tree->n_nodes, sizeof(*mapped));
	call_tree_init(ret);
	ret->compare = tree->compare;
	mapped[CALL_TREE_ROOT] = CALL_TREE_ROOT;
	ret->nodes[CALL_TREE_ROOT].self = tree->nodes[CALL_TREE_ROOT].self;
	for (uint32_t i = 1; i < tree->n_nodes; i++) {
		uint32_t node = mapped[tree->nodes[i].parent];
		const void *new_key = key(context, tree->nodes[i].key);

		if (new_key && !(collapse && ret->nodes[node].key == new_key))
			node = call_tree_child(ret, node, new_key);
		amount_add(&ret->nodes[node].self, tree->nodes[i].self);
		mapped[i] = node;
	}
	free(mapped);
}

/* ---- walking ------------------------------------------------------------------------ */

void call_tree_walk(const struct call_tree *tree,
		    int (*enter)(void *context, uint32_t node, size_t depth),
		    void (*leave)(void *context, uint32_t node, size_t depth), void *context)
{
	const struct call_tree_node *nodes = tree->nodes;
	uint32_t node = nodes[CALL_TREE_ROOT].first_child;
	size_t depth = 1;

	while (node != CALL_TREE_NONE) {
		if (enter(context, node, depth) && nodes[node].first_child != CALL_TREE_NONE) {
			node = nodes[node].first_child;
			depth++;
			continue;
		}
		/* Go up to the first node with a further sibling. */
		for (;;) {
			if (leave)
				leave(context, node, depth);
			if (nodes[node].next_sibling != CALL_TREE_NONE) {
				node = nodes[node].next_sibling;
				break;
			}
			node = nodes[node].parent;
			if (--depth == 0)
				return;
		}
	}
}
