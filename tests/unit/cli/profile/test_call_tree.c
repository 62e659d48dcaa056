/* SPDX-License-Identifier: Apache-2.0 */
/* Call trees, compared with a model: the list of all stacks that were added. */
#include <time.h>

#include "cli/profile/call_tree.h"
#include "tests/support/test.h"

#define FRAMES 5
#define DEPTH  6
#define STACKS 2000

static struct reel_frame frames[64];

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % limit);
}

/* Leaf first, as in a trace. */
struct stack {
	const struct reel_frame *frames[DEPTH];
	size_t n;
	struct amount amount;
};

static struct stack random_stack(void)
{
	struct stack stack = { .n = random_below(DEPTH + 1) };

	for (size_t i = 0; i < stack.n; i++)
		stack.frames[i] = &frames[random_below(FRAMES)];
	stack.amount = (struct amount){ random_below(100), 1 };
	return stack;
}

/* The path of a node is the root end of the stack; with `whole`, the whole stack. */
static bool stack_has_path(const struct call_tree *tree, uint32_t node, const struct stack *stack,
			   bool whole)
{
	size_t depth = 0;

	for (uint32_t at = node; at != CALL_TREE_ROOT; at = tree->nodes[at].parent)
		depth++;
	if (depth > stack->n || (whole && depth != stack->n))
		return false;
	for (uint32_t at = node; at != CALL_TREE_ROOT; at = tree->nodes[at].parent, depth--) {
		if (tree->nodes[at].key != stack->frames[stack->n - depth])
			return false;
	}
	return true;
}

static void check_amounts(const struct call_tree *tree, const struct stack *stacks, size_t n)
{
	for (uint32_t node = 0; node < tree->n_nodes; node++) {
		struct amount self = { 0 }, total = { 0 };

		for (size_t i = 0; i < n; i++) {
			if (stack_has_path(tree, node, &stacks[i], true))
				amount_add(&self, stacks[i].amount);
			if (stack_has_path(tree, node, &stacks[i], false))
				amount_add(&total, stacks[i].amount);
		}
		assert_memory_equal(&tree->nodes[node].self, &self, sizeof(self));
		assert_memory_equal(&tree->nodes[node].total, &total, sizeof(total));
	}
}

static void check_links(const struct call_tree *tree)
{
	uint32_t seen = 0;

	for (uint32_t node = 0; node < tree->n_nodes; node++) {
		uint32_t child = tree->nodes[node].first_child;
		uint64_t before = UINT64_MAX;

		for (; child != CALL_TREE_NONE; child = tree->nodes[child].next_sibling) {
			assert_int_equal(tree->nodes[child].parent, node);
			assert_true(child > node);
			assert_true(tree->nodes[child].total.weight <= before);
			before = tree->nodes[child].total.weight;
			seen++;
		}
	}
	assert_int_equal(seen, tree->n_nodes - 1);
}

/* A finished tree has nodes for all tails. */
static void check_ends(const struct call_tree *tree, const struct stack *stacks,
		       const uint32_t *ends)
{
	size_t n_tails = 0;

	for (size_t i = 0; i < STACKS; i++) {
		uint32_t end = ends[i];

		if (end & CALL_TREE_TAIL) {
			end = tree->tails[end & ~CALL_TREE_TAIL].node;
			n_tails++;
		}
		assert_true(stack_has_path(tree, end, &stacks[i], true));
	}
	assert_true(n_tails > STACKS / 50 && n_tails < STACKS);
}

TEST(agrees_with_model)
{
	struct stack *stacks = calloc(STACKS, sizeof(*stacks));
	uint32_t *ends = calloc(STACKS, sizeof(*ends));
	struct call_tree tree;

	call_tree_init(&tree);
	for (size_t i = 0; i < STACKS; i++) {
		stacks[i] = random_stack();
		ends[i] = call_tree_add(&tree, CALL_TREE_ROOT, stacks[i].frames, stacks[i].n,
					stacks[i].amount);
	}
	call_tree_finish(&tree);
	check_ends(&tree, stacks, ends);
	free(ends);
	check_amounts(&tree, stacks, STACKS);
	check_links(&tree);
	call_tree_free(&tree);
	free(stacks);
}

/* Frames 0 and 1 become one, 2 is skipped. */
static const void *map_key(void *context, const void *key)
{
	if (key == &frames[2])
		return NULL;
	return key == &frames[1] ? &frames[0] : key;
}

