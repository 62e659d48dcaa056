/* SPDX-License-Identifier: Apache-2.0 */
/* Steps by the effects of the code itself, where CFI is missing. */
#include "tests/support/unwind_world.h"

/* Each test initializes it. */
static struct world w;

static void code_world(void)
{
	world_x86_with_caller(&w);
}

static const uint8_t framed[] = { FRAMED_CODE };

/* At each instruction: the caller, its sp, and the register that was saved. */
TEST(test_each_instruction)
{
	static const struct {
		uint64_t pc;
		size_t pushed; /* words */
		bool saved;
	} cases[] = { { 0x3000, 0, false }, { 0x3001, 1, true }, { 0x3005, 5, true },
		      { 0x3007, 5, true },  { 0x3009, 5, true }, { 0x300d, 1, true },
		      { 0x300e, 0, false } };

	for (int direct = 0; direct < 2; direct++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			code_world();
			if (direct)
				call_directly(&w, 0x3000);
			/* The caller's CFA is based on rbx from here on. */
			function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa, 3, 16));
			code_at(&w, 0x3000, framed, sizeof(framed));
			w.stack[100 - 1] = STACK_WORD(110);
			w.stack[100] = direct ? BIAS + 0x2020 : call_before(&w, 0x2120);
			w.stack[111] = BIAS + 0x1020;
			begin_at(&w, cases[i].pc, STACK_WORD(100 - cases[i].pushed));
			set(&w, 3, cases[i].saved ? 0 : STACK_WORD(110));
			/* A frame farther up; following it would skip the caller. */
			set(&w, 6, STACK_WORD(120));
			w.stack[121] = call_before(&w, 0x1040);
			unwind(&w);
			assert_int_equal(w.frames.sps[1], STACK_WORD(101));
			if (cases[i].pc != 0x300e)
				assert_int_equal(w.frames.steps[1], REEL_STEP_SYNTHESIZED);
			if (direct)
				EXPECT(&w, REEL_STOP_ROOT, cases[i].pc, 0x2020, 0x1020);
			else
				EXPECT(&w, REEL_STOP_ROOT, cases[i].pc, 0x2120, 0x1020);
		}
	}
}

/*
 * After a call, the word at sp has the size of the arguments, which the code removes (SpiderMonkey's
 * frames):
 *   3000: 41 5e           pop %r14
 *   3002: 49 c1 ee 08     shr $8,%r14
 *   3006: 41 5c           pop %r12
 *   3008: 4c 01 f4        add %r14,%rsp
 *   300b: 5b              pop %rbx
 *   300c: 8f 04 24        pop (%rsp)      moves the return address up
 *   300f: c3              ret
 */
TEST(test_size_on_stack)
{
	static const struct {
		uint64_t pc, sp;
		unsigned shifted;
	} cases[] = { { 0x3000, 90, 0 }, { 0x3002, 91, 0 }, { 0x3006, 91, 8 }, { 0x3008, 92, 8 },
		      { 0x300b, 98, 8 }, { 0x300c, 99, 8 }, { 0x300f, 100, 8 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int right = 0; right < 2; right++) {
			code_world();
			function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa, 3, 16));
			code_at(&w, 0x3000,
				BYTES(0x41, 0x5e, 0x49, 0xc1, 0xee, 0x08, 0x41, 0x5c, 0x4c, 0x01,
				      0xf4, 0x5b, 0x8f, 0x04, 0x24, 0xc3));
			/* Six words of arguments. */
			w.stack[90] = right ? 0x3043 : 0x3843;
			w.stack[98] = STACK_WORD(110);
			w.stack[99] = call_before(&w, 0x2120);
			w.stack[100] = cases[i].sp == 100 ? w.stack[99] : 0;
			w.stack[111] = BIAS + 0x1020;
			begin_at(&w, cases[i].pc, STACK_WORD(cases[i].sp));
			set(&w, 14, w.stack[90] >> cases[i].shifted);
			set(&w, 3, cases[i].sp > 98 ? STACK_WORD(110) : 0);
			unwind(&w);
			if (right || cases[i].sp >= 98) {
				assert_int_equal(w.frames.sps[1], STACK_WORD(101));
				EXPECT(&w, REEL_STOP_ROOT, cases[i].pc, 0x2120, 0x1020);
			} else {
				EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, cases[i].pc);
			}
		}
	}
}

/*
 * After a call to another function, or not after a call, a word is not a return address of this
 * one.
 */
TEST(test_refused)
{
	for (int i = 0; i < 2; i++) {
		code_world();
		code_at(&w, 0x3000, framed, sizeof(framed));
		code_at(&w, 0x4000, BYTES(0xc3));
		if (i)
			call_directly(&w, 0x4000);
		else
			w.stack[100] = BIAS + 0x2050;
		begin_at(&w, 0x3009, STACK_WORD(95));
		UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, 0x3009);
	}
}

/*
 * A call to a function that never returns is followed by other code, with other effects:
 *   3000: 48 83 ec 28     sub $0x28,%rsp
 *   3004: e8 .. .. .. ..  call 4000
 *   3009: 48 83 c4 08     add $8,%rsp
 *   300d: c3              ret
 * The call that led here decides; without one, the caller that leads to the root.
 */
