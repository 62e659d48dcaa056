/* SPDX-License-Identifier: Apache-2.0 */
/* The traps of unwinding, each on a small world: code with CFI made here, a stack of literal words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replay/unwind.h"
#include "tests/cfi_builder.h"

#define BIAS	 0x400000 /* the module's code is mapped at ELF address + BIAS */
#define TEXT	 0x1000
#define TEXT_END 0x9000
#define STACK	 0x7ffd0000

struct world {
	const struct reel_arch *arch;
	struct cfi_builder eh;
	size_t cie, signal_cie;
	uint8_t code[TEXT_END - TEXT];
	uint64_t stack[512];
	uint8_t stack_bytes[512 * 8];
	struct reel_memory_range missing[2];
	struct reel_memory_region regions[2];
	struct reel_memory_view memory;
	struct reel_unwind_state state;
	struct reel_unwind_input input;
	struct reel_unwind_frames frames;
	struct reel_unwind_programs *programs;
	struct reel_cfi *cfi;
	struct reel_rules *rules;
	uint64_t entry;
	enum reel_code_found found; /* what the module's code is */
	bool unreadable;
	enum reel_stop stop;
};

static bool read_code(void *module, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	struct world *w = module;

	if (w->unreadable || address < TEXT || address + size > TEXT_END)
		return false;
	memcpy(bytes_ret, w->code + (address - TEXT), size);
	return true;
}

static enum reel_code_found find_code(void *context, uint64_t address, struct reel_code *ret)
{
	struct world *w = context;

	if (address < BIAS + TEXT || address >= BIAS + TEXT_END)
		return REEL_CODE_NO_MAPPING;
	if (w->found == REEL_CODE_FOUND)
		*ret = (struct reel_code){ w->rules, BIAS, read_code, w };
	return w->found;
}

static void world_init(struct world *w, const char *arch, uint8_t code_align, uint8_t column,
		       const uint8_t *initial, size_t size)
{
	memset(w, 0, sizeof(*w));
	w->arch = reel_arch_by_name(arch);
	assert_non_null(w->arch);
	w->eh.address = 0x20000;
	w->eh.big_endian = w->memory.big_endian = !strcmp(arch, "s390x");
	w->cie = build_cie(&w->eh, 1, "zR", BYTES(0x1b), code_align, column, initial, size);
	w->signal_cie = build_cie(&w->eh, 1, "zRS", BYTES(0x1b), code_align, column, initial, size);
	w->regions[0] = (struct reel_memory_region){ STACK, sizeof(w->stack_bytes), w->stack_bytes,
						     NULL, 0 };
	w->memory.regions = w->regions;
	w->memory.n_regions = 1;
	w->state.arch = w->arch;
	w->state.memory = &w->memory;
	w->input = (struct reel_unwind_input){
		.arch = w->arch, .memory = &w->memory, .find_code = find_code, .context = w
	};
}

/* x86_64: CFA = rsp + 8, rip at CFA - 8. */
static void world_x86(struct world *w)
{
	world_init(w, "x86_64", 1, 16, BYTES(0x0c, 7, 8, 0x90, 1));
}

/* aarch64: CFA = sp. */
static void world_arm(struct world *w)
{
	world_init(w, "aarch64", 4, 30, BYTES(0x0c, 31, 0));
}

static void function(struct world *w, uint64_t begin, uint64_t end, const uint8_t *program,
		     size_t size)
{
	build_fde(&w->eh, w->cie, true, begin, end - begin, program, size);
}

static void set(struct world *w, uint16_t dwarf, uint64_t value)
{
	uint8_t slot = reel_arch_slot(w->arch, dwarf);

	w->state.registers[slot] = value;
	w->state.known |= (uint64_t)1 << slot;
}

static void code_at(struct world *w, uint64_t address, const uint8_t *bytes, size_t size)
{
	memcpy(w->code + (address - TEXT), bytes, size);
}

/* Puts `call rel32` or `bl` before a return address. */
static uint64_t call_before(struct world *w, uint64_t address)
{
	if (w->arch->code_align == 1)
		code_at(w, address - 5, BYTES(0xe8, 1, 2, 3, 4));
	else
		code_at(w, address - 4, BYTES(0x01, 0x00, 0x00, 0x94));
	return address + BIAS;
}

