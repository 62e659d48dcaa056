/* SPDX-License-Identifier: Apache-2.0 */
/* replay/traces: which native frames run which frames of an interpreter. */
#include "base/error.h"
#include "replay/names/runtime_functions.h"
#include "replay/traces/runtime_order.h"
#include "tests/support/test.h"

#define FRAMES_MAX 40

/*
 * A stack, leaf first.  Native frames: 'E' evaluates, 'T' a tail call in it, 'V' leads to one, 'N'
 * has no name, others are other functions.  Python frames: a letter, and a '.' after an entry, or a
 * digit: the native frame, counted from the leaf, that has its native address.
 */
struct stack {
	const char *native, *python;
	bool is_incomplete, is_cut, is_resolved, only;
	/* Native frames are their letters, Python frames in lower case. */
	const char *expected;
};

#define STACK 0x7ffc00001000
#define SIZE  0x800

static const char *name_of(char letter)
{
	switch (letter) {
	case 'E':
		return "_PyEval_EvalFrameDefault";
	case 'C':
		return "_PyEval_EvalFrameDefault.cold";
	case 'T':
		return "_TAIL_CALL_CALL_PY_EXACT_ARGS";
	case 'V':
		return "_PyFunction_Vectorcall";
	case 'N':
		return "";
	default:
		return "PyObject_Call";
	}
}

static void check(const struct stack *stack)
{
	struct reel_frame frames[FRAMES_MAX] = { 0 },
			  inlined = { .function = "inlined", .inlined = true };
	const struct reel_frame *pointers[FRAMES_MAX][2];
	struct reel_address_frames names[FRAMES_MAX] = { 0 };
	uint64_t sps[FRAMES_MAX];
	struct reel_unwind_frames unwound = { .sps = sps, .n = strlen(stack->native) };
	struct reel_runtime_frame runtime[FRAMES_MAX];
	char letters[FRAMES_MAX], got[FRAMES_MAX] = "";
	struct reel_sample sample = {
		.runtime = REEL_RUNTIME_PYTHON,
		.runtime_frames = runtime,
		.runtime_cut = stack->is_cut,
		.flags = stack->is_resolved ? REEL_SAMPLE_RESOLVED : 0,
	};
	struct reel_runtime_order order = { 0 };

	for (size_t i = 0; i < unwound.n; i++) {
		frames[i].function = name_of(stack->native[i]);
		pointers[i][0] = &inlined;
		pointers[i][1] = &frames[i];
		names[i] = (struct reel_address_frames){ .frames = pointers[i], .n = 2 };
		sps[i] = stack->is_resolved ? 0 : STACK + SIZE * i;
	}
	for (const char *at = stack->python; *at; at++) {
		struct reel_runtime_frame *frame = &runtime[sample.n_runtime_frames];

		letters[sample.n_runtime_frames++] = *at;
		*frame = (struct reel_runtime_frame){ .function = (uint64_t)*at };
		if (at[1] != '.' && !(at[1] >= '0' && at[1] <= '9'))
			continue;
		at++;
		frame->is_entry = true;
		if (*at == '.')
			continue;
		frame->native = stack->is_resolved ? unwound.n - (uint64_t)(*at - '0')
						   : STACK + SIZE * (uint64_t)(*at - '0') + 0x40;
	}
	assert_null(reel_runtime_order_make(&order, &sample, &unwound, names, !stack->is_incomplete,
					    stack->only));
	assert_true(order.n < FRAMES_MAX);
	for (size_t i = 0; i < order.n; i++)
		got[i] = order.frames[i].is_runtime ? letters[order.frames[i].index]
						    : stack->native[order.frames[i].index];
	assert_string_equal(got, stack->expected);
	reel_runtime_order_free(&order);
}

