/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Join-based AVL trees (Blelloch, Ferizovic, Sun: Just Join for Parallel Ordered Sets, 2016).  All
 * functions that return a node take ownership of the references passed in.
 */
#include <stdlib.h>

#include "format/timeline/mapping_tree.h"

struct reel_mapping_node {
	struct reel_mapping_node *left, *right; /* `left` links free nodes */
	uint64_t refs : 56;
	uint64_t height : 8;
	struct reel_mapping mapping;
};

#define SLAB_NODES 255

struct reel_mapping_slab {
	struct reel_mapping_slab *next;
	struct reel_mapping_node nodes[SLAB_NODES];
};

/* ---- nodes ------------------------------------------------------------------ */

void reel_mapping_pool_free(struct reel_mapping_pool *pool)
{
	struct reel_mapping_slab *next;

	for (struct reel_mapping_slab *slab = pool->slabs; slab; slab = next) {
		next = slab->next;
		free(slab);
	}
	*pool = (struct reel_mapping_pool){ 0 };
}

static void node_free(struct reel_mapping_pool *pool, struct reel_mapping_node *node)
{
	node->refs = 0;
	node->left = pool->free;
	pool->free = node;
	pool->n_free++;
}

static bool is_unused(const struct reel_mapping_slab *slab)
{
	for (size_t i = 0; i < SLAB_NODES; i++) {
		if (slab->nodes[i].refs)
			return false;
	}
	return true;
}

void reel_mapping_pool_trim(struct reel_mapping_pool *pool)
{
	struct reel_mapping_slab **link = &pool->slabs, *slab;

	pool->free = NULL;
	pool->n_free = 0;
	while ((slab = *link)) {
		if (is_unused(slab)) {
			*link = slab->next;
			pool->n_nodes -= SLAB_NODES;
			free(slab);
			continue;
		}
		for (size_t i = 0; i < SLAB_NODES; i++) {
			if (!slab->nodes[i].refs)
				node_free(pool, &slab->nodes[i]);
		}
		link = &slab->next;
	}
}

void reel_mapping_pool_visit(const struct reel_mapping_pool *pool,
			     void (*visit)(void *context, const struct reel_mapping *mapping),
			     void *context)
{
	for (const struct reel_mapping_slab *slab = pool->slabs; slab; slab = slab->next) {
		for (size_t i = 0; i < SLAB_NODES; i++) {
			if (slab->nodes[i].refs)
				visit(context, &slab->nodes[i].mapping);
		}
	}
}

/* The next `count` nodes can be taken without a failure. */
static bool pool_reserve(struct reel_mapping_pool *pool, size_t count)
{
	while (pool->n_free < count) {
		struct reel_mapping_slab *slab = malloc(sizeof(*slab));

		if (!slab)
			return false;
		slab->next = pool->slabs;
		pool->slabs = slab;
		pool->n_nodes += SLAB_NODES;
		for (size_t i = 0; i < SLAB_NODES; i++)
			node_free(pool, &slab->nodes[i]);
	}
	return true;
}

static unsigned int height_of(const struct reel_mapping_node *node)
{
	return node ? (unsigned int)node->height : 0;
}

unsigned int reel_mapping_tree_height(const struct reel_mapping_node *root)
{
	return height_of(root);
}

static uint64_t last_of(const struct reel_mapping *mapping)
{
	return mapping->address + (mapping->size - 1);
}

struct reel_mapping_node *reel_mapping_tree_ref(struct reel_mapping_node *root)
{
	if (root)
		root->refs++;
	return root;
}

void reel_mapping_tree_unref(struct reel_mapping_pool *pool, struct reel_mapping_node *root)
{
	/* One child by recursion, the other by the loop: no deeper than the tree. */
	while (root && --root->refs == 0) {
		struct reel_mapping_node *right = root->right;

		reel_mapping_tree_unref(pool, root->left);
		node_free(pool, root);
		root = right;
	}
}

static struct reel_mapping_node *node_make(struct reel_mapping_pool *pool,
					   struct reel_mapping_node *left,
					   const struct reel_mapping *mapping,
					   struct reel_mapping_node *right)
{
	struct reel_mapping_node *node = pool->free;
	unsigned int l = height_of(left), r = height_of(right);

	pool->free = node->left;
	pool->n_free--;
	*node = (struct reel_mapping_node){
		.left = left,
		.right = right,
		.refs = 1,
		.height = (l > r ? l : r) + 1,
		.mapping = *mapping,
	};
	return node;
}

/* The parts of a node; the caller owns the references to the children. */
struct parts {
	struct reel_mapping_node *left, *right;
	struct reel_mapping mapping;
};

