/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "cfi/expression.h"
#include "tests/support/test.h"

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* A 32-bit CPU, to see words wrap. */
static const struct reel_arch_register small_registers[] = { { "r0", 0, 0, 4 } };
static const struct reel_arch small = {
	.word_size = 4, .registers = small_registers, .n_registers = 1, .pc = 99
};

static const uint8_t memory_bytes[] = { 0x01, 0x02, 0x03, 0x84, 0x05, 0x06, 0x07, 0x88 };

static bool read_other(void *context, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	if (address != 0x9000)
		return false;
	memset(bytes_ret, 0x11, size);
	return true;
}

struct setup {
	struct reel_memory_region region;
	struct reel_memory_view memory;
	struct reel_unwind_state state;
};

static void setup_init(struct setup *s, const struct reel_arch *arch, bool big_endian)
{
	memset(s, 0, sizeof(*s));
	s->region =
		(struct reel_memory_region){ 0x1000, sizeof(memory_bytes), memory_bytes, NULL, 0 };
	s->memory = (struct reel_memory_view){ .regions = &s->region,
					       .n_regions = 1,
					       .big_endian = big_endian,
					       .read_other = read_other };
	s->state = (struct reel_unwind_state){ .arch = arch, .memory = &s->memory, .pc = 0x4000 };
	s->state.registers[0] = 0x100;
	s->state.known = 1;
}

static uint64_t value(const struct reel_arch *arch, bool big_endian, const uint8_t *bytes,
		      size_t size)
{
	const uint64_t initial = 7;
	struct setup s;
	uint64_t ret = 0;

	setup_init(&s, arch, big_endian);
	assert_int_equal(reel_expression_evaluate(&s.state, bytes, size, &initial, 0x10000, &ret),
			 REEL_EXPRESSION_OK);
	return ret;
}

static uint64_t wide(const uint8_t *bytes, size_t size)
{
	return value(reel_arch_by_name("x86_64"), false, bytes, size);
}

static uint64_t narrow(const uint8_t *bytes, size_t size)
{
	return value(&small, false, bytes, size);
}

static enum reel_expression_result result(const uint8_t *bytes, size_t size)
{
	struct setup s;
	uint64_t ret;

	setup_init(&s, reel_arch_by_name("x86_64"), false);
	return reel_expression_evaluate(&s.state, bytes, size, NULL, 0, &ret);
}

TEST(test_constants)
{
	assert_int_equal(wide(BYTES(DW_OP_lit31)), 31);
	assert_int_equal(wide(BYTES(DW_OP_const1u, 0xff)), 0xff);
	assert_int_equal(wide(BYTES(DW_OP_const1s, 0xff)), UINT64_MAX);
	assert_int_equal(wide(BYTES(DW_OP_const2u, 0x34, 0x12)), 0x1234);
	assert_int_equal(wide(BYTES(DW_OP_const2s, 0x00, 0x80)), -0x8000);
	assert_int_equal(wide(BYTES(DW_OP_const4u, 1, 2, 3, 0x84)), 0x84030201);
	assert_int_equal(wide(BYTES(DW_OP_const4s, 1, 2, 3, 0x84)), 0xffffffff84030201);
	assert_int_equal(wide(BYTES(DW_OP_const8u, 1, 2, 3, 4, 5, 6, 7, 8)), 0x0807060504030201);
	assert_int_equal(wide(BYTES(DW_OP_constu, 0xe5, 0x8e, 0x26)), 624485);
	assert_int_equal(wide(BYTES(DW_OP_consts, 0xc0, 0xbb, 0x78)), -123456);
	/* addr + bias */
	assert_int_equal(wide(BYTES(DW_OP_addr, 0, 0x20, 0, 0, 0, 0, 0, 0)), 0x12000);
	assert_int_equal(value(reel_arch_by_name("s390x"), true, BYTES(DW_OP_const2u, 0x12, 0x34)),
			 0x1234);
}