TEST(test_no_return)
{
	code_world();
	call_directly(&w, 0x3000);
	code_at(&w, 0x3000,
		BYTES(0x48, 0x83, 0xec, 0x28, 0xe8, 0xf7, 0x0f, 0, 0, 0x48, 0x83, 0xc4, 0x08,
		      0xc3));
	/* The address in the wrong row is also after a call. */
	w.stack[96] = call_before(&w, 0x2040);
	begin_at(&w, 0x3004, STACK_WORD(95));
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_SYNTHESIZED);
	EXPECT(&w, REEL_STOP_ROOT, 0x3004, 0x2020, 0x1020);
}

/*
 * V8's CEntry has two exits; the one to an exception handler does not restore rbp:
 *   3000: 55              push %rbp
 *   3001: 48 89 e5        mov %rsp,%rbp
 *   3004: 48 8b 45 f8     mov -8(%rbp),%rax
 *   3008: 74 02           je 300c
 *   300a: c9              leave
 *   300b: c3              ret
 *   300c: 48 8d 65 08     lea 8(%rbp),%rsp
 *   3010: 31 ed           xor %ebp,%ebp
 *   3012: c3              ret
 * The frame record at rbp has the caller's rbp, if its return address is the one that both exits
 * give.
 */
TEST(test_record)
{
	for (int is_record = 0; is_record < 2; is_record++) {
		code_world();
		function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa, 6, 16)); /* CFA = rbp + 16 */
		code_at(&w, 0x3000,
			BYTES(0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x45, 0xf8, 0x74, 0x02, 0xc9,
			      0xc3, 0x48, 0x8d, 0x65, 0x08, 0x31, 0xed, 0xc3));
		w.stack[99] = is_record ? STACK_WORD(110) : STACK_WORD(90);
		w.stack[100] = call_before(&w, 0x2120);
		w.stack[111] = BIAS + 0x1020;
		w.state.pc = BIAS + 0x3004;
		set(&w, 6, STACK_WORD(99));
		set(&w, 7, STACK_WORD(97));
		unwind(&w);
		if (is_record)
			EXPECT(&w, REEL_STOP_ROOT, 0x3004, 0x2120, 0x1020);
		else
			EXPECT(&w, REEL_STOP_REGISTER_UNKNOWN, 0x3004, 0x2120);
	}
}

/* A JIT's code, whose bytes were recorded: its direct calls must also lead here. */
TEST(test_recorded)
{
	for (int is_called = 0; is_called < 2; is_called++) {
		code_world();
		w.found = REEL_CODE_ANONYMOUS;
		w.recorded = true;
		code_at(&w, 0x3000, framed, sizeof(framed));
		code_at(&w, 0x4000, BYTES(0xc3));
		call_directly(&w, is_called ? 0x3000 : 0x4000);
		begin_at(&w, 0x3009, STACK_WORD(95));
		/* As after the system call that created a thread. */
		set(&w, 0, 0);
		unwind(&w);
		if (is_called)
			EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x3009, 0x2020);
		else
			EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x3009);
	}
}

/*
 * A JIT's frames may be returned to without a call; such a step is accepted, but not called
 * certain.
 */
TEST(test_pushed)
{
	for (int is_called = 0; is_called < 2; is_called++) {
		code_world();
		w.found = REEL_CODE_ANONYMOUS;
		w.recorded = true;
		/* cmpl $0,-8(%rbp);  jmp *(%rax) */
		code_at(&w, 0x3000, BYTES(0x83, 0x7d, 0xf8, 0x00, 0xff, 0x20));
		begin_at(&w, 0x3000, STACK_WORD(90));
		set(&w, 6, STACK_WORD(110));
		w.stack[110] = STACK_WORD(120);
		w.stack[111] = is_called ? call_before(&w, 0x3100) : BIAS + 0x3080;
		w.stack[120] = w.stack[121] = 0; /* the last record */
		UNWIND(&w, is_called ? REEL_STOP_ROOT : REEL_STOP_GUESSED_ROOT, 0x3000,
		       is_called ? 0x3100 : 0x3080);
	}
}

/*
 * SpiderMonkey's code without a return has pushed the size of its frame, three words, above the
 * return address, and two other words.  No word up to its own return address may be another one.
 *   3000: c3              ret
 *   4010: ff e0           jmp *%rax
 */
TEST(test_descriptor)
{
	static const struct {
		uint64_t descriptor, between;
		bool leads;
	} cases[] = {
		{ 0x1840, 0, true },	 { 0x2820, 0, true },  { 0x1840, BIAS + 0x1040, false },
		{ 0x2040, 0, false },	 { 0x1830, 0, false }, { 0x1c40, 0, false },
		{ 0x10001840, 0, false }
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_x86_with_root(&w);
		w.input.find_code = find_recorded;
		code_at(&w, 0x3000, BYTES(0xc3));
		code_at(&w, 0x4010, BYTES(0xff, 0xe0));
		call_before(&w, 0x1040);
		w.stack[90] = call_before(&w, 0x4010);
		w.stack[91] = cases[i].descriptor;
		w.stack[95] = cases[i].between;
		w.stack[97] = call_before(&w, 0x1020);
		begin_at(&w, 0x3000, STACK_WORD(90));
		if (cases[i].leads)
			UNWIND(&w, REEL_STOP_ROOT, 0x3000, 0x4010, 0x1020);
		else
			UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, 0x3000, 0x4010);
	}
}

