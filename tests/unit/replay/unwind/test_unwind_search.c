/* SPDX-License-Identifier: Apache-2.0 */
/* Callers where CFI is missing: code that leaves by jumps, searches of the stack, and what refuses a caller. */
#include "tests/support/unwind_world.h"

/* Each test initializes it. */
static struct world w;

static void code_world(void)
{
	world_x86_with_caller(&w);
}

static const uint8_t framed[] = { FRAMED_CODE };

/*
 * GHC's StgRun jumps to compiled Haskell, whose parts jump to each other by their own stack:
 *   3000: 48 83 ec 30     sub $0x30,%rsp
 *   3004: 48 89 1c 24     mov %rbx,(%rsp)
 *   3008: ff e0           jmp *%rax
 *
 *   6000: 48 8b 5d 08     mov 8(%rbp),%rbx
 *   6004: ff 65 00        jmp *0(%rbp)
 * Code that has moved rsp for a call of C moves it back first:
 *   6010: 48 83 c4 08     add $8,%rsp
 *   6014: ff 65 00        jmp *0(%rbp)
 */
TEST(test_left_by_jump)
{
	for (int i = 0; i < 4; i++) {
		bool missing = i == 1, two = i == 2, moved = i == 3;

		code_world();
		call_directly(&w, 0x3000);
		/* The caller's CFA is based on rbx. */
		function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa, 3, 16));
		code_at(&w, 0x3000,
			BYTES(0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0x1c, 0x24, 0xff, 0xe0));
		code_at(&w, 0x6000, BYTES(0x48, 0x8b, 0x5d, 0x08, 0xff, 0x65, 0x00));
		code_at(&w, 0x211b, BYTES(0xe8, 0xe0, 0x0e, 0, 0)); /* call 3000 */
		code_at(&w, 0x6010, BYTES(0x48, 0x83, 0xc4, 0x08, 0xff, 0x65, 0x00));
		begin_at(&w, (moved ? 0x6010 : 0x6000), STACK_WORD(moved ? 93 : 94));
		set(&w, 6, 0x1234);
		set(&w, 3, 0x5555);
		w.stack[94] = STACK_WORD(110);
		w.stack[100] = BIAS + 0x2120;
		w.stack[111] = BIAS + 0x1020;
		if (missing) {
			w.missing[0] = (struct reel_memory_range){ 8 * 96, 8 * 2 };
			w.regions[0].missing = w.missing;
			w.regions[0].n_missing = 1;
		}
		/* Another function that would have jumped here from the same place: ambiguous. */
		if (two) {
			code_at(&w, 0x7000, BYTES(0x48, 0x83, 0xec, 0x38, 0xff, 0xe0));
			code_at(&w, 0x203b, BYTES(0xe8, 0xc0, 0x4f, 0, 0)); /* call 7000 */
			w.stack[101] = BIAS + 0x2040;
		}
		unwind(&w);
		if (two) {
			EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x6000);
			continue;
		}
		assert_int_equal(w.frames.sps[1], STACK_WORD(101));
		EXPECT(&w, REEL_STOP_ROOT, moved ? 0x6010 : 0x6000, 0x2120, 0x1020);
	}
}

/*
 * LuaJIT: an inner entry of hand-written code jumps to JIT code, which makes a frame of its own and
 * never returns.  This is a guess.  Compilers' functions, of which many jump through tables, are no
 * such evidence.
 */