static void unwind(struct world *w)
{
	struct reel_cfi_input input = {
		.arch = w->arch,
		.big_endian = w->eh.big_endian,
		.eh_frame = { w->eh.bytes, w->eh.size, w->eh.address },
		.text_begin = TEXT,
		.text_end = TEXT_END,
	};

	for (size_t i = 0; i < 512; i++) {
		for (size_t j = 0; j < 8; j++)
			w->stack_bytes[8 * i + (w->memory.big_endian ? 7 - j : j)] =
				(uint8_t)(w->stack[i] >> 8 * j);
	}
	assert_null(reel_cfi_create(&input, &w->cfi));
	assert_null(reel_rules_create(w->arch, w->cfi, w->entry, &w->rules));
	assert_null(reel_unwind_programs_create(w->arch, &w->programs));
	assert_null(reel_unwind_trace(&w->input, w->programs, &w->state, &w->frames, &w->stop));
}

/* Checks the frames (ELF addresses for what lies in the module), the stop, and frees the world. */
static void expect(struct world *w, enum reel_stop stop, size_t n, const uint64_t *addresses)
{
	assert_int_equal(w->frames.n, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t address = w->frames.addresses[i];

		assert_int_equal(address >= BIAS ? address - BIAS : address, addresses[i]);
	}
	assert_int_equal(w->stop, stop);
	reel_unwind_frames_free(&w->frames);
	reel_unwind_programs_destroy(w->programs);
	reel_rules_destroy(w->rules);
	reel_cfi_destroy(w->cfi);
}

#define EXPECT(w, stop, ...)                                                                       \
	expect(w, stop, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ })

#define UNDEFINED_RIP BYTES(0x07, 16)
#define STACK_WORD(i) (STACK + 8 * (i))

/* main at 0x1000 with an undefined return address is where all x86 stacks here end. */
static void root_function(struct world *w)
{
	function(w, 0x1000, 0x1100, UNDEFINED_RIP);
}

/* ---- x86_64 ---------------------------------------------------------------------------- */

static void test_chain(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	root_function(&w);
	function(&w, 0x2000, 0x2100, BYTES(0x0e, 16)); /* CFA = rsp + 16 */
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(100));
	w.stack[101] = BIAS + 0x2020;
	w.stack[103] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.sps[1], STACK_WORD(102));
	assert_int_equal(w.frames.steps[1], REEL_STEP_CFI);
	assert_int_equal(w.frames.lookups[1], BIAS + 0x201f);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x2020, 0x1020);
}

/* A function that ends with a call to a noreturn one: its return address belongs to the next
 * function. */
static void test_return_address_behind_function(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	root_function(&w);
	function(&w, 0x2000, 0x2100, BYTES(0x0e, 32));
	function(&w, 0x2100, 0x2200, NO_BYTES);
	w.state.pc = BIAS + 0x2100; /* exact: the second one's first instruction */
	set(&w, 7, STACK_WORD(100));
	w.stack[100] = BIAS + 0x2100; /* behind the first one's call */
	w.stack[104] = BIAS + 0x1020;
	unwind(&w);
	EXPECT(&w, REEL_STOP_ROOT, 0x2100, 0x2100, 0x1020);
}

static void test_after_syscall(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	root_function(&w);
	function(&w, 0x2000, 0x2100, BYTES(0x0e, 16)); /* … syscall is its last instruction */
	w.state.pc = BIAS + 0x2100;
	w.input.after_syscall = true;
	set(&w, 7, STACK_WORD(100));
	w.stack[101] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.lookups[0], BIAS + 0x20ff);
	EXPECT(&w, REEL_STOP_ROOT, 0x2100, 0x1020);
}

/* Behind `pop %rbp` the CFI still says that rbp lies below rsp; the caller's CFA hangs on it. */
static void test_popped_register(void **unused)
{
	struct world w;

	(void)unused;
	for (int recorded = 0; recorded < 2; recorded++) {
		world_x86(&w);
		root_function(&w);
		function(&w, 0x2000, 0x2100, BYTES(0x0e, 8, 0x86, 2));	   /* rbp at CFA - 16 */
		function(&w, 0x3000, 0x3100, BYTES(0x0c, 6, 16, 0x86, 2)); /* CFA = rbp + 16 */
		w.state.pc = BIAS + 0x2010;
		set(&w, 7, STACK_WORD(100));
		set(&w, 6, STACK_WORD(110));
		w.stack[99] = STACK_WORD(110);
		w.stack[100] = BIAS + 0x3020;
		w.stack[111] = BIAS + 0x1020;
		if (!recorded) { /* the region begins at rsp */
			w.regions[0].address = STACK_WORD(100);
			w.regions[0].bytes = w.stack_bytes + 800;
			w.regions[0].size -= 800;
		}
		unwind(&w);
		EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
	}
}