/*
 * HotSpot's second compiler leaves the return out of a loop that has not ended yet.  The code follows
 * data, and replaces an interpreter's frame within the loop (OSR):
 *   3fff: 00 e8 5b e5 6f 17     data
 *   4005: 66 66 66 0f 1f 84 00  nop
 *         00 00 00 00
 *   4010: 89 84 24 00 c0 fe ff  mov %eax,-0x14000(%rsp)
 *   4017: 55                    push %rbp
 *   4018: 48 83 ec 20           sub $0x20,%rsp
 *   401c: ff d0                 call *%rax
 *   401e: ff c3                 inc %ebx
 *   4020: 83 fb 64              cmp $0x64,%ebx
 *   4023: 7c f7                 jl 401c
 *   4025: e8 d6 0f 00 00        call 5000         never returns
 *   402a: f4                    hlt
 * No word up to the return address may be another one; the interpreter has left the same one.
 */
TEST(test_loop_without_return)
{
	enum { SAME, OTHER, MISSING, WITHIN, NO_RECORD, NOT_NEXT, RETURNS, NOT_CALLED, N };
	static const struct {
		uint64_t pc;
		unsigned sp;
	} places[] = { { 0x4010, 95 }, { 0x4017, 95 }, { 0x4018, 94 }, { 0x401c, 90 },
		       { 0x401e, 90 }, { 0x4023, 90 }, { 0x4025, 90 } };

	for (unsigned i = 0; i < N * sizeof(places) / sizeof(places[0]); i++) {
		uint64_t pc = places[i / N].pc;
		unsigned how = i % N, sp = places[i / N].sp;

		world_x86_with_root(&w);
		function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16));
		w.input.find_code = find_recorded;
		code_at(&w, 0x3fff,
			BYTES(0x00, 0xe8, 0x5b, 0xe5, 0x6f, 0x17, 0x66, 0x66, 0x66, 0x0f, 0x1f,
			      0x84, 0x00, 0x00, 0x00, 0x00, 0x00, 0x89, 0x84, 0x24, 0x00, 0xc0,
			      0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20, 0xff, 0xd0, 0xff, 0xc3,
			      0x83, 0xfb, 0x64, 0x7c, 0xf7, 0xe8, 0xd6, 0x0f, 0x00, 0x00, 0xf4));
		w.stack[92] = w.stack[95] = call_before(&w, 0x2020);
		w.stack[97] = call_before(&w, 0x1020);
		switch (how) {
		case OTHER:
			w.stack[92] = call_before(&w, 0x2040);
			break;
		case MISSING:
			w.regions[0].missing = w.missing;
			w.regions[0].n_missing = 1;
			w.missing[0] = (struct reel_memory_range){ 8 * 93, 8 };
			break;
		case WITHIN: /* an instruction with a constant */
			code_at(&w, 0x4005,
				BYTES(0x66, 0x66, 0x66, 0x0f, 0x1f, 0x40, 0x00, 0x66, 0x90, 0x49,
				      0xba));
			break;
		case NO_RECORD: /* push %rbx */
			code_at(&w, 0x4017, BYTES(0x53));
			break;
		case NOT_NEXT: /* push %rbx; nop */
			code_at(&w, 0x4010, BYTES(0x53, 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00));
			w.stack[96] = w.stack[95];
			break;
		case RETURNS: /* to word 90 */
			code_at(&w, 0x4025, BYTES(0xc3));
			break;
		case NOT_CALLED:
			w.stack[92] = w.stack[95] = BIAS + 0x2050;
			break;
		default:
			break;
		}
		begin_at(&w, pc, STACK_WORD(sp));
		if (how == SAME || ((how == OTHER || how == MISSING || how == RETURNS) && sp > 93))
			UNWIND(&w, REEL_STOP_ROOT, pc, 0x2020, 0x1020);
		else if (how == OTHER || how == MISSING)
			UNWIND(&w, REEL_STOP_GUESSED_ROOT, pc, 0x2020, 0x1020);
		else
			UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, pc);
	}
}

/*
 * An interpreter's frame: main calls 5000, whose record is at word 120, with rbp; 5000 pushed 5080
 * as a return address, where it continues by rbp, and jumped.
 *   5000: ff d0           call *%rax
 *   5080: 48 8b 65 f0     mov -0x10(%rbp),%rsp
 *   5084: ff 24 d8        jmp *(%rax,%rbx,8)
 */
