/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinding traps on x86_64: which pc, popped registers, ends, signals. */
#include "tests/support/unwind_world.h"

/* Each test initializes it. */
static struct world w;

/* ---- x86_64 ---------------------------------------------------------------------------- */

TEST(test_chain)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16)); /* CFA = rsp + 16 */
	begin_at(&w, 0x2010, STACK_WORD(100));
	w.stack[101] = call_before(&w, 0x2020);
	w.stack[103] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.sps[1], STACK_WORD(102));
	assert_int_equal(w.frames.steps[1], REEL_STEP_CFI);
	assert_int_equal(w.frames.lookups[1], BIAS + 0x201f);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x2020, 0x1020);
}

/* Caller-saved registers that were kept, and a callee-saved one that was lost: the state decides
 * (unwind_world.h compares it both ways). */
TEST(test_unusual_registers)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16));
	/* rax: same value */
	function(&w, 0x2100, 0x2180, BYTES(DW_CFA_def_cfa_offset, 16, DW_CFA_same_value, 0));
	/* and rbx: undefined */
	/* rax at cfa - 16 */
	function(&w, 0x2180, 0x2200,
		 BYTES(DW_CFA_def_cfa_offset, 16, DW_CFA_same_value, 0, DW_CFA_undefined, 3));
	function(&w, 0x2200, 0x2300, BYTES(DW_CFA_def_cfa_offset, 24, DW_CFA_offset | 0, 2));
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 0, 1);
	set(&w, 3, 2);
	set(&w, 12, 3);
	w.stack[101] = BIAS + 0x2220;
	w.stack[103] = 4;
	w.stack[104] = BIAS + 0x2120;
	w.stack[106] = BIAS + 0x2190;
	w.stack[108] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.state.registers[0], 4);
	assert_int_equal(w.state.registers[12], 3);
	assert_int_equal(w.state.known >> 0 & 1, 1);
	assert_int_equal(w.state.known >> 3 & 1, 0);
	assert_int_equal(w.state.known >> 12 & 1, 1);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x2220, 0x2120, 0x2190, 0x1020);
}

/* A function that ends with a call to a noreturn function: its return address belongs to the next
 * function. */
TEST(test_return_address_behind_function)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 32));
	function(&w, 0x2100, 0x2200, NO_BYTES);
	begin_at(&w, 0x2100,
		 STACK_WORD(100));    /* exact: the first instruction of the second function */
	w.stack[100] = BIAS + 0x2100; /* after the first function's call */
	w.stack[104] = BIAS + 0x1020;
	UNWIND(&w, REEL_STOP_ROOT, 0x2100, 0x2100, 0x1020);
}

/* A function whose CIE names a personality routine. */
static void catching_function(uint64_t begin, uint64_t end, const uint8_t *program, size_t size)
{
	size_t cie = build_cie(&w.eh, 1, "zPR", BYTES(0x1b, 1, 2, 3, 4, 0x1b), 1, 16, X86_INITIAL);

	build_fde(&w.eh, cie, true, begin, end - begin, program, size);
}

/*
 * gcc 12's _Unwind_Resume, libgcc_s.so.1 of Debian 12:
 *   1741f: 48 89 cc  mov %rcx,%rsp    CFA = rcx + 8
 *   17422: 59        pop %rcx         CFA = rsp + 8
 *   17423: ff e1     jmp *%rcx        CFA = rsp, rip in rcx
 * Execution continues at a landing pad, here after its function's `ret`, where the CFA is rsp + 8;
 * at the pad itself it is rsp + 48.
 */
