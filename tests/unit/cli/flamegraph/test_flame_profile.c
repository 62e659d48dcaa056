/* SPDX-License-Identifier: Apache-2.0 */
/* Reduced profiles: only the reported share is lost, and limits hold. */
#include "cli/flamegraph/flame_profile.h"
#include "tests/support/test.h"

#define FUNCTIONS 64
#define DEPTH	  6
#define SECOND	  UINT64_C(1000000000)

static struct reel_frame frames[FUNCTIONS];
static char names[FUNCTIONS][8];
static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % limit);
}

static int make_frames(void **state)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(names[i], sizeof(names[i]), "f%u", i);
		frames[i] = (struct reel_frame){
			.function = names[i],
			.function_id = i,
			.module_path = "",
			.file = "",
			.jit_program = "",
		};
	}
	return 0;
}

/* Few roots, arbitrary leaves. */
static void add_sample(struct flame_profile *profile, uint64_t time, uint32_t thread)
{
	const struct reel_frame *stack[DEPTH];
	const uint8_t steps[DEPTH] = { 0 };
	struct reel_trace trace = {
		.time = time,
		.weight = 1 + random_below(5),
		.pid = 1,
		.tid = thread,
		.thread = thread,
		.comm = "c",
		.host = "",
		.frames = stack,
		.steps = steps,
		.n_frames = DEPTH,
		.stop = REEL_STOP_ROOT,
	};

	for (size_t i = 0; i < DEPTH; i++)
		stack[DEPTH - 1 - i] = &frames[random_below(i < 2 ? 4 : FUNCTIONS)];
	flame_profile_add(profile, &trace, NULL);
}

static struct amount sum_of(const struct flame_spans *spans)
{
	struct amount sum = { 0 };

	for (size_t i = 0; i < spans->n; i++)
		amount_add(&sum, spans->items[i].amount);
	return sum;
}

/* The samples on the paths of two functions, by their numbers. */
static void count_pairs(const struct flame_profile *profile, uint64_t pairs[4][4])
{
	const struct call_tree *tree = &profile->events[0].tree;

	memset(pairs, 0, sizeof(uint64_t[4][4]));
	for (uint32_t i = 1; i < tree->n_nodes; i++) {
		uint32_t parent = tree->nodes[i].parent;
		const struct flame_frame *frame = tree->nodes[i].key, *caller;

		if (parent == CALL_TREE_ROOT || tree->nodes[parent].parent != CALL_TREE_ROOT)
			continue;
		caller = tree->nodes[parent].key;
		pairs[atoi(caller->symbol->name + 1)][atoi(frame->symbol->name + 1)] +=
			tree->nodes[i].total.samples;
	}
}

/* Where a span exists, the tree agrees with it. */
static void check_nodes(const struct flame_profile *profile)
{
	const struct call_tree *tree = &profile->events[0].tree;
	uint64_t *samples = calloc(tree->n_nodes, sizeof(*samples));

	for (size_t i = 0; i < profile->spans.n; i++)
		samples[profile->spans.items[i].node] += profile->spans.items[i].amount.samples;
	for (uint32_t i = 0; i < tree->n_nodes; i++)
		assert_int_equal(samples[i], tree->nodes[i].self.samples);
	free(samples);
}

static void shrink(struct flame_profile *profile, size_t nodes, uint64_t step)
{
	const struct flame_limits limits = { .step = step, .nodes = nodes, .threads = SIZE_MAX };

	flame_profile_limit(profile, &limits);
}

TEST(test_shrinking_loses_nothing)
{
	struct flame_profile profile;
	uint64_t before[4][4], after[4][4];
	struct amount all;

	flame_profile_init(&profile, 5 * SECOND, false);
	for (uint64_t i = 0; i < 100000; i++)
		add_sample(&profile, 5 * SECOND + i * SECOND / 1000, 1 + random_below(8));
	flame_profile_finish(&profile);
	all = sum_of(&profile.spans);
	count_pairs(&profile, before);
	assert_int_equal(all.samples, 100000);
	assert_int_equal(all.weight, profile.events[0].tree.nodes[CALL_TREE_ROOT].total.weight);
	shrink(&profile, 60000, 0);
	assert_true(profile.events[0].tree.n_nodes < 2 * 60000 + 1);
	assert_int_equal(sum_of(&profile.spans).samples, all.samples);
	assert_int_equal(sum_of(&profile.spans).weight, all.weight);
	assert_true(profile.pruned > 0 && profile.pruned <= all.samples);
	check_nodes(&profile);
	count_pairs(&profile, after);
	assert_memory_equal(before, after, sizeof(before));
	/* Reduced again, to a smaller size: also with entries that are rare already. */
	shrink(&profile, 8000, SECOND);
	assert_true(profile.spans.step >= SECOND);
	assert_int_equal(sum_of(&profile.spans).weight, all.weight);
	check_nodes(&profile);
	count_pairs(&profile, after);
	assert_memory_equal(before, after, sizeof(before));
	flame_profile_free(&profile);
}

TEST(test_small_ones_stay_as_they_are)
{
	struct flame_profile profile;

	flame_profile_init(&profile, 0, false);
	for (uint64_t i = 0; i < 1000; i++)
		add_sample(&profile, i * SECOND / 1000, 1);
	flame_profile_finish(&profile);
	shrink(&profile, 10000, 0);
	assert_int_equal(profile.spans.n, 1000);
	assert_int_equal(profile.spans.step, FLAME_STEP_FIRST);
	assert_int_equal(profile.pruned, 0);
	check_nodes(&profile);
	flame_profile_free(&profile);
}