/* The same farther down than the red zone reaches: what is there was overwritten. */
static void test_popped_register_below_red_zone(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	root_function(&w);
	function(&w, 0x2000, 0x2100, BYTES(0x0e, 8, 0x86, 30)); /* rbp at CFA - 240 */
	function(&w, 0x3000, 0x3100, BYTES(0x0c, 6, 16));
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(100));
	set(&w, 6, STACK_WORD(110));
	w.stack[71] = 12345;
	w.stack[100] = BIAS + 0x3020;
	w.stack[111] = BIAS + 0x1020;
	unwind(&w);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/* A leaf function that saves rbp in the red zone and uses it: the bytes count, not the register. */
static void test_saved_in_red_zone(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	root_function(&w);
	function(&w, 0x2000, 0x2100, BYTES(0x0e, 8, 0x86, 2));
	function(&w, 0x3000, 0x3100, BYTES(0x0c, 6, 16));
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(100));
	set(&w, 6, 77);
	w.stack[99] = STACK_WORD(110);
	w.stack[100] = BIAS + 0x3020;
	w.stack[111] = BIAS + 0x1020;
	unwind(&w);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/* A register that cannot be read becomes unknown: that is no reason to stop, as long as no CFA
 * needs it. */
static void test_unreadable_register(void **unused)
{
	struct world w;

	(void)unused;
	for (int needed = 0; needed < 2; needed++) {
		world_x86(&w);
		root_function(&w);
		function(&w, 0x2000, 0x2100, BYTES(0x0e, 16, 0x83, 2)); /* rbx at CFA - 16 */
		if (needed)
			function(&w, 0x3000, 0x3100, BYTES(0x0c, 3, 16)); /* CFA = rbx + 16 */
		else
			function(&w, 0x3000, 0x3100, BYTES(0x0e, 8));
		w.missing[0] = (struct reel_memory_range){ 800, 8 };
		w.regions[0].missing = w.missing;
		w.regions[0].n_missing = 1;
		w.state.pc = BIAS + 0x2010;
		set(&w, 7, STACK_WORD(100));
		w.stack[101] = BIAS + 0x3020;
		w.stack[102] = BIAS + 0x1020;
		unwind(&w);
		if (needed)
			EXPECT(&w, REEL_STOP_REGISTER_UNKNOWN, 0x2010, 0x3020);
		else
			EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
	}
}

/* _dl_runtime_resolve_xsavec: the CFA hangs on rbx, which its callee has saved. rbp is 0 all the
 * time. */
static void test_cfa_in_rbx(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	root_function(&w);
	function(&w, 0x2000, 0x2100, BYTES(0x0e, 16, 0x83, 2));
	function(&w, 0x3000, 0x3100, BYTES(0x0c, 3, 16));
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(100));
	set(&w, 6, 0);
	set(&w, 3, 1);
	w.stack[100] = STACK_WORD(120);
	w.stack[101] = BIAS + 0x3020;
	w.stack[121] = BIAS + 0x1020;
	unwind(&w);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/* A PLT's CFA: rsp + 8 + ((rip & 15) >= 11) * 8. */
static void test_plt(void **unused)
{
	struct world w;

	(void)unused;
	for (int pushed = 0; pushed < 2; pushed++) {
		world_x86(&w);
		root_function(&w);
		/* breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus */
		function(&w, 0x2000, 0x2100,
			 BYTES(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
			       0x22));
		w.state.pc = BIAS + 0x2010 + (pushed ? 11 : 6);
		set(&w, 7, STACK_WORD(100));
		w.stack[100 + pushed] = BIAS + 0x1020;
		unwind(&w);
		EXPECT(&w, REEL_STOP_ROOT, pushed ? 0x201b : 0x2016, 0x1020);
	}
}

/* ---- where stacks end --------------------------------------------------------------------- */

/* An undefined return address is the end: a frame pointer that would lead on is not asked. */
static void test_no_fallback_behind_root(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	root_function(&w);
	w.state.pc = BIAS + 0x1010;
	set(&w, 7, STACK_WORD(100));
	set(&w, 6, STACK_WORD(110));
	w.stack[111] = call_before(&w, 0x5000);
	unwind(&w);
	EXPECT(&w, REEL_STOP_ROOT, 0x1010);
}

static void test_return_address_zero(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(100));
	unwind(&w);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010);
}

