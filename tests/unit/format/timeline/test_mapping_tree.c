/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent mapping trees, compared with a model: an array with an entry for each address. */
#include <time.h>

#include "format/timeline/mapping_tree.h"
#include "tests/support/test.h"

#define UNIVERSE 300
#define TREES	 12

/* The module of each address of [base, base + UNIVERSE); 0: none. */
struct model {
	struct reel_mapping at[UNIVERSE];
};

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % limit);
}

static void model_set(struct model *model, uint64_t base, const struct reel_mapping *mapping)
{
	struct reel_mapping whole[UNIVERSE];
	uint64_t first = mapping->address - base, end = first + mapping->size;

	memcpy(whole, model->at, sizeof(whole));
	for (size_t i = 0; i < UNIVERSE; i++) {
		struct reel_mapping *at = &model->at[i];
		uint64_t from = at->address - base, to = from + at->size;

		if (!at->module)
			continue;
		if (i >= first && i < end) {
			*at = (struct reel_mapping){ 0 };
			continue;
		}
		/* The rest of a mapping cut by the range. */
		if (i < first && to > first) {
			at->size = first - from;
		} else if (i >= end && from < end) {
			at->offset += end - from;
			at->address = base + end;
			at->size = to - end;
		}
	}
	for (uint64_t i = first; mapping->module && i < end; i++)
		model->at[i] = *mapping;
}

static void assert_same(const struct reel_mapping *a, const struct reel_mapping *b)
{
	assert_non_null(a);
	assert_int_equal(a->address, b->address);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->offset, b->offset);
	assert_int_equal(a->module, b->module);
	assert_int_equal(a->protection, b->protection);
	assert_int_equal(a->flags, b->flags);
}

struct visited {
	const struct model *model;
	uint64_t base, next;
	uint64_t count;
};

static void visit_one(void *context, const struct reel_mapping *mapping)
{
	struct visited *visited = context;
	uint64_t at = mapping->address - visited->base;

	assert_true(visited->count == 0 || at >= visited->next);
	assert_same(mapping, &visited->model->at[at]);
	visited->next = at + mapping->size;
	visited->count++;
}

static void check_visit(const struct reel_mapping_node *root, const struct model *model,
			uint64_t base)
{
	uint64_t first = random_below(UNIVERSE);
	uint64_t last = first + random_below((uint32_t)(UNIVERSE - first));
	struct visited visited = { .model = model, .base = base };
	uint64_t expected = 0, previous = UINT64_MAX;

	for (uint64_t i = first; i <= last; i++) {
		if (model->at[i].module && model->at[i].address - base != previous) {
			previous = model->at[i].address - base;
			expected++;
		}
	}
	reel_mapping_tree_visit(root, base + first, base + last, visit_one, &visited);
	assert_int_equal(visited.count, expected);
}

/* For an AVL tree of that height. */
static size_t fewest_nodes(unsigned int height)
{
	size_t lower = 0, fewest = 0;

	for (unsigned int i = 0; i < height; i++) {
		size_t next = i ? fewest + lower + 1 : 1;

		lower = fewest;
		fewest = next;
	}
	return fewest;
}

static void check(const struct reel_mapping_node *root, const struct model *model, uint64_t base)
{
	const struct reel_mapping *previous = NULL, *next = NULL;
	size_t count = 0;

	for (size_t i = 0; i < UNIVERSE; i++) {
		const struct reel_mapping *here = model->at[i].module ? &model->at[i] : NULL;
		const struct reel_mapping *found = reel_mapping_tree_find(root, base + i);
		const struct reel_mapping *below = reel_mapping_tree_below(root, base + i);

		if (here)
			assert_same(found, here);
		else
			assert_null(found);
		if (here && here->address == base + i) {
			previous = i ? reel_mapping_tree_find(root, base + i - 1) : NULL;
			if (!previous && i)
				previous = reel_mapping_tree_below(root, base + i - 1);
			count++;
		}
		if (here ? previous != NULL : below != NULL)
			assert_true(below->address + (below->size - 1) < base + i);
		if (here)
			assert_ptr_equal(below, previous);
	}
	for (size_t i = UNIVERSE; i-- > 0;) {
		const struct reel_mapping *above = reel_mapping_tree_above(root, base + i);

		if (next)
			assert_same(above, next);
		else
			assert_null(above);
		if (model->at[i].module && model->at[i].address == base + i)
			next = &model->at[i];
	}
	assert_true(count >= fewest_nodes(reel_mapping_tree_height(root)));
	check_visit(root, model, base);
}

