/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinding traps of the CPUs with a link register. */
#include "tests/support/unwind_world.h"

/* Each test initializes it. */
static struct world w;

/* aarch64: CFA = sp. */
static void world_arm(void)
{
	world_init(&w, "aarch64", 4, 30, BYTES(DW_CFA_def_cfa, 31, 0));
}

/* ---- aarch64 -------------------------------------------------------------------------------- */

#define UNDEFINED_LR BYTES(DW_CFA_undefined, 30)
/* CFA = sp + 16, x29 at CFA - 16, x30 at CFA - 8 */
#define ARM_FRAME BYTES(DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 29, 2, DW_CFA_offset | 30, 1)

/*
 * A leaf keeps its return address in x30, also in a system call; its caller has one on the stack.
 */
TEST(test_link_register)
{
	for (int syscall = 0; syscall < 2; syscall++) {
		world_arm();
		function(&w, 0x1000, 0x1100, UNDEFINED_LR);
		function(&w, 0x2000, 0x2100, NO_BYTES);
		function(&w, 0x3000, 0x3100, ARM_FRAME);
		w.input.after_syscall = syscall;
		begin_at(&w, 0x2010, STACK_WORD(100));
		set(&w, 30, BIAS + 0x3020);
		w.stack[101] = BIAS + 0x1020;
		UNWIND(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
	}
}

/* A caller cannot have its return address in x30: its call has overwritten it. */
TEST(test_link_register_of_caller)
{
	world_arm();
	function(&w, 0x2000, 0x2100, ARM_FRAME);
	function(&w, 0x3000, 0x3100, BYTES(DW_CFA_def_cfa_offset, 16));
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 30, BIAS + 0x2010);
	w.stack[101] = BIAS + 0x3020;
	UNWIND(&w, REEL_STOP_REGISTER_UNKNOWN, 0x2010, 0x3020);
}

/* CFA = x29 + 32, x19 at CFA - 16, x30 at CFA - 24, x29 at CFA - 32 */
#define LATE_FRAME                                                                                 \
	DW_CFA_def_cfa, 29, 32, DW_CFA_offset | 19, 2, DW_CFA_offset | 30, 3, DW_CFA_offset | 29, 4

/*
 * LLVM before 15 describes the prologue at its end, and the epilogue not at all:
 *   2000: d503233f        paciasp
 *   2004: a9be7bfd        stp x29, x30, [sp, #-32]!
 *   2008: f9000bf3        str x19, [sp, #16]
 *   200c: 910003fd        mov x29, sp
 *   2010: 9400043c        bl 3100
 *   2014: f9400bf3        ldr x19, [sp, #16]
 *   2018: a8c27bfd        ldp x29, x30, [sp], #32
 *   201c: d50323bf        autiasp
 *   2020: 14000038        b 2100               or d61f0020, br x1
 *   2100: d65f03c0        ret
 */
