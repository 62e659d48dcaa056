/* SPDX-License-Identifier: Apache-2.0 */
/* replay/unwind_cache.c: what is remembered of code, where that moves or another one comes. */
#include "tests/unwind_world.h"

/* Two functions' frames of so many words each, and the process's first. */
static void world_of_frames(struct world *w, uint64_t words)
{
	world_x86(w);
	root_function(w);
	function(w, 0x2000, 0x2100, BYTES(0x0e, (uint8_t)(8 * words)));
	function(w, 0x2100, 0x2200, BYTES(0x0e, (uint8_t)(8 * words)));
	w->state.pc = BIAS + 0x2010;
	set(w, 7, STACK_WORD(100));
	w->stack[99 + words] = call_before(w, 0x2150);
	w->stack[99 + 2 * words] = call_before(w, 0x1020);
	unwind(w);
}

static void unwind_moved(struct world *w, struct reel_unwind_cache *cache, uint64_t words,
			 uint64_t moved)
{
	w->input.cache = cache;
	/* A state of its own of each space: where each world's code is moved to. */
	w->input.generation = 1 + w->id + moved;
	w->moved = moved;
	/* Another world's rules would find a caller, too. */
	for (size_t i = 100; i < 120; i++)
		w->stack[i] = BIAS + 0x1020 + moved;
	w->stack[99 + words] = BIAS + 0x2150 + moved;
	w->stack[99 + 2 * words] = BIAS + 0x1020 + moved;
	write_stack(w);
	w->state.known = 0;
	w->state.pc = BIAS + 0x2010 + moved;
	set(w, 7, STACK_WORD(100));
	assert_null(reel_unwind_trace(&w->input, w->programs, &w->state, &w->frames, &w->stop));
	assert_int_equal(w->stop, REEL_STOP_ROOT);
	assert_int_equal(w->frames.n, 3);
	assert_int_equal(w->frames.addresses[1], BIAS + 0x2150 + moved);
	assert_int_equal(w->frames.addresses[2], BIAS + 0x1020 + moved);
	assert_int_equal(w->frames.sps[1], STACK_WORD(100 + words));
	assert_int_equal(w->frames.sps[2], STACK_WORD(100 + 2 * words));
}

/* What a cache has of a module is good wherever it is mapped, and is no other module's. */
static void test_remembered_code(void **unused)
{
	struct reel_unwind_cache *cache;
	struct world one, other;

	(void)unused;
	world_of_frames(&one, 4);
	world_of_frames(&other, 6);
	other.id = 1;
	assert_null(reel_unwind_cache_create(&cache));
	for (uint64_t i = 0; i < 6; i++) {
		unwind_moved(&one, cache, 4, i % 3 * 0x10000);
		unwind_moved(&other, cache, 6, i % 2 * 0x10000);
	}
	reel_unwind_cache_destroy(cache);
	unwind_moved(&one, NULL, 4, 0);
	unwind_moved(&other, NULL, 6, 0);
	EXPECT(&one, REEL_STOP_ROOT, 0x2010, 0x2150, 0x1020);
	EXPECT(&other, REEL_STOP_ROOT, 0x2010, 0x2150, 0x1020);
}

/* Code from 0x2100 on is another world's. */
struct two_worlds {
	struct world *lower, *upper;
};

static enum reel_code_found find_code_of_two(void *context, uint64_t address, struct reel_code *ret)
{
	const uint64_t border = BIAS + 0x2100;
	struct two_worlds *two = context;
	bool is_upper = address >= border;
	enum reel_code_found found = find_code(is_upper ? two->upper : two->lower, address, ret);

	if (found == REEL_CODE_FOUND) {
		uint64_t end = ret->begin + ret->size;

		ret->begin = is_upper ? border : ret->begin;
		ret->size = (is_upper ? end : border) - ret->begin;
	}
	return found;
}

/* Other code comes to lie where a frame's caller was: it is not taken for what was there. */
static void test_remembered_caller(void **unused)
{
	struct reel_unwind_cache *cache;
	struct world worlds[3];

	(void)unused;
	for (uint64_t i = 0; i < 3; i++) {
		world_of_frames(&worlds[i], 4 + 2 * i);
		worlds[i].id = i;
	}
	assert_null(reel_unwind_cache_create(&cache));
	for (uint64_t i = 0; i < 8; i++) {
		struct two_worlds two = { &worlds[0], &worlds[1 + i % 2] };
		struct world *w = &worlds[0];
		uint64_t words = 6 + 2 * (i % 2);

		w->input.cache = cache;
		w->input.generation = 1 + i % 2;
		w->input.find_code = find_code_of_two;
		w->input.context = &two;
		w->stack[103] = call_before(w, 0x2050);
		w->stack[107] = BIAS + 0x2150;
		w->stack[107 + words] = BIAS + 0x1020;
		write_stack(w);
		w->state.known = 0;
		w->state.pc = BIAS + 0x2010;
		set(w, 7, STACK_WORD(100));
		assert_null(
			reel_unwind_trace(&w->input, w->programs, &w->state, &w->frames, &w->stop));
		assert_int_equal(w->stop, REEL_STOP_ROOT);
		assert_int_equal(w->frames.n, 4);
		assert_int_equal(w->frames.sps[3], STACK_WORD(108 + words));
		w->input.cache = NULL;
		w->input.find_code = find_code;
		w->input.context = w;
	}
	reel_unwind_cache_destroy(cache);
	EXPECT(&worlds[0], REEL_STOP_ROOT, 0x2010, 0x2050, 0x2150, 0x1020);
	EXPECT(&worlds[1], REEL_STOP_ROOT, 0x2010, 0x2150, 0x1020);
	EXPECT(&worlds[2], REEL_STOP_ROOT, 0x2010, 0x2150, 0x1020);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remembered_code),
		cmocka_unit_test(test_remembered_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