static void random_changes(uint64_t base)
{
	struct reel_mapping_pool pool = { 0 };
	struct reel_mapping_node *roots[TREES] = { NULL };
	struct model *models = calloc(TREES, sizeof(*models));
	for (unsigned int step = 0; step < 20000; step++) {
		size_t i = random_below(TREES);
		uint64_t first = random_below(UNIVERSE);
		uint64_t room = UNIVERSE - first;
		struct reel_mapping mapping = {
			.address = base + first,
			.size = 1 + random_below(
					    (uint32_t)(room < 20 || !random_below(50) ? room : 20)),
			.offset = random_below(1000),
			.protection = random_below(8),
			.flags = step,
			.module = 1 + random_below(100),
		};

		if (random_below(20) == 0) {
			/* A fork: both share the tree from here on. */
			size_t other = random_below(TREES);

			reel_mapping_tree_ref(roots[i]);
			reel_mapping_tree_unref(&pool, roots[other]);
			roots[other] = roots[i];
			models[other] = models[i];
		} else if (random_below(3) == 0) {
			mapping.module = 0;
			assert_null(reel_mapping_tree_remove(&pool, &roots[i], mapping.address,
							     mapping.size));
			model_set(&models[i], base, &mapping);
		} else {
			assert_null(reel_mapping_tree_replace(&pool, &roots[i], &mapping));
			model_set(&models[i], base, &mapping);
		}
		if (step % 333 == 0)
			reel_mapping_pool_trim(&pool);
		check(roots[i], &models[i], base);
		if (step % 100 == 0) {
			for (size_t k = 0; k < TREES; k++)
				check(roots[k], &models[k], base);
		}
	}
	for (size_t i = 0; i < TREES; i++)
		reel_mapping_tree_unref(&pool, roots[i]);
	assert_int_equal(pool.n_free, pool.n_nodes);
	reel_mapping_pool_trim(&pool);
	assert_int_equal(pool.n_nodes, 0);
	assert_null(pool.slabs);
	reel_mapping_pool_free(&pool);
	free(models);
}

TEST(agrees_with_model)
{
	random_changes(0x1000);
}

TEST(agrees_at_zero)
{
	random_changes(0);
}

TEST(agrees_at_the_end_of_addresses)
{
	random_changes(-(uint64_t)UNIVERSE);
}

TEST(everything_is_one_mapping)
{
	struct reel_mapping_pool pool = { 0 };
	struct reel_mapping_node *root = NULL;
	/* 2^64 bytes cannot be expressed; all but the first can. */
	struct reel_mapping mapping = { .address = 1, .size = UINT64_MAX, .module = 1 };

	assert_null(reel_mapping_tree_replace(&pool, &root, &mapping));
	assert_non_null(reel_mapping_tree_find(root, UINT64_MAX));
	assert_null(reel_mapping_tree_find(root, 0));
	assert_non_null(reel_mapping_tree_above(root, 0));
	assert_null(reel_mapping_tree_above(root, 1));
	assert_null(reel_mapping_tree_remove(&pool, &root, 5, UINT64_MAX - 4));
	assert_null(reel_mapping_tree_find(root, 5));
	assert_int_equal(reel_mapping_tree_find(root, 1)->size, 4);
	assert_int_equal(reel_mapping_tree_below(root, UINT64_MAX)->size, 4);
	assert_null(reel_mapping_tree_remove(&pool, &root, 0, UINT64_MAX));
	assert_null(root);
	reel_mapping_pool_free(&pool);
}

/* A tree with a single owner is changed in place. */
TEST(takes_no_memory_in_the_long_run)
{
	struct reel_mapping_pool pool = { 0 };
	struct reel_mapping_node *root = NULL;
	size_t nodes = 0;

	for (unsigned int step = 0; step < 100000; step++) {
		struct reel_mapping mapping = {
			.address = random_below(1000) * 0x1000,
			.size = (1 + random_below(4)) * 0x1000,
			.module = 1,
		};

		if (step == 20000)
			nodes = pool.n_nodes;
		assert_null(reel_mapping_tree_replace(&pool, &root, &mapping));
	}
	assert_int_equal(pool.n_nodes, nodes);
	reel_mapping_tree_unref(&pool, root);
	assert_int_equal(pool.n_free, pool.n_nodes);
	reel_mapping_pool_free(&pool);
}

TEST(many_mappings_are_fast)
{
	struct reel_mapping_pool pool = { 0 };
	struct reel_mapping_node *root = NULL;
	struct timespec begin, end;
	double ns;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (uint64_t i = 0; i < 100000; i++) {
		struct reel_mapping mapping = {
			.address = i * 0x2000,
			.size = 0x1000,
			.module = i + 1,
		};

		assert_null(reel_mapping_tree_replace(&pool, &root, &mapping));
	}
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(reel_mapping_tree_find(root, i * 0x2000 + 0xfff)->module, i + 1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_true(reel_mapping_tree_height(root) <= 24);
	ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
	print_message("# 100,000 mappings: %.0f ns each to add and find\n", ns / 100000);
	assert_true(ns < 20e9);
	reel_mapping_pool_free(&pool);
}

RUN_TESTS()