/* _start: at its first instruction, and where it has no FDE; what lies far behind it is not it. */
static void test_entry(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.entry = 0x3000;
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(100));
	w.stack[100] = BIAS + 0x3022;
	unwind(&w);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3022);

	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.entry = 0x3000;
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(100));
	w.stack[100] = BIAS + 0x3122;
	unwind(&w);
	EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x2010, 0x3122);

	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.entry = 0x2000;
	w.state.pc = BIAS + 0x2000;
	set(&w, 7, STACK_WORD(100));
	w.stack[100] = 1; /* argc */
	unwind(&w);
	EXPECT(&w, REEL_STOP_ROOT, 0x2000);
}

/* rbp == 0 says nothing: the caller without CFI has a good frame pointer chain nowhere. */
static void test_no_unwind_info(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(100));
	set(&w, 6, 0);
	unwind(&w);
	EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x2010);
}

static void test_stack_end(void **unused)
{
	struct world w;

	(void)unused;
	for (int cut = 0; cut < 2; cut++) {
		world_x86(&w);
		function(&w, 0x2000, 0x2100, BYTES(0x0e, 16));
		w.input.stack_cut = cut;
		w.state.pc = BIAS + 0x2010;
		set(&w, 7, STACK_WORD(510));
		w.stack[511] = BIAS + 0x2020;
		unwind(&w);
		EXPECT(&w, cut ? REEL_STOP_STACK_CUT : REEL_STOP_STACK_END, 0x2010, 0x2020);
	}
}

/* CFA = rsp, return address from rax's address: sp never moves. */
static void test_no_progress(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	function(&w, 0x2000, 0x2100, BYTES(0x0e, 0, 0x90, 0));
	w.state.pc = BIAS + 0x2020;
	set(&w, 7, STACK_WORD(100));
	w.stack[100] = BIAS + 0x2020;
	unwind(&w);
	EXPECT(&w, REEL_STOP_NO_PROGRESS, 0x2020);
}

/* Two functions that return to each other, sp stays: CFA = rsp, the return address at rsp or rsp
 * + 8. */
static void test_circle(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	function(&w, 0x2000, 0x2100, BYTES(0x0e, 0, 0x90, 0));
	function(&w, 0x3000, 0x3100, BYTES(0x0e, 0, 0x11, 16, 0x7f));
	w.state.pc = BIAS + 0x2020;
	set(&w, 7, STACK_WORD(100));
	w.stack[100] = BIAS + 0x3020;
	w.stack[101] = BIAS + 0x2020;
	unwind(&w);
	assert_in_range(w.frames.n, 3, 20);
	assert_int_equal(w.stop, REEL_STOP_NO_PROGRESS);
	w.frames.n = 1;
	EXPECT(&w, REEL_STOP_NO_PROGRESS, 0x2020);
}

static void test_backwards(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	/* The caller's rsp is CFA - 64. */
	function(&w, 0x2000, 0x2100, BYTES(0x14, 7, 8));
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(100));
	w.stack[100] = BIAS + 0x2020;
	unwind(&w);
	EXPECT(&w, REEL_STOP_NO_PROGRESS, 0x2010);
}

static void test_depth_limit(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.input.max_frames = 3;
	w.state.pc = BIAS + 0x2020;
	set(&w, 7, STACK_WORD(100));
	for (size_t i = 100; i < 200; i++)
		w.stack[i] = BIAS + 0x2020;
	unwind(&w);
	EXPECT(&w, REEL_STOP_DEPTH_LIMIT, 0x2020, 0x2020, 0x2020);
}

static void test_missing_module(void **unused)
{
	static const struct {
		enum reel_code_found found;
		enum reel_stop stop;
	} cases[] = {
		{ REEL_CODE_MODULE_MISSING, REEL_STOP_MODULE_MISSING },
		{ REEL_CODE_ANONYMOUS, REEL_STOP_NO_UNWIND_INFO },
		{ REEL_CODE_NO_MAPPING, REEL_STOP_NO_MAPPING },
	};
	struct world w;

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		world_x86(&w);
		w.found = cases[i].found;
		w.state.pc = BIAS + 0x2020;
		set(&w, 7, STACK_WORD(100));
		unwind(&w);
		EXPECT(&w, cases[i].stop, 0x2020);
	}
}

static void test_bad_unwind_info(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	function(&w, 0x2000, 0x2100, BYTES(0x3f));
	w.state.pc = BIAS + 0x2020;
	set(&w, 7, STACK_WORD(100));
	unwind(&w);
	EXPECT(&w, REEL_STOP_BAD_UNWIND_INFO, 0x2020);
}