TEST(test_deeper)
{
	enum { EXACT, DEEPER, TOO_DEEP, SOMETHING_BETWEEN, AT_BEGINNING, N_CASES };

	for (int i = 0; i < N_CASES; i++) {
		uint8_t entry = i == AT_BEGINNING ? 0x00 : 0x40;

		code_world();
		w.input.find_code = find_recorded;
		function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa_offset, 16));
		code_at(&w, 0x2000 + entry,
			BYTES(0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0x1c, 0x24, 0xff, 0xe0));
		code_at(&w, 0x211b,
			BYTES(0xe8, entry - 0x20, entry ? 0xff : 0xfe, 0xff, 0xff)); /* call */
		code_at(&w, 0x6000, BYTES(0x48, 0x8b, 0x5d, 0x08, 0xff, 0x65, 0x00));
		begin_at(&w, 0x6000, STACK_WORD(i == EXACT ? 394 : i == TOO_DEEP ? 94 : 392));
		set(&w, 6, 0x1234);
		w.stack[400] = BIAS + 0x2120;
		w.stack[402] = BIAS + 0x1020;
		if (i == SOMETHING_BETWEEN)
			w.stack[396] = call_before(&w, 0x1020);
		unwind(&w);
		if (i == EXACT || i == DEEPER) {
			assert_int_equal(w.frames.sps[1], STACK_WORD(401));
			EXPECT(&w, i == EXACT ? REEL_STOP_ROOT : REEL_STOP_GUESSED_ROOT, 0x6000,
			       0x2120, 0x1020);
		} else {
			EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x6000);
		}
	}
}

/*
 * PHP 8.4's JIT: code that begins with endbr64 is jumped to, uses the frame of the code that jumped,
 * and leaves by a jump.  The word at rsp is old, and any call through a register could have left it.
 *   3000: f3 0f 1e fa     endbr64
 *   3004: ff d7           call *%rdi
 *   3006: 41 ff e6        jmp *%r14
 *   4000: c3              ret
 */
TEST(test_jump_within_frame)
{
	static const uint64_t pcs[] = { 0x3000, 0x3004, 0x3006, 0x4000 };

	for (size_t i = 0; i < sizeof(pcs) / sizeof(pcs[0]); i++) {
		code_world();
		w.found = REEL_CODE_ANONYMOUS;
		w.recorded = true;
		code_at(&w, 0x201e, BYTES(0xff, 0xd0)); /* call *%rax */
		code_at(&w, 0x3000, BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0xd7, 0x41, 0xff, 0xe6));
		code_at(&w, 0x4000, BYTES(0xc3));
		w.state.pc = BIAS + pcs[i];
		w.stack[99] = BIAS + 0x3006;
		set(&w, 7, STACK_WORD(pcs[i] == 0x4000 ? 99 : 100));
		unwind(&w);
		if (pcs[i] == 0x4000)
			EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x4000, 0x3006);
		else
			EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, pcs[i]);
	}
}

/*
 * A leaf of arm64's vDSO, which has no CFI: x29 is its caller's, and would skip it.  The `bl`
 * before x30 leads here.
 *   3000: a9bf7bfd  stp x29,x30,[sp,#-16]!
 *   3004: 910003fd  mov x29,sp
 *   3008: 9400000e  bl 3040
 *   300c: a8c17bfd  ldp x29,x30,[sp],#16
 *   3010: d65f03c0  ret
 *   3040: 91000400  add x0,x0,#1
 *   3044: d65f03c0  ret                   or d61f0200  br x16
 */
TEST(test_arm64_leaf)
{
	for (int i = 0; i < 4; i++) {
		uint64_t pc = i & 1 ? 0x3044 : 0x3040;

		world_init(&w, "aarch64", 1, 30, BYTES(DW_CFA_def_cfa, 31, 0));
		function(&w, 0x1000, 0x1100, BYTES(DW_CFA_undefined, 30));
		function(&w, 0x2000, 0x2100,
			 BYTES(DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 29, 2, DW_CFA_offset | 30,
			       1));
		code_at(&w, 0x3000,
			BYTES(0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x0e, 0x00, 0x00,
			      0x94, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6));
		code_at(&w, 0x3040, BYTES(0x00, 0x04, 0x00, 0x91, 0xc0, 0x03, 0x5f, 0xd6));
		if (i & 2)
			code_at(&w, 0x3044, BYTES(0x00, 0x02, 0x1f, 0xd6));
		begin_at(&w, pc, STACK_WORD(98));
		set(&w, 30, BIAS + 0x300c);
		set(&w, 29, STACK_WORD(98));
		w.stack[98] = STACK_WORD(100);
		w.stack[99] = call_before(&w, 0x2020);
		w.stack[100] = STACK_WORD(110);
		w.stack[101] = call_before(&w, 0x1020);
		unwind(&w);
		assert_int_equal(w.frames.sps[1], STACK_WORD(98));
		EXPECT(&w, REEL_STOP_ROOT, pc, 0x300c, 0x2020, 0x1020);
	}
}

