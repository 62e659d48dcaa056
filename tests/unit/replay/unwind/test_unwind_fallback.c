/* SPDX-License-Identifier: Apache-2.0 */
/* Code without CFI, on x86_64: PLT stubs, frame pointers, the instruction at the pc. */
#include "tests/support/unwind_world.h"

/* Each test initializes it. */
static struct world w;

/* ---- PLT stubs --------------------------------------------------------------------- */

/* The PLT of a static program's ifuncs has no CFI: jmp *…(%rip), right after the call. */
TEST(test_plt_without_cfi)
{
	for (int is_stub = 0; is_stub < 2; is_stub++) {
		world_x86_with_root(&w);
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16));
		if (is_stub)
			code_at(&w, 0x2800, BYTES(0xff, 0x25, 1, 2, 3, 4));
		begin_at(&w, 0x2800, STACK_WORD(100));
		set(&w, 6, 0x1234); /* rbp is not a frame pointer */
		code_at(&w, 0x201b, BYTES(0xe8, 1, 2, 3, 4));
		w.stack[100] = BIAS + 0x2020;
		w.stack[102] = BIAS + 0x1020;
		unwind(&w);
		if (is_stub)
			EXPECT(&w, REEL_STOP_ROOT, 0x2800, 0x2020, 0x1020);
		else
			EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x2800);
	}
}

/* After `pop %rbp` the CFI still locates rbp below rsp; the caller's CFA is based on it. */
/*
 * glibc's crti.S and crtn.S have no CFI, and rbp belongs to some caller: every instruction of _init
 * and _fini has a known distance to the return address.
 *   3000: f3 0f 1e fa           endbr64
 *   3004: 48 83 ec 08           sub $8,%rsp
 *   3008: 48 8b 05 d9 5f 00 00  mov 0x5fd9(%rip),%rax   __gmon_start__
 *   300f: 48 85 c0              test %rax,%rax
 *   3012: 74 02                 je 3016
 *   3014: ff d0                 call *%rax
 *   3016: 48 83 c4 08           add $8,%rsp
 *   301a: c3                    ret
 */
TEST(test_init_without_cfi)
{
	static const struct {
		uint64_t pc;
		size_t pushed;
	} cases[] = { { 0x3000, 0 }, { 0x3004, 0 }, { 0x3008, 1 }, { 0x300f, 1 },
		      { 0x3012, 1 }, { 0x3014, 1 }, { 0x3016, 1 }, { 0x301a, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_x86_with_root(&w);
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16));
		code_at(&w, 0x3000,
			BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x05,
			      0xd9, 0x5f, 0, 0, 0x48, 0x85, 0xc0, 0x74, 0x02, 0xff, 0xd0, 0x48,
			      0x83, 0xc4, 0x08, 0xc3));
		begin_at(&w, cases[i].pc, STACK_WORD(100 - cases[i].pushed));
		/* A frame farther up; following it would skip the caller. */
		set(&w, 6, STACK_WORD(110));
		w.stack[110] = 0;
		w.stack[111] = call_before(&w, 0x1020);
		w.stack[99] = 0x1234;
		w.stack[100] = call_before(&w, 0x2020);
		w.stack[102] = BIAS + 0x1020;
		UNWIND(&w, REEL_STOP_ROOT, cases[i].pc, 0x2020, 0x1020);
	}
}

/*
 * lld's PLT, liblazy.so of tests/chains:
 *   2800: ff 35 1a 20 00 00  push 0x201a(%rip)    _GLOBAL_OFFSET_TABLE_+8
 *   2806: ff 25 1c 20 00 00  jmp *0x201c(%rip)    …+16
 *   2810: ff 25 1a 20 00 00  jmp *0x201a(%rip)
 *   2816: 68 00 00 00 00     push $0
 *   281b: e9 e0 ff ff ff     jmp 2800
 */
TEST(test_lazy_plt_without_cfi)
{
	static const struct {
		uint64_t pc;
		size_t pushed;
	} cases[] = { { 0x2810, 0 }, { 0x2816, 0 }, { 0x281b, 1 }, { 0x2800, 1 }, { 0x2806, 2 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_x86_with_root(&w);
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16));
		code_at(&w, 0x2800,
			BYTES(0xff, 0x35, 0x1a, 0x20, 0, 0, 0xff, 0x25, 0x1c, 0x20, 0, 0));
		code_at(&w, 0x2810,
			BYTES(0xff, 0x25, 0x1a, 0x20, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff,
			      0xff, 0xff));
		begin_at(&w, cases[i].pc, STACK_WORD(100 - cases[i].pushed));
		set(&w, 6, 0x1234);
		w.stack[98] = 0x7f0012345678; /* the link map */
		w.stack[100] = call_before(&w, 0x2020);
		w.stack[102] = BIAS + 0x1020;
		unwind(&w);
		assert_int_equal(w.frames.sps[1], STACK_WORD(101));
		EXPECT(&w, REEL_STOP_ROOT, cases[i].pc, 0x2020, 0x1020);
	}
}

/* ---- frame pointers ------------------------------------------------------------------------- */