static struct parts node_take(struct reel_mapping_pool *pool, struct reel_mapping_node *node)
{
	struct parts parts = { node->left, node->right, node->mapping };

	if (node->refs == 1) {
		node_free(pool, node);
	} else {
		node->refs--;
		reel_mapping_tree_ref(parts.left);
		reel_mapping_tree_ref(parts.right);
	}
	return parts;
}

/* ---- joining and splitting -------------------------------------------------- */

/* Like node_make, but one side may be higher than the other by 2 (AVL's rotations). */
static struct reel_mapping_node *balance(struct reel_mapping_pool *pool,
					 struct reel_mapping_node *left,
					 const struct reel_mapping *mapping,
					 struct reel_mapping_node *right)
{
	struct parts outer, inner;

	if (height_of(left) > height_of(right) + 1) {
		outer = node_take(pool, left);
		if (height_of(outer.left) >= height_of(outer.right))
			return node_make(pool, outer.left, &outer.mapping,
					 node_make(pool, outer.right, mapping, right));
		inner = node_take(pool, outer.right);
		right = node_make(pool, inner.right, mapping, right);
		left = node_make(pool, outer.left, &outer.mapping, inner.left);
		return node_make(pool, left, &inner.mapping, right);
	}
	if (height_of(right) > height_of(left) + 1) {
		outer = node_take(pool, right);
		if (height_of(outer.right) >= height_of(outer.left))
			return node_make(pool, node_make(pool, left, mapping, outer.left),
					 &outer.mapping, outer.right);
		inner = node_take(pool, outer.left);
		left = node_make(pool, left, mapping, inner.left);
		right = node_make(pool, inner.right, &outer.mapping, outer.right);
		return node_make(pool, left, &inner.mapping, right);
	}
	return node_make(pool, left, mapping, right);
}

/* left < mapping < right, of any heights: O(their difference). */
static struct reel_mapping_node *join(struct reel_mapping_pool *pool,
				      struct reel_mapping_node *left,
				      const struct reel_mapping *mapping,
				      struct reel_mapping_node *right)
{
	struct parts parts;

	if (height_of(left) > height_of(right) + 1) {
		parts = node_take(pool, left);
		return balance(pool, parts.left, &parts.mapping,
			       join(pool, parts.right, mapping, right));
	}
	if (height_of(right) > height_of(left) + 1) {
		parts = node_take(pool, right);
		return balance(pool, join(pool, left, mapping, parts.left), &parts.mapping,
			       parts.right);
	}
	return node_make(pool, left, mapping, right);
}

/* Removes the last mapping; `root` is not NULL. */
static struct reel_mapping_node *take_last(struct reel_mapping_pool *pool,
					   struct reel_mapping_node *root, struct reel_mapping *ret)
{
	struct parts parts = node_take(pool, root);

	if (!parts.right) {
		*ret = parts.mapping;
		return parts.left;
	}
	return join(pool, parts.left, &parts.mapping, take_last(pool, parts.right, ret));
}

static struct reel_mapping_node *concatenate(struct reel_mapping_pool *pool,
					     struct reel_mapping_node *left,
					     struct reel_mapping_node *right)
{
	struct reel_mapping middle;

	if (!left)
		return right;
	left = take_last(pool, left, &middle);
	return join(pool, left, &middle, right);
}

/* Splits into mappings that begin below `address`, and the others. */
static void split(struct reel_mapping_pool *pool, struct reel_mapping_node *root, uint64_t address,
		  struct reel_mapping_node **below_ret, struct reel_mapping_node **rest_ret)
{
	struct reel_mapping_node *inner;
	struct parts parts;

	if (!root) {
		*below_ret = *rest_ret = NULL;
		return;
	}
	parts = node_take(pool, root);
	if (parts.mapping.address < address) {
		split(pool, parts.right, address, &inner, rest_ret);
		*below_ret = join(pool, parts.left, &parts.mapping, inner);
	} else {
		split(pool, parts.left, address, below_ret, &inner);
		*rest_ret = join(pool, inner, &parts.mapping, parts.right);
	}
}

/* ---- changes ---------------------------------------------------------------- */

/* The rest of `mapping` after `last`. */
static struct reel_mapping tail_of(const struct reel_mapping *mapping, uint64_t last)
{
	struct reel_mapping tail = *mapping;
	uint64_t cut = last + 1 - mapping->address;

	tail.address += cut;
	tail.size -= cut;
	tail.offset += cut;
	return tail;
}