/* ---- signals -------------------------------------------------------------------------------- */

/* mov $0xf,%rax; syscall */
#define X86_SIGRETURN BYTES(0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05)

/* struct ucontext at word `at`: rbp is word 15 of it, rsp 20, rip 21. */
static void x86_ucontext(struct world *w, size_t at, uint64_t pc, uint64_t sp, uint64_t bp)
{
	w->stack[at + 15] = bp;
	w->stack[at + 20] = sp;
	w->stack[at + 21] = pc;
}

/*
 * musl's trampoline has no CFI, and lies right behind a function that has.
 * The interrupted pc is exact: it is its function's first instruction.  The
 * interrupted stack lies below: the handler runs on another one.
 */
static void test_signal_without_cfi(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	root_function(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);	       /* handler */
	function(&w, 0x3f00, 0x4000, BYTES(0x0e, 64)); /* before the trampoline */
	function(&w, 0x5000, 0x5100, BYTES(0x0e, 64)); /* before the interrupted one */
	function(&w, 0x5100, 0x5200, BYTES(0x0e, 8, 0x86, 2));
	function(&w, 0x6000, 0x6100, BYTES(0x0c, 6, 16));
	code_at(&w, 0x4000, X86_SIGRETURN);
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(200));
	w.stack[200] = BIAS + 0x4000;
	/* rbp was popped, and lies below where the region begins … */
	x86_ucontext(&w, 201, BIAS + 0x5100, STACK_WORD(0), STACK_WORD(50));
	w.stack[0] = BIAS + 0x6020;
	/* … and the caller needs it. */
	w.stack[51] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.steps[2], REEL_STEP_SIGNAL);
	assert_int_equal(w.frames.lookups[2], BIAS + 0x5100);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x4000, 0x5100, 0x6020, 0x1020);
}

/* glibc's has CFI with S: CFA = *(rsp + 160), rip at rsp + 168 (and the pattern cannot be read). */
static void test_signal_with_cfi(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	root_function(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	function(&w, 0x5100, 0x5200, NO_BYTES);
	build_fde(&w.eh, w.signal_cie, true, 0x3fff, 11,
		  BYTES(0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 0x01));
	w.unreadable = true;
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(200));
	w.stack[200] = BIAS + 0x4000;
	x86_ucontext(&w, 201, BIAS + 0x5100, STACK_WORD(300), 0);
	w.stack[300] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.steps[2], REEL_STEP_SIGNAL);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x4000, 0x5100, 0x1020);
}

/* A call through a null pointer, first as a sample, then as what a SIGSEGV handler's frame leads
 * to. */
static void test_undo_call(void **unused)
{
	struct world w;

	(void)unused;
	world_x86(&w);
	root_function(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	w.state.pc = 0;
	set(&w, 7, STACK_WORD(100));
	w.stack[100] = call_before(&w, 0x2020);
	w.stack[101] = BIAS + 0x1020;
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_UNDO_CALL);
	EXPECT(&w, REEL_STOP_ROOT, 0, 0x2020, 0x1020);

	world_x86(&w);
	root_function(&w);
	function(&w, 0x2000, 0x2100, NO_BYTES);
	code_at(&w, 0x4000, X86_SIGRETURN);
	w.state.pc = BIAS + 0x2010;
	set(&w, 7, STACK_WORD(200));
	w.stack[200] = BIAS + 0x4000;
	x86_ucontext(&w, 201, 0, STACK_WORD(300), 0);
	w.stack[300] = call_before(&w, 0x2020);
	w.stack[301] = BIAS + 0x1020;
	unwind(&w);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x4000, 0, 0x2020, 0x1020);
}

/* ---- frame pointers ----------------------------------------------------------------------------
 */

/* A good chain: two functions without CFI, then one with. */
static void frame_pointer_world(struct world *w)
{
	world_x86(w);
	root_function(w);
	function(w, 0x2000, 0x2100, NO_BYTES);
	w->state.pc = BIAS + 0x7010;
	set(w, 7, STACK_WORD(100));
	set(w, 6, STACK_WORD(110));
	w->stack[110] = STACK_WORD(120);
	w->stack[111] = call_before(w, 0x7120);
	w->stack[121] = call_before(w, 0x2020);
	w->stack[122] = BIAS + 0x1020;
}