TEST(mapping_agrees_with_mapped_stacks)
{
	for (int collapse = 0; collapse < 2; collapse++) {
		struct stack *stacks = calloc(STACKS, sizeof(*stacks));
		struct call_tree tree, mapped;

		call_tree_init(&tree);
		for (size_t i = 0; i < STACKS; i++) {
			struct stack stack = random_stack(), *to = &stacks[i];

			call_tree_add(&tree, CALL_TREE_ROOT, stack.frames, stack.n, stack.amount);
			to->amount = stack.amount;
			for (size_t k = 0; k < stack.n; k++) {
				const struct reel_frame *key = map_key(NULL, stack.frames[k]);

				if (key && !(collapse && to->n && to->frames[to->n - 1] == key))
					to->frames[to->n++] = key;
			}
		}
		call_tree_map(&tree, map_key, NULL, collapse, &mapped);
		call_tree_finish(&mapped);
		check_amounts(&mapped, stacks, STACKS);
		check_links(&mapped);
		call_tree_free(&mapped);
		call_tree_free(&tree);
		free(stacks);
	}
}

/* The previous stack's path must not be reused for a different start. */
TEST(starts_are_kept_apart)
{
	const struct reel_frame *stack[] = { &frames[1], &frames[0] };
	struct call_tree tree;
	uint32_t a, b, under_a, under_b;

	call_tree_init(&tree);
	a = call_tree_child(&tree, CALL_TREE_ROOT, &frames[10]);
	b = call_tree_child(&tree, CALL_TREE_ROOT, &frames[11]);
	call_tree_add(&tree, a, stack, 2, (struct amount){ 1, 1 });
	call_tree_add(&tree, b, stack, 2, (struct amount){ 1, 1 });
	call_tree_add(&tree, a, stack, 2, (struct amount){ 1, 1 });
	call_tree_add(&tree, b, stack, 0, (struct amount){ 1, 1 });
	under_a = call_tree_child(&tree, call_tree_child(&tree, a, stack[1]), stack[0]);
	under_b = call_tree_child(&tree, call_tree_child(&tree, b, stack[1]), stack[0]);
	assert_int_not_equal(under_a, under_b);
	assert_int_equal(tree.nodes[under_a].self.samples, 2);
	assert_int_equal(tree.nodes[under_b].self.samples, 1);
	assert_int_equal(tree.nodes[b].self.samples, 1);
	assert_int_equal(tree.n_nodes, 7);
	call_tree_free(&tree);
}

struct walk {
	size_t entered, left, deepest;
	uint32_t refused;
};

static int enter(void *context, uint32_t node, size_t depth)
{
	struct walk *walk = context;

	walk->entered++;
	if (depth > walk->deepest)
		walk->deepest = depth;
	return node != walk->refused;
}

static void leave(void *context, uint32_t node, size_t depth)
{
	struct walk *walk = context;

	walk->left++;
}

TEST(walks_deep_stacks)
{
	size_t n = 200000;
	const struct reel_frame **stack = calloc(n, sizeof(*stack));
	struct walk walk = { 0 };
	struct call_tree tree;

	for (size_t i = 0; i < n; i++)
		stack[i] = &frames[0];
	call_tree_init(&tree);
	call_tree_add(&tree, CALL_TREE_ROOT, stack, n, (struct amount){ 1, 1 });
	call_tree_add(&tree, CALL_TREE_ROOT, stack, n - 1, (struct amount){ 1, 1 });
	call_tree_finish(&tree);
	call_tree_walk(&tree, enter, leave, &walk);
	assert_int_equal(tree.n_nodes, n + 1);
	assert_int_equal(walk.entered, n);
	assert_int_equal(walk.left, n);
	assert_int_equal(walk.deepest, n);
	walk = (struct walk){ .refused = 10 };
	call_tree_walk(&tree, enter, leave, &walk);
	assert_int_equal(walk.entered, 10);
	assert_int_equal(walk.left, 10);
	call_tree_free(&tree);
	free(stack);
}

TEST(an_empty_tree_has_nothing_to_walk)
{
	struct walk walk = { 0 };
	struct call_tree tree;

	call_tree_init(&tree);
	call_tree_finish(&tree);
	call_tree_walk(&tree, enter, leave, &walk);
	assert_int_equal(walk.entered, 0);
	call_tree_free(&tree);
}

/* As in a busy program: 400 frames; only the last few differ from sample to sample. */
TEST(adding_is_fast)
{
	enum { N = 400, ROUNDS = 20000 };
	const struct reel_frame *stack[N];
	struct timespec begin, end;
	struct call_tree tree;
	double ns;

	call_tree_init(&tree);
	for (size_t i = 0; i < N; i++)
		stack[i] = &frames[i % 64];
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (size_t round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < 8; i++)
			stack[i] = &frames[random_below(8)];
		/* Occasionally from far up. */
		stack[round % 16 ? 8 : 300] = &frames[random_below(8)];
		call_tree_add(&tree, CALL_TREE_ROOT, stack, N, (struct amount){ 1, 1 });
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
	print_message("# %.1f ns a frame, %u nodes\n", ns / ROUNDS / N, tree.n_nodes);
	assert_true(ns / ROUNDS / N < 5000);
	call_tree_free(&tree);
}

RUN_TESTS()
