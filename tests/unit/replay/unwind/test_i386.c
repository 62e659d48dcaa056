/* SPDX-License-Identifier: Apache-2.0 */
/* i386: 4-byte words, addresses that wrap at 2^32, and its own traps. */
#include "cfi/cfi_index.h"
#include "tests/support/unwind_world.h"

/* Each test initializes it. */
static struct world w;

#define EBX	3
#define ESP	4
#define EBP	5
#define WORD(i) (STACK + 4 * (i))

/* CFA = esp + 4, eip at CFA - 4. */
#define INITIAL BYTES(DW_CFA_def_cfa, ESP, 4, DW_CFA_offset | 8, 1)
/* CFA = esp + 8 */
#define FRAME BYTES(DW_CFA_def_cfa_offset, 8)

/* main at 0x1000 has an undefined return address. */
static void world_i386(void)
{
	world_init(&w, "i386", 1, 8, INITIAL);
	function(&w, 0x1000, 0x1100, BYTES(DW_CFA_undefined, 8));
}

/* ---- words --------------------------------------------------------------------------- */

/* Words are 4 bytes: the next word, all ones, must not get into the return address or ebx, on which
 * the caller's CFA is based. */
TEST(test_words)
{
	world_i386();
	/* CFA = esp + 12, ebx at CFA - 8 */
	function(&w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 12, DW_CFA_offset | 3, 2));
	function(&w, 0x3000, 0x3100, BYTES(DW_CFA_def_cfa, EBX, 8)); /* CFA = ebx + 8 */
	for (size_t i = 0; i < 512; i++)
		w.stack[i] = 0xffffffff;
	begin_at(&w, 0x2010, WORD(100));
	w.stack[101] = WORD(110);
	w.stack[102] = BIAS + 0x3020;
	w.stack[111] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.sps[1], WORD(103));
	assert_int_equal(w.frames.sps[2], WORD(112));
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/* The stack ends at 2^32: ebp + offset, a dereferenced expression, and the caller's esp wrap. */
TEST(test_wrap)
{
	world_i386();
	/* CFA = *(ebp - 32); CFA = ebx + 24, and the register saved at CFA - 28 is below 2^32 */
	function(&w, 0x2000, 0x2100,
		 BYTES(DW_CFA_def_cfa_expression, 3, DW_OP_breg5, 0x60, DW_OP_deref));
	function(&w, 0x3000, 0x3100, BYTES(DW_CFA_def_cfa, EBX, 24, DW_CFA_offset | 8, 7));
	w.regions[0].address = 0xfffff800;
	begin_at(&w, 0x2010, 0xfffff900);
	set(&w, EBP, 0x10);
	set(&w, EBX, 0xfffffff4);
	w.stack[(0xfffffff0 - 0xfffff800) / 4] = 0xfffffa00;
	w.stack[(0xfffff9fc - 0xfffff800) / 4] = BIAS + 0x3020;
	/* 0xfffffff4 + 24 is 0xc, and 28 below is the word that was read above. */
	unwind(&w);
	assert_int_equal(w.state.registers[reel_arch_slot(w.arch, ESP)], 0xc);
	EXPECT(&w, REEL_STOP_NO_MAPPING, 0x2010, 0x3020);
}

/* ---- sections ------------------------------------------------------------------------- */

static void expect_row(struct reel_cfi_input *input, uint64_t address, int64_t cfa_offset,
		       uint64_t begin, uint64_t end)
{
	struct reel_cfi *cfi;
	struct reel_cfi_row row;

	assert_null(reel_cfi_create(input, &cfi));
	assert_int_equal(reel_cfi_row_at(cfi, address, &row, NULL), REEL_CFI_FOUND);
	assert_int_equal(row.cfa.offset, cfa_offset);
	assert_int_equal(row.fde_begin, begin);
	assert_int_equal(row.fde_end, end);
	reel_cfi_destroy(cfi);
}

static struct reel_cfi_input input_of(const struct cfi_builder *eh)
{
	return (struct reel_cfi_input){
		.arch = reel_arch_by_name("i386"),
		.eh_frame = { eh->bytes, eh->size, eh->address },
		.text_begin = 0xf7001000,
		.text_end = 0xf7009000,
	};
}