TEST(test_landing_pad)
{
	static const uint8_t resume[] =
		PROGRAM(DW_CFA_def_cfa, 2, 8, DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 7,
			DW_CFA_advance_loc | 1, DW_CFA_register, 16, 2, DW_CFA_def_cfa_offset, 0);
	static const uint8_t catcher[] =
		PROGRAM(DW_CFA_def_cfa_offset, 48, DW_CFA_advance_loc | 24, DW_CFA_remember_state,
			DW_CFA_def_cfa_offset, 8, DW_CFA_advance_loc | 1, DW_CFA_restore_state);

	for (int i = 0; i < 3; i++) {
		world_x86_with_root(&w);
		function(&w, 0x7000, 0x7010, resume, sizeof(resume));
		catching_function(0x2000, 0x2100, catcher, sizeof(catcher));
		code_at(&w, 0x2014, BYTES(0x5b, 0x5d, 0x5b, 0x5d, 0xc3)); /* pop … ret */
		begin_at(&w, 0x7000 + (uint64_t[]){ 0, 3, 4 }[i],
			 i == 0	  ? STACK_WORD(10)
			 : i == 1 ? STACK_WORD(100)
				  : STACK_WORD(101));
		set(&w, 2, i == 0 ? STACK_WORD(100) : BIAS + 0x2019);
		w.stack[100] = BIAS + 0x2019;
		w.stack[106] = call_before(&w, 0x1020);
		unwind(&w);
		assert_int_equal(w.frames.lookups[1], BIAS + 0x2019);
		EXPECT(&w, REEL_STOP_ROOT, 0x7000 + (uint64_t[]){ 0, 3, 4 }[i], 0x2019, 0x1020);
	}

	/* After a call it is a return address, whatever it returns from. */
	world_x86_with_root(&w);
	function(&w, 0x7000, 0x7010, resume, sizeof(resume));
	catching_function(0x2000, 0x2100, catcher, sizeof(catcher));
	begin_at(&w, 0x7004, STACK_WORD(101));
	set(&w, 2, call_before(&w, 0x2019));
	w.stack[101] = call_before(&w, 0x1020);
	unwind(&w);
	assert_int_equal(w.frames.lookups[1], BIAS + 0x2018);
	EXPECT(&w, REEL_STOP_ROOT, 0x7004, 0x2019, 0x1020);

	/* A function that cannot catch has no landing pads; its code is not read. */
	world_x86_with_root(&w);
	function(&w, 0x7000, 0x7010, resume, sizeof(resume));
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.unreadable = true;
	begin_at(&w, 0x7004, STACK_WORD(101));
	set(&w, 2, BIAS + 0x2019);
	w.stack[101] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.lookups[1], BIAS + 0x2018);
	EXPECT(&w, REEL_STOP_ROOT, 0x7004, 0x2019, 0x1020);

	/* The start of a function: makecontext's entry. */
	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	function(&w, 0x3000, 0x3100, NO_BYTES);
	begin_at(&w, 0x2010, STACK_WORD(100));
	w.stack[100] = BIAS + 0x3000;
	unwind(&w);
	assert_int_equal(w.frames.lookups[1], BIAS + 0x2fff);
	EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x2010, 0x3000);
}

TEST(test_after_syscall)
{
	world_x86_with_root(&w);
	/* … syscall is its last instruction */
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16));
	code_at(&w, 0x20fe, BYTES(0x0f, 0x05));
	w.state.pc = BIAS + 0x2100;
	w.input.after_syscall = true;
	set(&w, 7, STACK_WORD(100));
	w.stack[101] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.lookups[0], BIAS + 0x20ff);
	EXPECT(&w, REEL_STOP_ROOT, 0x2100, 0x1020);
}

/*
 * execve, and a signal at the end of a system call, set the pc: it is the new function's first
 * instruction.
 */
TEST(test_after_syscall_elsewhere)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 64)); /* another, ends with hlt */
	function(&w, 0x2100, 0x2200, NO_BYTES);
	code_at(&w, 0x20ff, BYTES(0xf4));
	w.state.pc = BIAS + 0x2100;
	w.input.after_syscall = true;
	set(&w, 7, STACK_WORD(100));
	w.stack[100] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.lookups[0], BIAS + 0x2100);
	EXPECT(&w, REEL_STOP_ROOT, 0x2100, 0x1020);
}

TEST(test_popped_register)
{
	for (int recorded = 0; recorded < 2; recorded++) {
		world_x86_with_root(&w);
		/* rbp at CFA - 16 */
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 8, DW_CFA_offset | 6, 2));
		/* CFA = rbp + 16 */
		function(&w, 0x3000, 0x3100, BYTES(DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 6, 2));
		begin_at(&w, 0x2010, STACK_WORD(100));
		set(&w, 6, STACK_WORD(110));
		w.stack[99] = STACK_WORD(110);
		w.stack[100] = BIAS + 0x3020;
		w.stack[111] = BIAS + 0x1020;
		if (!recorded) { /* the region begins at rsp */
			w.regions[0].address = STACK_WORD(100);
			w.regions[0].bytes = w.stack_bytes + 800;
			w.regions[0].size -= 800;
		}
		UNWIND(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
	}
}