/* The tree with [first, last] empty, as two trees. */
static void cut_out(struct reel_mapping_pool *pool, struct reel_mapping_node *root, uint64_t first,
		    uint64_t last, struct reel_mapping_node **below_ret,
		    struct reel_mapping_node **above_ret)
{
	struct reel_mapping_node *below, *within, *above = NULL;
	const struct reel_mapping *reaches_in =
		first ? reel_mapping_tree_find(root, first - 1) : NULL;
	const struct reel_mapping *reaches_out = reel_mapping_tree_find(root, last);
	struct reel_mapping head = { 0 }, tail = { 0 };
	bool has_head = reaches_in && last_of(reaches_in) >= first;
	bool has_tail = reaches_out && last_of(reaches_out) > last;

	if (has_head) {
		head = *reaches_in;
		head.size = first - head.address;
	}
	if (has_tail)
		tail = tail_of(reaches_out, last);
	split(pool, root, first, &below, &within);
	if (last < UINT64_MAX)
		split(pool, within, last + 1, &within, &above);
	reel_mapping_tree_unref(pool, within);
	if (has_head) {
		struct reel_mapping whole;

		below = join(pool, take_last(pool, below, &whole), &head, NULL);
	}
	if (has_tail)
		above = join(pool, NULL, &tail, above);
	*below_ret = below;
	*above_ret = above;
}

/*
 * Ensures that a change of `root` cannot fail half-way.  One level of a join takes at most 3 nodes.
 * A split's joins descend at most twice the height on each side, and there are two splits and four
 * joins.  The intermediate heights are at most two more.
 */
static struct reel_error *reserve(struct reel_mapping_pool *pool,
				  const struct reel_mapping_node *root)
{
	size_t levels = height_of(root) + 2;

	return pool_reserve(pool, 3 * (2 * 2 * 2 + 4) * levels) ? NULL : reel_error_no_memory();
}

struct reel_error *reel_mapping_tree_replace(struct reel_mapping_pool *pool,
					     struct reel_mapping_node **root,
					     const struct reel_mapping *mapping)
{
	struct reel_mapping_node *below, *above;
	struct reel_mapping copy = *mapping;

	TRY(reserve(pool, *root));
	cut_out(pool, *root, copy.address, last_of(&copy), &below, &above);
	*root = join(pool, below, &copy, above);
	return NULL;
}

struct reel_error *reel_mapping_tree_remove(struct reel_mapping_pool *pool,
					    struct reel_mapping_node **root, uint64_t address,
					    uint64_t size)
{
	struct reel_mapping_node *below, *above;

	TRY(reserve(pool, *root));
	cut_out(pool, *root, address, address + (size - 1), &below, &above);
	*root = concatenate(pool, below, above);
	return NULL;
}

/* ---- look-ups ----------------------------------------------------------------- */

/* The last mapping that begins at or below `address`. */
static const struct reel_mapping *last_from(const struct reel_mapping_node *node, uint64_t address)
{
	const struct reel_mapping *best = NULL;

	while (node) {
		if (node->mapping.address <= address) {
			best = &node->mapping;
			node = node->right;
		} else {
			node = node->left;
		}
	}
	return best;
}

const struct reel_mapping *reel_mapping_tree_find(const struct reel_mapping_node *root,
						  uint64_t address)
{
	const struct reel_mapping *mapping = last_from(root, address);

	return mapping && address - mapping->address < mapping->size ? mapping : NULL;
}

const struct reel_mapping *reel_mapping_tree_below(const struct reel_mapping_node *root,
						   uint64_t address)
{
	const struct reel_mapping *mapping = last_from(root, address);

	if (mapping && address - mapping->address < mapping->size)
		mapping = mapping->address ? last_from(root, mapping->address - 1) : NULL;
	return mapping;
}

const struct reel_mapping *reel_mapping_tree_above(const struct reel_mapping_node *root,
						   uint64_t address)
{
	const struct reel_mapping *best = NULL;

	for (const struct reel_mapping_node *node = root; node;) {
		if (node->mapping.address > address) {
			best = &node->mapping;
			node = node->left;
		} else {
			node = node->right;
		}
	}
	return best;
}

void reel_mapping_tree_visit(const struct reel_mapping_node *root, uint64_t first, uint64_t last,
			     void (*visit)(void *context, const struct reel_mapping *mapping),
			     void *context)
{
	while (root) {
		const struct reel_mapping *mapping = &root->mapping;

		if (mapping->address > first)
			reel_mapping_tree_visit(root->left, first, last, visit, context);
		if (mapping->address > last)
			return;
		if (last_of(mapping) >= first)
			visit(context, mapping);
		root = root->right;
	}
}