/*
 * A JIT's code that jumps by a table has no way to a return, so each frame of it searches the stack
 * for a caller.  The frames are on the same stack: a walk reads each word once.
 *   4000: ff d0     call *%rax
 *   4002: ff e1     jmp *%rcx
 */
TEST(test_searched_once)
{
	code_world();
	code_at(&w, 0x4000, BYTES(0xff, 0xd0, 0xff, 0xe1));
	w.recorded = true;
	w.found = REEL_CODE_ANONYMOUS;
	begin_at(&w, 0x4002, STACK_WORD(0));
	set(&w, 6, STACK_WORD(10));
	for (int i = 0; i < 512; i++)
		w.stack[i] = 0x111111 + 16 * (uint64_t)i;
	for (int i = 10; i < 100; i += 10) {
		w.stack[i] = i < 90 ? STACK_WORD(i + 10) : 0;
		w.stack[i + 1] = i < 90 ? BIAS + 0x4002 : 0;
	}
	unwind(&w);
	assert_in_range(w.lookups, 9 * 400, 100000);
	assert_in_range(w.cached_lookups, 400, 800);
	EXPECT(&w, REEL_STOP_ROOT, 0x4002, 0x4002, 0x4002, 0x4002, 0x4002, 0x4002, 0x4002, 0x4002,
	       0x4002);
}

/*
 * A store of data through any register does not save the caller's value (GMP's divrem_1 stores its
 * remainder, which is in %rbp):
 *   3000: 55              push %rbp
 *   3001: 31 ed           xor %ebp,%ebp
 *   3003: 48 89 2f        mov %rbp,(%rdi)
 *   3006: 5d              pop %rbp
 *   3007: c3              ret
 */
TEST(test_stored_data)
{
	static const uint64_t pcs[] = { 0x3000, 0x3001, 0x3003, 0x3006, 0x3007 };

	for (size_t i = 0; i < sizeof(pcs) / sizeof(pcs[0]); i++) {
		bool pushed = i > 0 && i < 4;

		code_world();
		/* The caller's CFA is based on rbp. */
		function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa, 6, 16));
		code_at(&w, 0x3000, BYTES(0x55, 0x31, 0xed, 0x48, 0x89, 0x2f, 0x5d, 0xc3));
		w.stack[99] = STACK_WORD(110);
		w.stack[100] = call_before(&w, 0x2120);
		w.stack[111] = BIAS + 0x1020;
		begin_at(&w, pcs[i], STACK_WORD(100 - pushed));
		set(&w, 6, pushed ? 0 : STACK_WORD(110));
		UNWIND(&w, REEL_STOP_ROOT, pcs[i], 0x2120, 0x1020);
	}
}

/*
 * Guile's JIT keeps return addresses on a stack of its own: a callee pops its return address, and
 * returns by a jump.  Only the callee's code shows how the caller's frame is left:
 *   3000: e8 1b 00 00 00  call 3020
 *   3005: 4c 8b 19        mov (%rcx),%r11
 *   3008: 41 53           push %r11
 *   300a: c3              ret
 *   3020: 41 5b           pop %r11
 *   3022: 4c 89 19        mov %r11,(%rcx)
 *   3025: 74 03           je 302a
 *   3027: 41 ff e4        jmp *%r12
 *   302a: 48 8b 1c 24     mov (%rsp),%rbx
 *   302e: 48 83 c4 18     add $0x18,%rsp
 *   3032: c3              ret
 * A callee that returns there is followed by the code there:
 *   3020: 48 8b 1c 24     mov (%rsp),%rbx
 */