/* The same farther down than the red zone reaches: the slot was overwritten. */
TEST(test_popped_register_below_red_zone)
{
	world_x86_with_root(&w);
	/* rbp at CFA - 240 */
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 8, DW_CFA_offset | 6, 30));
	function(&w, 0x3000, 0x3100, BYTES(DW_CFA_def_cfa, 6, 16));
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 6, STACK_WORD(110));
	w.stack[71] = 12345;
	w.stack[100] = BIAS + 0x3020;
	w.stack[111] = BIAS + 0x1020;
	UNWIND(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/*
 * GCC locates the saved registers of a function that realigns sp by rbp up to its last instruction,
 * even where rbp is the caller's again:
 *   3155: 48 8d 65 f0  lea -0x10(%rbp),%rsp
 *   3159: 5b           pop %rbx
 *   315a: 41 5a        pop %r10
 *   315c: 5d           pop %rbp
 *   315d: 49 8d 62 f8  lea -8(%r10),%rsp
 * CFA = r10, rbp at rbp + 0, rbx at rbp - 16, r10 = CFA for all of them here.
 */
TEST(test_popped_by_expression)
{
	for (int popped = 0; popped < 2; popped++) {
		world_x86_with_root(&w);
		/* CFA = rbp + 16, rbp at CFA - 16 */
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 6, 2));
		function(&w, 0x3000, 0x3200,
			 BYTES(DW_CFA_def_cfa, 10, 0, DW_CFA_expression, 6, 2, DW_OP_breg6, 0x00,
			       DW_CFA_expression, 3, 2, DW_OP_breg6, 0x70));
		begin_at(&w, (popped ? 0x315d : 0x315c), STACK_WORD(popped ? 99 : 98));
		set(&w, 6, popped ? STACK_WORD(120) : STACK_WORD(98));
		set(&w, 3, 0x3333);
		set(&w, 10, STACK_WORD(104));
		w.stack[96] = 0x3333;
		w.stack[98] = STACK_WORD(120);
		w.stack[103] = BIAS + 0x2020;
		/* The caller's frame: the slot two words below its rbp is its own. */
		w.stack[118] = 0x4444;
		w.stack[120] = STACK_WORD(140);
		w.stack[121] = BIAS + 0x1020;
		w.stack[141] = BIAS + 0x1080;
		unwind(&w);
		assert_int_equal(w.state.registers[reel_arch_slot(w.arch, 3)], 0x3333);
		EXPECT(&w, REEL_STOP_ROOT, popped ? 0x315d : 0x315c, 0x2020, 0x1020);
	}
}

/*
 * glibc's _L_lock_*, whose CFI was written by hand (LLL_STUB_UNWIND_INFO_5 of glibc 2.19's
 * lowlevellock.h): code that is entered and left by jumps, described as if it were called at its
 * own call.
 *   3000: lea lock,%rdi
 *   3007: sub $128,%rsp
 *   300e: call __lll_lock_wait_private
 *   3013: add $128,%rsp
 *   301a: jmp 2020
 */
