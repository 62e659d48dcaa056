/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: stored once, looked up by several threads, and applied. */
#include <pthread.h>
#include <time.h>

#include "cfi/row.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/test.h"

struct setup {
	struct cfi_builder eh;
	struct reel_cfi *cfi;
	struct reel_rows *rows;
};

static void setup_init(struct setup *s, uint64_t entry, const uint8_t *program, size_t size)
{
	struct reel_cfi_input input = { .arch = reel_arch_by_name("x86_64") };
	size_t cie;

	memset(s, 0, sizeof(*s));
	s->eh.address = 0x20000;
	cie = build_cie(&s->eh, 1, "zR", PCREL_SDATA4, 1, 16, X86_INITIAL);
	build_fde(&s->eh, cie, true, 0x2000, 0x10000, program, size);
	input.eh_frame = (struct reel_loaded_bytes){ s->eh.bytes, s->eh.size, s->eh.address };
	assert_null(reel_cfi_create(&input, &s->cfi));
	assert_null(reel_rows_create(input.arch, s->cfi, entry, &s->rows));
}

static void end(struct setup *s)
{
	reel_rows_destroy(s->rows);
	reel_cfi_destroy(s->cfi);
}

/* advance 16, def_cfa_offset 16; … 24; … */
static size_t many_rows(uint8_t *program)
{
	size_t n = 0;

	for (uint8_t i = 0; i < 60; i++) {
		program[n++] = DW_CFA_advance_loc | 16;
		program[n++] = DW_CFA_def_cfa_offset;
		program[n++] = (uint8_t)(16 + i);
	}
	return n;
}

/* The first address with the same row. */
static uint64_t first_of(uint64_t address)
{
	uint64_t body = 0x2000 + REEL_ROW_BEGIN_SIZE;

	return address >= body && address < 0x2010 ? body : address & ~15ull;
}

TEST(test_interned)
{
	uint8_t program[256];
	size_t size = many_rows(program);
	struct reel_rows_counts counts;
	struct setup s;

	setup_init(&s, 0, program, size);
	for (uint64_t address = 0x2000; address < 0x2000 + 61 * 16; address++) {
		const struct reel_row *row = reel_rows_at(s.rows, address);

		assert_int_equal(reel_row_outcome(row), REEL_ROW_STEP);
		assert_ptr_equal(row, reel_rows_at(s.rows, first_of(address)));
		assert_int_equal(reel_row_begins_function(row),
				 address < 0x2000 + REEL_ROW_BEGIN_SIZE);
	}
	counts = reel_rows_counts(s.rows);
	assert_int_equal(counts.addresses, 61 * 16);
	assert_int_equal(counts.rows, 62);
	assert_int_equal(reel_row_outcome(reel_rows_at(s.rows, 0x1fff)), REEL_ROW_NONE);
	/* Addresses for which the table has no room are compiled each time. */
	assert_int_equal(reel_row_outcome(reel_rows_at(s.rows, 0xffffffff81000000)), REEL_ROW_NONE);
	assert_true(reel_row_ends_function(reel_rows_at(s.rows, 0x11fff)));
	assert_false(reel_row_ends_function(reel_rows_at(s.rows, 0x11ffe)));
	end(&s);
}

TEST(test_outcomes)
{
	struct reel_rows *rows;
	struct setup s;

	setup_init(&s, 0, BYTES(DW_CFA_undefined, 16));
	assert_int_equal(reel_row_outcome(reel_rows_at(s.rows, 0x2000)), REEL_ROW_ROOT);
	end(&s);
	setup_init(&s, 0, BYTES(DW_CFA_high_user));
	assert_int_equal(reel_row_outcome(reel_rows_at(s.rows, 0x2000)), REEL_ROW_BAD);
	end(&s);
	/* x86-64 has no link register: "same value" is not a return address. */
	setup_init(&s, 0, BYTES(DW_CFA_same_value, 16));
	assert_int_equal(reel_row_outcome(reel_rows_at(s.rows, 0x2000)), REEL_ROW_BAD);
	end(&s);
	/* A CFA in a vector register, and one 2^40 away. */
	setup_init(&s, 0, BYTES(DW_CFA_def_cfa, 17, 8));
	assert_int_equal(reel_row_outcome(reel_rows_at(s.rows, 0x2000)), REEL_ROW_BAD);
	end(&s);
	setup_init(&s, 0, BYTES(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40));
	assert_int_equal(reel_row_outcome(reel_rows_at(s.rows, 0x2000)), REEL_ROW_BAD);
	end(&s);
	/* No CFI: the entry is stored nevertheless. */
	assert_null(reel_rows_create(reel_arch_by_name("x86_64"), NULL, 0x5000, &rows));
	assert_int_equal(reel_row_outcome(reel_rows_at(rows, 0x5000)), REEL_ROW_ROOT);
	assert_int_equal(reel_row_outcome(reel_rows_at(rows, 0x503f)), REEL_ROW_ROOT);
	assert_int_equal(reel_row_outcome(reel_rows_at(rows, 0x5040)), REEL_ROW_NONE);
	assert_int_equal(reel_row_outcome(reel_rows_at(rows, 0x4fff)), REEL_ROW_NONE);
	reel_rows_destroy(rows);
}

