/* SPDX-License-Identifier: Apache-2.0 */
/* replay/traces/batch.c, previous_trace.c: a batch returns the traces put into it, whatever they
 * share.
 */
#include "replay/traces/batch.h"
#include "replay/traces/previous_trace.h"
#include "tests/support/example.h"
#include "tests/support/test.h"

#define STACKS	  5
#define DEPTH_MAX 60
#define TRACES	  3000

/* Root first. */
struct stack {
	uint32_t values[DEPTH_MAX];
	size_t n;
	uint32_t trace; /* the last trace made from it */
};

static struct reel_frame frames[1000];

/* A stack that has lost some of its frames and gained others. */
static size_t change(struct stack *stack, uint64_t *random)
{
	size_t kept = next_random(random) % (stack->n + 1);
	size_t more = next_random(random) % 8;

	if (next_random(random) % 3 == 0)
		kept = stack->n;
	stack->n = kept;
	while (more-- && stack->n < DEPTH_MAX)
		stack->values[stack->n++] = (uint32_t)(next_random(random) % 1000);
	return kept;
}

static void add(struct reel_batch *batch, struct stack *stack, size_t n_shared, uint64_t id)
{
	const uint64_t chain[2] = { id, ~id };
	uint64_t sps[DEPTH_MAX];
	const struct reel_trace trace = {
		.id = id,
		.frame_chain = chain,
		.n_frame_chain = id % 3,
		.stack_pointers = id % 5 ? sps : NULL,
	};
	size_t own = batch->n_frames;

	for (size_t i = 0; i < stack->n; i++)
		sps[i] = id + i;
	must(reel_batch_reserve_frames(batch, stack->n - n_shared));
	for (size_t i = stack->n; i-- > n_shared; batch->n_frames++) {
		batch->frames[batch->n_frames] = &frames[stack->values[i]];
		batch->addresses[batch->n_frames] = stack->values[i] * 3;
		batch->steps[batch->n_frames] = (uint8_t)(stack->values[i] % 7);
	}
	must(reel_batch_add_trace(batch, &trace, own, stack->trace, n_shared));
	stack->trace = (uint32_t)batch->n_traces - 1;
}

static void assert_trace(const struct reel_batch_view *view, const struct stack *model, uint64_t id)
{
	const struct reel_trace *trace = &view->trace;

	assert_int_equal(trace->id, id);
	assert_int_equal(trace->n_frames, model->n);
	for (size_t i = 0; i < model->n; i++) {
		uint32_t value = model->values[model->n - 1 - i];

		assert_ptr_equal(trace->frames[i], &frames[value]);
		assert_int_equal(trace->addresses[i], value * 3);
		assert_int_equal(trace->steps[i], value % 7);
	}
	assert_int_equal(!trace->stack_pointers, id % 5 == 0);
	for (size_t i = 0; i < model->n && trace->stack_pointers; i++)
		assert_int_equal(trace->stack_pointers[i], id + i);
	assert_int_equal(trace->n_frame_chain, id % 3);
	for (size_t i = 0; i < trace->n_frame_chain; i++)
		assert_true(trace->frame_chain[i] == (i ? ~id : id));
}

static void round_trip(size_t n_stacks, uint64_t random)
{
	static struct stack models[TRACES];
	struct stack stacks[STACKS] = { 0 };
	struct reel_batch_view view = { 0 };
	struct reel_batch *batch;

	must(reel_batch_create(&batch));
	for (uint64_t i = 0; i < TRACES; i++) {
		struct stack *stack = &stacks[next_random(&random) % n_stacks];
		size_t kept = change(stack, &random);

		add(batch, stack, next_random(&random) % 20 ? kept : 0, i);
		models[i] = *stack;
	}
	for (uint32_t i = 0; i < TRACES; i++) {
		must(reel_batch_view_set(&view, batch, i));
		assert_trace(&view, &models[i], i);
	}
	/* Also in any order. */
	for (uint32_t i = 0; i < TRACES; i++) {
		uint32_t index = (uint32_t)(next_random(&random) % TRACES);

		if (i % 100 == 0)
			reel_batch_view_reset(&view);
		must(reel_batch_view_set(&view, batch, index));
		assert_trace(&view, &models[index], index);
	}
	reel_batch_view_free(&view);
	reel_batch_destroy(batch);
}

TEST(test_one_stack)
{
	round_trip(1, 1);
}

TEST(test_many_stacks)
{
	round_trip(STACKS, 2);
}