TEST(test_lock_stub)
{
	static const struct {
		uint64_t pc;
		bool in_red_zone;
	} cases[] = { { 0x3000, false },
		      { 0x3007, false },
		      { 0x300e, true },
		      { 0x3013, true },
		      { 0x301a, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_x86_with_root(&w);
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16));
		function(&w, 0x3000, 0x301f,
			 /* CFA = rsp - 128; the caller's pc is 3013, computed from the pc */
			 BYTES(DW_CFA_def_cfa_sf, 7, 16, DW_CFA_val_expression, 16, 2, DW_OP_breg16,
			       0x13,
			       /* 3007 */
			       DW_CFA_advance_loc | 7, DW_CFA_val_expression, 16, 2, DW_OP_breg16,
			       0x0c,
			       /* 300e: CFA = rsp */
			       DW_CFA_advance_loc | 7, DW_CFA_def_cfa_offset, 0,
			       DW_CFA_val_expression, 16, 2, DW_OP_breg16, 5,
			       /* 3012: CFA = rsp + 128; pc + 6 - 3013 + 201a, so 2020 */
			       DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 0x80, 0x01,
			       DW_CFA_val_expression, 16, 14, DW_OP_breg16, 6, DW_OP_const4s, 0x13,
			       0x30, 0, 0, DW_OP_minus, DW_OP_const4s, 0x1a, 0x20, 0, 0, DW_OP_plus,
			       /* 301a: CFA = rsp - 128 */
			       DW_CFA_advance_loc | 8, DW_CFA_def_cfa_offset_sf, 16,
			       DW_CFA_val_expression, 16, 2, DW_OP_breg16, 0x79));
		begin_at(&w, cases[i].pc, STACK_WORD(cases[i].in_red_zone ? 84 : 100));
		w.stack[101] = BIAS + 0x1020;
		unwind(&w);
		if (cases[i].pc == 0x3013)
			EXPECT(&w, REEL_STOP_ROOT, 0x3013, 0x2020, 0x1020);
		else
			EXPECT(&w, REEL_STOP_ROOT, cases[i].pc, 0x3013, 0x2020, 0x1020);
	}
}

/* In a frame that made a call, sp does not reveal pops. */
TEST(test_slot_below_sp_of_caller)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	/* rbp at CFA - 240 */
	function(&w, 0x2800, 0x2900, BYTES(DW_CFA_def_cfa_offset, 8, DW_CFA_offset | 6, 30));
	function(&w, 0x3000, 0x3100, BYTES(DW_CFA_def_cfa, 6, 16));
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 6, 77);
	w.stack[100] = BIAS + 0x2820;
	w.stack[101] = BIAS + 0x3020;
	w.stack[72] = STACK_WORD(110);
	w.stack[111] = BIAS + 0x1020;
	UNWIND(&w, REEL_STOP_ROOT, 0x2010, 0x2820, 0x3020, 0x1020);
}

/*
 * A leaf function that saves rbp in the red zone and uses it: the stack's bytes decide, not the
 * register.
 */