TEST(test_registers)
{
	assert_int_equal(wide(BYTES(DW_OP_breg0, 0x7f)), 0xff);
	assert_int_equal(wide(BYTES(DW_OP_bregx, 0, 0x01)), 0x101);
	assert_int_equal(wide(BYTES(DW_OP_breg16, 0x01)), 0x4001); /* the pc */
	assert_int_equal(result(BYTES(DW_OP_breg1, 0)), REEL_EXPRESSION_REGISTER_UNKNOWN);
	assert_int_equal(result(BYTES(DW_OP_bregx, 0xff, 0x7f, 0)),
			 REEL_EXPRESSION_REGISTER_UNKNOWN);
}

TEST(test_stack)
{
	assert_int_equal(wide(BYTES(DW_OP_nop)), 7); /* the initial value */
	assert_int_equal(wide(BYTES(DW_OP_dup, DW_OP_plus)), 14);
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_drop)), 7);
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_over)), 7);
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_lit2, DW_OP_pick, 2)), 7);
	/* 1 - 7 */
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_swap, DW_OP_minus)), -6 + 0ull);
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_lit2, DW_OP_rot)), 1); /* 7 1 2: 2 7 1 */
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_lit2, DW_OP_rot, DW_OP_drop)), 7);
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_lit2, DW_OP_rot, DW_OP_drop, DW_OP_drop)), 2);
}

TEST(test_arithmetic)
{
	assert_int_equal(wide(BYTES(DW_OP_const1s, 0xfb, DW_OP_abs)), 5); /* abs(-5) */
	assert_int_equal(wide(BYTES(DW_OP_lit3, DW_OP_and)), 3);
	/* -7 / 2 */
	assert_int_equal(wide(BYTES(DW_OP_const1s, 0xf9, DW_OP_lit2, DW_OP_div)), -3 + 0ull);
	assert_int_equal(wide(BYTES(DW_OP_lit4, DW_OP_mod)), 3);
	assert_int_equal(wide(BYTES(DW_OP_lit3, DW_OP_mul)), 21);
	assert_int_equal(wide(BYTES(DW_OP_neg)), -7 + 0ull);
	assert_int_equal(wide(BYTES(DW_OP_not)), ~7ull);
	assert_int_equal(wide(BYTES(DW_OP_lit8, DW_OP_or)), 15);
	assert_int_equal(wide(BYTES(DW_OP_plus_uconst, 0x80, 0x01)), 135);
	assert_int_equal(wide(BYTES(DW_OP_lit2, DW_OP_shl)), 28);
	assert_int_equal(wide(BYTES(DW_OP_const1u, 64, DW_OP_shl)), 0);
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_shr)), 3);
	assert_int_equal(wide(BYTES(DW_OP_const1s, 0x80, DW_OP_lit2, DW_OP_shra)), -32 + 0ull);
	assert_int_equal(wide(BYTES(DW_OP_const1s, 0x80, DW_OP_const1u, 200, DW_OP_shra)),
			 UINT64_MAX);
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_xor)), 6);
	/* INT64_MIN / -1 wraps. */
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_const1u, 63, DW_OP_shl, DW_OP_const1s, 0xff,
				    DW_OP_div)),
			 1ull << 63);
	assert_int_equal(result(BYTES(DW_OP_lit1, DW_OP_lit0, DW_OP_div)), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(DW_OP_lit1, DW_OP_lit0, DW_OP_mod)), REEL_EXPRESSION_BAD);
}

TEST(test_comparisons)
{
	assert_int_equal(wide(BYTES(DW_OP_lit7, DW_OP_eq)), 1);
	assert_int_equal(wide(BYTES(DW_OP_lit7, DW_OP_ne)), 0);
	assert_int_equal(wide(BYTES(DW_OP_lit7, DW_OP_ge)), 1);
	assert_int_equal(wide(BYTES(DW_OP_const1s, 0xff, DW_OP_gt)), 1); /* signed */
	assert_int_equal(wide(BYTES(DW_OP_lit7, DW_OP_le)), 1);
	assert_int_equal(wide(BYTES(DW_OP_lit8, DW_OP_lt)), 1);
}

