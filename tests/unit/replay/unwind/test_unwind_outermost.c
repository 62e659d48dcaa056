/* SPDX-License-Identifier: Apache-2.0 */
/* Outermost frames that no CFI marks: by the code, and by where return addresses were stored. */
#include "tests/support/unwind_world.h"

/* Each test initializes it. */
static struct world w;

static void code_world(void)
{
	world_x86_with_caller(&w);
}

/*
 * An outermost function's return address was written there, to code that never returns
 * (makecontext, goexit):
 *   5000: 90              nop
 *   5001: e8 fa 0f 00 00  call 6000
 *   5006: f4              hlt
 */
TEST(test_outermost)
{
	code_world();
	code_at(&w, 0x5000, BYTES(0x90, 0xe8, 0xfa, 0x0f, 0, 0, 0xf4));
	w.stack[102] = BIAS + 0x5001;
	begin_at(&w, 0x2000, STACK_WORD(101));
	UNWIND(&w, REEL_STOP_ROOT, 0x2000, 0x5001);

	/* Its CFI takes what the stack's last user has left above the frame for a caller. */
	for (int is_called = 0; is_called < 2; is_called++) {
		code_world();
		function(&w, 0x5000, 0x5010, BYTES(DW_CFA_def_cfa_offset, 8));
		code_at(&w, 0x5000, BYTES(0x90, 0xe8, 0xfa, 0x0f, 0, 0, 0xf4));
		w.stack[102] = BIAS + (is_called ? 0x5006 : 0x5001);
		w.stack[103] = call_before(&w, 0x1020);
		code_at(&w, 0x6000, BYTES(0xf4));
		begin_at(&w, is_called ? 0x6000 : 0x2000, STACK_WORD(is_called ? 102 : 101));
		unwind(&w);
		if (is_called)
			EXPECT(&w, REEL_STOP_ROOT, 0x6000, 0x5006, 0x1020);
		else
			EXPECT(&w, REEL_STOP_ROOT, 0x2000, 0x5001);
	}

	/* If it does return, that alone does not make it valid. */
	code_world();
	code_at(&w, 0x5000, BYTES(0x90, 0xe8, 0xfa, 0x0f, 0, 0, 0xc3));
	w.stack[102] = BIAS + 0x5001;
	w.stack[103] = 0x1234;
	begin_at(&w, 0x2000, STACK_WORD(101));
	UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, 0x2000, 0x5001);

	/* It may begin a function that follows another one's last call, unless that led here, perhaps
	 * into an instruction (a probe's trap), or padding follows. */
	for (int i = 0; i < 4; i++) {
		bool is_called = i == 1 || i == 2, is_padding = i == 3;

		code_world();
		function(&w, 0x4ff0, 0x5001, BYTES(DW_CFA_def_cfa_offset, 16));
		if (!is_padding)
			function(&w, 0x5001, 0x5010, BYTES(DW_CFA_def_cfa_offset, 16));
		code_at(&w, 0x4ffc, BYTES(0xe8, 0xff, 0x0f, 0, 0)); /* call 6000 */
		if (is_called)
			code_at(&w, 0x4ffd, BYTES(0xff, 0xcf, 0xff, 0xff)); /* call 2000 */
		code_at(&w, 0x5001, BYTES(0xf4));
		code_at(&w, 0x6000, BYTES(0xc3));
		w.stack[102] = BIAS + 0x5001;
		w.stack[104] = BIAS + 0x1020;
		begin_at(&w, 0x2000 + (i == 2), STACK_WORD(101));
		unwind(&w);
		assert_int_equal(w.frames.lookups[1], BIAS + 0x5001 - (i > 0));
		if (i)
			EXPECT(&w, REEL_STOP_ROOT, 0x2000 + (i == 2), 0x5001, 0x1020);
		else
			EXPECT(&w, REEL_STOP_ROOT, 0x2000, 0x5001);
	}

	/* A JIT writes the address there at which to continue. */
	code_world();
	code_at(&w, 0x5000, BYTES(0x90, 0xe8, 0xfa, 0x0f, 0, 0, 0xf4));
	code_at(&w, 0x3000, BYTES(0xc3));
	w.found = REEL_CODE_ANONYMOUS;
	w.recorded = true;
	w.stack[101] = BIAS + 0x5001;
	begin_at(&w, 0x3000, STACK_WORD(101));
	UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, 0x3000);
}