static void taken_address(uint64_t pc, size_t pushed)
{
	code_world();
	code_at(&w, 0x3000, BYTES(0xe8, 0x1b, 0, 0, 0, 0x4c, 0x8b, 0x19, 0x41, 0x53, 0xc3));
	code_at(&w, 0x3020,
		BYTES(0x41, 0x5b, 0x4c, 0x89, 0x19, 0x74, 0x03, 0x41, 0xff, 0xe4, 0x48, 0x8b, 0x1c,
		      0x24, 0x48, 0x83, 0xc4, 0x18, 0xc3));
	if (pushed > 3)
		w.stack[100 - pushed] = BIAS + 0x3005;
	w.state.pc = BIAS + pc;
	set(&w, 7, STACK_WORD(100 - pushed));
}

TEST(test_taken_address)
{
	static const struct {
		uint64_t pc;
		size_t pushed;
	} cases[] = { { 0x3000, 3 }, { 0x3020, 4 }, { 0x3022, 3 }, { 0x302a, 3 }, { 0x3032, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		taken_address(cases[i].pc, cases[i].pushed);
		UNWIND(&w, REEL_STOP_ROOT, cases[i].pc, 0x2020, 0x1020);
	}
	taken_address(0x3000, 3);
	code_at(&w, 0x3020, BYTES(0x48, 0x8b, 0x1c, 0x24));
	UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, 0x3000);
}

/*
 * SBCL's call_into_lisp_ (2.2.9 of Debian 12), whose CFA is [rbp] + 16 by CFI from the third
 * instruction on.  Lisp functions restore rbp, so after the call the CFA is rbp + 16:
 *   5014: 48 8b a0 ..     mov 0xb8(%rax),%rsp
 *   501b: 55              push %rbp
 *   501c: 55              push %rbp
 *   501d: 48 89 e5        mov %rsp,%rbp
 *   5020: ff 50 fd        call *-3(%rax)
 *   5023: c9              leave
 *   5024: c3              ret
 * The call where the CFI leads does not call this function.
 */
TEST(test_computed_cfa)
{
	code_world();
	call_directly(&w, 0x5014);
	function(&w, 0x4000, 0x4100, BYTES(DW_CFA_def_cfa_offset, 16));
	function(&w, 0x5000, 0x5100,
		 BYTES(DW_CFA_def_cfa_expression, 5, DW_OP_breg6, 0, DW_OP_deref, DW_OP_plus_uconst,
		       16));
	code_at(&w, 0x101b, BYTES(0xe8, 0xe0, 0x0f, 0, 0)); /* call 2000 */
	code_at(&w, 0x2000, BYTES(0xc3));
	code_at(&w, 0x5014,
		BYTES(0x48, 0x8b, 0xa0, 0xb8, 0, 0, 0, 0x55, 0x55, 0x48, 0x89, 0xe5, 0xff, 0x50,
		      0xfd, 0xc9, 0xc3));
	begin_at(&w, 0x4010, STACK_WORD(100));
	set(&w, 6, STACK_WORD(104));
	w.stack[101] = BIAS + 0x5023;
	w.stack[104] = STACK_WORD(110);
	w.stack[105] = BIAS + 0x2020;
	w.stack[107] = BIAS + 0x1020;
	w.stack[111] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.steps[2], REEL_STEP_SYNTHESIZED);
	EXPECT(&w, REEL_STOP_ROOT, 0x4010, 0x5023, 0x2020, 0x1020);
	/* Neither can have called. */
	call_directly(&w, 0x2000);
	begin_at(&w, 0x4010, STACK_WORD(100));
	set(&w, 6, STACK_WORD(104));
	UNWIND(&w, REEL_STOP_BAD_UNWIND_INFO, 0x4010, 0x5023);
}

