/* SPDX-License-Identifier: Apache-2.0 */
/* From the stack of Go's scheduler to the goroutine's. */
#include "tests/support/unwind_world.h"

/* Each test initializes it. */
static struct world w;

#define GOBUF 300 /* the stack's word at that address */

/*
 * This code called the function at 0x5000, which runs on the scheduler's stack:
 *
 *   3000: 48 8b 23        mov (%rbx),%rsp
 *   3003: ff d7           call *%rdi
 *   3005: 48 8b 20        mov (%rax),%rsp
 *   3008: c3              ret
 *
 * and was itself called by 0x2000, whose frame has two words, on the goroutine's stack.
 */
static void goroutine_world(uint64_t target)
{
	uint32_t to = (uint32_t)(target - 0x2020);

	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16));
	function(&w, 0x3000, 0x3010, NULL, 0);
	function(&w, 0x4000, 0x4001, NULL, 0);
	function(&w, 0x5000, 0x5100, NULL, 0);
	w.switches = (struct reel_cfi_range){ 0x3000, 0x3010 };
	code_at(&w, 0x201b,
		BYTES(0xe8, (uint8_t)to, (uint8_t)(to >> 8), (uint8_t)(to >> 16),
		      (uint8_t)(to >> 24)));
	code_at(&w, 0x3000, BYTES(0x48, 0x8b, 0x23, 0xff, 0xd7, 0x48, 0x8b, 0x20, 0xc3));
	code_at(&w, 0x4000, BYTES(0xc3));
	w.state.pc = BIAS + 0x5000;
	set(&w, 7, STACK_WORD(50));
	w.stack[50] = BIAS + 0x3005;
	w.stack[200] = BIAS + 0x2020;
	w.stack[202] = call_before(&w, 0x1020);
	w.regions[1] = (struct reel_memory_region){ .address = STACK_WORD(GOBUF), .size = 56 };
	w.input.waiting = &w.regions[1];
	/* systemstack_switch represents the function. */
	w.stack[GOBUF] = STACK_WORD(200);
	w.stack[GOBUF + 1] = BIAS + 0x4000;
	/* These have no meaning. */
	for (int i = 2; i < 5; i++)
		w.stack[GOBUF + i] = STACK_WORD(210);
}

TEST(test_system_stack)
{
	goroutine_world(0x3000);
	unwind(&w);
	assert_int_equal(w.frames.steps[2], REEL_STEP_OTHER_STACK);
	EXPECT(&w, REEL_STOP_ROOT, 0x5000, 0x3005, 0x2020, 0x1020);
}

/* mcall and morestack: where their callers continue. */
TEST(test_return_address)
{
	goroutine_world(0x3000);
	w.stack[GOBUF] = STACK_WORD(201);
	w.stack[GOBUF + 1] = BIAS + 0x2020;
	UNWIND(&w, REEL_STOP_ROOT, 0x5000, 0x3005, 0x2020, 0x1020);
}

/* The frame pointer, where Go 1.25 keeps it and where older versions do, if it is on that stack. */
TEST(test_frame_pointer)
{
	static const uint64_t nowhere[] = { STACK_WORD(190), STACK + 8 * 512, 0 };

	for (int word = 5; word <= 6; word++) {
		goroutine_world(0x3000);
		w.eh.size = 0;
		w.cie = build_cie(&w.eh, 1, "zR", PCREL_SDATA4, 1, 16, X86_INITIAL);
		root_function(&w);
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa, 6, 16));
		function(&w, 0x3000, 0x3010, NULL, 0);
		function(&w, 0x4000, 0x4001, NULL, 0);
		function(&w, 0x5000, 0x5100, NULL, 0);
		w.stack[GOBUF + word] = STACK_WORD(210);
		w.stack[211] = BIAS + 0x1020;
		UNWIND(&w, REEL_STOP_ROOT, 0x5000, 0x3005, 0x2020, 0x1020);
	}
	for (size_t i = 0; i < 3; i++) {
		goroutine_world(0x3000);
		function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa, 6, 16));
		code_at(&w, 0x211b, BYTES(0xe8, 0xe0, 0x0e, 0x00, 0x00)); /* call 3000 */
		w.stack[200] = BIAS + 0x2120;
		w.stack[GOBUF + 6] = nowhere[i];
		UNWIND(&w, REEL_STOP_REGISTER_UNKNOWN, 0x5000, 0x3005, 0x2120);
	}
}

/*
 * As Go 1.26 does it on x86-64: the function that changes stacks has a frame record,
 *
 *   3000: 55              push %rbp
 *   3001: 48 89 e5        mov %rsp,%rbp
 *   3004: 48 8b 23        mov (%rbx),%rsp
 *   3007: ff d7           call *%rdi
 *   3009: 48 8b 20        mov (%rax),%rsp
 *   300c: 5d              pop %rbp
 *   300d: c3              ret
 *
 * the noted sp is its address, and the noted pc is within an instruction of
 *
 *   6000: 55              push %rbp
 *   6001: 48 89 e5        mov %rsp,%rbp
 *   6004: 0f 0b           ud2
 *   6006: e8 25 a0 2c 00  call
 */
