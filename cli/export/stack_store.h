/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames and stacks of all captures, for formats that write them after all samples: some 70
 * bytes per distinct frame, and 40 per distinct stack.
 */
#ifndef CLI_EXPORT_STACK_STORE_H
#define CLI_EXPORT_STACK_STORE_H

#include "cli/export/stack_tree.h"
#include "cli/profile/symbols.h"

struct stored_frame {
	const struct symbol *symbol;
	uint32_t function; /* the symbol's number, from 0 on */
	const char *file;  /* escaped; NULL: unknown */
	uint32_t line, column;
	/* Number of inlined calls between it and the function that was called. */
	uint32_t inline_depth;
	bool guessed;
	/* Not a frame, but the reason for a cut: the root of a cut trace. */
	bool is_mark;
	uint64_t module_id; /* 0: none */
	/* In the module: the running instruction, or within the call. */
	uint64_t address;
	uint64_t function_begin;
};

struct stored_node {
	uint32_t parent; /* 0: a root */
	uint32_t frame;
	bool is_recursive; /* its function also occurs nearer to the root */
};

struct stack_store {
	struct stack_tree tree;
	struct symbol_table symbols;
	/* Only for file names. */
	struct symbol_table texts;
	struct pointer_map functions; /* symbols to their numbers + 1 */
	uint32_t n_functions;
	/* [0] is none; marks come next, whether used or not. */
	struct stored_frame *frames;
	size_t n_frames, frames_capacity;
	struct stored_node *nodes;
	size_t n_nodes, nodes_capacity;
};

void stack_store_init(struct stack_store *store);
void stack_store_free(struct stack_store *store);
void stack_store_begin_capture(struct stack_store *store);
/* Returns the node of the trace's innermost frame. False after an error, which was reported. */
bool stack_store_add(struct stack_store *store, const struct reel_trace *trace, uint32_t *node_ret);
/* Stores a node's frames, root first, in *frames_ret, which grows as needed; the caller owns it. */
size_t stack_store_frames(const struct stack_store *store, uint32_t node, uint32_t **frames_ret,
			  size_t *capacity);

#endif
