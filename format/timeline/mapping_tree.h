/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings that do not overlap, in persistent AVL trees: a change makes new nodes along one path
 * and leaves the old tree unchanged if it is still referenced.  AVL, because its depth is bounded
 * (1.44 log2 n) whatever addresses a file chooses.
 *
 * A root is NULL (no mappings) or a counted reference.  Nodes that only one tree holds are reused
 * in place, so a timeline without a past allocates nothing in the long run.
 */
#ifndef FORMAT_TIMELINE_MAPPING_TREE_H
#define FORMAT_TIMELINE_MAPPING_TREE_H

#include "base/error.h"
#include "format/timeline/space.h"

struct reel_mapping_node;

/* Allocates nodes; all zero is an empty pool.  Freeing it frees every tree made from it. */
struct reel_mapping_pool {
	struct reel_mapping_slab *slabs;
	struct reel_mapping_node *free;
	size_t n_free, n_nodes;
};

void reel_mapping_pool_free(struct reel_mapping_pool *pool);
/* Frees the memory of nodes that no tree has, as far as it is not between others. */
void reel_mapping_pool_trim(struct reel_mapping_pool *pool);
/* The mappings of all trees, each node once, even if several trees share it. */
void reel_mapping_pool_visit(const struct reel_mapping_pool *pool,
			     void (*visit)(void *context, const struct reel_mapping *mapping),
			     void *context);

struct reel_mapping_node *reel_mapping_tree_ref(struct reel_mapping_node *root);
void reel_mapping_tree_unref(struct reel_mapping_pool *pool, struct reel_mapping_node *root);

/*
 * Makes `mapping` the only one in its range; parts of others outside the range stay.  Takes over
 * the reference *root and returns one to the new tree in it; on error (NO_MEMORY) *root is
 * unchanged.  The range must not be empty and must not extend past 2^64.
 */
struct reel_error *reel_mapping_tree_replace(struct reel_mapping_pool *pool,
					     struct reel_mapping_node **root,
					     const struct reel_mapping *mapping) REEL_MUST_CHECK;
struct reel_error *reel_mapping_tree_remove(struct reel_mapping_pool *pool,
					    struct reel_mapping_node **root, uint64_t address,
					    uint64_t size) REEL_MUST_CHECK;

/* The mapping that holds `address`, that ends at or below it, or that begins above it; NULL if
 * missing. */
const struct reel_mapping *reel_mapping_tree_find(const struct reel_mapping_node *root,
						  uint64_t address);
const struct reel_mapping *reel_mapping_tree_below(const struct reel_mapping_node *root,
						   uint64_t address);
const struct reel_mapping *reel_mapping_tree_above(const struct reel_mapping_node *root,
						   uint64_t address);
/* All mappings that overlap [first, last], ascending. */
void reel_mapping_tree_visit(const struct reel_mapping_node *root, uint64_t first, uint64_t last,
			     void (*visit)(void *context, const struct reel_mapping *mapping),
			     void *context);
/* 0 for an empty tree. */
unsigned int reel_mapping_tree_height(const struct reel_mapping_node *root);

#endif
