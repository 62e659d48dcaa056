/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as numbers: a node is a frame, found in some way, and all that leads to it from the root;
 * how the trace ended is a part of its root.  What is new is told as it comes, so that a node takes
 * some twenty bytes here.
 */
#ifndef CLI_EXPORT_STACK_TREE_H
#define CLI_EXPORT_STACK_TREE_H

#include "cli/report/pointer_map.h"
#include "include/stackreel.h"

struct stack_node {
	uint32_t id;	   /* from 1 on; 0: none */
	uint32_t parent;   /* 0: it is a root */
	uint32_t frame;	   /* 0: a trace without frames */
	uint32_t depth;	   /* 0 for roots */
	bool is_recursive; /* its function is nearer to the root, too */
};

/* What is told of new frames and nodes; false ends it. */
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
	/* A hash table of nodes by their keys; 0: an empty slot. */
	uint32_t *slots;
	size_t n_slots;
	/* Places in frames, one for each way to find it, to their numbers. */
	struct pointer_map frames;
	uint32_t *functions; /* by the frame's number */
	size_t functions_capacity;
	/* By function: the last trace that has it, of those that had a new node. */
	uint32_t *seen;
	size_t seen_capacity;
	uint32_t serial;
	/* The trace before, from the root on: traces begin alike. */
	struct stack_step {
		const void *place;
		uint32_t node, frame;
	} * path;
	size_t path_length, path_capacity;
	uint32_t path_root;
};

void stack_tree_init(struct stack_tree *tree, struct stack_visitor visitor);
/* What comes is of another capture: no frame is one of those before. */
void stack_tree_begin_capture(struct stack_tree *tree);
/* The node of the trace's leaf; false if the visitor gave that, or there are too many nodes. */
bool stack_tree_add(struct stack_tree *tree, const struct reel_trace *trace, uint32_t *node_ret);
/* Why the trace ended: one of those that have a name. */
enum reel_stop stack_stop(const struct reel_trace *trace);
void stack_tree_free(struct stack_tree *tree);

#endif