static void test_frame_pointer(void **unused)
{
	struct world w;

	(void)unused;
	frame_pointer_world(&w);
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_FRAME_POINTER);
	assert_int_equal(w.frames.steps[2], REEL_STEP_FRAME_POINTER);
	assert_int_equal(w.frames.sps[2], STACK_WORD(122));
	assert_int_equal(w.frames.steps[3], REEL_STEP_CFI);
	EXPECT(&w, REEL_STOP_ROOT, 0x7010, 0x7120, 0x2020, 0x1020);

	frame_pointer_world(&w);
	w.input.no_frame_pointers = true;
	unwind(&w);
	EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x7010);
}

/* Whatever is wrong with what is found there, it is not a frame. */
static void test_frame_pointer_checks(void **unused)
{
	struct world w;

	(void)unused;
	for (int i = 0; i < 8; i++) {
		frame_pointer_world(&w);
		switch (i) {
		case 0:
			set(&w, 6, STACK_WORD(90));
			break; /* below rsp */
		case 1:
			set(&w, 6, STACK_WORD(110) + 4);
			break; /* not aligned */
		case 2:
			set(&w, 6, STACK_WORD(511));
			break; /* the record is not there */
		case 3:
			w.stack[110] = STACK_WORD(105);
			break; /* the next one lies below */
		case 4:
			w.stack[110] = STACK_WORD(110);
			break; /* is the same */
		case 5:
			w.stack[111] = 0x123450;
			break; /* no code */
		case 6:
			w.stack[111] = BIAS + 0x6000;
			break; /* not behind a call */
		case 7:
			w.stack[111] = 0;
			break; /* an end that is none */
		}
		unwind(&w);
		EXPECT(&w, REEL_STOP_NO_UNWIND_INFO, 0x7010);
	}
}

/* Registers that code without CFI may have changed are unknown behind a step by frame pointer. */
static void test_frame_pointer_forgets(void **unused)
{
	struct world w;

	(void)unused;
	frame_pointer_world(&w);
	function(&w, 0x7100, 0x7200, BYTES(0x0c, 3, 16)); /* CFA = rbx + 16 */
	set(&w, 3, STACK_WORD(130));
	unwind(&w);
	EXPECT(&w, REEL_STOP_REGISTER_UNKNOWN, 0x7010, 0x7120);
}

/* ---- aarch64 ------------------------------------------------------------------------------------
 */

#define UNDEFINED_LR BYTES(0x07, 30)
/* CFA = sp + 16, x29 at CFA - 16, x30 at CFA - 8 */
#define ARM_FRAME BYTES(0x0e, 16, 0x9d, 2, 0x9e, 1)

/* A leaf keeps its caller in x30, in a system call too; the caller has its own on the stack. */
static void test_link_register(void **unused)
{
	struct world w;

	(void)unused;
	for (int syscall = 0; syscall < 2; syscall++) {
		world_arm(&w);
		function(&w, 0x1000, 0x1100, UNDEFINED_LR);
		function(&w, 0x2000, 0x2100, NO_BYTES);
		function(&w, 0x3000, 0x3100, ARM_FRAME);
		w.input.after_syscall = syscall;
		w.state.pc = BIAS + 0x2010;
		set(&w, 31, STACK_WORD(100));
		set(&w, 30, BIAS + 0x3020);
		w.stack[101] = BIAS + 0x1020;
		unwind(&w);
		EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
	}
}

/* A caller cannot have its return address in x30: its call has overwritten it. */
static void test_link_register_of_caller(void **unused)
{
	struct world w;

	(void)unused;
	world_arm(&w);
	function(&w, 0x2000, 0x2100, ARM_FRAME);
	function(&w, 0x3000, 0x3100, BYTES(0x0e, 16));
	w.state.pc = BIAS + 0x2010;
	set(&w, 31, STACK_WORD(100));
	set(&w, 30, BIAS + 0x2010);
	w.stack[101] = BIAS + 0x3020;
	unwind(&w);
	EXPECT(&w, REEL_STOP_REGISTER_UNKNOWN, 0x2010, 0x3020);
}

/* mov x8, #0x8b; svc #0 */
#define ARM_SIGRETURN BYTES(0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4)

/*
 * The vDSO's trampoline has S and wrong rules (x30 for the pc).  A signal
 * interrupted a leaf: its x30 counts, and is another than its pc.
 */
