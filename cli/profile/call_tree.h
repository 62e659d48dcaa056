/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks summed up in a tree: a node is a function (its key) called by another (its parent). Keys
 * are compared as pointers. The leaf end of a stack that no other stack shares is a tail of 8 bytes
 * a frame instead of a chain of nodes, until the tree is expanded: memory is proportional to the
 * distinct stacks.
 */
#ifndef CLI_PROFILE_CALL_TREE_H
#define CLI_PROFILE_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/commands.h"

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
/* The end of a stack: a node, or with this bit an index of `tails`. */
#define CALL_TREE_TAIL (UINT32_C(1) << 31)

struct call_tree_node {
	const void *key; /* NULL: the root */
	uint32_t parent; /* a smaller index; CALL_TREE_NONE for the root */
	/* Filled by call_tree_link and _finish; CALL_TREE_NONE: none. */
	uint32_t first_child, next_sibling;
	/* An index of `tails`; 0: none. A node with a tail has no children. */
	uint32_t tail;
	struct amount self;
	struct amount total; /* filled by call_tree_finish */
};

/* The single path below a node; the amount belongs to the last key. */
struct call_tree_tail {
	size_t first; /* an index of tail_keys */
	size_t n;     /* 1 or more */
	struct amount self;
	uint32_t node; /* once all its keys have nodes, the last one's; until then 0 */
};

struct call_tree {
	/* [0] is the root; nodes follow their parents. */
	struct call_tree_node *nodes;
	uint32_t n_nodes, capacity;
	/* A hash table of (parent, key): indexes of nodes, 0 for an empty slot. */
	uint32_t *slots;
	uint32_t slot_mask;
	struct call_tree_tail *tails; /* [0] is none */
	size_t n_tails, tails_capacity;
	const void **tail_keys;
	size_t n_tail_keys, tail_keys_capacity;
	/* Returns a frame's key; NULL: the frame itself. */
	const void *(*key_of)(void *context, const struct reel_frame *frame);
	void *context;
	/* Orders siblings of the same weight; NULL: in order of arrival. */
	int (*compare)(const void *a, const void *b);
	/* `compare` orders all siblings, whatever their weight. */
	bool by_key;
	/* The last added stack, root first: the next one mostly begins with the same frames. The
	 * first n_path frames have nodes; the others are in the last node's tail. */
	uint32_t *path;
	size_t n_path;
	const struct reel_frame **path_frames;
	size_t path_length, path_capacity;
};

void call_tree_init(struct call_tree *tree);
void call_tree_free(struct call_tree *tree);

/* The child of `parent` for `key`; makes it if missing. */
uint32_t call_tree_child(struct call_tree *tree, uint32_t parent, const void *key);
/*
 * Adds `amount` to the node at the end of the path of `frames` from `start`.  Frames are leaf
 * first, as in traces: frames[n - 1] becomes a child of `start`.  Returns where the stack ends.
 */
uint32_t call_tree_add(struct call_tree *tree, uint32_t start,
		       const struct reel_frame *const *frames, size_t n, struct amount amount);
/* Forgets the added frames, so that their addresses may be reused. */
void call_tree_forget_frames(struct call_tree *tree);
/* Links children in order of arrival, and keeps tails. */
void call_tree_link(struct call_tree *tree);
/* Makes nodes of all tails.  Links children, heaviest first (then in order of arrival), and sums up
 * totals. */
void call_tree_finish(struct call_tree *tree);
/*
 * The same tree with other keys: children of one parent whose keys become equal are merged. The
 * tree is expanded. A node whose key becomes NULL is removed, and its children move up to its
 * parent; with `collapse`, so is a node with its parent's key.
 */
void call_tree_map(struct call_tree *tree, const void *(*key)(void *context, const void *key),
		   void *context, int collapse, struct call_tree *ret);

/*
 * Walks a finished tree from the root down, children heaviest first.  `enter` receives the depth
 * (the root's children: 1) and may skip the node's children by returning 0.  `leave` may be NULL.
 * Not recursive: files determine the depth of stacks.
 */
void call_tree_walk(const struct call_tree *tree,
		    int (*enter)(void *context, uint32_t node, size_t depth),
		    void (*leave)(void *context, uint32_t node, size_t depth), void *context);

#endif
