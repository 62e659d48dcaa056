/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/export/stack_tree.h"
#include "cli/print/text.h"
#include "cli/session/session.h"

/* Ids from here on are not nodes but parents of roots: the way the trace ended. */
#define ENDS (UINT32_MAX - 2 * REEL_STOP_COUNT)

void stack_tree_init(struct stack_tree *tree, struct stack_visitor visitor)
{
	*tree = (struct stack_tree){ .visitor = visitor };
	stack_tree_begin_capture(tree);
}

void stack_tree_begin_capture(struct stack_tree *tree)
{
	reel_hash_index_free(&tree->nodes);
	tree->first_node = tree->n_nodes + 1;
	tree->path_length = 0;
	pointer_map_free(&tree->frames);
}

void stack_tree_free(struct stack_tree *tree)
{
	free(tree->keys);
	reel_hash_index_free(&tree->nodes);
	free(tree->functions);
	free(tree->seen);
	free(tree->path);
	pointer_map_free(&tree->frames);
}

/* ---- frames ------------------------------------------------------------------------------ */

static bool is_full(uint32_t count)
{
	if (count < ENDS - 1)
		return false;
	complain("too many frames of different stacks (more than 4,000 million); export less, e.g. "
		 "with --time or --pid");
	return true;
}

/* 0 after an error. */
static uint32_t frame_number(struct stack_tree *tree, const struct reel_frame *frame,
			     enum reel_step step, const void *place)
{
	uintptr_t number = (uintptr_t)pointer_map_get(&tree->frames, place);
	uint32_t function;

	if (number)
		return (uint32_t)number;
	if (is_full(tree->n_frames) ||
	    !tree->visitor.frame(tree->visitor.context, frame, step, tree->n_frames + 1, &function))
		return 0;
	number = ++tree->n_frames;
	pointer_map_put(&tree->frames, place, (void *)number);
	tree->functions = memory_reserve_zeroed(tree->functions, &tree->functions_capacity, number,
						sizeof(*tree->functions));
	tree->functions[number] = function;
	tree->seen = memory_reserve_zeroed(tree->seen, &tree->seen_capacity, function,
					   sizeof(*tree->seen));
	return (uint32_t)number;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static uint64_t hash_of(struct stack_key key)
{
	return (uint64_t)key.parent << 32 | key.frame;
}

/* 0: none. */
static uint32_t find_node(const struct stack_tree *tree, struct stack_key key)
{
	uint32_t found = REEL_HASH_FIND(&tree->nodes, hash_of(key), i,
					tree->keys[i].parent == key.parent &&
						tree->keys[i].frame == key.frame);

	return found == REEL_HASH_NONE ? 0 : tree->first_node + found;
}

/* 0 after an error. */
static uint32_t node_add(struct stack_tree *tree, const struct stack_node *wanted,
			 const struct reel_trace *trace, uint32_t parent_key)
{
	struct stack_node node = *wanted;
	size_t index = tree->n_nodes + 1 - tree->first_node;

	if (is_full(tree->n_nodes))
		return 0;
	node.id = ++tree->n_nodes;
	tree->keys =
		memory_reserve_zeroed(tree->keys, &tree->keys_capacity, index, sizeof(*tree->keys));
	tree->keys[index] = (struct stack_key){ parent_key, node.frame };
	if (!reel_hash_index_add(&tree->nodes, hash_of(tree->keys[index]), (uint32_t)index))
		memory_check(NULL);
	return tree->visitor.node(tree->visitor.context, &node, trace) ? node.id : 0;
}

/* Marks functions of the path up to `depth` as seen in this trace. */
static void mark_path(struct stack_tree *tree, size_t depth)
{
	if (!++tree->serial) {
		memset(tree->seen, 0, tree->seen_capacity * sizeof(*tree->seen));
		tree->serial = 1;
	}
	for (size_t i = 0; i < depth; i++)
		tree->seen[tree->functions[tree->path[i].frame]] = tree->serial;
}

enum reel_stop stack_stop(const struct reel_trace *trace)
{
	return (unsigned int)trace->stop < REEL_STOP_COUNT ? trace->stop
							   : REEL_STOP_BAD_UNWIND_INFO;
}

static uint32_t end_of(const struct reel_trace *trace)
{
	return ENDS + 2 * stack_stop(trace) + trace_is_cut(trace);
}

/* The number of steps from the root on shared with the previous trace. An address within a frame
 * for each way to find it serves as a key without a further table. */
static size_t common_length(const struct stack_tree *tree, const struct reel_trace *trace)
{
	size_t n = trace->n_frames < tree->path_length ? trace->n_frames : tree->path_length;
	size_t i;

	for (i = 0; i < n; i++) {
		size_t at = trace->n_frames - 1 - i;

		if (tree->path[i].place != (const char *)trace->frames[at] + trace->steps[at])
			break;
	}
	return i;
}

static bool path_extend(struct stack_tree *tree, const struct reel_trace *trace, size_t depth,
			uint32_t parent, bool *is_new)
{
	size_t at = trace->n_frames - 1 - depth;
	const struct reel_frame *frame = trace->frames[at];
	const void *place = (const char *)frame + trace->steps[at];
	uint32_t number = frame_number(tree, frame, trace->steps[at], place);
	uint32_t parent_key = parent ? parent : tree->path_root, id, *seen;

	if (!number)
		return false;
	id = find_node(tree, (struct stack_key){ parent_key, number });
	if (!id && !*is_new) {
		*is_new = true;
		mark_path(tree, depth);
	}
	seen = &tree->seen[tree->functions[number]];
	if (!id) {
		struct stack_node node = { .parent = parent,
					   .frame = number,
					   .depth = (uint32_t)depth,
					   .is_recursive = *seen == tree->serial };

		id = node_add(tree, &node, trace, parent_key);
	}
	if (*is_new)
		*seen = tree->serial;
	tree->path[depth] = (struct stack_step){ place, id, number };
	return id;
}

bool stack_tree_add(struct stack_tree *tree, const struct reel_trace *trace, uint32_t *node_ret)
{
	uint32_t end = end_of(trace), parent = 0;
	size_t depth = end == tree->path_root ? common_length(tree, trace) : 0;
	bool is_new = false;

	tree->path_root = end;
	tree->path_length = depth;
	if (trace->n_frames)
		tree->path = memory_reserve_zeroed(tree->path, &tree->path_capacity,
						   trace->n_frames - 1, sizeof(*tree->path));
	for (; depth < trace->n_frames; depth++) {
		parent = depth ? tree->path[depth - 1].node : 0;
		if (!path_extend(tree, trace, depth, parent, &is_new))
			return false;
	}
	tree->path_length = trace->n_frames;
	if (trace->n_frames) {
		*node_ret = tree->path[trace->n_frames - 1].node;
		return true;
	}
	*node_ret = find_node(tree, (struct stack_key){ end, 0 });
	if (!*node_ret)
		*node_ret = node_add(tree, &(struct stack_node){ 0 }, trace, end);
	return *node_ret;
}