TEST(test_late_cfi)
{
	static const struct {
		uint64_t pc;
		size_t pushed;		 /* words */
		bool has_frame, is_body; /* x29 is the function's; x30 is a callee's */
	} cases[] = { { 0x2000, 0, false, false }, { 0x2004, 0, false, false },
		      { 0x2008, 4, false, false }, { 0x200c, 4, false, false },
		      { 0x2010, 4, true, false },  { 0x2014, 4, true, true },
		      { 0x2018, 4, true, true },   { 0x201c, 0, false, false },
		      { 0x2020, 0, false, false } };

	for (int direct = 0; direct < 2; direct++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			world_arm();
			function(&w, 0x1000, 0x1100, UNDEFINED_LR);
			function(&w, 0x2000, 0x2024,
				 BYTES(DW_CFA_advance_loc | 1, 0x2d, DW_CFA_advance_loc | 3,
				       LATE_FRAME));
			function(&w, 0x2100, 0x2104, NO_BYTES);
			function(&w, 0x3000, 0x3100, ARM_FRAME);
			code_at(&w, 0x2000,
				BYTES(0x3f, 0x23, 0x03, 0xd5, 0xfd, 0x7b, 0xbe, 0xa9, 0xf3, 0x0b,
				      0x00, 0xf9, 0xfd, 0x03, 0x00, 0x91, 0x3c, 0x04, 0x00, 0x94,
				      0xf3, 0x0b, 0x40, 0xf9, 0xfd, 0x7b, 0xc2, 0xa8, 0xbf, 0x23,
				      0x03, 0xd5));
			if (direct)
				code_at(&w, 0x2020, BYTES(0x38, 0x00, 0x00, 0x14));
			else
				code_at(&w, 0x2020, BYTES(0x20, 0x00, 0x1f, 0xd6));
			code_at(&w, 0x2100, BYTES(0xc0, 0x03, 0x5f, 0xd6));
			begin_at(&w, cases[i].pc, STACK_WORD(104 - cases[i].pushed));
			set(&w, 30, cases[i].is_body ? BIAS + 0x2014 : call_before(&w, 0x3020));
			/* x29 leads to another frame, which would skip the caller. */
			set(&w, 29, STACK_WORD(cases[i].has_frame ? 100 : 200));
			w.stack[100] = STACK_WORD(200);
			w.stack[101] = call_before(&w, 0x3020);
			w.stack[105] = call_before(&w, 0x1020);
			w.stack[201] = call_before(&w, 0x1040);
			unwind(&w);
			assert_int_equal(w.frames.sps[1], STACK_WORD(104));
			EXPECT(&w, REEL_STOP_ROOT, cases[i].pc, 0x3020, 0x1020);
		}
	}
}

/*
 * A return precedes the late prologue, so that the code's row is a guess:
 *   2000: b5000040        cbnz x0, 2008
 *   2004: d65f03c0        ret
 *   2008: a9be7bfd        stp x29, x30, [sp, #-32]!
 *   200c: 910003fd        mov x29, sp
 *   2010: 94000000        bl 2010
 */
TEST(test_late_cfi_behind_return)
{
	world_arm();
	function(&w, 0x1000, 0x1100, UNDEFINED_LR);
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_advance_loc | 4, LATE_FRAME));
	function(&w, 0x3000, 0x3100, ARM_FRAME);
	code_at(&w, 0x2000,
		BYTES(0x40, 0x00, 0x00, 0xb5, 0xc0, 0x03, 0x5f, 0xd6, 0xfd, 0x7b, 0xbe, 0xa9, 0xfd,
		      0x03, 0x00, 0x91, 0x00, 0x00, 0x00, 0x94));
	begin_at(&w, 0x200c, STACK_WORD(100));
	set(&w, 30, call_before(&w, 0x3020));
	w.stack[105] = call_before(&w, 0x1020);
	UNWIND(&w, REEL_STOP_GUESSED_ROOT, 0x200c, 0x3020, 0x1020);
}

/*
 * LLVM's outliner has moved the end of a function, and its CFI is right where it jumps there:
 *   2000: d10083ff        sub sp, sp, #32
 *   2004: 9400043f        bl 3100
 *   2008: f9400bfe        ldr x30, [sp, #16]
 *   200c: 1400003d        b 2100
 *   2100: 910083ff        add sp, sp, #32      its CFI: CFA = sp
 *   2104: d65f03c0        ret
 */