/*
 * The ELF entry jumps to a function whose CFI finds the number of arguments (Go's rt0_go), unless
 * another function has called that:
 *   4000: e9 fb 0f 00 00  jmp 5000
 *   5000: 48 83 ec 28     sub $0x28,%rsp
 *   5004: e8 f7 cf ff ff  call 2000
 */
TEST(test_entered)
{
	enum { ENTERED, CALLED, NO_ENTRY };

	for (int i = 0; i < 3; i++) {
		code_world();
		function(&w, 0x5000, 0x5100, BYTES(DW_CFA_def_cfa_offset, 8));
		code_at(&w, 0x4000, BYTES(0xe9, 0xfb, 0x0f, 0, 0));
		code_at(&w, 0x5000,
			BYTES(0x48, 0x83, 0xec, 0x28, 0xe8, 0xf7, 0xcf, 0xff, 0xff, 0xf4));
		w.entry = i == NO_ENTRY ? 0 : 0x4000;
		w.stack[102] = BIAS + 0x5009;
		w.stack[103] = i == CALLED ? call_before(&w, 0x1020) : 3;
		begin_at(&w, 0x2000, STACK_WORD(101));
		unwind(&w);
		if (i == ENTERED)
			EXPECT(&w, REEL_STOP_ROOT, 0x2000, 0x5009);
		else if (i == CALLED)
			EXPECT(&w, REEL_STOP_ROOT, 0x2000, 0x5009, 0x1020);
		else
			EXPECT(&w, REEL_STOP_NO_MAPPING, 0x2000, 0x5009);
	}
}

/*
 * clone's child begins after the system call, on its own stack:
 *   5000: 0f 05           syscall
 *   5002: c3              ret
 */
TEST(test_begin_of_thread)
{
	for (int is_child = 0; is_child < 2; is_child++) {
		code_world();
		code_at(&w, 0x5000, BYTES(0x0f, 0x05, 0xc3, 0xf4));
		w.state.pc = BIAS + 0x5002;
		w.input.after_syscall = true;
		set(&w, 0, is_child ? 0 : 4711);
		set(&w, 7, STACK_WORD(100));
		if (is_child)
			w.stack[100] = BIAS + 0x6000; /* the thread's function */
		unwind(&w);
		if (is_child)
			EXPECT(&w, REEL_STOP_ROOT, 0x5002);
		else
			EXPECT(&w, REEL_STOP_ROOT, 0x5002, 0x2020, 0x1020);

		code_world();
		code_at(&w, 0x5000, BYTES(0x0f, 0x05, 0xc3, 0xf4));
		w.state.pc = BIAS + 0x5002;
		w.input.after_syscall = true;
		set(&w, 0, 4711);
		set(&w, 7, STACK_WORD(100));
		w.stack[100] = BIAS + 0x6000;
		UNWIND(&w, REEL_STOP_NO_UNWIND_INFO, 0x5002);
	}
}

/*
 * The same once the kernel has returned, while the code checks the result:
 *   5000: 0f 05           syscall
 *   5002: 48 85 c0        test %rax,%rax
 *   5005: 7c 09           jl 5010
 *   5007: 74 07           je 5010
 *   5009: c3              ret
 *   5010: f4              hlt
 */
