/* SPDX-License-Identifier: Apache-2.0 */
/* replay/unwind/unwind_cache.c: remembering code, when it moves or other code replaces
 * it, and when its rules read far from the CFA. */
#include "base/bytes.h"
#include "tests/support/unwind_world.h"

/* Two functions' frames of that many words each, and the process's first. */
static void world_of_frames(struct world *w, uint64_t words)
{
	world_x86_with_root(w);
	function(w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, (uint8_t)(8 * words)));
	function(w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa_offset, (uint8_t)(8 * words)));
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
	/*
	 * Each space has its own generation, given by the address that each world's code is moved
	 * to.
	 */
	w->input.generation = 1 + w->id + moved;
	w->moved = moved;
	/* Another world's rules would also find a caller. */
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

/* Cached data of a module is valid wherever the module is mapped, and only for that module. */
TEST(test_remembered_code)
{
	struct reel_unwind_cache *cache;
	struct world one, other;

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

/* Code from 0x2100 on belongs to another world. */
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

/* Other code replaces a frame's caller: it is not mistaken for the old code. */
TEST(test_remembered_caller)
{
	struct reel_unwind_cache *cache;
	struct world worlds[3];

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

/* ---- rules that read far from the CFA --------------------------------------------------- */

#define FAR_WORDS   (1 << 15)				    /* of the stack */
#define FAR_START   5100				    /* the sampled sp */
#define FAR_FRAME   5002				    /* from sp to the CFA */
#define FAR_CFA	    DW_CFA_def_cfa_offset, 0xd0, 0xb8, 0x02 /* CFA = rsp + 40016 */
#define NOT_SAVED   0
#define RBX_SAMPLED 1
#define RBP_SAMPLED (FAR_WORDS - UINT64_C(8)) /* words of the stack */
#define RBP_SAVED   (FAR_WORDS - UINT64_C(4))

/* In words from the CFA. */
struct far_rule {
	uint8_t program[10];
	int64_t rbx, rbp, return_address, sp;
};

/* Addresses farther up, so that a walk continues after a wrong read. */
static uint64_t word_of_far_stack(int64_t index)
{
	return STACK_WORD((uint64_t)FAR_WORDS - 8192) + (uint64_t)index;
}

static void fill_far_stack(struct world *w, const struct far_rule *rule, int64_t outer_cfa,
			   uint8_t *stack)
{
	int64_t cfa = FAR_START + FAR_FRAME;

	for (int64_t i = 0; i < FAR_WORDS; i++)
		reel_store64(stack + 8 * i, word_of_far_stack(i));
	reel_store64(stack + 8 * (cfa + rule->return_address), call_before(w, 0x2020));
	reel_store64(stack + 8 * (outer_cfa + rule->return_address), call_before(w, 0x2110));
	reel_store64(stack + 8 * (RBP_SAMPLED + 1), call_before(w, 0x1020));
	if (rule->rbp != NOT_SAVED) {
		reel_store64(stack + 8 * (outer_cfa + rule->rbp), STACK_WORD(RBP_SAVED));
		reel_store64(stack + 8 * (RBP_SAVED + 1), call_before(w, 0x1020));
	}
}

/* A function with such frames, which has called itself; its caller's CFA is based on rbp. */
static void unwind_far(const struct far_rule *rule)
{
	static uint8_t stack[8 * FAR_WORDS];
	int64_t cfa = FAR_START + FAR_FRAME, outer_cfa = cfa + rule->sp + FAR_FRAME;
	uint64_t rbp = rule->rbp == NOT_SAVED ? RBP_SAMPLED : RBP_SAVED;
	struct world w;

	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, rule->program, sizeof(rule->program));
	function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa, 6, 16)); /* CFA = rbp + 16 */
	fill_far_stack(&w, rule, outer_cfa, stack);
	w.regions[0].bytes = stack;
	w.regions[0].size = sizeof(stack);
	begin_at(&w, 0x2010, STACK_WORD(FAR_START));
	set(&w, 3, RBX_SAMPLED);
	set(&w, 6, STACK_WORD(RBP_SAMPLED));
	unwind(&w);
	assert_int_equal(w.frames.sps[1], STACK_WORD((uint64_t)(cfa + rule->sp)));
	assert_int_equal(w.frames.sps[2], STACK_WORD((uint64_t)(outer_cfa + rule->sp)));
	assert_int_equal(w.frames.sps[3], STACK_WORD(rbp + 2));
	assert_int_equal(w.state.registers[reel_arch_slot(w.arch, 3)],
			 rule->rbx == NOT_SAVED ? RBX_SAMPLED
						: word_of_far_stack(outer_cfa + rule->rbx));
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x2020, 0x2110, 0x1020);
}

/*
 * A cached rule has 16 bits for an offset.  These offsets are at the ends of that range and beyond,
 * where the lower 16 bits select other words of the stack.
 */
TEST(test_far_reads)
{
	static const struct far_rule rules[] = {
		/* rbx at cfa - 32768, - 32776, - 40008 */
		{ { FAR_CFA, DW_CFA_offset | 3, 0x80, 0x20 }, -4096, NOT_SAVED, -1, 0 },
		{ { FAR_CFA, DW_CFA_offset | 3, 0x81, 0x20 }, -4097, NOT_SAVED, -1, 0 },
		{ { FAR_CFA, DW_CFA_offset | 3, 0x89, 0x27 }, -5001, NOT_SAVED, -1, 0 },
		/* rbp at cfa - 32776, - 40008 */
		{ { FAR_CFA, DW_CFA_offset | 6, 0x81, 0x20 }, NOT_SAVED, -4097, -1, 0 },
		{ { FAR_CFA, DW_CFA_offset | 6, 0x89, 0x27 }, NOT_SAVED, -5001, -1, 0 },
		/* rbp at cfa + 32752, + 32768, + 40000 */
		{ { FAR_CFA, DW_CFA_offset_extended_sf, 6, 0x82, 0x60 }, NOT_SAVED, 4094, -1, 0 },
		{ { FAR_CFA, DW_CFA_offset_extended_sf, 6, 0x80, 0x60 }, NOT_SAVED, 4096, -1, 0 },
		{ { FAR_CFA, DW_CFA_offset_extended_sf, 6, 0xf8, 0x58 }, NOT_SAVED, 5000, -1, 0 },
		/* the return address at cfa - 32768, - 32776, - 40008 */
		{ { FAR_CFA, DW_CFA_offset | 16, 0x80, 0x20 }, NOT_SAVED, NOT_SAVED, -4096, 0 },
		{ { FAR_CFA, DW_CFA_offset | 16, 0x81, 0x20 }, NOT_SAVED, NOT_SAVED, -4097, 0 },
		{ { FAR_CFA, DW_CFA_offset | 16, 0x89, 0x27 }, NOT_SAVED, NOT_SAVED, -5001, 0 },
		/* rsp is cfa + 32760, + 32768, + 40008 */
		{ { FAR_CFA, DW_CFA_val_offset_sf, 7, 0x81, 0x60 },
		  NOT_SAVED,
		  NOT_SAVED,
		  -1,
		  4095 },
		{ { FAR_CFA, DW_CFA_val_offset_sf, 7, 0x80, 0x60 },
		  NOT_SAVED,
		  NOT_SAVED,
		  -1,
		  4096 },
		{ { FAR_CFA, DW_CFA_val_offset_sf, 7, 0xf7, 0x58 },
		  NOT_SAVED,
		  NOT_SAVED,
		  -1,
		  5001 },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		unwind_far(&rules[i]);
}

RUN_TESTS()