TEST(test_outlined_end)
{
	world_arm();
	function(&w, 0x1000, 0x1100, UNDEFINED_LR);
	function(&w, 0x2000, 0x2010,
		 BYTES(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 32, DW_CFA_advance_loc | 1,
		       DW_CFA_offset | 30, 2));
	function(&w, 0x2100, 0x2108, NO_BYTES);
	function(&w, 0x3000, 0x3100, ARM_FRAME);
	code_at(&w, 0x2000,
		BYTES(0xff, 0x83, 0x00, 0xd1, 0x3f, 0x04, 0x00, 0x94, 0xfe, 0x0b, 0x40, 0xf9, 0x3d,
		      0x00, 0x00, 0x14));
	code_at(&w, 0x2100, BYTES(0xff, 0x83, 0x00, 0x91, 0xc0, 0x03, 0x5f, 0xd6));
	begin_at(&w, 0x200c, STACK_WORD(100));
	set(&w, 30, call_before(&w, 0x3020));
	w.stack[102] = w.state.registers[reel_arch_slot(w.arch, 30)];
	w.stack[105] = call_before(&w, 0x1020);
	UNWIND(&w, REEL_STOP_ROOT, 0x200c, 0x3020, 0x1020);
}

/* mov x8, #0x8b; svc #0 */
#define ARM_SIGRETURN BYTES(0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4)

/*
 * The vDSO's trampoline has S and wrong rules (x30 for the pc).  A signal interrupted a leaf: its
 * x30 counts, and differs from its pc.
 */
TEST(test_arm_signal)
{
	for (int cfi = 0; cfi < 2; cfi++) {
		world_arm();
		function(&w, 0x1000, 0x1100, UNDEFINED_LR);
		function(&w, 0x2000, 0x2100, ARM_FRAME); /* handler */
		function(&w, 0x3000, 0x3100, NO_BYTES);	 /* leaf */
		if (cfi)
			build_fde(&w.eh, w.signal_cie, true, 0x3ffc, 12,
				  BYTES(DW_CFA_def_cfa, 29, 0, DW_CFA_offset | 29, 0,
					DW_CFA_offset_extended_sf, 30, 0x7f));
		code_at(&w, 0x4000, ARM_SIGRETURN);
		begin_at(&w, 0x2010, STACK_WORD(100));
		w.stack[100] = STACK_WORD(400);
		w.stack[101] = BIAS + 0x4000;
		w.stack[401] = 0x123; /* the address that the vDSO's rules give */
		/* rt_sigframe at word 102: x30 is its word 69, sp 70, pc 71. */
		w.stack[102 + 69] = BIAS + 0x1020;
		w.stack[102 + 70] = STACK_WORD(300);
		w.stack[102 + 71] = BIAS + 0x3000;
		unwind(&w);
		assert_int_equal(w.frames.steps[2], REEL_STEP_SIGNAL);
		assert_int_equal(w.frames.sps[2], STACK_WORD(300));
		EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x4000, 0x3000, 0x1020);
	}
}

/*
 * Signed return addresses, with the capture's mask and without it. find_code rejects signed ones.
 */
TEST(test_pointer_authentication)
{
	for (int known = 0; known < 2; known++) {
		world_arm();
		function(&w, 0x1000, 0x1100, UNDEFINED_LR);
		function(&w, 0x2000, 0x2100, NO_BYTES);
		function(&w, 0x3000, 0x3100, ARM_FRAME);
		w.input.code_mask = known ? 0x007f000000000000 : 0;
		begin_at(&w, 0x2010, STACK_WORD(100));
		set(&w, 30, (BIAS + 0x3020) | 0x0035000000000000);
		w.stack[101] = (BIAS + 0x1020) | 0x0054000000000000;
		UNWIND(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
	}
}

/* A leaf without CFI: x30 leads to its caller, which x29 would skip. */
TEST(test_leaf_without_cfi)
{
	world_arm();
	function(&w, 0x1000, 0x1100, UNDEFINED_LR);
	function(&w, 0x3000, 0x3100, ARM_FRAME);
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 30, call_before(&w, 0x3020));
	set(&w, 29, STACK_WORD(100));
	w.stack[101] = call_before(&w, 0x1020);
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_LINK_REGISTER);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/*
 * The record at x29 has the same return address as x30: it belongs to the leaf, which has moved sp.
 */