TEST(test_branches)
{
	/* to the end */
	assert_int_equal(wide(BYTES(DW_OP_skip, 1, 0, DW_OP_lit5)), 7);
	/* not taken */
	assert_int_equal(wide(BYTES(DW_OP_lit0, DW_OP_bra, 1, 0, DW_OP_lit5)), 5);
	/* taken */
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_bra, 1, 0, DW_OP_lit5)), 7);
	/* 7 6 5 … 0: backwards. */
	assert_int_equal(wide(BYTES(DW_OP_lit1, DW_OP_minus, DW_OP_dup, DW_OP_bra, 0xfa, 0xff)), 0);
	assert_int_equal(result(BYTES(DW_OP_lit1, DW_OP_skip, 1, 0)), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(DW_OP_skip, 0xf0, 0xff)), REEL_EXPRESSION_BAD);
}

TEST(test_memory)
{
	const struct reel_memory_range missing = { 4, 2 };
	struct setup s;
	uint64_t ret;

	assert_int_equal(wide(BYTES(DW_OP_const2u, 0x00, 0x10, DW_OP_deref)), 0x8807060584030201);
	assert_int_equal(wide(BYTES(DW_OP_const2u, 0x02, 0x10, DW_OP_deref_size, 2)), 0x8403);
	/* A module's read-only data. */
	assert_int_equal(value(reel_arch_by_name("s390x"), true,
			       BYTES(DW_OP_const2u, 0x10, 0x02, DW_OP_deref_size, 2)),
			 0x0384);
	assert_int_equal(wide(BYTES(DW_OP_const2u, 0x00, 0x90, DW_OP_deref_size, 4)), 0x11111111);
	assert_int_equal(result(BYTES(DW_OP_const2u, 0x04, 0x10, DW_OP_deref)),
			 REEL_EXPRESSION_MEMORY_MISSING);
	assert_int_equal(result(BYTES(DW_OP_const2u, 0x00, 0x10, DW_OP_deref_size, 9)),
			 REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(DW_OP_const2u, 0x00, 0x10, DW_OP_deref_size, 0)),
			 REEL_EXPRESSION_BAD);

	setup_init(&s, reel_arch_by_name("x86_64"), false);
	s.region.missing = &missing;
	s.region.n_missing = 1;
	assert_false(reel_memory_read(&s.memory, 0x1000, 8, &ret));
	assert_false(reel_memory_read(&s.memory, 0x1003, 2, &ret));
	assert_true(reel_memory_read(&s.memory, 0x1000, 4, &ret));
	assert_true(reel_memory_read(&s.memory, 0x1006, 2, &ret));
	assert_false(reel_memory_read(&s.memory, 0x0fff, 2, &ret));
	assert_false(reel_memory_read(&s.memory, 0x1007, 2, &ret));
	assert_false(reel_memory_read(&s.memory, 0x9000, 2, &ret));
}

/* Words are skipped only if reading them one by one fails or gives 0 or 1. */
TEST(test_empty_words)
{
	static uint8_t bytes[2][40] = { { 0 }, { [8] = 1, [23] = 1, [32] = 2 } };
	const struct reel_memory_region regions[] = {
		{ .address = 0x2000, .bytes = bytes[0], .size = 20 },
		{ .address = 0x1000, .bytes = bytes[1], .size = sizeof(bytes[1]) },
	};
	struct reel_memory_view memory = { .regions = regions, .n_regions = 2 };
	uint64_t word;

	for (unsigned big = 0; big < 2; big++) {
		memory.big_endian = big;
		for (uint64_t at = 0xf00; at < 0x2100; at += 4) {
			size_t n = reel_memory_count_empty(&memory, at, 8, 64);

			assert_in_range(n, 0, 64);
			for (size_t i = 0; i < n; i++)
				assert_false(reel_memory_read(&memory, at + 8 * i, 8, &word) &&
					     word > 1);
		}
	}
	memory.big_endian = false;
	assert_int_equal(reel_memory_count_empty(&memory, 0x0f80, 8, 64), 16);
	assert_int_equal(reel_memory_count_empty(&memory, 0x1000, 8, 64), 2);
	assert_int_equal(reel_memory_count_empty(&memory, 0x1010, 8, 64), 0);
	assert_int_equal(reel_memory_count_empty(&memory, 0x1018, 8, 64), 1);
	assert_int_equal(reel_memory_count_empty(&memory, 0x2000, 8, 64), 2);
	assert_int_equal(reel_memory_count_empty(&memory, 0x2010, 8, 64), 64);
	memory.big_endian = true;
	assert_int_equal(reel_memory_count_empty(&memory, 0x1000, 8, 64), 1);
	assert_int_equal(reel_memory_count_empty(&memory, 0x1010, 8, 64), 2);
}