/*
 * Dart's compiler writes one row for all code, by the frame pointer.  A function without a frame
 * returns to the word at rsp:
 *   3000: 48 89 47 07     mov %rax,7(%rdi)
 *   3004: c3              ret
 *
 *   3040: 55              push %rbp
 *   3041: 48 89 e5        mov %rsp,%rbp
 *   3044: e8 b7 ff ff ff  call 3000
 *   3049: c9              leave
 *   304a: c3              ret
 */
TEST(test_assumed_frame)
{
	static const struct {
		uint64_t pc;
		size_t sp, fp;
		enum reel_step step;
	} cases[] = {
		{ 0x3000, 98, 99, REEL_STEP_SYNTHESIZED },
		{ 0x3004, 98, 99, REEL_STEP_UNDO_CALL },
		{ 0x3040, 100, 110, REEL_STEP_UNDO_CALL },
		{ 0x3041, 99, 110, REEL_STEP_UNDO_CALL },
		{ 0x3044, 99, 99, REEL_STEP_CFI },
		{ 0x304a, 100, 110, REEL_STEP_UNDO_CALL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool is_leaf = cases[i].sp == 98;

		code_world();
		function(&w, 0x3000, 0x3100,
			 BYTES(DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 6, 2, DW_CFA_offset | 16, 1));
		code_at(&w, 0x3000, BYTES(0x48, 0x89, 0x47, 0x07, 0xc3));
		code_at(&w, 0x3040,
			BYTES(0x55, 0x48, 0x89, 0xe5, 0xe8, 0xb7, 0xff, 0xff, 0xff, 0xc9, 0xc3));
		begin_at(&w, cases[i].pc, STACK_WORD(cases[i].sp));
		set(&w, 6, STACK_WORD(cases[i].fp));
		w.stack[98] = BIAS + 0x3049;
		w.stack[99] = STACK_WORD(110);
		w.stack[111] = BIAS + 0x1020;
		unwind(&w);
		assert_int_equal(w.frames.steps[1], cases[i].step);
		if (is_leaf)
			EXPECT(&w, REEL_STOP_ROOT, cases[i].pc, 0x3049, 0x2020, 0x1020);
		else
			EXPECT(&w, REEL_STOP_ROOT, cases[i].pc, 0x2020, 0x1020);
	}
}

/*
 * PyPy's JIT calls, and returns to other code of the JIT by a call through a register.  Farther up
 * is a word that a jump may have led here from, as in GHC; it is another function's.
 *   6000: ff d3           call *%rbx
 *   6002: 48 83 c4 08     add $8,%rsp
 *   6006: c3              ret
 * Code that leaves by a jump itself (valgrind's translations) is in that function's frame:
 *   6002: ff 65 00        jmp *0(%rbp)
 */
TEST(test_returns_and_jump)
{
	code_world();
	function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa_offset, 16));
	code_at(&w, 0x3000, BYTES(0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0x1c, 0x24, 0xff, 0xe0));
	code_at(&w, 0x6000, BYTES(0xff, 0xd3, 0x48, 0x83, 0xc4, 0x08, 0xc3));
	code_at(&w, 0x211b, BYTES(0xe8, 0xe0, 0x0e, 0, 0)); /* call 3000 */
	begin_at(&w, 0x6000, STACK_WORD(94));
	w.stack[95] = call_before(&w, 0x2040);
	w.stack[97] = BIAS + 0x1020;
	w.stack[100] = BIAS + 0x2120;
	w.stack[102] = BIAS + 0x1020;
	UNWIND(&w, REEL_STOP_ROOT, 0x6000, 0x2040, 0x1020);
	code_at(&w, 0x6002, BYTES(0xff, 0x65, 0x00));
	w.stack[94] = BIAS + 0x2040;
	begin_at(&w, 0x6000, STACK_WORD(94));
	set(&w, 6, 0x1234);
	UNWIND(&w, REEL_STOP_ROOT, 0x6000, 0x2120, 0x1020);
}