static void interpreter_world(void)
{
	world_x86_with_root(&w);
	w.input.find_code = find_recorded;
	code_at(&w, 0x5080, BYTES(0x48, 0x8b, 0x65, 0xf0, 0xff, 0x24, 0xd8));
	set(&w, 7, STACK_WORD(90));
	set(&w, 6, STACK_WORD(110));
	w.stack[110] = STACK_WORD(120);
	w.stack[111] = BIAS + 0x5080;
	w.stack[120] = STACK_WORD(200);
	w.stack[121] = call_before(&w, 0x1020);
}

/*
 * HotSpot's adapters push a return address again when they align the stack.  So the words of the
 * two ways out of compiled code can be the same:
 *   3000: 48 83 ec 20     sub $0x20,%rsp
 *   3004: 75 05           jne 300b
 *   3006: 48 83 c4 20     add $0x20,%rsp
 *   300a: c3              ret
 *   300b: 48 83 c4 28     add $0x28,%rsp
 *   300f: ff e0           jmp *%rax
 * The interpreter continues by its frame pointer, so its sp does not matter.
 */
TEST(test_pushed_again)
{
	for (int is_same = 0; is_same < 2; is_same++) {
		interpreter_world();
		code_at(&w, 0x3000,
			BYTES(0x48, 0x83, 0xec, 0x20, 0x75, 0x05, 0x48, 0x83, 0xc4, 0x20, 0xc3,
			      0x48, 0x83, 0xc4, 0x28, 0xff, 0xe0));
		code_at(&w, 0x5090, BYTES(0x48, 0x8b, 0x65, 0xf0, 0xff, 0x24, 0xd8));
		w.stack[100] = BIAS + 0x5080;
		w.stack[101] = BIAS + (is_same ? 0x5080 : 0x5090);
		begin_at(&w, 0x3004, STACK_WORD(96));
		UNWIND(&w, is_same ? REEL_STOP_ROOT : REEL_STOP_GUESSED_ROOT, 0x3004, 0x5080,
		       0x5080, 0x1020);
	}
}

/*
 * By the frame pointer, through a pushed return address:
 *   3000: 83 7d f8 00     cmpl $0,-8(%rbp)       uses it, or
 *   3000: 8b 1c 0e        mov (%rsi,%rcx),%ebx   does not; then no other frame may be in between
 *   …     ff 24 d8        jmp *(%rax,%rbx,8)
 */
TEST(test_resumed)
{
	static const uint8_t uses[] = { 0x83, 0x7d, 0xf8, 0x00, 0xff, 0x24, 0xd8 },
			     uses_not[] = { 0x8b, 0x1c, 0x0e, 0xff, 0x24, 0xd8 },
			     /* mov %rdi,-8(%rsp); jmp */
		passes_on[] = { 0x48, 0x89, 0x7c, 0x24, 0xf8, 0xff, 0x24, 0xd8 };

	for (int i = 0; i < 8; i++) {
		interpreter_world();
		code_at(&w, 0x3000, uses_not, sizeof(uses_not));
		switch (i) {
		case 0:
			code_at(&w, 0x3000, uses, sizeof(uses));
			break;
		case 1: /* numbers, and addresses that nothing returns to */
			w.stack[95] = 4711;
			w.stack[96] = BIAS + 0x6000;
			w.stack[97] = STACK_WORD(99);
			set(&w, 5, BIAS + 0x5080);
			break;
		case 2: /* a possible return address */
			w.stack[95] = BIAS + 0x5080;
			break;
		case 3: /* another possible one */
			w.stack[95] = call_before(&w, 0x6020);
			break;
		case 4: /* a register still holds one */
			code_at(&w, 0x3000, passes_on, sizeof(passes_on));
			set(&w, 5, BIAS + 0x5080);
			break;
		case 5: /* words were not recorded */
			w.regions[0].missing = w.missing;
			w.regions[0].n_missing = 1;
			w.missing[0] = (struct reel_memory_range){ 8 * 95, 8 };
			break;
		case 6: /* at the record's return address, rbp is not a frame pointer */
			code_at(&w, 0x5080, uses_not, sizeof(uses_not));
			break;
		case 7: /* a return shows that the record is another frame's */
			code_at(&w, 0x3000, BYTES(0x83, 0x7d, 0xf8, 0x00, 0xc3));
			break;
		}
		w.state.pc = BIAS + 0x3000;
		unwind(&w);
		assert_int_equal(w.frames.steps[1], REEL_STEP_FRAME_POINTER);
		EXPECT(&w, i < 2 ? REEL_STOP_ROOT : REEL_STOP_GUESSED_ROOT, 0x3000, 0x5080, 0x1020);
	}
}

/*
 * Compiled code returns to the interpreter by the address that the interpreter has pushed; its exit
 * may be only a jump, followed by other code:
 *   3000: 48 83 c4 20     add $0x20,%rsp
 *   3004: 5d              pop %rbp
 *   3005: c3              ret, or
 *   3005: ff e0           jmp *%rax
 */