/*
 * A scrubbed sample: the words at 0x1000 are an address, 1, 0, 1 with all bytes missing, and 1 with
 * one byte missing; then half a word, about which nothing is known.
 */
TEST(test_scrubbed)
{
	static const struct reel_memory_range missing[] = { { 24, 8 }, { 39, 1 } };
	static const uint8_t bytes[44] = { [1] = 0x10, [8] = 1, [32] = 1 };
	static const struct {
		uint8_t code[8];
		enum reel_expression_result result;
	} cases[] = {
		{ { DW_OP_const2u, 0x00, 0x10, DW_OP_deref }, REEL_EXPRESSION_OK },
		{ { DW_OP_const2u, 0x08, 0x10, DW_OP_deref }, REEL_EXPRESSION_SCRUBBED },
		{ { DW_OP_const2u, 0x10, 0x10, DW_OP_deref }, REEL_EXPRESSION_OK },
		{ { DW_OP_const2u, 0x18, 0x10, DW_OP_deref }, REEL_EXPRESSION_MEMORY_MISSING },
		/* Parts of words, and reads across two words. */
		{ { DW_OP_const2u, 0x02, 0x10, DW_OP_deref_size, 2 }, REEL_EXPRESSION_OK },
		{ { DW_OP_const2u, 0x0c, 0x10, DW_OP_deref_size, 4 }, REEL_EXPRESSION_SCRUBBED },
		{ { DW_OP_const2u, 0x0f, 0x10, DW_OP_deref_size, 1 }, REEL_EXPRESSION_SCRUBBED },
		{ { DW_OP_const2u, 0x04, 0x10, DW_OP_deref }, REEL_EXPRESSION_SCRUBBED },
		{ { DW_OP_const2u, 0x0d, 0x10, DW_OP_deref }, REEL_EXPRESSION_SCRUBBED },
		{ { DW_OP_const2u, 0x24, 0x10, DW_OP_deref_size, 2 }, REEL_EXPRESSION_SCRUBBED },
		{ { DW_OP_const2u, 0x28, 0x10, DW_OP_deref_size, 4 }, REEL_EXPRESSION_SCRUBBED },
		/* A module's data is not scrubbed. */
		{ { DW_OP_const2u, 0x00, 0x90, DW_OP_deref }, REEL_EXPRESSION_OK },
		/* rdx, rbp, rsp, rip; rcx is 0. */
		{ { DW_OP_breg1, 8 }, REEL_EXPRESSION_SCRUBBED },
		{ { DW_OP_bregx, 6, 0 }, REEL_EXPRESSION_SCRUBBED },
		{ { DW_OP_breg7, 8 }, REEL_EXPRESSION_OK },
		{ { DW_OP_breg16, 0 }, REEL_EXPRESSION_OK },
		{ { DW_OP_breg2, 0 }, REEL_EXPRESSION_OK },
	};
	struct setup s;
	uint64_t ret;

	setup_init(&s, reel_arch_by_name("x86_64"), false);
	s.region = (struct reel_memory_region){ 0x1000, sizeof(bytes), bytes, missing, 2 };
	s.state.known = UINT16_MAX;
	s.state.pc = 1;
	s.state.registers[1] = s.state.registers[6] = s.state.registers[7] = 1;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		const uint8_t *code = cases[i / 2].code;
		enum reel_expression_result expected = cases[i / 2].result;
		size_t size = code[0] == DW_OP_bregx	 ? 3
			      : code[0] != DW_OP_const2u ? 2
			      : code[3] == DW_OP_deref	 ? 4
							 : 5;

		s.state.scrubbed = i % 2;
		if (!s.state.scrubbed && expected == REEL_EXPRESSION_SCRUBBED)
			expected = REEL_EXPRESSION_OK;
		assert_int_equal(reel_expression_evaluate(&s.state, code, size, NULL, 0, &ret),
				 expected);
	}
}

