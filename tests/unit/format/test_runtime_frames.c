/* SPDX-License-Identifier: Apache-2.0 */
/* format/codec/runtime_frames: FRAMES. */
#include "format/codec/runtime_frames.h"
#include "tests/support/example.h"
#include "tests/support/test.h"

#define SAMPLES 3000

struct stack {
	struct reel_sample sample;
	struct reel_runtime_frame frames[REEL_RUNTIME_FRAMES_MAX];
};

/* A thread's stack: the outer part of its previous one, and some new frames. */
static void next_stack(struct stack *stack, uint64_t *random)
{
	size_t n = stack->sample.n_runtime_frames, kept = n ? next_random(random) % (n + 1) : 0;
	size_t added = next_random(random) % (next_random(random) % 50 ? 6 : 400);

	if (added + kept > REEL_RUNTIME_FRAMES_MAX)
		added = REEL_RUNTIME_FRAMES_MAX - kept;
	memmove(stack->frames + added, stack->frames + n - kept, kept * sizeof(*stack->frames));
	for (size_t i = 0; i < added; i++) {
		uint64_t shape = next_random(random);

		stack->frames[i] = (struct reel_runtime_frame){
			.function = shape & 1 ? shape >> 32 & 7 : next_random(random) >> 2,
			.position = shape & 2 ? shape >> 40 & 7 : next_random(random),
			.is_entry = shape & 4,
			.native = shape & 4 && shape & 8 ? next_random(random) : 0,
		};
	}
	stack->sample.runtime = 1 + next_random(random) % 3;
	stack->sample.runtime_cut = next_random(random) % 2;
	stack->sample.runtime_frames = stack->frames;
	stack->sample.n_runtime_frames = kept + added;
}

static void assert_frames(const struct reel_sample *got, const struct reel_sample *expected)
{
	assert_int_equal(got->n_runtime_frames, expected->n_runtime_frames);
	if (!got->n_runtime_frames)
		return;
	assert_int_equal(got->runtime, expected->runtime);
	assert_int_equal(got->runtime_cut, expected->runtime_cut);
	for (size_t i = 0; i < got->n_runtime_frames; i++) {
		const struct reel_runtime_frame *a = &got->runtime_frames[i];
		const struct reel_runtime_frame *b = &expected->runtime_frames[i];

		assert_true(a->function == b->function && a->position == b->position &&
			    a->is_entry == b->is_entry && a->native == b->native);
	}
}

TEST(test_samples)
{
	static struct stack stacks[SAMPLES];
	struct reel_frame_encoder encoder = { 0 };
	struct reel_frame_decoder decoder = { 0 };
	uint64_t random = 7;

	/* The second time, no state of the first is left. */
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < SAMPLES; i++) {
			if (i)
				stacks[i] = stacks[i - 1];
			next_stack(&stacks[i], &random);
			if (next_random(&random) % 4 == 0)
				stacks[i].sample.n_runtime_frames = 0;
			assert_null(reel_runtime_frames_check(&stacks[i].sample));
			assert_true(reel_runtime_frames_encode(&encoder, &stacks[i].sample));
		}
		must(reel_runtime_frames_begin(
			&decoder, reel_cursor(encoder.payload.bytes, encoder.payload.size)));
		for (size_t i = 0; i < SAMPLES; i++) {
			struct reel_sample sample = { 0 };

			reel_runtime_frames_next(&decoder, &sample);
			assert_frames(&sample, &stacks[i].sample);
		}
		assert_false(reel_runtime_frames_left(&decoder));
		reel_frame_encoder_reset(&encoder);
	}
	reel_frame_encoder_free(&encoder);
	reel_frame_decoder_free(&decoder);
}

/* Frames that the tree has already take no more room than their place in it. */
TEST(test_shared)
{
	static struct stack stack;
	struct reel_frame_encoder encoder = { 0 };
	uint64_t random = 1;
	size_t size;

	while (stack.sample.n_runtime_frames < 200)
		next_stack(&stack, &random);
	assert_true(reel_runtime_frames_encode(&encoder, &stack.sample));
	size = encoder.payload.size;
	assert_true(reel_runtime_frames_encode(&encoder, &stack.sample));
	assert_int_equal(encoder.payload.size, size + 4);
	reel_frame_encoder_free(&encoder);
}

/* An encoder is full before it exceeds a limit. */
TEST(test_limits)
{
	static struct stack stack;
	struct reel_frame_encoder encoder = { 0 };
	struct reel_frame_decoder decoder = { 0 };

	stack.sample.runtime = REEL_RUNTIME_PYTHON;
	stack.sample.runtime_frames = stack.frames;
	stack.sample.n_runtime_frames = REEL_RUNTIME_FRAMES_MAX;
	for (int changes = 0; changes < 2; changes++) {
		uint64_t n = 0;

		while (!reel_frame_encoder_is_full(&encoder)) {
			stack.frames[REEL_RUNTIME_FRAMES_MAX - 1].position = changes ? n : 0;
			assert_true(reel_runtime_frames_encode(&encoder, &stack.sample));
			n++;
		}
		assert_int_equal(n * REEL_RUNTIME_FRAMES_MAX,
				 changes ? REEL_FRAME_NODES_MAX : REEL_RUNTIME_FRAMES_TOTAL_MAX);
		must(reel_runtime_frames_begin(
			&decoder, reel_cursor(encoder.payload.bytes, encoder.payload.size)));
		reel_frame_encoder_reset(&encoder);
	}
	reel_frame_encoder_free(&encoder);
	reel_frame_decoder_free(&decoder);
}

RUN_TESTS()