TEST(test_looks_at_result)
{
	static const uint64_t pcs[] = { 0x5002, 0x5005, 0x5007 };

	for (size_t i = 0; i < sizeof(pcs) / sizeof(pcs[0]); i++) {
		for (int is_child = 0; is_child < 2; is_child++) {
			code_world();
			code_at(&w, 0x5000,
				BYTES(0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x09, 0x74, 0x07, 0xc3));
			code_at(&w, 0x5010, BYTES(0xf4));
			w.state.pc = BIAS + pcs[i];
			set(&w, 0, is_child ? 0 : 4711);
			set(&w, 7, STACK_WORD(100));
			w.stack[100] = BIAS + 0x6000; /* not a return address */
			UNWIND(&w, is_child ? REEL_STOP_ROOT : REEL_STOP_NO_UNWIND_INFO, pcs[i]);
		}
	}
}

/*
 * musl starts a thread in a function that never returns, without CFI and symbol, and ends it in
 * __clone, which was not called on this stack.
 *   2ffe: c3              ret
 *   2fff: 90              nop
 *   3000: 53              push %rbx
 *   3001: 48 89 fb        mov %rdi,%rbx
 *   3004: ff 13           call *(%rbx)
 *   3006: 48 89 c7        mov %rax,%rdi
 *   3009: e8 f2 0f 00 00  call 4000
 *   300e: 66 90           xchg %ax,%ax
 *   3010: 48 83 c4 10     add $16,%rsp     another function
 *   3014: c3              ret
 *
 *   5000: 31 ed           xor %ebp,%ebp
 *   5002: 5f              pop %rdi
 *   5003: 41 ff d1        call *%r9
 *   5006: 89 c7           mov %eax,%edi
 *   5008: 31 c0           xor %eax,%eax
 *   500a: b0 3c           mov $60,%al
 *   500c: 0f 05           syscall
 *   500e: f4              hlt
 */
TEST(test_never_returns)
{
	for (int i = 0; i < 3; i++) {
		bool stale = i == 1, has_fp = i == 2;

		code_world();
		code_at(&w, 0x2ffe,
			BYTES(0xc3, 0x90, 0x53, 0x48, 0x89, 0xfb, 0xff, 0x13, 0x48, 0x89, 0xc7,
			      0xe8, 0xf2, 0x0f, 0, 0, 0x66, 0x90, 0x48, 0x83, 0xc4, 0x10, 0xc3));
		code_at(&w, 0x5000,
			BYTES(0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89, 0xc7, 0x31, 0xc0, 0xb0,
			      0x3c, 0x0f, 0x05, 0xf4));
		begin_at(&w, 0x2010, STACK_WORD(98));
		set(&w, 6, has_fp ? 0x1234 : 0);
		w.stack[99] = BIAS + 0x3006;
		w.stack[100] = 0x7777; /* rbx */
		w.stack[101] = BIAS + 0x5006;
		/* The return address of the following function. */
		w.stack[102] = stale ? call_before(&w, 0x2040) : 0;
		w.stack[104] = 0x5555;
		unwind(&w);
		assert_int_equal(w.frames.steps[2], REEL_STEP_SYNTHESIZED);
		assert_int_equal(w.frames.sps[2], STACK_WORD(102));
		EXPECT(&w, has_fp ? REEL_STOP_NO_UNWIND_INFO : REEL_STOP_ROOT, 0x2010, 0x3006,
		       0x5006);
	}
}

/*
 * The head of a loop is also aligned and follows a jump; but it is not a function: its own code
 * jumps there.
 *   2ffe: c3              ret
 *   2fff: 90              nop
 *   3000: 53              push %rbx
 *   3001: eb 0d           jmp 3010
 *   3010: ff 13           call *(%rbx)
 *   3012: eb fc           jmp 3010
 */
TEST(test_head_of_loop)
{
	code_world();
	code_at(&w, 0x2ffe, BYTES(0xc3, 0x90, 0x53, 0xeb, 0x0d));
	code_at(&w, 0x3010, BYTES(0xff, 0x13, 0xeb, 0xfc));
	begin_at(&w, 0x3010, STACK_WORD(99));
	w.stack[99] = call_before(&w, 0x1040);
	UNWIND(&w, REEL_STOP_ROOT, 0x3010, 0x2020, 0x1020);
}