TEST(test_words)
{
	assert_int_equal(narrow(BYTES(DW_OP_neg)), 0xfffffff9); /* 32 bits */
	/* -1 + 1 */
	assert_int_equal(narrow(BYTES(DW_OP_const1s, 0xff, DW_OP_lit1, DW_OP_plus)), 0);
	assert_int_equal(narrow(BYTES(DW_OP_lit1, DW_OP_const1u, 32, DW_OP_shl)), 0);
	/* -8 shra 1 */
	assert_int_equal(narrow(BYTES(DW_OP_const1s, 0xf8, DW_OP_lit1, DW_OP_shra)), 0xfffffffc);
	/* 4 bytes */
	assert_int_equal(narrow(BYTES(DW_OP_const2u, 0x00, 0x10, DW_OP_deref)), 0x84030201);
	assert_int_equal(narrow(BYTES(DW_OP_addr, 1, 0, 0, 0)), 0x10001);  /* 4 bytes */
	assert_int_equal(narrow(BYTES(DW_OP_const1s, 0xff, DW_OP_lt)), 0); /* 7 lt -1 */
}

TEST(test_bounds)
{
	uint8_t code[200];

	assert_int_equal(result(NULL, 0), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(DW_OP_plus)), REEL_EXPRESSION_BAD); /* empty stack */
	/* too deep */
	assert_int_equal(result(BYTES(DW_OP_lit1, DW_OP_pick, 1)), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(DW_OP_lit1, DW_OP_swap)), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(DW_OP_lit1, DW_OP_lit2, DW_OP_rot)), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(DW_OP_const8u, 1, 2)), REEL_EXPRESSION_BAD); /* truncated */
	assert_int_equal(result(BYTES(DW_OP_constu, 0x80)), REEL_EXPRESSION_BAD);
	memset(code, DW_OP_lit1, sizeof(code));
	assert_int_equal(result(code, 64), REEL_EXPRESSION_OK);
	assert_int_equal(result(code, 65), REEL_EXPRESSION_BAD);
	/* endless loop */
	assert_int_equal(result(BYTES(DW_OP_skip, 0xfd, 0xff)), REEL_EXPRESSION_BAD);
}

/* DWARF 5, 6.4.2: operations that CFI must not use. */
TEST(test_forbidden)
{
	static const uint8_t ops[] = { 0x50, 0x90, 0x91, 0x93, 0x97, 0x98, 0x99, 0x9a, 0x9b,
				       0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa3, 0xa5, 0xe0, 0xff };

	for (size_t i = 0; i < sizeof(ops); i++)
		assert_int_equal(result(BYTES(DW_OP_lit1, ops[i], 0, 0, 0, 0, 0, 0, 0, 0)),
				 REEL_EXPRESSION_BAD);
}

TEST(test_mutations)
{
	uint64_t seed = 1, initial = 0x1000, ret;
	struct setup s;
	uint8_t code[24];

	setup_init(&s, reel_arch_by_name("x86_64"), false);
	for (int i = 0; i < 400000; i++) {
		size_t size = 1 + seed % sizeof(code);

		for (size_t j = 0; j < size; j++) {
			seed = seed * 6364136223846793005 + 1442695040888963407;
			code[j] = (uint8_t)(seed >> 56);
		}
		(void)!reel_expression_evaluate(&s.state, code, size, &initial, seed, &ret);
	}
}

RUN_TESTS()