/* A good chain: two functions without CFI, then one with. */
static void frame_pointer_world(void)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.state.pc = BIAS + 0x7010;
	set(&w, 7, STACK_WORD(100));
	set(&w, 6, STACK_WORD(110));
	w.stack[110] = STACK_WORD(120);
	w.stack[111] = call_before(&w, 0x7120);
	w.stack[121] = call_before(&w, 0x2020);
	w.stack[122] = BIAS + 0x1020;
}

TEST(test_frame_pointer)
{
	frame_pointer_world();
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_FRAME_POINTER);
	assert_int_equal(w.frames.steps[2], REEL_STEP_FRAME_POINTER);
	assert_int_equal(w.frames.sps[2], STACK_WORD(122));
	assert_int_equal(w.frames.steps[3], REEL_STEP_CFI);
	EXPECT(&w, REEL_STOP_GUESSED_ROOT, 0x7010, 0x7120, 0x2020, 0x1020);

	frame_pointer_world();
	w.input.no_frame_pointers = true;
	UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, 0x7010);
}

/* Anything wrong in a candidate frame rules it out. */
TEST(test_frame_pointer_checks)
{
	for (int i = 0; i < 9; i++) {
		frame_pointer_world();
		switch (i) {
		case 0:
			set(&w, 6, STACK_WORD(90));
			break; /* below rsp */
		case 1:
			set(&w, 6, STACK_WORD(110) + 4);
			break; /* not aligned */
		case 2:
			set(&w, 6, STACK_WORD(511));
			break; /* the record is missing */
		case 3:
			w.stack[110] = STACK_WORD(105);
			break; /* the next record is below */
		case 4:
			w.stack[110] = STACK_WORD(110);
			break; /* is the same */
		case 5:
			w.stack[111] = 0x123450;
			break; /* not code */
		case 6:
			w.stack[111] = BIAS + 0x6000;
			break; /* not after a call */
		case 7:
			w.stack[111] = 0;
			break; /* an invalid end */
		case 8:
			w.stack[110] = STACK_WORD(120) + 4;
			break; /* the next one is not aligned */
		}
		UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, 0x7010);
	}
}

/*
 * Before the record is made and after it is gone the frame pointer is the caller's, and would skip
 * it: push %rbp; mov %rsp,%rbp … leave; ret
 */
TEST(test_frame_pointer_of_caller)
{
	for (size_t i = 0; i < 3; i++) {
		frame_pointer_world();
		if (i == 2)
			code_at(&w, 0x7010, BYTES(0xc3));
		else
			code_at(&w, 0x7010 - i, BYTES(0x55, 0x48, 0x89, 0xe5));
		w.stack[100] = STACK_WORD(110);
		w.stack[i == 1 ? 101 : 100] = call_before(&w, 0x7080);
		unwind(&w);
		assert_int_equal(w.frames.steps[1], REEL_STEP_UNDO_CALL);
		assert_int_equal(w.frames.steps[2], REEL_STEP_FRAME_POINTER);
		EXPECT(&w, REEL_STOP_GUESSED_ROOT, 0x7010, 0x7080, 0x7120, 0x2020, 0x1020);
	}
}

/*
 * If a caller was compiled without frame pointers, rbp is any number, as long as the caller's CFI
 * does not use it: glibc's _dl_fini calls __do_global_dtors_aux (gcc's crtstuff.c), which has no
 * CFI.
 */
TEST(test_frame_pointer_of_none)
{
	static const uint64_t values[] = { 1, STACK_WORD(105), STACK_WORD(120) + 4, UINT64_MAX };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		frame_pointer_world();
		w.stack[120] = values[i];
		UNWIND(&w, REEL_STOP_GUESSED_ROOT, 0x7010, 0x7120, 0x2020, 0x1020);

		/* CFA = rbp + 16: rbp is needed, and invalid. */
		frame_pointer_world();
		function(&w, 0x7100, 0x7200, BYTES(DW_CFA_def_cfa, 6, 16));
		w.stack[110] = values[i];
		UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, 0x7010);
	}
}

/* SBCL's frames are on their own stack: the first one's caller is on the C stack, which is not
 * recorded. */
TEST(test_frame_pointer_to_another_stack)
{
	static const uint64_t fps[] = { STACK + 0x10000000ul, 1, STACK_WORD(120) + 4 };

	for (unsigned i = 0; i < 3; i++) {
		for (unsigned has_cfi = 0; has_cfi < 2; has_cfi++) {
			frame_pointer_world();
			if (has_cfi)
				function(&w, 0x7100, 0x7200, BYTES(DW_CFA_def_cfa, 6, 16));
			w.state.scrubbed = i > 0;
			w.stack[110] = fps[i];
			unwind(&w);
			if (i == 2)
				EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x7010);
			else
				EXPECT(&w, has_cfi ? REEL_STOP_STACK_END : REEL_STOP_NO_UNWIND_INFO,
				       0x7010, 0x7120);
		}
	}
}

/* Registers that code without CFI may have changed are unknown after a step by frame pointer. */
TEST(test_frame_pointer_forgets)
{
	frame_pointer_world();
	function(&w, 0x7100, 0x7200, BYTES(DW_CFA_def_cfa, 3, 16)); /* CFA = rbx + 16 */
	set(&w, 3, STACK_WORD(130));
	UNWIND(&w, REEL_STOP_REGISTER_UNKNOWN, 0x7010, 0x7120);
}

RUN_TESTS()