TEST(test_switches)
{
	static const struct reel_cfi_range ranges[] = { { 0x2010, 0x2020 }, { 0x2030, 0x2031 } };
	struct setup s;

	setup_init(&s, 0, NULL, 0);
	assert_null(reel_cfi_set_switches(s.cfi, ranges, 2));
	for (uint64_t address = 0x2000; address < 0x2040; address++) {
		bool switches = (address >= 0x2010 && address < 0x2020) || address == 0x2030;

		assert_int_equal(reel_row_outcome(reel_rows_at(s.rows, address)),
				 switches ? REEL_ROW_SWITCHES : REEL_ROW_STEP);
	}
	end(&s);
}

static void *ask(void *argument)
{
	struct setup *s = argument;
	uintptr_t wrong = 0;

	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t address = 0x2000 + i * 7 % 0x3c0;

		wrong += reel_rows_at(s->rows, address) != reel_rows_at(s->rows, first_of(address));
	}
	return (void *)wrong;
}

TEST(test_threads)
{
	uint8_t program[256];
	size_t size = many_rows(program);
	pthread_t threads[4];
	struct setup s;
	void *wrong;

	setup_init(&s, 0, program, size);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &s), 0);
	for (size_t i = 0; i < 4; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	assert_int_equal(reel_rows_counts(s.rows).addresses, 0x3c0);
	end(&s);
}

/* Every kind of rule, in one step. */
TEST(test_apply)
{
	static const uint8_t program[] = PROGRAM(
		DW_CFA_def_cfa, 7, 32,					  /* CFA = rsp + 32 */
		DW_CFA_offset | 3, 2,					  /* rbx at CFA - 16 */
		DW_CFA_val_offset_sf, 12, 0x7f,				  /* r12 is CFA + 8 */
		DW_CFA_register, 13, 0,					  /* r13 is in rax */
		DW_CFA_expression, 14, 2, DW_OP_plus_uconst, 8,		  /* r14 at CFA + 8 */
		DW_CFA_val_expression, 15, 3, DW_OP_breg0, 0, DW_OP_plus, /* r15 is CFA + rax */
		DW_CFA_undefined, 6 /* rbp is lost */);
	const struct reel_arch *arch = reel_arch_by_name("x86_64");
	const uint8_t bytes[] = { 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
				  3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0,
				  5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0 };
	const struct reel_memory_region region = { 0x1000, sizeof(bytes), bytes, NULL, 0 };
	const struct reel_memory_view memory = { .regions = &region, .n_regions = 1 };
	struct reel_unwind_state state = { .arch = arch, .memory = &memory, .known = 0xff };
	enum reel_stop stop;
	struct setup s;

	setup_init(&s, 0, program, sizeof(program));
	state.registers[7] = 0x1000;
	state.registers[0] = 0x77;
	assert_int_equal(reel_row_apply(reel_rows_at(s.rows, 0x2000), &state, false, 0, &stop),
			 REEL_NEXT_CALLER);
	assert_int_equal(state.pc, 4);
	assert_int_equal(state.registers[16], 4);
	assert_int_equal(state.registers[3], 3);
	assert_int_equal(state.registers[7], 0x1020);
	assert_int_equal(state.registers[12], 0x1028);
	assert_int_equal(state.registers[13], 0x77);
	assert_int_equal(state.registers[14], 6);
	assert_int_equal(state.registers[15], 0x1020 + 0x77);
	/* rax … rdi and rbp do not hold the caller's values. */
	assert_int_equal(state.known, 1 << 3 | 1 << 7 | 0x1f << 12);
	end(&s);
}

/* A recursion with a frame of 48 bytes and 6 saved registers; its time is logged. */
TEST(test_speed)
{
	static const uint8_t program[] =
		PROGRAM(DW_CFA_def_cfa_offset, 48, DW_CFA_offset | 3, 7, DW_CFA_offset | 6, 6,
			DW_CFA_offset | 12, 5, DW_CFA_offset | 13, 4, DW_CFA_offset | 14, 3,
			DW_CFA_offset | 15, 2);
	const struct reel_arch *arch = reel_arch_by_name("x86_64");
	static uint8_t bytes[48 * 1024];
	const struct reel_memory_region region = { 0x7f0000, sizeof(bytes), bytes, NULL, 0 };
	const struct reel_memory_view memory = { .regions = &region, .n_regions = 1 };
	struct timespec from, to;
	uint64_t frames = 0;
	struct setup s;
	double seconds;

	setup_init(&s, 0, program, sizeof(program));
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 300; i++) {
		struct reel_unwind_state state = { .arch = arch,
						   .memory = &memory,
						   .known = 0x1ffff };
		enum reel_stop stop;

		state.registers[7] = 0x7f0000;
		while (reel_row_apply(reel_rows_at(s.rows, 0x2000 + frames % 64), &state, false, 0,
				      &stop) == REEL_NEXT_CALLER)
			frames++;
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	assert_int_equal(frames, 300 * 1024);
	print_message("%.1f million steps/s\n", (double)frames / seconds / 1e6);
	end(&s);
}

RUN_TESTS()