/* A cleared batch is as good as new. */
TEST(test_clear)
{
	struct stack stack = { .n = 3, .values = { 1, 2, 3 } };
	struct reel_batch_view view = { 0 };
	struct reel_batch *batch;

	must(reel_batch_create(&batch));
	for (int round = 0; round < 3; round++) {
		add(batch, &stack, 0, 7);
		must(reel_batch_add_count(batch, 5, 9));
		must(reel_batch_add_problem(batch, reel_error_create(REEL_ERROR_CORRUPT, "bad")));
		must(reel_batch_view_set(&view, batch, 0));
		assert_trace(&view, &stack, 7);
		assert_int_equal(batch->n_counts, 1);
		assert_int_equal(batch->n_problems, 1);
		reel_batch_view_reset(&view);
		reel_batch_clear(batch);
		assert_int_equal(batch->n_traces + batch->n_frames + batch->n_chains, 0);
		assert_int_equal(batch->n_counts + batch->n_problems, 0);
	}
	while (!reel_batch_is_full(batch))
		add(batch, &stack, 0, 1);
	assert_int_equal(batch->n_traces, REEL_BATCH_TRACES);
	assert_true(reel_batch_size(batch) > REEL_BATCH_TRACES * sizeof(struct reel_trace));
	reel_batch_view_free(&view);
	reel_batch_destroy(batch);
}

/* Frames of the previous batch take no room from others, as long as there are not too many. */
TEST(test_repeated_frames)
{
	static const size_t repeated[] = { 0, 3, REEL_BATCH_FRAMES, REEL_BATCH_FRAMES_MAX - 1 };
	static const size_t wanted[] = { REEL_BATCH_FRAMES, REEL_BATCH_FRAMES + 3,
					 2 * REEL_BATCH_FRAMES, REEL_BATCH_FRAMES_MAX };

	for (size_t i = 0; i < 4; i++) {
		struct reel_batch batch = { .n_repeated = repeated[i], .n_frames = wanted[i] - 1 };

		assert_false(reel_batch_is_full(&batch));
		batch.n_frames++;
		assert_true(reel_batch_is_full(&batch));
		reel_batch_clear(&batch);
		assert_int_equal(batch.n_repeated, 0);
	}
}

/* Runs of modules, named frames and arrays, compared with plain lists. */
TEST(test_previous_traces)
{
	struct reel_previous_traces previous_traces = { 0 };
	uint64_t addresses[DEPTH_MAX], lookups[DEPTH_MAX];
	uint8_t steps[DEPTH_MAX];
	struct reel_unwind_frames unwound = { .addresses = addresses,
					      .lookups = lookups,
					      .steps = steps };
	struct stack stacks[STACKS] = { 0 };
	uint64_t random = 3;

	for (int round = 0; round < 5000; round++) {
		uint32_t index = (uint32_t)(next_random(&random) % STACKS);
		struct stack *stack = &stacks[index];
		size_t kept = change(stack, &random), begin = 0, named = 0;
		struct reel_previous_trace *previous;

		unwound.n = stack->n;
		for (size_t i = 0; i < stack->n; i++) {
			addresses[i] = stack->values[stack->n - 1 - i];
			lookups[i] = addresses[i] - 1;
			steps[i] = (uint8_t)(addresses[i] % 7);
		}
		must(reel_previous_traces_get(&previous_traces, index * 40, &previous));
		assert_true(reel_previous_trace_common(previous, &unwound) >= kept);
		must(reel_previous_trace_cut(&previous_traces, previous, kept, unwound.n));
		for (size_t i = unwound.n - kept; i-- > 0;)
			must(reel_previous_trace_add(previous, &unwound, i, addresses[i] % 2,
						     addresses[i] % 3));
		assert_int_equal(previous->n, stack->n);
		assert_int_equal(reel_previous_trace_common(previous, &unwound), stack->n);
		for (size_t i = 0, run = 0; i < stack->n; i++) {
			named += stack->values[i] % 3;
			assert_int_equal(previous->addresses[i], stack->values[i]);
			assert_int_equal(previous->named[i], named);
			while (i >= previous->runs[run].end)
				begin = previous->runs[run++].end;
			assert_true(run < previous->n_runs && begin < previous->runs[run].end);
			assert_int_equal(previous->runs[run].module, stack->values[i] % 2);
		}
		if (stack->n)
			assert_int_equal(previous->runs[previous->n_runs - 1].end, stack->n);
		else
			assert_int_equal(previous->n_runs, 0);
	}
	reel_previous_traces_free(&previous_traces);
}

RUN_TESTS()