TEST(test_orders)
{
	static const struct stack stacks[] = {
		/* By native addresses, with Python-to-Python calls in one native frame. */
		{ "LEM", "abc1", .expected = "LabcM" },
		{ "EFEM", "ab0cd2", .expected = "abFcdM" },
		{ "LCNM", "ab1c2", .expected = "LabcM" },
		{ "EFEM", "ab0cd2", .is_resolved = true, .expected = "abFcdM" },
		/* A call that does not run a function yet. */
		{ "EEFEM", "a1b3", .expected = "EaFbM" },
		/* The tail-call interpreter: its callee is a part of it. */
		{ "LTEFTEM", "a2b5", .expected = "LaFbM" },
		/* Calls of Python functions; not without one. */
		{ "LEVVFVEVM", "a1b6", .expected = "LaFVbM" },
		{ "EVEVM", "a.b.", .expected = "abM" },
		/* The stack ends early; frames of native functions beyond it come last. */
		{ "LEF", "ab1c9", .is_incomplete = true, .expected = "LabFc" },
		{ "LE", "ab1", .is_incomplete = true, .expected = "Lab" },
		/* One that belongs to no native frame stays between its neighbours. */
		{ "EFEM", "a0b9c2", .expected = "aFbcM" },
		/* Not the interpreter's function: it stays. */
		{ "LFM", "a1", .expected = "LFaM" },
		/* An address beyond a resolved trace's frames. */
		{ "LE", "a1b9", .is_resolved = true, .expected = "Lab" },

		/* By counting. */
		{ "LEFEM", "a.b.", .expected = "LaFbM" },
		{ "EFEM", "b.", .expected = "EFbM" },
		{ "EFE", "a.b.c.", .is_incomplete = true, .expected = "aFbc" },
		{ "EFEFEM", "a.b.", .is_cut = true, .expected = "aFbFEM" },
		/* They do not fit: all belong to the innermost one. */
		{ "LEFEFEM", "a.", .expected = "LaFEFEM" },
		{ "LEFEM", "a.b.c.", .expected = "LabcFEM" },
		{ "LFM", "ab.", .expected = "LFMab" },

		{ "LEFEM", "a1b3", .only = true, .expected = "ab" },
		{ "", "ab.", .is_incomplete = true, .expected = "ab" },
	};

	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		print_message("%s with %s\n", stacks[i].native, stacks[i].python);
		check(&stacks[i]);
	}
}

/* Hostile: many addresses that belong to no frame. */
TEST(test_strays)
{
	static struct reel_runtime_frame runtime[REEL_RUNTIME_FRAMES_MAX];
	const struct reel_sample sample = { .runtime_frames = runtime,
					    .n_runtime_frames = REEL_RUNTIME_FRAMES_MAX };
	const struct reel_unwind_frames unwound = { 0 };
	struct reel_runtime_order order = { 0 };

	for (size_t i = 0; i < REEL_RUNTIME_FRAMES_MAX; i++)
		runtime[i] = (struct reel_runtime_frame){ .is_entry = true, .native = i + 1 };
	assert_null(reel_runtime_order_make(&order, &sample, &unwound, NULL, true, false));
	assert_int_equal(order.n, REEL_RUNTIME_FRAMES_MAX);
	reel_runtime_order_free(&order);
}

RUN_TESTS()

/* Pairs of positions and lines, one of which would be beyond 2^64 - 1: it and those after it do not count. */
TEST(test_lines_that_overflow)
{
	static const uint8_t lines[] = "\x0a\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\x02\0\x02";
	const struct reel_record_function record = {
		.id = 1, .runtime = 1, .line = 7, .lines = { lines, sizeof(lines) - 1 }
	};
	struct reel_runtime_functions functions = { 0 };
	const struct reel_runtime_function *function;

	assert_null(reel_runtime_functions_add(&functions, &record));
	function = reel_runtime_functions_find(&functions, 1);
	assert_int_equal(reel_runtime_function_line(function, 9), 0);
	assert_int_equal(reel_runtime_function_line(function, 10), 8);
	assert_int_equal(reel_runtime_function_line(function, UINT64_MAX), 8);
	reel_runtime_functions_free(&functions);
}
