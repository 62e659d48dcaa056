/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/export/stack_store.h"
#include "cli/export/trace_facts.h"
#include "cli/print/text.h"
#include "cli/session/session.h"

/* Nodes and frames from 1 on: a mark for each way to be cut, and one for traces without frames. */
#define NO_FRAMES (REEL_STOP_COUNT + 1)
#define MARKS	  NO_FRAMES

static uint32_t function_of(struct stack_store *store, const struct symbol *symbol)
{
	uintptr_t number = (uintptr_t)pointer_map_get(&store->functions, symbol);

	if (!number) {
		number = ++store->n_functions;
		pointer_map_put(&store->functions, symbol, (void *)number);
	}
	return (uint32_t)number - 1;
}

static struct stored_frame *push_frame(struct stack_store *store, const struct symbol *symbol)
{
	struct stored_frame *frame;

	store->frames = memory_reserve(store->frames, &store->frames_capacity, store->n_frames,
				       sizeof(*store->frames));
	frame = &store->frames[store->n_frames++];
	*frame = (struct stored_frame){ .symbol = symbol };
	if (symbol)
		frame->function = function_of(store, symbol);
	return frame;
}

static void push_node(struct stack_store *store, struct stored_node node)
{
	store->nodes = memory_reserve(store->nodes, &store->nodes_capacity, store->n_nodes,
				      sizeof(*store->nodes));
	store->nodes[store->n_nodes++] = node;
}

/* ---- new frames and nodes ---------------------------------------------------------------- */

static bool add_frame(void *context, const struct reel_frame *frame, enum reel_step step,
		      uint32_t id, uint32_t *function_ret)
{
	struct stack_store *store = context;
	struct stored_frame *stored = push_frame(store, symbol_of_frame(&store->symbols, frame));

	(void)id;
	if (*frame->file)
		stored->file = symbol_of_group(&store->texts, frame->file)->name;
	stored->line = frame->line;
	stored->column = frame->column;
	stored->guessed = step_is_guess(step);
	stored->module_id = frame->module_id;
	stored->address = frame->module_address - (frame->exact || !frame->module_address ? 0 : 1);
	stored->function_begin = frame->module_address - frame->function_offset;
	*function_ret = stored->function;
	return true;
}

/* The node above a root: the reason why the trace was cut there. */
static uint32_t mark_of(const struct stack_node *node, const struct reel_trace *trace)
{
	if (trace_is_cut(trace))
		return 1 + stack_stop(trace);
	return node->frame ? 0 : NO_FRAMES;
}

static bool add_node(void *context, const struct stack_node *node, const struct reel_trace *trace)
{
	struct stack_store *store = context;
	struct stored_node stored = {
		.parent = node->parent ? node->parent + MARKS : mark_of(node, trace),
		.frame = node->frame + MARKS,
		.is_recursive = node->is_recursive,
	};
	const struct reel_frame *frame =
		node->frame ? trace->frames[trace->n_frames - 1 - node->depth] : NULL;

	/* An inlined frame has the same caller in each stack. */
	if (frame && frame->inlined)
		store->frames[stored.frame].inline_depth =
			store->frames[store->nodes[stored.parent].frame].inline_depth + 1;
	/* A trace without frames is its mark. */
	push_node(store, node->frame ? stored : store->nodes[stored.parent]);
	return true;
}

/* ---- the store ------------------------------------------------------------------------------- */

static void add_mark(struct stack_store *store, const struct symbol *symbol)
{
	push_frame(store, symbol)->is_mark = true;
	push_node(store, (struct stored_node){ .frame = (uint32_t)store->n_frames - 1 });
}

void stack_store_init(struct stack_store *store)
{
	*store = (struct stack_store){ 0 };
	symbol_table_init(&store->symbols, SYMBOLS_BY_FUNCTION);
	symbol_table_init(&store->texts, SYMBOLS_BY_FUNCTION);
	stack_tree_init(&store->tree, (struct stack_visitor){ add_frame, add_node, store });
	push_frame(store, NULL);
	push_node(store, (struct stored_node){ 0 });
	for (int stop = 0; stop < REEL_STOP_COUNT; stop++)
		add_mark(store, symbol_of_stop(&store->symbols, (enum reel_stop)stop));
	add_mark(store, symbol_of_group(&store->symbols, "[no frames]"));
}

void stack_store_begin_capture(struct stack_store *store)
{
	stack_tree_begin_capture(&store->tree);
	symbol_table_forget_frames(&store->symbols);
}

bool stack_store_add(struct stack_store *store, const struct reel_trace *trace, uint32_t *node_ret)
{
	uint32_t id;

	if (!stack_tree_add(&store->tree, trace, &id))
		return false;
	*node_ret = id + MARKS;
	return true;
}

size_t stack_store_frames(const struct stack_store *store, uint32_t node, uint32_t **frames_ret,
			  size_t *capacity)
{
	size_t n = 0, i;

	for (uint32_t id = node; id; id = store->nodes[id].parent)
		n++;
	*frames_ret = memory_reserve(*frames_ret, capacity, n, sizeof(**frames_ret));
	i = n;
	for (uint32_t id = node; id; id = store->nodes[id].parent)
		(*frames_ret)[--i] = store->nodes[id].frame;
	return n;
}

void stack_store_free(struct stack_store *store)
{
	stack_tree_free(&store->tree);
	symbol_table_free(&store->symbols);
	symbol_table_free(&store->texts);
	pointer_map_free(&store->functions);
	free(store->frames);
	free(store->nodes);
}