TEST(test_returns_to_resumed)
{
	for (int i = 0; i < 4; i++) {
		interpreter_world();
		code_at(&w, 0x3000, BYTES(0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3));
		if (i & 1)
			code_at(&w, 0x3005, BYTES(0xff, 0xe0));
		w.state.pc = BIAS + 0x3000;
		set(&w, 6, 1);
		w.stack[94] = STACK_WORD(i & 2 ? 92 : 120);
		w.stack[95] = BIAS + 0x5080;
		unwind(&w);
		/* The interpreter's frame is not below its callee's. */
		if (i & 2)
			EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x3000);
		else
			EXPECT(&w, REEL_STOP_ROOT, 0x3000, 0x5080, 0x1020);
	}
}

/*
 * Compiled code calls the interpreter, by an adapter that puts arguments between their frames; rbp
 * may hold anything.  The interpreter's frame shows where the compiled code's is.
 *   5020: 48 83 c4 10     add $0x10,%rsp
 *   5024: 5d              pop %rbp
 *   5025: c3              ret
 */
TEST(test_moved_sp)
{
	for (int i = 0; i < 4; i++) {
		interpreter_world();
		code_at(&w, 0x3000, BYTES(0x83, 0x7d, 0xf8, 0x00, 0xff, 0x24, 0xd8));
		code_at(&w, 0x5020, BYTES(0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3));
		w.state.pc = BIAS + 0x3000;
		w.stack[110] = i & 1 ? 1 : STACK_WORD(200);
		w.stack[111] = call_before(&w, 0x5020);
		w.stack[109] = STACK_WORD(116);
		w.stack[119] = w.stack[121];
		/* Two candidates. */
		if (i & 2)
			w.stack[115] = call_before(&w, 0x1040);
		unwind(&w);
		assert_int_equal(w.frames.steps[1], REEL_STEP_FRAME_POINTER);
		assert_int_equal(w.frames.steps[2], REEL_STEP_SYNTHESIZED);
		EXPECT(&w, i & 2 ? REEL_STOP_GUESSED_ROOT : REEL_STOP_ROOT, 0x3000, 0x5020,
		       i & 2 ? 0x1040 : 0x1020);
	}
}

/*
 * Before the record is made, the frame pointer is the caller's; the code shows where the record
 * will be:
 *   3000: 58              pop %rax
 *   3001: 85 d2           test %edx,%edx
 *   3003: 7e 04           jle 3009
 *   3005: 6a 00           push $0
 *   3007: 75 fc           jne 3005
 *   3009: 50              push %rax
 *   300a: 55              push %rbp
 *   300b: 48 8b ec        mov %rsp,%rbp
 *   300e: ff 24 d8        jmp *(%rax,%rbx,8)
 * And after a return address was pushed, only the jump leaves the frame:
 *   4000: 52              push %rdx
 *   4001: 48 89 65 f0     mov %rsp,-0x10(%rbp)
 *   4005: ff 63 50        jmp *0x50(%rbx)
 */
TEST(test_record_in_making)
{
	static const uint64_t pcs[] = { 0x3000, 0x3001, 0x3003, 0x3005, 0x3009, 0x300a };

	for (size_t i = 0; i < sizeof(pcs) / sizeof(pcs[0]); i++) {
		bool is_popped = pcs[i] > 0x3000 && pcs[i] < 0x300a;

		interpreter_world();
		code_at(&w, 0x3000,
			BYTES(0x58, 0x85, 0xd2, 0x7e, 0x04, 0x6a, 0x00, 0x75, 0xfc, 0x50, 0x55,
			      0x48, 0x8b, 0xec, 0xff, 0x24, 0xd8));
		if (!is_popped)
			w.stack[90] = BIAS + 0x5080;
		w.state.pc = BIAS + pcs[i];
		set(&w, 0, is_popped ? BIAS + 0x5080 : 0);
		w.stack[111] = call_before(&w, 0x1020);
		unwind(&w);
		/* How much is pushed is unknown, but there is a return address. */
		if (pcs[i] == 0x3005)
			EXPECT(&w, REEL_STOP_GUESSED_ROOT, 0x3005, 0x1020);
		else
			EXPECT(&w, REEL_STOP_ROOT, pcs[i], 0x5080, 0x1020);
	}
	interpreter_world();
	code_at(&w, 0x4000, BYTES(0x52, 0x48, 0x89, 0x65, 0xf0, 0xff, 0x63, 0x50));
	w.stack[90] = BIAS + 0x5080;
	w.stack[111] = call_before(&w, 0x1020);
	w.state.pc = BIAS + 0x4001;
	UNWIND(&w, REEL_STOP_ROOT, 0x4001, 0x1020);
}

/*
 * x264's and x265's frames, whose old sp is in a caller-saved register, or in memory:
 *   3000: 48 89 e1        mov %rsp,%rcx
 *   3003: 48 83 e4 e0     and $-32,%rsp
 *   3007: 48 83 ec 60     sub $0x60,%rsp
 *   300b: e8 f0 0f 00 00  call 4000
 *   3010: 48 89 cc        mov %rcx,%rsp
 *   3013: c3              ret
 *   4000: 31 c0           xor %eax,%eax
 *   4002: c3              ret
 */