TEST(test_leaf_with_record)
{
	world_arm();
	function(&w, 0x1000, 0x1100, UNDEFINED_LR);
	function(&w, 0x3000, 0x3100, ARM_FRAME);
	begin_at(&w, 0x2010, STACK_WORD(94));
	set(&w, 30, call_before(&w, 0x3020));
	set(&w, 29, STACK_WORD(94));
	w.stack[94] = STACK_WORD(100);
	w.stack[95] = BIAS + 0x3020;
	w.stack[101] = call_before(&w, 0x1020);
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_FRAME_POINTER);
	assert_int_equal(w.frames.sps[2], STACK_WORD(102));
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/* A leaf without CFI and without a record must have left sp unchanged. */
TEST(test_leaf_that_moved_sp)
{
	world_arm();
	function(&w, 0x1000, 0x1100, UNDEFINED_LR);
	function(&w, 0x3000, 0x3100, ARM_FRAME);
	begin_at(&w, 0x2010, STACK_WORD(94));
	set(&w, 30, call_before(&w, 0x3020));
	w.stack[95] = BIAS + 0x1050; /* not after a call */
	w.stack[101] = call_before(&w, 0x1020);
	UNWIND(&w, REEL_STOP_REGISTER_UNKNOWN, 0x2010, 0x3020);
}

/*
 * A function without CFI that keeps a frame pointer, called by one with CFI and without a frame
 * pointer: x29 belongs to a function farther up, and the frames between must not be skipped.
 */
TEST(test_record_of_another)
{
	world_arm();
	function(&w, 0x1000, 0x1100, UNDEFINED_LR);
	/* x30, x19 */
	function(&w, 0x3000, 0x3100,
		 BYTES(DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 30, 4, DW_CFA_offset | 19, 3));
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 30, call_before(&w, 0x2004));
	set(&w, 29, STACK_WORD(110));
	w.stack[110] = STACK_WORD(130);
	w.stack[111] = call_before(&w, 0x3020);
	w.stack[131] = call_before(&w, 0x1020);
	UNWIND(&w, REEL_STOP_REGISTER_UNKNOWN, 0x2010, 0x3020);
}

/*
 * glibc's _dl_runtime_resolve: its CFI uses sp at its start as the CFA, and x30 is above it, where
 * the PLT's header has pushed it.
 *   2800: f0 7b bf a9  stp x16, x30, [sp, #-16]!
 *   2804: 90 00 00 90  adrp x16, …
 *   2808: 11 fe 47 f9  ldr x17, [x16, #4088]
 *   280c: 10 e2 3f 91  add x16, x16, #0xff8
 *   2810: 20 02 1f d6  br x17
 */
TEST(test_arm_lazy_binding)
{
	for (uint64_t pc = 0x2800; pc <= 0x2814; pc += 4) {
		bool resolver = pc == 0x2814;
		unsigned pushed = pc == 0x2800 ? 0 : 2;

		world_arm();
		function(&w, 0x1000, 0x1100, UNDEFINED_LR);
		/* x30 at CFA + 8 */
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_offset_extended_sf, 30, 0x7f));
		function(&w, 0x3000, 0x3100, ARM_FRAME);
		code_at(&w, 0x2800,
			BYTES(0xf0, 0x7b, 0xbf, 0xa9, 0x90, 0, 0, 0x90, 0x11, 0xfe, 0x47, 0xf9,
			      0x10, 0xe2, 0x3f, 0x91, 0x20, 0x02, 0x1f, 0xd6));
		begin_at(&w, resolver ? 0x2010 : pc, STACK_WORD(100 - pushed));
		set(&w, 30, resolver ? 0x1234 : call_before(&w, 0x3020));
		w.stack[98] = 0x5678;
		w.stack[99] = call_before(&w, 0x3020);
		w.stack[101] = call_before(&w, 0x1020);
		unwind(&w);
		assert_int_equal(w.frames.sps[1], STACK_WORD(100));
		EXPECT(&w, REEL_STOP_ROOT, resolver ? 0x2010 : pc, 0x3020, 0x1020);
	}
}