static void record_world(uint64_t target)
{
	goroutine_world(target);
	function(&w, 0x6000, 0x600b, NULL, 0);
	code_at(&w, 0x3000,
		BYTES(0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x23, 0xff, 0xd7, 0x48, 0x8b, 0x20, 0x5d,
		      0xc3));
	code_at(&w, 0x6000,
		BYTES(0x55, 0x48, 0x89, 0xe5, 0x0f, 0x0b, 0xe8, 0x25, 0xa0, 0x2c, 0x00));
	/* The frame pointer is still the callee's. */
	set(&w, 6, STACK_WORD(48));
	w.stack[48] = STACK_WORD(60);
	w.stack[49] = BIAS + 0x3009;
	w.stack[50] = BIAS + 0x3009;
	w.stack[200] = STACK_WORD(210);
	w.stack[201] = BIAS + 0x2020;
	w.stack[203] = call_before(&w, 0x1020);
	w.stack[GOBUF + 1] = BIAS + 0x6008;
}

TEST(test_frame_record)
{
	record_world(0x3000);
	unwind(&w);
	assert_int_equal(w.frames.steps[2], REEL_STEP_OTHER_STACK);
	EXPECT(&w, REEL_STOP_ROOT, 0x5000, 0x3009, 0x2020, 0x1020);
	/* The return address follows a call of another function. */
	record_world(0x5000);
	UNWIND(&w, REEL_STOP_OTHER_STACK, 0x5000, 0x3009);
	/* Only half of the record was recorded. */
	record_world(0x3000);
	w.stack[GOBUF] = STACK_WORD(511);
	UNWIND(&w, REEL_STOP_OTHER_STACK, 0x5000, 0x3009);
}

/* A call that leads elsewhere has not led here. */
TEST(test_other_call)
{
	goroutine_world(0x5000);
	UNWIND(&w, REEL_STOP_OTHER_STACK, 0x5000, 0x3005);
	goroutine_world(0x3000);
	w.input.waiting = NULL;
	UNWIND(&w, REEL_STOP_OTHER_STACK, 0x5000, 0x3005);
	/* The recorder could not read it. */
	goroutine_world(0x3000);
	w.regions[1].address = STACK + 8 * 512;
	UNWIND(&w, REEL_STOP_OTHER_STACK, 0x5000, 0x3005);
}

/* Goroutines change stacks once: a claim of a second change ends the trace. */
TEST(test_once)
{
	goroutine_world(0x3000);
	w.stack[202] = BIAS + 0x3005;
	UNWIND(&w, REEL_STOP_OTHER_STACK, 0x5000, 0x3005, 0x2020, 0x3005);
}

/* It runs for no goroutine: the start of its own stack has no caller. */
TEST(test_idle)
{
	for (uint64_t words = 0; words < 12; words++) {
		goroutine_world(0x3000);
		w.stack[GOBUF] = STACK_WORD(51 + words);
		w.stack[GOBUF + 1] = BIAS + 0x1020;
		w.input.own = w.input.waiting;
		w.input.waiting = NULL;
		UNWIND(&w, words <= 8 ? REEL_STOP_ROOT : REEL_STOP_OTHER_STACK, 0x5000, 0x3005);
	}
	/* Its callees are below. */
	goroutine_world(0x3000);
	w.input.own = w.input.waiting;
	w.input.waiting = NULL;
	w.stack[GOBUF] = STACK_WORD(49);
	w.stack[GOBUF + 1] = BIAS + 0x1020;
	UNWIND(&w, REEL_STOP_OTHER_STACK, 0x5000, 0x3005);
}

/*
 * With `pc` where it changes stacks, as if called from 0x2020; `calls`: the function called there.
 */
static void about_to_leave_world(uint64_t pc, uint64_t calls)
{
	goroutine_world(calls);
	w.state.pc = BIAS + pc;
	set(&w, 7, STACK_WORD(200));
}

/* It has not left the stack yet. */
TEST(test_about_to_leave)
{
	about_to_leave_world(0x3000, 0x3000);
	UNWIND(&w, REEL_STOP_ROOT, 0x3000, 0x2020, 0x1020);
	/* The scheduler's own: no goroutine to continue in. */
	about_to_leave_world(0x3000, 0x3000);
	w.input.waiting = NULL;
	UNWIND(&w, REEL_STOP_ROOT, 0x3000, 0x2020, 0x1020);
	/* It has left. */
	about_to_leave_world(0x3003, 0x3000);
	w.input.waiting = NULL;
	UNWIND(&w, REEL_STOP_OTHER_STACK, 0x3003);
	/* The function on the stack has called something else. */
	about_to_leave_world(0x3000, 0x5000);
	w.input.waiting = NULL;
	UNWIND(&w, REEL_STOP_OTHER_STACK, 0x3000);
}