TEST(test_saved_in_red_zone)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 8, DW_CFA_offset | 6, 2));
	function(&w, 0x3000, 0x3100, BYTES(DW_CFA_def_cfa, 6, 16));
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 6, 77);
	w.stack[99] = STACK_WORD(110);
	w.stack[100] = BIAS + 0x3020;
	w.stack[111] = BIAS + 0x1020;
	UNWIND(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/* A register that cannot be read becomes unknown: that is not a reason to stop, unless a CFA needs
 * it. */
TEST(test_unreadable_register)
{
	for (int needed = 0; needed < 2; needed++) {
		world_x86_with_root(&w);
		/* rbx at CFA - 16 */
		function(&w, 0x2000, 0x2100,
			 BYTES(DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 3, 2));
		if (needed)
			/* CFA = rbx + 16 */
			function(&w, 0x3000, 0x3100, BYTES(DW_CFA_def_cfa, 3, 16));
		else
			function(&w, 0x3000, 0x3100, BYTES(DW_CFA_def_cfa_offset, 8));
		w.missing[0] = (struct reel_memory_range){ 800, 8 };
		w.regions[0].missing = w.missing;
		w.regions[0].n_missing = 1;
		begin_at(&w, 0x2010, STACK_WORD(100));
		w.stack[101] = BIAS + 0x3020;
		w.stack[102] = BIAS + 0x1020;
		unwind(&w);
		if (needed)
			EXPECT(&w, REEL_STOP_REGISTER_UNKNOWN, 0x2010, 0x3020);
		else
			EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
	}
}

/* _dl_runtime_resolve_xsavec: the CFA is based on rbx, which its callee has saved. rbp is 0. */
TEST(test_cfa_in_rbx)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 3, 2));
	function(&w, 0x3000, 0x3100, BYTES(DW_CFA_def_cfa, 3, 16));
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 6, 0);
	set(&w, 3, 1);
	w.stack[100] = STACK_WORD(120);
	w.stack[101] = BIAS + 0x3020;
	w.stack[121] = BIAS + 0x1020;
	UNWIND(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/* A PLT's CFA: rsp + 8 + ((rip & 15) >= 11) * 8. */
TEST(test_plt)
{
	for (int pushed = 0; pushed < 2; pushed++) {
		world_x86_with_root(&w);
		/* breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus */
		function(&w, 0x2000, 0x2100,
			 BYTES(DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0,
			       DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl,
			       DW_OP_plus));
		begin_at(&w, 0x2010 + (pushed ? 11 : 6), STACK_WORD(100));
		w.stack[100 + pushed] = BIAS + 0x1020;
		UNWIND(&w, REEL_STOP_ROOT, pushed ? 0x201b : 0x2016, 0x1020);
	}
}

/* ---- where stacks end --------------------------------------------------------------------- */

/* An undefined return address is the end: a frame pointer that would lead on is not used. */
TEST(test_no_fallback_behind_root)
{
	world_x86_with_root(&w);
	begin_at(&w, 0x1010, STACK_WORD(100));
	set(&w, 6, STACK_WORD(110));
	w.stack[111] = call_before(&w, 0x5000);
	UNWIND(&w, REEL_STOP_ROOT, 0x1010);
}

TEST(test_return_address_zero)
{
	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	begin_at(&w, 0x2010, STACK_WORD(100));
	w.stack[100] = call_before(&w, 0x2020);
	UNWIND(&w, REEL_STOP_ROOT, 0x2010, 0x2020);

	/* For the first frame that may be an error in the CFI. */
	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	begin_at(&w, 0x2010, STACK_WORD(100));
	UNWIND(&w, REEL_STOP_GUESSED_ROOT, 0x2010);
}

/*
 * LuaJIT's interpreter is hand-written code that its CFI describes as one function.  It calls its
 * own subroutines:
 *   2010: e8 eb 00 00 00  call 2100
 *   2100: 31 c0           xor %eax,%eax
 *   2102: c3              ret
 */
TEST(test_subroutine)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2200, BYTES(DW_CFA_def_cfa_offset, 80));
	code_at(&w, 0x2010, BYTES(0xe8, 0xeb, 0x00, 0x00, 0x00));
	code_at(&w, 0x2100, BYTES(0x31, 0xc0, 0xc3));
	begin_at(&w, 0x2100, STACK_WORD(100));
	w.stack[100] = BIAS + 0x2015;
	w.stack[110] = call_before(&w, 0x1020);
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_SYNTHESIZED);
	EXPECT(&w, REEL_STOP_ROOT, 0x2100, 0x2015, 0x1020);
}

/*
 * _start: at its first instruction, and where it has no FDE; code far after it is not its own.
 */
TEST(test_entry)
{
	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.entry = 0x3000;
	begin_at(&w, 0x2010, STACK_WORD(100));
	w.stack[100] = BIAS + 0x3022;
	UNWIND(&w, REEL_STOP_ROOT, 0x2010, 0x3022);

	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.entry = 0x3000;
	begin_at(&w, 0x2010, STACK_WORD(100));
	w.stack[100] = BIAS + 0x3122;
	UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, 0x2010, 0x3122);

	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.entry = 0x2000;
	begin_at(&w, 0x2000, STACK_WORD(100));
	w.stack[100] = 1; /* argc */
	UNWIND(&w, REEL_STOP_ROOT, 0x2000);
}

/* rbp == 0 proves nothing: the caller without CFI has no good frame-pointer chain. */
TEST(test_no_unwind_info)
{
	world_x86(&w);
	begin_at(&w, 0x2010, STACK_WORD(100));
	set(&w, 6, 0);
	UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, 0x2010);
}

TEST(test_stack_end)
{
	for (int cut = 0; cut < 2; cut++) {
		world_x86(&w);
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16));
		w.input.stack_cut = cut;
		begin_at(&w, 0x2010, STACK_WORD(510));
		w.stack[511] = BIAS + 0x2020;
		UNWIND(&w, cut ? REEL_STOP_STACK_CUT : REEL_STOP_STACK_END, 0x2010, 0x2020);
	}
}

/*
 * The root part of a stack that was cut begins within some frame.  The functions at 2000 have
 * frames of two words, and the caller of 2030 also calls 3000.  5000 is a function with a frame
 * pointer, 6000 one with a frame of six words, 7000 one with a frame that rbx leads to.
 */