/*
 * After the last ldp of _dl_runtime_resolve (and of an epilogue that the CFI does not describe),
 * x30's slot is below sp, which is not recorded; x30 still holds it.
 */
TEST(test_arm_popped_link_register)
{
	world_arm();
	function(&w, 0x1000, 0x1100, UNDEFINED_LR);
	/* CFA = sp - 16, x30 at CFA + 8 */
	function(&w, 0x2000, 0x2100,
		 BYTES(DW_CFA_def_cfa_offset_sf, 0x02, DW_CFA_offset_extended_sf, 30, 0x7f));
	function(&w, 0x3000, 0x3100, ARM_FRAME);
	begin_at(&w, 0x2010, STACK_WORD(0));
	set(&w, 30, call_before(&w, 0x3020));
	w.stack[1] = call_before(&w, 0x1020);
	unwind(&w);
	assert_int_equal(w.frames.sps[1], STACK_WORD(0));
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/* An interrupt within the svc of the trampoline, before the kernel counts it as a system call. */
TEST(test_arm_interrupted_sigreturn)
{
	for (uint64_t pc = 0x4000; pc <= 0x4008; pc += 4) {
		world_arm();
		function(&w, 0x1000, 0x1100, UNDEFINED_LR);
		function(&w, 0x3000, 0x3100, NO_BYTES);
		code_at(&w, 0x4000, ARM_SIGRETURN);
		begin_at(&w, pc, STACK_WORD(102));
		set(&w, 30, BIAS + 0x4000);
		w.stack[102 + 69] = BIAS + 0x1020;
		w.stack[102 + 70] = STACK_WORD(300);
		w.stack[102 + 71] = BIAS + 0x3000;
		UNWIND(&w, REEL_STOP_ROOT, pc, 0x3000, 0x1020);
	}
}

/*
 * Not a leaf: x30 is in the same code without CFI, the frame record leads on, and sp becomes
 * unknown: the next frame, whose CFA is based on sp, also has a record, at x29.
 */
TEST(test_arm_frame_pointer)
{
	world_arm();
	function(&w, 0x1000, 0x1100, UNDEFINED_LR);
	/* CFA = sp + 48 */
	function(&w, 0x3000, 0x3100,
		 BYTES(DW_CFA_def_cfa_offset, 48, DW_CFA_offset | 29, 6, DW_CFA_offset | 30, 5));
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 30, call_before(&w, 0x2004));
	set(&w, 29, STACK_WORD(110));
	w.stack[110] = STACK_WORD(130);
	w.stack[111] = call_before(&w, 0x3020);
	w.stack[131] = call_before(&w, 0x1020);
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_FRAME_POINTER);
	assert_int_equal(w.frames.sps[1], 0);
	assert_int_equal(w.frames.steps[2], REEL_STEP_FRAME_POINTER);
	assert_int_equal(w.frames.sps[2], STACK_WORD(136));
	EXPECT(&w, REEL_STOP_GUESSED_ROOT, 0x2010, 0x3020, 0x1020);
}

/* AAPCS64: a record of zeros is the last one. */
TEST(test_arm_last_record)
{
	world_arm();
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 29, STACK_WORD(110));
	UNWIND(&w, REEL_STOP_ROOT, 0x2010);
}

TEST(test_arm_undo_call)
{
	world_arm();
	function(&w, 0x1000, 0x1100, UNDEFINED_LR);
	function(&w, 0x3000, 0x3100, ARM_FRAME);
	w.state.pc = 0xdead0000;
	set(&w, 31, STACK_WORD(100));
	set(&w, 30, call_before(&w, 0x3020));
	w.stack[101] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_UNDO_CALL);
	w.frames.addresses[0] = 0;
	EXPECT(&w, REEL_STOP_ROOT, 0, 0x3020, 0x1020);
}