/*
 * C functions call back into Go: the leaf and this function are on the goroutine's stack,
 *
 *   3010: 48 83 ec 08     sub $8,%rsp
 *   3014: 48 89 fc        mov %rdi,%rsp
 *   3017: ff d0           call *%rax
 *   3019: 48 89 f4        mov %rsi,%rsp
 *   301c: 48 83 c4 08     add $8,%rsp
 *   3020: c3              ret
 *
 * which has a frame of the same size on the scheduler's.  There 0x2800 called it, and was called by
 * 0x3000, which has left the goroutine's stack.  `levels`: how often.
 */
static void callback_world(unsigned levels)
{
	goroutine_world(0x3000);
	function(&w, 0x3010, 0x3021, BYTES(DW_CFA_def_cfa_offset, 16));
	function(&w, 0x2800, 0x2900, BYTES(DW_CFA_def_cfa_offset, 16));
	w.switches.end = 0x3021;
	code_at(&w, 0x3010,
		BYTES(0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0xfc, 0xff, 0xd0, 0x48, 0x89, 0xf4, 0x48,
		      0x83, 0xc4, 0x08, 0xc3));
	code_at(&w, 0x281b, BYTES(0xe8, 0xf0, 0x07, 0x00, 0x00)); /* call 3010 */
	w.regions[0].size = 256 * 8;
	w.regions[1] = w.regions[0];
	w.regions[1].address = STACK_WORD(256);
	w.regions[1].bytes += 256 * 8;
	w.memory.n_regions = 2;
	w.regions[2].address = STACK_WORD(400);
	w.input.waiting = &w.regions[2];
	w.stack[400] = STACK_WORD(300);
	w.stack[50] = BIAS + 0x3019;
	for (unsigned i = 0; i < levels; i++) {
		w.stack[52 + 5 * i] = BIAS + 0x4000;
		w.stack[53 + 5 * i] = BIAS + 0x2020;
		w.stack[55 + 5 * i] = BIAS + 0x3019;
		w.stack[300 + 10 * i] = STACK_WORD(310 + 10 * i);
		w.stack[301 + 10 * i] = BIAS + 0x2820;
		w.stack[303 + 10 * i] = BIAS + 0x3005;
	}
	w.stack[50 + 5 * levels] = call_before(&w, 0x1020);
}

TEST(test_callback)
{
	callback_world(1);
	unwind(&w);
	assert_int_equal(w.frames.steps[2], REEL_STEP_OTHER_STACK);
	assert_int_equal(w.frames.steps[4], REEL_STEP_OTHER_STACK);
	EXPECT(&w, REEL_STOP_ROOT, 0x5000, 0x3019, 0x2820, 0x3005, 0x2020, 0x1020);
	callback_world(2);
	UNWIND(&w, REEL_STOP_ROOT, 0x5000, 0x3019, 0x2820, 0x3005, 0x2020, 0x3019, 0x2820, 0x3005,
	       0x2020, 0x1020);
}

/* The leaf is a C function that the second Go function calls. */
TEST(test_callback_above)
{
	callback_world(1);
	set(&w, 7, STACK_WORD(290));
	w.stack[290] = BIAS + 0x3005;
	w.regions[3].address = STACK_WORD(410);
	w.input.own = &w.regions[3];
	w.stack[410] = STACK_WORD(300);
	w.stack[400] = STACK_WORD(48);
	w.stack[401] = BIAS + 0x4000;
	w.stack[48] = BIAS + 0x2020;
	UNWIND(&w, REEL_STOP_ROOT, 0x5000, 0x3005, 0x2020, 0x3019, 0x2820, 0x3005, 0x2020, 0x1020);
}

TEST(test_false_callbacks)
{
	static const uint64_t below[] = { 0, STACK_WORD(299), STACK_WORD(302), STACK_WORD(303) };

	/* The call on the scheduler's stack leads elsewhere. */
	callback_world(1);
	code_at(&w, 0x281b, BYTES(0xe8, 0xe0, 0x27, 0x00, 0x00)); /* call 5000 */
	UNWIND(&w, REEL_STOP_OTHER_STACK, 0x5000, 0x3019);
	/* The second place is not above where that stack was left. */
	for (size_t i = 0; i < 4; i++) {
		callback_world(2);
		w.stack[300] = below[i];
		UNWIND(&w, REEL_STOP_OTHER_STACK, 0x5000, 0x3019, 0x2820, 0x3005, 0x2020, 0x3019);
	}
	/* The goroutine's stack was not entered there. */
	callback_world(1);
	w.stack[53] = call_before(&w, 0x1020);
	UNWIND(&w, REEL_STOP_OTHER_STACK, 0x5000, 0x3019, 0x2820, 0x3005);
}

RUN_TESTS()
