/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as numbers: a node is a frame, the way it was found, and its path from the root; the way
 * the trace ended is a part of its root. The visitor receives new frames and nodes at once, so that
 * a node takes some thirty bytes here.
 */
#ifndef CLI_EXPORT_STACK_TREE_H
#define CLI_EXPORT_STACK_TREE_H

#include "base/hash_index.h"
#include "cli/profile/pointer_map.h"
#include "include/commands.h"

struct stack_node {
	uint32_t id;	   /* from 1 on; 0: none */
	uint32_t parent;   /* 0: a root */
	uint32_t frame;	   /* 0: a trace without frames */
	uint32_t depth;	   /* 0 for roots */
	bool is_recursive; /* its function also occurs nearer to the root */
};

/* Callbacks for new frames and nodes; false stops. */
struct stack_visitor {
	/* The frame's number, from 1 on, and its function's. */
	bool (*frame)(void *context, const struct reel_frame *frame, enum reel_step step,
		      uint32_t id, uint32_t *function_ret);
	bool (*node)(void *context, const struct stack_node *node, const struct reel_trace *trace);
	void *context;
};

struct stack_tree {
	struct stack_visitor visitor;
	uint32_t n_nodes, n_frames; /* of all captures */
	uint32_t first_node;	    /* of this capture */
	/* By id - first_node. */
	struct stack_key {
		uint32_t parent, frame;
	} * keys;
	size_t keys_capacity;
	struct reel_hash_index nodes; /* by their keys, from first_node on */
	/* Addresses within frames, one for each way to find the frame, to their numbers. */
	struct pointer_map frames;
	uint32_t *functions; /* by the frame's number */
	size_t functions_capacity;
	/* By function: the last trace with it, among traces with a new node. */
	uint32_t *seen;
	size_t seen_capacity;
	uint32_t serial;
	/* The previous trace, from the root on: traces share their roots. */
	struct stack_step {
		const void *place;
		uint32_t node, frame;
	} * path;
	size_t path_length, path_capacity;
	uint32_t path_root;
};

void stack_tree_init(struct stack_tree *tree, struct stack_visitor visitor);
/* The following traces are from another capture, whose frames are all new. */
void stack_tree_begin_capture(struct stack_tree *tree);
/*
 * The node of the trace's leaf; false if the visitor returned false, or there are too many nodes.
 */
bool stack_tree_add(struct stack_tree *tree, const struct reel_trace *trace, uint32_t *node_ret);
/* Why the trace ended: a reason with a name. */
enum reel_stop stack_stop(const struct reel_trace *trace);
void stack_tree_free(struct stack_tree *tree);

#endif