TEST(test_aligned)
{
	code_world();
	code_at(&w, 0x3000,
		BYTES(0x48, 0x89, 0xe1, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x83, 0xec, 0x60, 0xe8, 0xf0,
		      0x0f, 0, 0, 0x48, 0x89, 0xcc, 0xc3));
	code_at(&w, 0x4000, BYTES(0x31, 0xc0, 0xc3));
	w.stack[80] = BIAS + 0x3010;
	begin_at(&w, 0x4000, STACK_WORD(80));
	set(&w, 2, STACK_WORD(100)); /* rcx */
	UNWIND(&w, REEL_STOP_ROOT, 0x4000, 0x3010, 0x2020, 0x1020);

	/* 3000: 48 8b a4 24 80 00 00 00  mov 0x80(%rsp),%rsp;  c5 f8 77  vzeroupper;  c3  ret */
	code_world();
	code_at(&w, 0x3000, BYTES(0x48, 0x8b, 0xa4, 0x24, 0x80, 0, 0, 0, 0xc5, 0xf8, 0x77, 0xc3));
	begin_at(&w, 0x3000, STACK_WORD(60));
	w.stack[76] = STACK_WORD(100);
	unwind(&w);
	assert_int_equal(w.frames.sps[1], STACK_WORD(101));
	EXPECT(&w, REEL_STOP_ROOT, 0x3000, 0x2020, 0x1020);
}

/*
 * aesni_gcm_encrypt's CFA is rax + 8, and its callee leaves rax alone, as the code shows:
 *   3000: 48 ff c1        inc %rcx
 *   3003: c3              ret
 */
TEST(test_scratch_register)
{
	for (int touched = 0; touched < 2; touched++) {
		code_world();
		function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa, 0, 8)); /* CFA = rax + 8 */
		function(&w, 0x3000, 0x3100, NO_BYTES);
		code_at(&w, 0x3000, BYTES(0x48, 0xff, 0xc1, 0xc3));
		if (touched)
			code_at(&w, 0x3000, BYTES(0x48, 0xff, 0xc0)); /* inc %rax */
		w.stack[90] = call_before(&w, 0x2120);
		begin_at(&w, 0x3000, STACK_WORD(90));
		set(&w, 0, STACK_WORD(100));
		unwind(&w);
		if (touched)
			EXPECT(&w, REEL_STOP_REGISTER_UNKNOWN, 0x3000, 0x2120);
		else
			EXPECT(&w, REEL_STOP_ROOT, 0x3000, 0x2120, 0x2020, 0x1020);
	}
}

/* Two frames need a register that all functions between them leave alone. */
TEST(test_scratch_register_twice)
{
	code_world();
	function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa, 0, 8));  /* CFA = rax + 8 */
	function(&w, 0x2300, 0x2400, NO_BYTES);			    /* CFA = rsp + 8 */
	function(&w, 0x2500, 0x2600, BYTES(DW_CFA_def_cfa, 0, 24)); /* CFA = rax + 24 */
	function(&w, 0x3000, 0x3100, NO_BYTES);
	code_at(&w, 0x2120, BYTES(0xc3)); /* ret */
	code_at(&w, 0x2320, BYTES(0xc3));
	code_at(&w, 0x3000, BYTES(0x48, 0xff, 0xc1, 0xc3));
	w.stack[90] = call_before(&w, 0x2120);
	w.stack[100] = call_before(&w, 0x2320);
	w.stack[101] = call_before(&w, 0x2520);
	w.stack[102] = call_before(&w, 0x2020);
	w.stack[104] = BIAS + 0x1020;
	begin_at(&w, 0x3000, STACK_WORD(90));
	set(&w, 0, STACK_WORD(100));
	UNWIND(&w, REEL_STOP_ROOT, 0x3000, 0x2120, 0x2320, 0x2520, 0x2020, 0x1020);
}

/*
 * CFI as Go's has no rules for rbp, which the code restores and its caller in C needs:
 *   3000: 48 8b 2c 24     mov (%rsp),%rbp
 *   3004: 48 83 c4 08     add $8,%rsp
 *   3008: c3              ret
 */
TEST(test_restored_register)
{
	for (int restored = 0; restored < 2; restored++) {
		code_world();
		function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa, 6, 16)); /* CFA = rbp + 16 */
		function(&w, 0x3000, 0x3100, BYTES(DW_CFA_def_cfa_offset, 16));
		code_at(&w, 0x3000, BYTES(0x48, 0x8b, 0x2c, 0x24, 0x48, 0x83, 0xc4, 0x08, 0xc3));
		if (!restored)
			code_at(&w, 0x3000, BYTES(0x48, 0x8b, 0x1c, 0x24)); /* mov (%rsp),%rbx */
		w.stack[90] = STACK_WORD(99);
		w.stack[91] = call_before(&w, 0x2120);
		begin_at(&w, 0x3000, STACK_WORD(90));
		unwind(&w);
		if (restored)
			EXPECT(&w, REEL_STOP_ROOT, 0x3000, 0x2120, 0x2020, 0x1020);
		else
			EXPECT(&w, REEL_STOP_REGISTER_UNKNOWN, 0x3000, 0x2120);
	}
}