static void test_arm_signal(void **unused)
{
	struct world w;

	(void)unused;
	for (int cfi = 0; cfi < 2; cfi++) {
		world_arm(&w);
		function(&w, 0x1000, 0x1100, UNDEFINED_LR);
		function(&w, 0x2000, 0x2100, ARM_FRAME); /* handler */
		function(&w, 0x3000, 0x3100, NO_BYTES);	 /* leaf */
		if (cfi)
			build_fde(&w.eh, w.signal_cie, true, 0x3ffc, 12,
				  BYTES(0x0c, 29, 0, 0x9d, 0, 0x11, 30, 0x7f));
		code_at(&w, 0x4000, ARM_SIGRETURN);
		w.state.pc = BIAS + 0x2010;
		set(&w, 31, STACK_WORD(100));
		w.stack[100] = STACK_WORD(400);
		w.stack[101] = BIAS + 0x4000;
		w.stack[401] = 0x123; /* what the vDSO's rules would take */
		/* rt_sigframe at word 102: x30 is word 69 of it, sp 70, pc 71. */
		w.stack[102 + 69] = BIAS + 0x1020;
		w.stack[102 + 70] = STACK_WORD(300);
		w.stack[102 + 71] = BIAS + 0x3000;
		unwind(&w);
		assert_int_equal(w.frames.steps[2], REEL_STEP_SIGNAL);
		assert_int_equal(w.frames.sps[2], STACK_WORD(300));
		EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x4000, 0x3000, 0x1020);
	}
}

/* Signed return addresses, with the capture's mask and without. find_code knows no signed ones. */
static void test_pointer_authentication(void **unused)
{
	struct world w;

	(void)unused;
	for (int known = 0; known < 2; known++) {
		world_arm(&w);
		function(&w, 0x1000, 0x1100, UNDEFINED_LR);
		function(&w, 0x2000, 0x2100, NO_BYTES);
		function(&w, 0x3000, 0x3100, ARM_FRAME);
		w.input.code_mask = known ? 0x007f000000000000 : 0;
		w.state.pc = BIAS + 0x2010;
		set(&w, 31, STACK_WORD(100));
		set(&w, 30, (BIAS + 0x3020) | 0x0035000000000000);
		w.stack[101] = (BIAS + 0x1020) | 0x0054000000000000;
		unwind(&w);
		EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
	}
}

/* A leaf without CFI: x30 leads to its caller, which x29 would pass over. */
static void test_leaf_without_cfi(void **unused)
{
	struct world w;

	(void)unused;
	world_arm(&w);
	function(&w, 0x1000, 0x1100, UNDEFINED_LR);
	function(&w, 0x3000, 0x3100, ARM_FRAME);
	w.state.pc = BIAS + 0x2010;
	set(&w, 31, STACK_WORD(100));
	set(&w, 30, call_before(&w, 0x3020));
	set(&w, 29, STACK_WORD(100));
	w.stack[101] = call_before(&w, 0x1020);
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_LINK_REGISTER);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/*
 * Not a leaf: x30 lies in the same code without CFI, the frame record leads on,
 * and sp is unknown then: the next frame, whose CFA hangs on sp, has to go by x29 too.
 */
static void test_arm_frame_pointer(void **unused)
{
	struct world w;

	(void)unused;
	world_arm(&w);
	function(&w, 0x1000, 0x1100, UNDEFINED_LR);
	function(&w, 0x3000, 0x3100, BYTES(0x0e, 48, 0x9d, 6, 0x9e, 5)); /* CFA = sp + 48 */
	w.state.pc = BIAS + 0x2010;
	set(&w, 31, STACK_WORD(100));
	set(&w, 30, call_before(&w, 0x2004));
	set(&w, 29, STACK_WORD(110));
	w.stack[110] = STACK_WORD(130);
	w.stack[111] = call_before(&w, 0x3020);
	w.stack[131] = call_before(&w, 0x1020);
	unwind(&w);
	assert_int_equal(w.frames.steps[1], REEL_STEP_FRAME_POINTER);
	assert_int_equal(w.frames.sps[1], 0);
	assert_int_equal(w.frames.steps[2], REEL_STEP_FRAME_POINTER);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x3020, 0x1020);
}

/* AAPCS64: a record of zeros is the last one. */
static void test_arm_last_record(void **unused)
{
	struct world w;

	(void)unused;
	world_arm(&w);
	w.state.pc = BIAS + 0x2010;
	set(&w, 31, STACK_WORD(100));
	set(&w, 29, STACK_WORD(110));
	unwind(&w);
	EXPECT(&w, REEL_STOP_ROOT, 0x2010);
}