TEST(test_gap)
{
	enum {
		GOOD,
		STALE,
		STALE_WAY,
		NO_ROOT,
		FRAME_POINTER,
		NO_REGISTER,
		NOT_CUT,
		FEW_FRAMES,
		CASES
	};

	for (int i = 0; i < CASES; i++) {
		world_x86_with_root(&w);
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16));
		function(&w, 0x5000, 0x5100, BYTES(DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 6, 2));
		function(&w, 0x6000, 0x6100, BYTES(DW_CFA_def_cfa_offset, 48));
		function(&w, 0x7000, 0x7100, BYTES(DW_CFA_def_cfa, 3, 16));
		code_at(&w, 0x3000, BYTES(0xc3));
		code_at(&w, 0x202b, BYTES(0xe8, 0xd0, 0x0f, 0, 0)); /* call 3000 */
		w.regions[1] = (struct reel_memory_region){ STACK_WORD(200), 8 * 312,
							    w.stack_bytes + 8 * 200, NULL, 0 };
		w.regions[0].size = 8 * 100;
		w.memory.n_regions = 2;
		w.input.stack_cut = i != NOT_CUT;
		w.input.root_part = &w.regions[1];
		w.input.max_frames = i == FEW_FRAMES ? 3 : 0;
		begin_at(&w, 0x2010, STACK_WORD(99));
		w.stack[201] = BIAS + 0x2090; /* not after a call */
		w.stack[205] = call_before(&w, 0x2040);
		w.stack[207] = call_before(&w, 0x2050);
		if (i != NO_ROOT)
			w.stack[209] = call_before(&w, 0x1020);
		if (i == STALE) { /* 2030 cannot have called the 2000 of 2060 */
			w.stack[203] = call_before(&w, 0x2060);
			w.stack[205] = BIAS + 0x2030;
		}
		if (i == STALE_WAY) /* two ways to the root: one is stale */
			w.stack[203] = call_before(&w, 0x6040);
		if (i == FRAME_POINTER) {
			w.stack[204] = STACK_WORD(208);
			w.stack[205] = call_before(&w, 0x5040);
			w.stack[207] = 0;
		}
		if (i == NO_REGISTER) { /* only this way may be live */
			w.stack[202] = call_before(&w, 0x2060);
			w.stack[204] = call_before(&w, 0x2070);
			w.stack[206] = call_before(&w, 0x7040);
		}
		unwind(&w);
		if (i == GOOD) {
			assert_int_equal(w.frames.steps[1], REEL_STEP_GAP);
			assert_int_equal(w.frames.steps[2], REEL_STEP_BEYOND_GAP);
			assert_int_equal(w.frames.sps[2], STACK_WORD(206));
			assert_int_equal(w.frames.steps[3], REEL_STEP_CFI);
			EXPECT(&w, REEL_STOP_STACK_CUT, 0x2010, 0, 0x2040, 0x2050, 0x1020);
		} else if (i == STALE_WAY) {
			EXPECT(&w, REEL_STOP_STACK_CUT, 0x2010, 0, 0x1020);
		} else if (i == STALE) {
			EXPECT(&w, REEL_STOP_STACK_CUT, 0x2010, 0, 0x2030, 0x2050, 0x1020);
		} else if (i == FRAME_POINTER) {
			EXPECT(&w, REEL_STOP_STACK_CUT, 0x2010, 0, 0x5040, 0x1020);
		} else if (i == FEW_FRAMES) {
			EXPECT(&w, REEL_STOP_DEPTH_LIMIT, 0x2010, 0, 0x2040);
		} else {
			EXPECT(&w, i == NOT_CUT ? REEL_STOP_STACK_END : REEL_STOP_STACK_CUT,
			       0x2010);
		}
	}
}

/*
 * bn_mul_mont's CFA, [rsp + 8 + 8 r9] + 8: with the scrubbed value of r9 it would be a word of the
 * product, or of a caller that has returned.
 */