/* An FDE's pointers in every encoding, for code 3.8 GB away: signed ones wrap. */
TEST(test_pointers)
{
	static const struct {
		uint8_t encoding, bytes[16];
		size_t size;
	} cases[] = {
		{ 0x00, { 0x00, 0x20, 0x00, 0xf7, 0x00, 0x01, 0, 0 }, 8 }, /* absptr: 4 bytes */
		/* pcrel sdata4: from 0x20000 + 17 + 8 to 0xf7002000 */
		{ 0x1b, { 0xe7, 0x1f, 0xfe, 0xf6, 0x00, 0x01, 0, 0 }, 8 },
		{ 0x3b, { 0x00, 0x20, 0x00, 0x97, 0x00, 0x01, 0, 0 }, 8 }, /* datarel sdata4 */
		/* aligned: the pointer is at a multiple of 4 */
		{ 0x50, { 0, 0, 0, 0x00, 0x20, 0x00, 0xf7, 0x00, 0x01, 0, 0 }, 11 },
		{ 0x0b, { 0x00, 0x20, 0x00, 0xf7, 0x00, 0x01, 0, 0 }, 8 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cfi_builder eh = { .address = 0x20000, .is_32 = true };
		struct reel_cfi_input input;
		size_t start;

		build_cie(&eh, 1, "zR", &cases[i].encoding, 1, 1, 8, NO_BYTES);
		start = eh.size;
		assert_int_equal(start, 17);
		build_number(&eh, 0, 4);
		build_number(&eh, eh.size, 4);
		build_bytes(&eh, cases[i].bytes, cases[i].size);
		build_bytes(&eh, BYTES(0, 0x0c, ESP, 20, 0x88, 1));
		build_end(&eh, start);
		input = input_of(&eh);
		input.data_base = 0x60000000;
		expect_row(&input, 0xf7002010, 20, 0xf7002000, 0xf7002100);
	}
}

/* .eh_frame_hdr at a low address: the table's functions are 3.8 GB away, as signed numbers. */
TEST(test_header)
{
	struct cfi_builder hdr = { .address = 0x10000 };
	struct cfi_header header;
	struct cfi_header_entry entry;

	build_bytes(&hdr, BYTES(1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 2, 0, 0, 0));
	for (size_t i = 0; i < 2; i++) {
		build_number(&hdr, 0xf7002000 + 0x1000 * i - hdr.address, 4);
		build_number(&hdr, 0xf7020000 + 0x10 * i - hdr.address, 4);
	}
	assert_true(reel_cfi_header_parse(
		&(struct cfi_data){ .arch = reel_arch_by_name("i386"),
				    .section = { hdr.bytes, hdr.size, hdr.address },
				    .is_eh = true },
		&header));
	assert_false(reel_cfi_header_search(&header, 0xf7001fff, &entry));
	assert_true(reel_cfi_header_search(&header, 0xf7002000, &entry));
	assert_int_equal(entry.fde, 0xf7020000);
	assert_int_equal(entry.begin, 0xf7002000);
	assert_int_equal(entry.next, 0xf7003000);
	assert_true(reel_cfi_header_search(&header, 0xf7003000, &entry));
	assert_int_equal(entry.fde, 0xf7020010);
	assert_int_equal(entry.begin, 0xf7003000);
	assert_true(entry.next == UINT64_MAX);
}

/* .debug_frame: addresses of 4 bytes, whether or not the CIE gives the size (version 4). */
TEST(test_debug_frame)
{
	for (uint8_t version = 3; version <= 4; version++) {
		struct cfi_builder debug = { .debug_frame = true, .is_32 = true }, none = { 0 };
		struct reel_cfi_input input = input_of(&none);
		size_t cie = build_cie(&debug, version, "", NO_BYTES, 1, 8, INITIAL);

		build_fde(&debug, cie, false, 0xf7002000, 0x100,
			  BYTES(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 8));
		input.debug_frame = (struct reel_loaded_bytes){ debug.bytes, debug.size, 0 };
		expect_row(&input, 0xf7002000, 4, 0xf7002000, 0xf7002100);
		expect_row(&input, 0xf7002001, 8, 0xf7002000, 0xf7002100);
	}
}

/* ---- signal frames ---------------------------------------------------------------------- */

/*
 * __kernel_sigreturn:     58              pop %eax
 *                         b8 77 00 00 00  mov $0x77,%eax
 *                         cd 80           int $0x80
 * __kernel_rt_sigreturn:  b8 ad 00 00 00  mov $0xad,%eax
 *                         cd 80           int $0x80
 */
#define SIGRETURN    BYTES(0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80)
#define RT_SIGRETURN BYTES(0xb8, 0xad, 0, 0, 0, 0xcd, 0x80)

/* struct sigcontext_32 at word `at`: ebp, esp and eip. */
static void interrupted(size_t at)
{
	w.stack[at + 6] = 0x1234;
	w.stack[at + 7] = WORD(300);
	w.stack[at + 14] = BIAS + 0x3000;
	w.stack[300] = BIAS + 0x1020;
}

/* Called from a handler, and interrupted in each of the trampoline's instructions. */
TEST(test_signal)
{
	/* The pc, and the offset of sigcontext from esp. */
	static const struct {
		bool rt, in_handler;
		uint64_t pc;
		size_t sigcontext;
	} cases[] = {
		{ false, true, 0, 1 },	{ false, false, 0, 1 }, { false, false, 1, 0 },
		{ false, false, 6, 0 }, { true, true, 0, 40 },	{ true, false, 0, 40 },
		{ true, false, 5, 40 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_i386();
		function(&w, 0x2000, 0x2100, FRAME);	/* handler */
		function(&w, 0x3000, 0x3100, NO_BYTES); /* interrupted at its first instruction */
		if (cases[i].rt)
			code_at(&w, 0x4000, RT_SIGRETURN);
		else
			code_at(&w, 0x4000, SIGRETURN);
		begin_at(&w, (cases[i].in_handler ? 0x2010 : 0x4000 + cases[i].pc),
			 WORD(cases[i].in_handler ? 98 : 100));
		w.stack[99] = BIAS + 0x4000;
		interrupted(100 + cases[i].sigcontext);
		unwind(&w);
		if (cases[i].in_handler) {
			assert_int_equal(w.frames.steps[2], REEL_STEP_SIGNAL);
			EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x4000, 0x3000, 0x1020);
		} else {
			assert_int_equal(w.frames.steps[1], REEL_STEP_SIGNAL);
			EXPECT(&w, REEL_STOP_ROOT, 0x4000 + cases[i].pc, 0x3000, 0x1020);
		}
	}
}

/* ---- without CFI -------------------------------------------------------------------------- */

TEST(test_null_call)
{
	world_i386();
	function(&w, 0x3000, 0x3100, FRAME);
	w.state.pc = 0;
	set(&w, ESP, WORD(100));
	w.stack[100] = call_before(&w, 0x3020);
	w.stack[102] = BIAS + 0x1020;
	UNWIND(&w, REEL_STOP_ROOT, 0, 0x3020, 0x1020);
}

TEST(test_frame_pointer)
{
	world_i386();
	begin_at(&w, 0x2010, WORD(90));
	set(&w, EBP, WORD(101)); /* 4-byte aligned, not more */
	w.stack[101] = WORD(111);
	w.stack[102] = call_before(&w, 0x2820);
	w.stack[111] = WORD(121);
	w.stack[112] = call_before(&w, 0x1020);
	unwind(&w);
	assert_int_equal(w.frames.steps[2], REEL_STEP_FRAME_POINTER);
	assert_int_equal(w.frames.sps[2], WORD(113));
	EXPECT(&w, REEL_STOP_GUESSED_ROOT, 0x2010, 0x2820, 0x1020);
}

/*
 * Each instruction has a known distance to the return address; ebp is not a frame pointer.
 *   ff a3 0c 00 00 00  jmp *0xc(%ebx);  68 08 00 00 00  push $8;  e9 …  jmp PLT0
 *   ff b3 04 00 00 00  push 4(%ebx);  ff a3 08 00 00 00  jmp *8(%ebx)
 *   ff 35 …  push GOT[1];  ff 25 …  jmp *GOT[2]
 *   55  push %ebp;  89 e5  mov %esp,%ebp
 *   53  push %ebx;  83 ec 08  sub $8,%esp;  e8 …  call __x86.get_pc_thunk.bx
 *   c2 04 00  ret $4
 *   31 d2  xor %edx,%edx;  31 c9  xor %ecx,%ecx;  c3  ret
 *   8b 1c 24  mov (%esp),%ebx;  c3  ret
 *   e8 …  call __x86.get_pc_thunk.ax;  05 …  add $…,%eax;  55  push %ebp;  89 e5  mov %esp,%ebp
 */
TEST(test_entries)
{
	static const struct {
		uint8_t code[16];
		uint8_t into, pushed;
	} cases[] = {
		{ { 0xff, 0xa3, 12, 0, 0, 0, 0x68, 8, 0, 0, 0, 0xe9, 1, 2, 3, 4 }, 0, 0 },
		{ { 0xff, 0xa3, 12, 0, 0, 0, 0x68, 8, 0, 0, 0, 0xe9, 1, 2, 3, 4 }, 6, 0 },
		{ { 0xff, 0xa3, 12, 0, 0, 0, 0x68, 8, 0, 0, 0, 0xe9, 1, 2, 3, 4 }, 11, 1 },
		{ { 0xff, 0xb3, 4, 0, 0, 0, 0xff, 0xa3, 8, 0, 0, 0 }, 0, 1 },
		{ { 0xff, 0xb3, 4, 0, 0, 0, 0xff, 0xa3, 8, 0, 0, 0 }, 6, 2 },
		{ { 0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 5, 6, 7, 8 }, 0, 1 },
		{ { 0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 5, 6, 7, 8 }, 6, 2 },
		{ { 0xff, 0x25, 1, 2, 3, 4 }, 0, 0 },
		{ { 0x55, 0x89, 0xe5 }, 0, 0 },
		{ { 0x55, 0x89, 0xe5 }, 1, 1 },
		{ { 0x53, 0x83, 0xec, 8, 0xe8, 1, 2, 3, 4 }, 0, 0 },
		{ { 0x53, 0x83, 0xec, 8, 0xe8, 1, 2, 3, 4 }, 1, 1 },
		{ { 0x53, 0x83, 0xec, 8, 0xe8, 1, 2, 3, 4 }, 4, 3 },
		{ { 0xc2, 4, 0 }, 0, 0 },
		{ { 0x31, 0xd2, 0x31, 0xc9, 0xc3 }, 0, 0 },
		{ { 0x31, 0xd2, 0x31, 0xc9, 0xc3 }, 2, 0 },
		{ { 0x31, 0xd2, 0xc3 }, 0, 0 },
		{ { 0xc3 }, 0, 0 },
		{ { 0xf3, 0x0f, 0x1e, 0xfb, 0xff, 0xa3, 12, 0, 0, 0 }, 0, 0 },
		{ { 0x8b, 0x1c, 0x24, 0xc3 }, 0, 0 },
		{ { 0x8b, 0x1c, 0x24, 0xc3 }, 3, 0 },
		{ { 0xe8, 1, 2, 3, 4, 0x05, 5, 6, 7, 8, 0x55, 0x89, 0xe5 }, 0, 0 },
		{ { 0xe8, 1, 2, 3, 4, 0x05, 5, 6, 7, 8, 0x55, 0x89, 0xe5 }, 5, 0 },
		{ { 0xe8, 1, 2, 3, 4, 0x05, 5, 6, 7, 8, 0x55, 0x89, 0xe5 }, 10, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_i386();
		function(&w, 0x3000, 0x3100, FRAME);
		code_at(&w, 0x2000, cases[i].code, sizeof(cases[i].code));
		begin_at(&w, 0x2000 + cases[i].into, WORD(100 - cases[i].pushed));
		set(&w, EBP, 0x1234);
		w.stack[100] = call_before(&w, 0x3020);
		w.stack[102] = BIAS + 0x1020;
		unwind(&w);
		assert_int_equal(w.frames.steps[1], REEL_STEP_UNDO_CALL);
		EXPECT(&w, REEL_STOP_ROOT, 0x2000 + cases[i].into, 0x3020, 0x1020);
	}
}

/*
 * In the thunk at the beginning of the vDSO's functions, the function has not made its frame yet.
 */
TEST(test_thunk)
{
	world_i386();
	function(&w, 0x3000, 0x3100, FRAME);
	code_at(&w, 0x2000, BYTES(0xe8, 0xfb, 0, 0, 0, 0x05, 5, 6, 7, 8, 0x55, 0x89, 0xe5));
	code_at(&w, 0x2100, BYTES(0x8b, 0x04, 0x24, 0xc3));
	begin_at(&w, 0x2100, WORD(99));
	/* A frame farther up; following it would skip two frames. */
	set(&w, EBP, WORD(110));
	w.stack[99] = BIAS + 0x2005;
	w.stack[100] = call_before(&w, 0x3020);
	w.stack[102] = call_before(&w, 0x1020);
	w.stack[111] = call_before(&w, 0x1020);
	UNWIND(&w, REEL_STOP_ROOT, 0x2100, 0x2005, 0x3020, 0x1020);
}

/* ---- system calls --------------------------------------------------------------------------- */

/* After an `int $0x80` that ends a function, the next function's rules do not apply; at the start
 * of a program nothing has made a call. */
TEST(test_system_call)
{
	for (int behind = 0; behind < 2; behind++) {
		world_i386();
		function(&w, 0x2000, 0x2100, FRAME);
		function(&w, 0x2100, 0x2200, NO_BYTES);
		if (behind)
			code_at(&w, 0x20fe, BYTES(0xcd, 0x80));
		w.input.after_syscall = true;
		begin_at(&w, 0x2100, WORD(100));
		w.stack[behind ? 101 : 100] = BIAS + 0x1020;
		unwind(&w);
		assert_int_equal(w.frames.lookups[0], BIAS + 0x2100 - (uint64_t)behind);
		EXPECT(&w, REEL_STOP_ROOT, 0x2100, 0x1020);
	}
}

RUN_TESTS()