/*
 * clang 14 writes no CFI for epilogues:
 *   2010: f9400bfe  ldr x30, [sp, #16]     2020: a8c17bfd  ldp x29, x30, [sp], #16
 *   2014: 910083ff  add sp, sp, #32        2024: d65f03c0  ret
 *   2018: 17fffffa  b …                    2030: a8c24ffe  ldp x30, x19, [sp], #32
 *                                          2034: d50323bf  autiasp
 *   2040: a8c17bfd  ldp x29, x30, [sp], #16;  2044: 910043ff  add sp, sp, #16;  2048: d65f03c0  ret
 */
TEST(test_arm_epilogue_without_cfi)
{
	static const struct {
		uint64_t pc;
		bool popped;
	} cases[] = { { 0x2010, false }, { 0x2014, false }, { 0x2018, true }, { 0x2020, false },
		      { 0x2024, true },	 { 0x2030, false }, { 0x2034, true }, { 0x2048, true } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_init(&w, "aarch64", 1, 30, BYTES(DW_CFA_def_cfa, 31, 0));
		function(&w, 0x1000, 0x1100, BYTES(DW_CFA_undefined, 30));
		/* CFA = sp + 32, x30 at CFA - 16, to the end */
		function(&w, 0x2000, 0x2100,
			 BYTES(DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 30, 2));
		code_at(&w, 0x2010,
			BYTES(0xfe, 0x0b, 0x40, 0xf9, 0xff, 0x83, 0x00, 0x91, 0xfa, 0xff, 0xff,
			      0x17));
		code_at(&w, 0x2020, BYTES(0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6));
		code_at(&w, 0x2030, BYTES(0xfe, 0x4f, 0xc2, 0xa8, 0xbf, 0x23, 0x03, 0xd5));
		code_at(&w, 0x2048, BYTES(0xc0, 0x03, 0x5f, 0xd6));
		code_at(&w, 0x101c, BYTES(0x00, 0x00, 0x00, 0x94)); /* bl */
		begin_at(&w, cases[i].pc, STACK_WORD(cases[i].popped ? 104 : 100));
		/* Before the pop it may still hold the return address of the last call. */
		set(&w, 30, BIAS + (cases[i].popped ? 0x1020 : 0x200c));
		w.stack[102] = BIAS + 0x1020;
		w.stack[106] = 0x1234;
		unwind(&w);
		assert_int_equal(w.frames.sps[1], STACK_WORD(104));
		EXPECT(&w, REEL_STOP_ROOT, cases[i].pc, 0x1020);
	}
}

/*
 * The same of riscv64, s390x, and x86-64 (Mono's):
 *   2010: 01 41  addi sp,sp,0…           2010: eb ef f0 98 00 04  lmg %r14,%r15,152(%r15)
 *   2012: 82 80  ret                     2016: 07 fe              br %r14
 *                                    or  2016: c0 f4 …            jg …
 *   2010: 48 83 c4 18  add $0x18,%rsp;  2014: c3  ret   or  f3 c3  rep ret
 */