/*
 * Code that jumps by a table has no visible return; the call that led here decides:
 *   3000: 48 83 ec 18     sub $0x18,%rsp
 *   3004: 31 c0           xor %eax,%eax
 *   3006: ff 24 c5 ..     jmp *0x1000(,%rax,8)
 */
TEST(test_by_entry)
{
	for (int direct = 0; direct < 2; direct++) {
		code_world();
		if (direct)
			call_directly(&w, 0x3000);
		code_at(&w, 0x3000,
			BYTES(0x48, 0x83, 0xec, 0x18, 0x31, 0xc0, 0xff, 0x24, 0xc5, 0, 0x10, 0, 0));
		begin_at(&w, 0x3004, STACK_WORD(97));
		unwind(&w);
		if (direct)
			EXPECT(&w, REEL_STOP_ROOT, 0x3004, 0x2020, 0x1020);
		else
			EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x3004);
	}
}

/* A frame pointer is the function's own if its code uses it as one; otherwise that is a guess. */
TEST(test_frame_pointer)
{
	for (int uses = 0; uses < 2; uses++) {
		code_world();
		/* nopl 0(%rax);  jmp *(%rax) */
		code_at(&w, 0x3000, BYTES(0x0f, 0x1f, 0x40, 0x00, 0xff, 0x20));
		if (uses)
			code_at(&w, 0x3000, BYTES(0x83, 0x7d, 0xf8, 0x00)); /* cmpl $0,-8(%rbp) */
		begin_at(&w, 0x3000, STACK_WORD(90));
		set(&w, 6, STACK_WORD(99));
		w.stack[99] = STACK_WORD(120);
		unwind(&w);
		assert_int_equal(w.frames.steps[1], REEL_STEP_FRAME_POINTER);
		EXPECT(&w, uses ? REEL_STOP_ROOT : REEL_STOP_GUESSED_ROOT, 0x3000, 0x2020, 0x1020);
	}
}

/*
 * arm64, between two instructions of a prologue x29 is still the caller's, and skips it:
 *   3000: a9bf7bfd  stp x29,x30,[sp,#-16]!
 *   3004: 910003fd  mov x29,sp
 *   3008: a8c17bfd  ldp x29,x30,[sp],#16
 *   300c: d65f03c0  ret
 */
TEST(test_arm64_prologue)
{
	for (uint64_t pc = 0x3000; pc <= 0x300c; pc += 4) {
		bool is_made = pc == 0x3004 || pc == 0x3008;

		world_init(&w, "aarch64", 1, 30, BYTES(DW_CFA_def_cfa, 31, 0));
		function(&w, 0x1000, 0x1100, BYTES(DW_CFA_undefined, 30));
		function(&w, 0x2000, 0x2100,
			 BYTES(DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 29, 2, DW_CFA_offset | 30,
			       1));
		code_at(&w, 0x3000,
			BYTES(0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xfd, 0x7b, 0xc1,
			      0xa8, 0xc0, 0x03, 0x5f, 0xd6));
		begin_at(&w, pc, STACK_WORD(is_made ? 98 : 100));
		set(&w, 30, call_before(&w, 0x2020));
		set(&w, 29, STACK_WORD(pc == 0x3008 ? 98 : 100));
		w.stack[98] = STACK_WORD(100);
		w.stack[99] = BIAS + 0x2020;
		w.stack[100] = STACK_WORD(110);
		w.stack[101] = call_before(&w, 0x1020);
		unwind(&w);
		assert_int_equal(w.frames.sps[1], STACK_WORD(100));
		assert_int_equal(w.frames.n, 3);
		assert_int_equal(w.frames.addresses[1], BIAS + 0x2020);
		w.frames.addresses[2] = 0;
		EXPECT(&w, w.stop, pc, 0x2020, 0);
	}
}

/* Changes to the stack up to an instruction. */
struct record_state {
	uint8_t words;		/* sp is lower than at the start */
	bool linked, clobbered; /* x29 points to the record; x30 was changed by a call */
};

/* At each instruction of code at 0x3000: its caller at 0x4000 has no CFI either. */
static void try_records(const uint8_t *code, size_t size, uint8_t record,
			const struct record_state *states)
{
	for (size_t i = 0; i < size / 4 * 2; i++) {
		const struct record_state *state = &states[i / 2];

		world_init(&w, "aarch64", 1, 30, BYTES(DW_CFA_def_cfa, 31, 0));
		function(&w, 0x1000, 0x1100, BYTES(DW_CFA_undefined, 30));
		code_at(&w, 0x3000, code, size);
		code_at(&w, 0x4000,
			BYTES(0xfd, 0x7b, 0xbd, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x20, 0x00, 0x3f,
			      0xd6, 0xfd, 0x7b, 0xc3, 0xa8, 0xc0, 0x03, 0x5f, 0xd6));
		if (i % 2) /* the call names its target */
			code_at(&w, 0x4008, BYTES(0xfe, 0xfb, 0xff, 0x97));
		begin_at(&w, 0x3000 + 4 * (i / 2), STACK_WORD(100 - state->words));
		set(&w, 30, state->clobbered ? BIAS + 0x3014 : BIAS + 0x400c);
		set(&w, 29, STACK_WORD(state->linked ? record : 100));
		w.stack[record] = STACK_WORD(100);
		w.stack[record + 1] = BIAS + 0x400c;
		w.stack[100] = STACK_WORD(110);
		w.stack[101] = call_before(&w, 0x1020);
		unwind(&w);
		assert_int_equal(w.frames.sps[1], STACK_WORD(100));
		EXPECT(&w, REEL_STOP_ROOT, 0x3000 + 4 * (i / 2), 0x400c, 0x1020);
	}
}

