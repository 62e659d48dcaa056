/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks summed up in a tree, by pointers: a node is what was called (its key)
 * by whom (its parent).  Keys are compared as pointers.  What only one stack
 * has, its leaf's end, is no chain of nodes but a tail, of 8 bytes a frame,
 * until the tree is expanded: memory is proportional to the distinct stacks.
 */
#ifndef CLI_REPORT_CALL_TREE_H
#define CLI_REPORT_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/stackreel.h"

struct amount {
	uint64_t weight, samples;
};

static inline void amount_add(struct amount *amount, struct amount more)
{
	amount->weight += more.weight;
	amount->samples += more.samples;
}

#define CALL_TREE_ROOT 0u
#define CALL_TREE_NONE UINT32_MAX

struct call_tree_node {
	const void *key; /* NULL: the root */
	uint32_t parent; /* a smaller index; CALL_TREE_NONE for the root */
	/* Filled by call_tree_link and _finish; CALL_TREE_NONE: there is none. */
	uint32_t first_child, next_sibling;
	/* An index of `tails`; 0: none. A node with a tail has no children. */
	uint32_t tail;
	struct amount self;
	struct amount total; /* filled by call_tree_finish */
};

/* What follows a node where there is only one way on, and its amount is that of the last key. */
struct call_tree_tail {
	size_t first; /* an index of tail_keys */
	size_t n;     /* 1 or more */
	struct amount self;
};

struct call_tree {
	/* [0] is the root; a node stands behind its parent. */
	struct call_tree_node *nodes;
	uint32_t n_nodes, capacity;
	/* A hash table of (parent, key): indexes of nodes, 0 for an empty slot. */
	uint32_t *slots;
	uint32_t slot_mask;
	struct call_tree_tail *tails; /* [0] is none */
	size_t n_tails, tails_capacity;
	const void **tail_keys;
	size_t n_tail_keys, tail_keys_capacity;
	/* What a frame's key is; NULL: the frame. */
	const void *(*key_of)(void *context, const struct reel_frame *frame);
	void *context;
	/* Orders siblings of the same weight; NULL: as they came. */
	int (*compare)(const void *a, const void *b);
	/* `compare` orders all siblings, whatever their weight. */
	bool by_key;
	/* The stack added last, root first: the next one mostly begins with the same frames.  The
	 * first n_path of them have nodes, the others are in the tail of the last of these. */
	uint32_t *path;
	size_t n_path;
	const struct reel_frame **path_frames;
	size_t path_length, path_capacity;
};

void call_tree_init(struct call_tree *tree);
void call_tree_free(struct call_tree *tree);

/* The child of `parent` for `key`, made if there is none. */
uint32_t call_tree_child(struct call_tree *tree, uint32_t parent, const void *key);
/*
 * Adds `amount` to the node at the end of the path of `frames` from `start`.  They stand leaf
 * first, as in traces: frames[n - 1] becomes a child of `start`.
 */
void call_tree_add(struct call_tree *tree, uint32_t start, const struct reel_frame *const *frames,
		   size_t n, struct amount amount);
/* The frames that were added go: others may have their places in memory. */
void call_tree_forget_frames(struct call_tree *tree);
/* Links children, in the order in which they came, and leaves tails as they are. */
void call_tree_link(struct call_tree *tree);
/* Makes nodes of all tails.  Links children, the heaviest first (then in the order in which they
 * came), and sums up totals. */
void call_tree_finish(struct call_tree *tree);
/*
 * The same tree with other keys: children of one parent whose keys become equal are one node.
 * The tree is expanded. A node whose key becomes NULL is left out, its children move up to its
 * parent; with `collapse`, so is one with its parent's key.
 */
void call_tree_map(struct call_tree *tree, const void *(*key)(void *context, const void *key),
		   void *context, int collapse, struct call_tree *ret);

/*
 * Walks a finished tree from the root down, children heaviest first.  `enter` gives the
 * depth (the root's children: 1) and may refuse the node's children by returning 0.  `leave` may be
 * NULL. No recursion: stacks are as deep as files say.
 */
void call_tree_walk(const struct call_tree *tree,
		    int (*enter)(void *context, uint32_t node, size_t depth),
		    void (*leave)(void *context, uint32_t node, size_t depth), void *context);

#endif