TEST(test_epilogue_without_cfi)
{
	world_init(&w, "riscv64", 1, 1, BYTES(DW_CFA_def_cfa, 2, 0));
	function(&w, 0x1000, 0x1100, BYTES(DW_CFA_undefined, 1));
	/* ra at CFA - 8 */
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 1, 1));
	code_at(&w, 0x2010, BYTES(0x01, 0x41, 0x82, 0x80));
	code_at(&w, 0x101c, BYTES(0xef, 0x00, 0x00, 0x00)); /* jal ra */
	begin_at(&w, 0x2012, STACK_WORD(102));
	set(&w, 1, BIAS + 0x1020);
	w.stack[103] = 0x1234;
	unwind(&w);
	assert_int_equal(w.frames.sps[1], STACK_WORD(102));
	EXPECT(&w, REEL_STOP_ROOT, 0x2012, 0x1020);

	for (int rep = 0; rep < 2; rep++) {
		world_x86_with_root(&w);
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 32));
		code_at(&w, 0x2010, BYTES(0x48, 0x83, 0xc4, 0x18, 0xc3));
		if (rep)
			code_at(&w, 0x2014, BYTES(0xf3, 0xc3));
		w.stack[103] = call_before(&w, 0x1020);
		w.stack[106] = 0x1234;
		for (int popped = 0; popped < 2; popped++) {
			w.state.pc = BIAS + (popped ? 0x2014 : 0x2010);
			set(&w, 7, STACK_WORD(popped ? 103 : 100));
			unwind(&w);
			assert_int_equal(w.frames.sps[1], STACK_WORD(104));
			EXPECT(&w, REEL_STOP_ROOT, popped ? 0x2014 : 0x2010, 0x1020);
		}
	}

	for (int tail = 0; tail < 2; tail++) {
		world_init(&w, "s390x", 1, 14, BYTES(DW_CFA_def_cfa, 15, 0xa0, 0x01));
		function(&w, 0x1000, 0x1100, BYTES(DW_CFA_undefined, 14));
		/* r14 at CFA - 48, r15 at CFA - 40, CFA = r15 + 320 */
		function(&w, 0x2000, 0x2100,
			 BYTES(DW_CFA_offset | 14, 6, DW_CFA_offset | 15, 5, DW_CFA_def_cfa_offset,
			       0xc0, 0x02));
		code_at(&w, 0x2010, BYTES(0xeb, 0xef, 0xf0, 0x98, 0x00, 0x04));
		if (tail)
			code_at(&w, 0x2016, BYTES(0xc0, 0xf4, 0, 0, 1, 0));
		else
			code_at(&w, 0x2016, BYTES(0x07, 0xfe));
		code_at(&w, 0x101e, BYTES(0x0d, 0xe1)); /* basr %r14,%r1 */
		w.state.pc = BIAS + 0x2016;
		set(&w, 15, STACK_WORD(100));
		set(&w, 14, BIAS + 0x1020);
		w.stack[134] = 0x1234;
		unwind(&w);
		assert_int_equal(w.frames.sps[1], STACK_WORD(100));
		EXPECT(&w, REEL_STOP_ROOT, 0x2016, 0x1020);
	}
}

/* ---- riscv64, s390x
 * -------------------------------------------------------------------------------- */

/* s0 is the CFA itself; ra and the caller's s0 are below it; the pc of a signal frame is 2-byte
 * aligned. */
TEST(test_riscv)
{
	world_init(&w, "riscv64", 1, 1, BYTES(DW_CFA_def_cfa, 2, 0));
	function(&w, 0x1000, 0x1100, BYTES(DW_CFA_undefined, 1));
	/* handler: ra at CFA - 8 */
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 1, 1));
	code_at(&w, 0x4000, BYTES(0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0));
	code_at(&w, 0x103c, BYTES(0xe7, 0x00, 0x05, 0x00)); /* jalr a0 */
	begin_at(&w, 0x2010, STACK_WORD(100));
	w.stack[101] = BIAS + 0x4000;
	/* rt_sigframe at word 102: pc is its word 38, x2 40, x8 46. */
	w.stack[102 + 38] = BIAS + 0x6002; /* no CFI there */
	w.stack[102 + 40] = STACK_WORD(300);
	w.stack[102 + 46] = STACK_WORD(310);
	w.stack[309] = BIAS + 0x1040;
	w.stack[308] = STACK_WORD(320);
	unwind(&w);
	assert_int_equal(w.frames.sps[3], STACK_WORD(310));
	EXPECT(&w, REEL_STOP_GUESSED_ROOT, 0x2010, 0x4000, 0x6002, 0x1040);
}