/*
 * Free Pascal's _start (system unit, Linux x86_64), whose only call ends 72 bytes from the entry:
 *   3000: 4c 8d 15 f9 3f 02 00    lea 0x23ff9(%rip),%r10
 *   3007: 5e                      pop %rsi
 *   3008: 41 89 72 38             mov %esi,0x38(%r10)
 *   300c: 49 89 62 40             mov %rsp,0x40(%r10)
 *   3010: 48 8d 04 f5 08 00 00 00 lea 0x8(,%rsi,8),%rax
 *   3018: 48 01 e0                add %rsp,%rax
 *   301b: 49 89 42 48             mov %rax,0x48(%r10)
 *   301f: 48 83 e4 f0             and $-16,%rsp
 *   3023: 49 89 62 50             mov %rsp,0x50(%r10)
 *   3027: 48 8d 05 a2 40 02 00    lea 0x240a2(%rip),%rax
 *   302e: 49 89 42 58             mov %rax,0x58(%r10)
 *   3032: 48 8d 05 27 00 00 00    lea 0x27(%rip),%rax
 *   3039: 49 89 42 60             mov %rax,0x60(%r10)
 *   303d: 4c 89 d7                mov %r10,%rdi
 *   3040: 48 31 ed                xor %rbp,%rbp
 *   3043: e8 .. .. .. ..          call 4000
 *   3048: c3                      ret
 *   3049: e8 .. .. .. ..          call 4000, of another function
 *   304e: f4                      hlt
 * The _start of dynamically linked programs, after it, begins elsewhere and jumps there:
 *   3050: 48 89 d0                mov %rdx,%rax
 *   3053: eb ab                   jmp 3000
 */
TEST(test_entry)
{
	static const struct {
		uint64_t entry, caller;
		enum reel_stop stop;
	} cases[] = { { 0x3000, 0x3048, REEL_STOP_ROOT },
		      { 0x3050, 0x3048, REEL_STOP_ROOT },
		      { 0x3000, 0x304e, REEL_STOP_NO_UNWIND_INFO },
		      { 0x3050, 0x304e, REEL_STOP_NO_UNWIND_INFO },
		      { 0, 0x3048, REEL_STOP_NO_UNWIND_INFO } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		code_world();
		w.entry = cases[i].entry;
		code_at(&w, 0x3000,
			BYTES(0x4c, 0x8d, 0x15, 0xf9, 0x3f, 0x02, 0x00, 0x5e, 0x41, 0x89, 0x72,
			      0x38, 0x49, 0x89, 0x62, 0x40, 0x48, 0x8d, 0x04, 0xf5, 0x08, 0x00,
			      0x00, 0x00, 0x48, 0x01, 0xe0, 0x49, 0x89, 0x42, 0x48, 0x48, 0x83,
			      0xe4, 0xf0, 0x49, 0x89, 0x62, 0x50, 0x48, 0x8d, 0x05, 0xa2, 0x40,
			      0x02, 0x00, 0x49, 0x89, 0x42, 0x58, 0x48, 0x8d, 0x05, 0x27, 0x00,
			      0x00, 0x00, 0x49, 0x89, 0x42, 0x60, 0x4c, 0x89, 0xd7, 0x48, 0x31,
			      0xed, 0xe8, 0xb8, 0x0f, 0x00, 0x00, 0xc3, 0xe8, 0xb2, 0x0f, 0x00,
			      0x00, 0xf4, 0x90, 0x48, 0x89, 0xd0, 0xeb, 0xab));
		code_at(&w, 0x4000, BYTES(FRAMED_CODE));
		w.stack[100] = BIAS + cases[i].caller;
		begin_at(&w, 0x4009, STACK_WORD(95));
		set(&w, 6, 0x5555); /* 0 also marks an outermost frame */
		UNWIND(&w, cases[i].stop, 0x4009, cases[i].caller);
	}
}

RUN_TESTS()