TEST(test_scrubbed_count)
{
	static const enum reel_stop stops[] = { REEL_STOP_ROOT, REEL_STOP_SCRUBBED,
						REEL_STOP_STACK_CUT };

	for (unsigned i = 0; i < 3; i++) {
		world_x86_with_root(&w);
		function(&w, 0x2000, 0x2100,
			 BYTES(DW_CFA_def_cfa_expression, 10, DW_OP_breg7, 8, DW_OP_breg9, 0,
			       DW_OP_lit8, DW_OP_mul, DW_OP_plus, DW_OP_deref, DW_OP_plus_uconst,
			       8));
		w.state.pc = BIAS + 0x2010;
		w.state.scrubbed = i > 0;
		w.input.stack_cut = i == 2;
		set(&w, 7, STACK_WORD(100));
		set(&w, 9, i ? 1 : 6);
		/* Stale. */
		w.stack[102] = STACK_WORD(110);
		w.stack[110] = BIAS + 0x2020;
		w.stack[107] = STACK_WORD(120);
		w.stack[120] = BIAS + 0x1020;
		unwind(&w);
		if (i)
			EXPECT(&w, stops[i], 0x2010);
		else
			EXPECT(&w, stops[i], 0x2010, 0x1020);
	}
}

/* glibc's longjmp: CFA = rdi, a plain number by now, but all needed values are in registers. */
TEST(test_scrubbed_cfa)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100,
		 BYTES(DW_CFA_def_cfa, 5, 0, DW_CFA_register, 16, 1, DW_CFA_register, 7, 8));
	w.state.pc = BIAS + 0x2010;
	w.state.scrubbed = true;
	set(&w, 7, STACK_WORD(100));
	set(&w, 5, 1);
	set(&w, 1, BIAS + 0x1020);
	set(&w, 8, STACK_WORD(110));
	UNWIND(&w, REEL_STOP_ROOT, 0x2010, 0x1020);
}

/* CFA = rsp, return address from rax's address: sp never moves. */
TEST(test_no_progress)
{
	world_x86(&w);
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 0, DW_CFA_offset | 16, 0));
	begin_at(&w, 0x2020, STACK_WORD(100));
	w.stack[100] = BIAS + 0x2020;
	UNWIND(&w, REEL_STOP_NO_PROGRESS, 0x2020);
}

/* Two functions that return to each other; sp does not move: CFA = rsp, the return address at rsp
 * or rsp + 8. */
TEST(test_circle)
{
	world_x86(&w);
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 0, DW_CFA_offset | 16, 0));
	function(&w, 0x3000, 0x3100,
		 BYTES(DW_CFA_def_cfa_offset, 0, DW_CFA_offset_extended_sf, 16, 0x7f));
	begin_at(&w, 0x2020, STACK_WORD(100));
	w.stack[100] = BIAS + 0x3020;
	w.stack[101] = BIAS + 0x2020;
	unwind(&w);
	assert_in_range(w.frames.n, 3, 20);
	assert_int_equal(w.stop, REEL_STOP_NO_PROGRESS);
	w.frames.n = 1;
	EXPECT(&w, REEL_STOP_NO_PROGRESS, 0x2020);
}

TEST(test_backwards)
{
	world_x86(&w);
	/* The caller's rsp is CFA - 64. */
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_val_offset, 7, 8));
	begin_at(&w, 0x2010, STACK_WORD(100));
	w.stack[100] = BIAS + 0x2020;
	UNWIND(&w, REEL_STOP_NO_PROGRESS, 0x2010);
}

TEST(test_depth_limit)
{
	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.input.max_frames = 3;
	begin_at(&w, 0x2020, STACK_WORD(100));
	for (size_t i = 100; i < 200; i++)
		w.stack[i] = BIAS + 0x2020;
	UNWIND(&w, REEL_STOP_DEPTH_LIMIT, 0x2020, 0x2020, 0x2020);
}

TEST(test_missing_module)
{
	static const struct {
		enum reel_code_found found;
		enum reel_stop stop;
	} cases[] = {
		{ REEL_CODE_MODULE_MISSING, REEL_STOP_MODULE_MISSING },
		{ REEL_CODE_ANONYMOUS, REEL_STOP_NO_UNWIND_INFO },
		{ REEL_CODE_NO_MAPPING, REEL_STOP_NO_MAPPING },
	};

	for (size_t i = 0; i < 3; i++) {
		world_x86(&w);
		w.found = cases[i].found;
		begin_at(&w, 0x2020, STACK_WORD(100));
		UNWIND(&w, cases[i].stop, 0x2020);
	}
}