/* Before Linux 5.17 s390x's trampoline is in the signal frame itself. */
TEST(test_s390x_signal_on_stack)
{
	world_init(&w, "s390x", 1, 14, BYTES(DW_CFA_def_cfa, 15, 0xa0, 0x01));
	function(&w, 0x1000, 0x1100, BYTES(DW_CFA_undefined, 14));
	function(&w, 0x2000, 0x2100, NO_BYTES); /* handler: r14 not saved */
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 14, STACK_WORD(120));
	w.stack[120] = 0x0aadull << 48; /* svc 173 */
	w.stack[100 + 43] = BIAS + 0x1020;
	w.stack[100 + 59] = STACK_WORD(300);
	unwind(&w);
	assert_int_equal(w.frames.sps[2], STACK_WORD(300));
	w.frames.addresses[1] = 0;
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0, 0x1020);
}

/* Big-endian: CFA = r15 + 160; then code without CFI, by the back chain. */
TEST(test_s390x)
{
	world_init(&w, "s390x", 1, 14, BYTES(DW_CFA_def_cfa, 15, 0xa0, 0x01));
	function(&w, 0x1000, 0x1100, BYTES(DW_CFA_undefined, 14));
	/* r14 at CFA - 48, r15 at CFA - 40, CFA = r15 + 320 */
	function(&w, 0x2000, 0x2100,
		 BYTES(DW_CFA_offset | 14, 6, DW_CFA_offset | 15, 5, DW_CFA_def_cfa_offset, 0xc0,
		       0x02));
	code_at(&w, 0x101e, BYTES(0x0d, 0xe1)); /* basr %r14,%r1 */
	begin_at(&w, 0x2010, STACK_WORD(100));
	w.stack[134] = BIAS + 0x6002;
	code_at(&w, 0x6000, BYTES(0x0d, 0xe1)); /* basr %r14,%r1 */
	w.stack[135] = STACK_WORD(120);
	w.stack[120] = STACK_WORD(150); /* back chain */
	w.stack[150 + 14] = BIAS + 0x1020;
	w.stack[150 + 11] = 7;
	unwind(&w);
	assert_int_equal(w.frames.sps[1], STACK_WORD(120));
	assert_int_equal(w.frames.sps[2], STACK_WORD(150));
	EXPECT(&w, REEL_STOP_GUESSED_ROOT, 0x2010, 0x6002, 0x1020);
}

/*
 * Without a back chain, its slot holds anything; a PLT entry's caller is in r14, and r15 is its
 * own.
 */
TEST(test_s390x_no_back_chain)
{
	for (uint64_t word = 0; word < 2; word++) {
		world_init(&w, "s390x", 1, 14, BYTES(DW_CFA_def_cfa, 15, 0xa0, 0x01));
		function(&w, 0x1000, 0x1100, BYTES(DW_CFA_undefined, 14));
		/* r14 at CFA - 48, r15 at CFA - 40, CFA = r15 + 320 */
		function(&w, 0x2000, 0x2100,
			 BYTES(DW_CFA_offset | 14, 6, DW_CFA_offset | 15, 5, DW_CFA_def_cfa_offset,
			       0xc0, 0x02));
		code_at(&w, 0x201e, BYTES(0x0d, 0xe1)); /* basr %r14,%r1 */
		code_at(&w, 0x101e, BYTES(0x0d, 0xe1));
		w.state.pc = BIAS + 0x6002; /* no CFI there */
		set(&w, 14, BIAS + 0x2020);
		set(&w, 15, STACK_WORD(100));
		w.stack[100] = word ? 0x1234 : 0;
		w.stack[134] = BIAS + 0x1020;
		w.stack[135] = STACK_WORD(120);
		unwind(&w);
		assert_int_equal(w.frames.sps[1], STACK_WORD(100));
		EXPECT(&w, REEL_STOP_ROOT, 0x6002, 0x2020, 0x1020);
	}
}

RUN_TESTS()