/*
 * Hand-written code without rows for its pushes: by CFI, it returns to an unmapped address.  A
 * direct call that led here proves the caller by the code; after an indirect call it is a guess.  If
 * the code gives no caller, the trace ends as the CFI says.
 */
TEST(test_leads_nowhere)
{
	enum { DIRECT, INDIRECT, ELSEWHERE, NONE, MAPPED, N_CASES };

	for (int i = 0; i < N_CASES; i++) {
		code_world();
		function(&w, 0x3000, 0x3010, BYTES(DW_CFA_def_cfa_offset, 24));
		/* The caller by an indirect call has three words. */
		function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa_offset, 32));
		code_at(&w, 0x3000, framed, sizeof(framed));
		code_at(&w, 0x4000, framed, sizeof(framed));
		call_directly(&w, i == DIRECT ? 0x3000 : 0x4000);
		begin_at(&w, 0x3005, STACK_WORD(95));
		w.stack[97] = i == MAPPED ? BIAS + 0x1020 : 0x5555;
		w.stack[100] = i == DIRECT || i == ELSEWHERE ? BIAS + 0x2020
			       : i == INDIRECT		     ? call_before(&w, 0x2120)
							     : 0x6666;
		w.stack[104] = BIAS + 0x1020;
		unwind(&w);
		switch (i) {
		case DIRECT:
			EXPECT(&w, REEL_STOP_ROOT, 0x3005, 0x2020, 0x1020);
			break;
		case INDIRECT:
			EXPECT(&w, REEL_STOP_GUESSED_ROOT, 0x3005, 0x2120, 0x1020);
			break;
		case MAPPED:
			EXPECT(&w, REEL_STOP_ROOT, 0x3005, 0x1020);
			break;
		default:
			EXPECT(&w, REEL_STOP_NO_MAPPING, 0x3005);
		}
	}
}

/*
 * A call of the next instruction.  If the code there uses the pushed address, nothing was called:
 *   5000: e8 00 00 00 00  call 5005
 *   5005: 58              pop %rax
 *   5006: 31 db           xor %ebx,%ebx
 *   5008: 75 fe           jne 5008
 *   500a: c3              ret
 * Otherwise, this is the call of another function, which never returns (a closure of Rust):
 *   5000: 55              push %rbp
 *   5001: 48 89 e5        mov %rsp,%rbp
 *   5004: e8 00 00 00 00  call 5009
 *   5009:                 `framed'
 */
TEST(test_calls_next)
{
	for (int popped = 0; popped < 2; popped++) {
		code_world();
		code_at(&w, 0x5000, BYTES(0xe8, 0, 0, 0, 0, 0x58, 0x31, 0xdb, 0x75, 0xfe, 0xc3));
		w.stack[99] = BIAS + 0x5005;
		w.stack[100] = call_before(&w, 0x1020);
		begin_at(&w, 0x5005 + (uint64_t)popped, STACK_WORD(popped ? 100 : 99));
		UNWIND(&w, REEL_STOP_ROOT, 0x5005 + (uint64_t)popped, 0x1020);
	}
	code_world();
	code_at(&w, 0x4ffe, BYTES(0xc3, 0x90, 0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0));
	code_at(&w, 0x5009, framed, sizeof(framed));
	w.stack[100] = BIAS + 0x5009;
	w.stack[101] = 0;
	w.stack[102] = call_before(&w, 0x1020);
	begin_at(&w, 0x500e, STACK_WORD(95));
	UNWIND(&w, REEL_STOP_ROOT, 0x500e, 0x5009, 0x1020);
}

RUN_TESTS()