static void test_arm_undo_call(void **unused)
{
	struct world w;

	(void)unused;
	world_arm(&w);
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

/* ---- riscv64, s390x
 * -------------------------------------------------------------------------------- */

/* s0 is the CFA itself, ra and the caller's s0 lie below it; the pc of a signal frame is 2-byte
 * aligned. */
static void test_riscv(void **unused)
{
	struct world w;

	(void)unused;
	world_init(&w, "riscv64", 1, 1, BYTES(0x0c, 2, 0));
	function(&w, 0x1000, 0x1100, BYTES(0x07, 1));
	function(&w, 0x2000, 0x2100, BYTES(0x0e, 16, 0x81, 1)); /* handler: ra at CFA - 8 */
	code_at(&w, 0x4000, BYTES(0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0));
	code_at(&w, 0x103c, BYTES(0xef, 0x00, 0x00, 0x00)); /* jal ra */
	w.state.pc = BIAS + 0x2010;
	set(&w, 2, STACK_WORD(100));
	w.stack[101] = BIAS + 0x4000;
	/* rt_sigframe at word 102: pc is word 38 of it, x2 40, x8 46. */
	w.stack[102 + 38] = BIAS + 0x6002; /* no CFI there */
	w.stack[102 + 40] = STACK_WORD(300);
	w.stack[102 + 46] = STACK_WORD(310);
	w.stack[309] = BIAS + 0x1040;
	w.stack[308] = STACK_WORD(320);
	unwind(&w);
	assert_int_equal(w.frames.sps[3], STACK_WORD(310));
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x4000, 0x6002, 0x1040);
}

/* Big-endian: CFA = r15 + 160; then code without CFI, by the back chain. */
static void test_s390x(void **unused)
{
	struct world w;

	(void)unused;
	world_init(&w, "s390x", 1, 14, BYTES(0x0c, 15, 0xa0, 0x01));
	function(&w, 0x1000, 0x1100, BYTES(0x07, 14));
	/* r14 at CFA - 48, r15 at CFA - 40, CFA = r15 + 320 */
	function(&w, 0x2000, 0x2100, BYTES(0x8e, 6, 0x8f, 5, 0x0e, 0xc0, 0x02));
	code_at(&w, 0x101a, BYTES(0xc0, 0xe5, 0, 0, 0, 1)); /* brasl %r14 */
	w.state.pc = BIAS + 0x2010;
	set(&w, 15, STACK_WORD(100));
	w.stack[134] = BIAS + 0x6002;
	w.stack[135] = STACK_WORD(120);
	w.stack[120] = STACK_WORD(150); /* back chain */
	w.stack[150 + 14] = BIAS + 0x1020;
	w.stack[150 + 11] = 7;
	unwind(&w);
	assert_int_equal(w.frames.sps[1], STACK_WORD(120));
	assert_int_equal(w.frames.sps[2], STACK_WORD(150));
	EXPECT(&w, REEL_STOP_ROOT, 0x2010, 0x6002, 0x1020);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_return_address_behind_function),
		cmocka_unit_test(test_after_syscall),
		cmocka_unit_test(test_popped_register),
		cmocka_unit_test(test_popped_register_below_red_zone),
		cmocka_unit_test(test_saved_in_red_zone),
		cmocka_unit_test(test_unreadable_register),
		cmocka_unit_test(test_cfa_in_rbx),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_no_fallback_behind_root),
		cmocka_unit_test(test_return_address_zero),
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_no_unwind_info),
		cmocka_unit_test(test_stack_end),
		cmocka_unit_test(test_no_progress),
		cmocka_unit_test(test_circle),
		cmocka_unit_test(test_backwards),
		cmocka_unit_test(test_depth_limit),
		cmocka_unit_test(test_missing_module),
		cmocka_unit_test(test_bad_unwind_info),
		cmocka_unit_test(test_signal_without_cfi),
		cmocka_unit_test(test_signal_with_cfi),
		cmocka_unit_test(test_undo_call),
		cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_frame_pointer_checks),
		cmocka_unit_test(test_frame_pointer_forgets),
		cmocka_unit_test(test_link_register),
		cmocka_unit_test(test_link_register_of_caller),
		cmocka_unit_test(test_arm_signal),
		cmocka_unit_test(test_pointer_authentication),
		cmocka_unit_test(test_leaf_without_cfi),
		cmocka_unit_test(test_arm_frame_pointer),
		cmocka_unit_test(test_arm_last_record),
		cmocka_unit_test(test_arm_undo_call),
		cmocka_unit_test(test_riscv),
		cmocka_unit_test(test_s390x),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