TEST(test_bad_unwind_info)
{
	world_x86(&w);
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_high_user));
	begin_at(&w, 0x2020, STACK_WORD(100));
	UNWIND(&w, REEL_STOP_BAD_UNWIND_INFO, 0x2020);
}

/* ---- signals -------------------------------------------------------------------------------- */

/* mov $0xf,%rax; syscall */
#define X86_SIGRETURN BYTES(0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05)

/* struct ucontext at word `at`: rbp is its word 15, rsp 20, rip 21. */
static void x86_ucontext(size_t at, uint64_t pc, uint64_t sp, uint64_t bp)
{
	w.stack[at + 15] = bp;
	w.stack[at + 20] = sp;
	w.stack[at + 21] = pc;
}

/*
 * musl's trampoline has no CFI, and directly follows a function that has CFI. The interrupted pc is
 * exact: it is its function's first instruction.  The interrupted stack is below: the handler runs
 * on a different one.
 */
TEST(test_signal_without_cfi)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);				/* handler */
	function(&w, 0x3f00, 0x4000, BYTES(DW_CFA_def_cfa_offset, 64)); /* before the trampoline */
	/* before the interrupted one */
	function(&w, 0x5000, 0x5100, BYTES(DW_CFA_def_cfa_offset, 64));
	function(&w, 0x5100, 0x5200, BYTES(DW_CFA_def_cfa_offset, 8, DW_CFA_offset | 6, 2));
	function(&w, 0x6000, 0x6100, BYTES(DW_CFA_def_cfa, 6, 16));
	code_at(&w, 0x4000, X86_SIGRETURN);
	begin_at(&w, 0x2010, STACK_WORD(200));
	w.stack[200] = BIAS + 0x4000;
	/* rbp was popped, and its slot is below the start of the region … */
	x86_ucontext(201, BIAS + 0x5100, STACK_WORD(0), STACK_WORD(50));
	w.stack[0] = BIAS + 0x6020;
	/* … and the caller needs it. */
	w.stack[51] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.steps[2], REEL_STEP_SIGNAL);
	assert_int_equal(w.frames.lookups[1], BIAS + 0x4000);
	assert_int_equal(w.frames.lookups[2], BIAS + 0x5100);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x4000, 0x5100, 0x6020, 0x1020);
}

/* glibc's has CFI with S: CFA = *(rsp + 160), rip at rsp + 168 (and the pattern cannot be read). */
TEST(test_signal_with_cfi)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	function(&w, 0x5100, 0x5200, NO_BYTES);
	build_fde(&w.eh, w.signal_cie, true, 0x3fff, 11,
		  BYTES(DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xa0, 0x01, DW_OP_deref,
			DW_CFA_expression, 16, 3, DW_OP_breg7, 0xa8, 0x01));
	w.unreadable = true;
	begin_at(&w, 0x2010, STACK_WORD(200));
	w.stack[200] = BIAS + 0x4000;
	x86_ucontext(201, BIAS + 0x5100, STACK_WORD(300), 0);
	w.stack[300] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.steps[2], REEL_STEP_SIGNAL);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x4000, 0x5100, 0x1020);
}

/* A call through a null pointer, first as a sample, then as the frame below a SIGSEGV handler's. */
TEST(test_undo_call)
{
	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.state.pc = 0;
	set(&w, 7, STACK_WORD(100));
	w.stack[100] = call_before(&w, 0x2020);
	w.stack[101] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_UNDO_CALL);
	EXPECT(&w, REEL_STOP_ROOT, 0, 0x2020, 0x1020);

	world_x86_with_root(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	code_at(&w, 0x4000, X86_SIGRETURN);
	begin_at(&w, 0x2010, STACK_WORD(200));
	w.stack[200] = BIAS + 0x4000;
	x86_ucontext(201, 0, STACK_WORD(300), 0);
	w.stack[300] = call_before(&w, 0x2020);
	w.stack[301] = BIAS + 0x1020;
	UNWIND(&w, REEL_STOP_ROOT, 0x2010, 0x4000, 0, 0x2020, 0x1020);
}

RUN_TESTS()