static uint32_t count_threads(const struct flame_profile *profile)
{
	uint32_t count = 0;

	for (size_t i = 0; i < profile->n_threads; i++)
		count += profile->threads[i].count;
	return count;
}

TEST(test_rare_threads_become_one)
{
	static const size_t kept[] = { 100, 10, 4 };
	struct flame_profile profile;
	struct amount all;

	flame_profile_init(&profile, 0, false);
	for (uint64_t i = 0; i < 20000; i++)
		add_sample(&profile, i * SECOND / 1000, 1 + random_below(1 + random_below(40)));
	flame_profile_finish(&profile);
	all = sum_of(&profile.spans);
	assert_int_equal(profile.n_threads, 40);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		const struct flame_limits limits = { .nodes = SIZE_MAX, .threads = kept[i] };
		const struct flame_thread *last;

		flame_profile_limit(&profile, &limits);
		assert_int_equal(sum_of(&profile.spans).samples, all.samples);
		assert_int_equal(sum_of(&profile.spans).weight, all.weight);
		assert_int_equal(count_threads(&profile), 40);
		check_nodes(&profile);
		if (kept[i] > 40)
			continue;
		last = &profile.threads[profile.n_threads - 1];
		assert_true(profile.n_threads <= kept[i] + 1);
		assert_int_equal(last->count, 40 - (profile.n_threads - 1));
		assert_int_equal(last->tid, 0);
		assert_int_equal(last->pid, 1);
	}
	assert_int_equal(profile.n_threads, 5);
	assert_string_equal(profile.threads[4].thread->name, "[36 more threads]");
	flame_profile_free(&profile);
}

TEST(test_lines_are_joined_before_calls)
{
	struct reel_frame lines[3] = { frames[0], frames[0], frames[1] };
	struct flame_profile profile;

	for (uint32_t i = 0; i < 3; i++) {
		lines[i].file = "a.c";
		lines[i].line = i + 1;
	}
	flame_profile_init(&profile, 0, true);
	for (uint32_t i = 0; i < 30; i++) {
		const struct reel_frame *stack[] = { &lines[2], &lines[i % 3 == 0] };
		const uint8_t steps[2] = { 0 };
		const struct reel_trace trace = {
			.time = i,
			.weight = 1,
			.pid = 1,
			.tid = 1,
			.comm = "c",
			.host = "",
			.frames = stack,
			.steps = steps,
			.n_frames = 2,
			.stop = REEL_STOP_ROOT,
		};

		flame_profile_add(&profile, &trace, NULL);
	}
	flame_profile_finish(&profile);
	assert_int_equal(profile.events[0].tree.n_nodes, 1 + 2 + 2);
	flame_profile_limit(&profile, &(struct flame_limits){ .nodes = 3, .threads = 1 });
	assert_int_equal(profile.events[0].tree.n_nodes, 1 + 1 + 1);
	assert_int_equal(profile.pruned, 0);
	assert_int_equal(sum_of(&profile.spans).samples, 30);
	/* The line of most samples. */
	assert_int_equal(((const struct flame_frame *)profile.events[0].tree.nodes[1].key)->line,
			 1);
	check_nodes(&profile);
	flame_profile_free(&profile);
}

/* Otherwise a profile of rare calls only would lose all of them at once. */
TEST(test_of_equal_calls_the_deepest_are_left_out)
{
	const uint8_t steps[3] = { 0 };
	struct flame_profile profile;
	size_t kept = 0;

	flame_profile_init(&profile, 0, false);
	for (uint32_t i = 1; i < FUNCTIONS; i++) {
		const struct reel_frame *stack[] = { &frames[i], &frames[i], &frames[0] };
		struct reel_trace trace = {
			.time = i,
			.weight = 1,
			.pid = 1,
			.tid = 1,
			.comm = "c",
			.host = "",
			.frames = stack,
			.steps = steps,
			.n_frames = 3,
			.stop = REEL_STOP_ROOT,
		};

		flame_profile_add(&profile, &trace, NULL);
	}
	flame_profile_finish(&profile);
	shrink(&profile, FUNCTIONS + 10, 0);
	for (uint32_t i = 1; i < profile.events[0].tree.n_nodes; i++) {
		const struct flame_frame *frame = profile.events[0].tree.nodes[i].key;

		kept += frame->symbol->name[0] == 'f';
	}
	assert_int_equal(kept, FUNCTIONS);
	assert_int_equal(profile.pruned, FUNCTIONS - 1);
	check_nodes(&profile);
	flame_profile_free(&profile);
}

/* All are different until memory runs out: then the steps get wider. */
TEST(test_spans_are_bounded)
{
	const uint32_t n = 2500000;
	struct flame_spans spans;

	flame_spans_init(&spans);
	for (uint32_t i = 0; i < n; i++)
		flame_spans_add(&spans, (struct flame_span){ .bin = (uint64_t)i * FLAME_STEP_FIRST,
							     .node = i % 7 < 3,
							     .amount = { 3, 1 } });
	assert_true(spans.capacity < 1u << 22);
	flame_spans_merge(&spans);
	assert_int_equal(sum_of(&spans).samples, n);
	assert_int_equal(sum_of(&spans).weight, 3 * (uint64_t)n);
	while (flame_spans_widen(&spans))
		assert_int_equal(sum_of(&spans).samples, n);
	assert_int_equal(spans.n, 2);
	flame_spans_free(&spans);
}

RUN_TESTS_WITH(make_frames, NULL)