/*
 * arm64 without any CFI, at each instruction of prologues and epilogues, for frames with the record
 * at the bottom and at the top:
 *   3000: a9be7bfd  stp x29,x30,[sp,#-32]!     3000: d10083ff  sub sp,sp,#32
 *   3004: 910003fd  mov x29,sp                 3004: a9017bfd  stp x29,x30,[sp,#16]
 *   3008: f9000bf3  str x19,[sp,#16]           3008: 910043fd  add x29,sp,#16
 *   300c: aa0003f3  mov x19,x0                 300c: f90003f3  str x19,[sp]
 *   3010: d63f0020  blr x1                     3010: d63f0020  blr x1
 *   3014: f9400bf3  ldr x19,[sp,#16]           3014: f94003f3  ldr x19,[sp]
 *   3018: a8c27bfd  ldp x29,x30,[sp],#32       3018: a9417bfd  ldp x29,x30,[sp,#16]
 *   301c: d65f03c0  ret                        301c: 910083ff  add sp,sp,#32
 *                                              3020: d65f03c0  ret
 *   4000: a9bd7bfd  stp x29,x30,[sp,#-48]!
 *   4004: 910003fd  mov x29,sp
 *   4008: d63f0020  blr x1                 or  97fffbfe  bl 3000
 *   400c: a8c37bfd  ldp x29,x30,[sp],#48
 *   4010: d65f03c0  ret
 */
TEST(test_arm64_records)
{
	static const struct record_state at_begin[] = {
		{ 0, false, false }, { 4, false, false }, { 4, true, false }, { 4, true, false },
		{ 4, true, false },  { 4, true, true },	  { 4, true, true },  { 0, false, false },
	};
	static const struct record_state at_end[] = {
		{ 0, false, false }, { 4, false, false }, { 4, false, false },
		{ 4, true, false },  { 4, true, false },  { 4, true, true },
		{ 4, true, true },   { 4, false, false }, { 0, false, false },
	};

	try_records(BYTES(0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xf3, 0x0b, 0x00, 0xf9,
			  0xf3, 0x03, 0x00, 0xaa, 0x20, 0x00, 0x3f, 0xd6, 0xf3, 0x0b, 0x40, 0xf9,
			  0xfd, 0x7b, 0xc2, 0xa8, 0xc0, 0x03, 0x5f, 0xd6),
		    96, at_begin);
	try_records(BYTES(0xff, 0x83, 0x00, 0xd1, 0xfd, 0x7b, 0x01, 0xa9, 0xfd, 0x43, 0x00, 0x91,
			  0xf3, 0x03, 0x00, 0xf9, 0x20, 0x00, 0x3f, 0xd6, 0xf3, 0x03, 0x40, 0xf9,
			  0xfd, 0x7b, 0x41, 0xa9, 0xff, 0x83, 0x00, 0x91, 0xc0, 0x03, 0x5f, 0xd6),
		    98, at_end);
}

/*
 * A copy of the frame pointer, as V8's builtins keep it, is not where the caller's frame pointer is
 * saved:
 *   3000: 55                    push %rbp
 *   3001: 48 89 e5              mov %rsp,%rbp
 *   3004: 49 89 ad c8 00 00 00  mov %rbp,0xc8(%r13)
 *   300b: ff d3                 call *%rbx
 *   300d: c9                    leave
 *   300e: c3                    ret
 */
TEST(test_copied_frame_pointer)
{
	static const uint64_t pcs[] = { 0x3000, 0x3001, 0x3004, 0x300b, 0x300d, 0x300e };

	for (size_t i = 0; i < sizeof(pcs) / sizeof(pcs[0]); i++) {
		bool is_made = pcs[i] >= 0x3004 && pcs[i] <= 0x300d;

		code_world();
		function(&w, 0x2100, 0x2200, BYTES(DW_CFA_def_cfa, 6, 16));
		code_at(&w, 0x3000,
			BYTES(0x55, 0x48, 0x89, 0xe5, 0x49, 0x89, 0xad, 0xc8, 0, 0, 0, 0xff, 0xd3,
			      0xc9, 0xc3));
		begin_at(&w, pcs[i], STACK_WORD(is_made || pcs[i] == 0x3001 ? 99 : 100));
		set(&w, 6, STACK_WORD(is_made ? 99 : 110));
		w.stack[99] = STACK_WORD(110);
		w.stack[100] = call_before(&w, 0x2120);
		w.stack[111] = BIAS + 0x1020;
		UNWIND(&w, REEL_STOP_ROOT, pcs[i], 0x2120, 0x1020);
	}
}

RUN_TESTS()
