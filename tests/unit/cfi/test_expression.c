/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cfi/expression.h"

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

static void test_constants(void **unused)
{
	assert_int_equal(wide(BYTES(0x4f)), 31);			/* lit31 */
	assert_int_equal(wide(BYTES(0x08, 0xff)), 0xff);		/* const1u */
	assert_int_equal(wide(BYTES(0x09, 0xff)), UINT64_MAX);		/* const1s */
	assert_int_equal(wide(BYTES(0x0a, 0x34, 0x12)), 0x1234);	/* const2u */
	assert_int_equal(wide(BYTES(0x0b, 0x00, 0x80)), -0x8000);	/* const2s */
	assert_int_equal(wide(BYTES(0x0c, 1, 2, 3, 0x84)), 0x84030201); /* const4u */
	assert_int_equal(wide(BYTES(0x0d, 1, 2, 3, 0x84)), 0xffffffff84030201);
	assert_int_equal(wide(BYTES(0x0e, 1, 2, 3, 4, 5, 6, 7, 8)), 0x0807060504030201);
	assert_int_equal(wide(BYTES(0x10, 0xe5, 0x8e, 0x26)), 624485);		 /* constu */
	assert_int_equal(wide(BYTES(0x11, 0xc0, 0xbb, 0x78)), -123456);		 /* consts */
	assert_int_equal(wide(BYTES(0x03, 0, 0x20, 0, 0, 0, 0, 0, 0)), 0x12000); /* addr + bias */
	assert_int_equal(value(reel_arch_by_name("s390x"), true, BYTES(0x0a, 0x12, 0x34)), 0x1234);
}

static void test_registers(void **unused)
{
	assert_int_equal(wide(BYTES(0x70, 0x7f)), 0xff);     /* breg0 -1 */
	assert_int_equal(wide(BYTES(0x92, 0, 0x01)), 0x101); /* bregx 0, 1 */
	assert_int_equal(wide(BYTES(0x80, 0x01)), 0x4001);   /* breg16: the pc */
	assert_int_equal(result(BYTES(0x71, 0)), REEL_EXPRESSION_REGISTER_UNKNOWN);
	assert_int_equal(result(BYTES(0x92, 0xff, 0x7f, 0)), REEL_EXPRESSION_REGISTER_UNKNOWN);
}

static void test_stack(void **unused)
{
	assert_int_equal(wide(BYTES(0x96)), 7);			    /* nop: the initial value */
	assert_int_equal(wide(BYTES(0x12, 0x22)), 14);		    /* dup, plus */
	assert_int_equal(wide(BYTES(0x31, 0x13)), 7);		    /* lit1, drop */
	assert_int_equal(wide(BYTES(0x31, 0x14)), 7);		    /* over */
	assert_int_equal(wide(BYTES(0x31, 0x32, 0x15, 2)), 7);	    /* pick 2 */
	assert_int_equal(wide(BYTES(0x31, 0x16, 0x1c)), -6 + 0ull); /* swap, minus: 1 - 7 */
	assert_int_equal(wide(BYTES(0x31, 0x32, 0x17)), 1);	    /* 7 1 2 rot: 2 7 1 */
	assert_int_equal(wide(BYTES(0x31, 0x32, 0x17, 0x13)), 7);
	assert_int_equal(wide(BYTES(0x31, 0x32, 0x17, 0x13, 0x13)), 2);
}

static void test_arithmetic(void **unused)
{
	assert_int_equal(wide(BYTES(0x09, 0xfb, 0x19)), 5);		   /* abs(-5) */
	assert_int_equal(wide(BYTES(0x33, 0x1a)), 3);			   /* 7 & 3 */
	assert_int_equal(wide(BYTES(0x09, 0xf9, 0x32, 0x1b)), -3 + 0ull);  /* -7 / 2 */
	assert_int_equal(wide(BYTES(0x34, 0x1d)), 3);			   /* 7 % 4 */
	assert_int_equal(wide(BYTES(0x33, 0x1e)), 21);			   /* * */
	assert_int_equal(wide(BYTES(0x1f)), -7 + 0ull);			   /* neg */
	assert_int_equal(wide(BYTES(0x20)), ~7ull);			   /* not */
	assert_int_equal(wide(BYTES(0x38, 0x21)), 15);			   /* or */
	assert_int_equal(wide(BYTES(0x23, 0x80, 0x01)), 135);		   /* plus_uconst 128 */
	assert_int_equal(wide(BYTES(0x32, 0x24)), 28);			   /* shl */
	assert_int_equal(wide(BYTES(0x08, 64, 0x24)), 0);		   /* shl 64 */
	assert_int_equal(wide(BYTES(0x31, 0x25)), 3);			   /* shr */
	assert_int_equal(wide(BYTES(0x09, 0x80, 0x32, 0x26)), -32 + 0ull); /* shra */
	assert_int_equal(wide(BYTES(0x09, 0x80, 0x08, 200, 0x26)), UINT64_MAX);
	assert_int_equal(wide(BYTES(0x31, 0x27)), 6); /* xor */
	/* INT64_MIN / -1 wraps. */
	assert_int_equal(wide(BYTES(0x31, 0x08, 63, 0x24, 0x09, 0xff, 0x1b)), 1ull << 63);
	assert_int_equal(result(BYTES(0x31, 0x30, 0x1b)), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(0x31, 0x30, 0x1d)), REEL_EXPRESSION_BAD);
}

static void test_comparisons(void **unused)
{
	assert_int_equal(wide(BYTES(0x37, 0x29)), 1);	    /* 7 eq 7 */
	assert_int_equal(wide(BYTES(0x37, 0x2e)), 0);	    /* ne */
	assert_int_equal(wide(BYTES(0x37, 0x2a)), 1);	    /* ge */
	assert_int_equal(wide(BYTES(0x09, 0xff, 0x2b)), 1); /* 7 gt -1: signed */
	assert_int_equal(wide(BYTES(0x37, 0x2c)), 1);	    /* le */
	assert_int_equal(wide(BYTES(0x38, 0x2d)), 1);	    /* 7 lt 8 */
}

static void test_branches(void **unused)
{
	assert_int_equal(wide(BYTES(0x2f, 1, 0, 0x35)), 7);	  /* skip over lit5, to the end */
	assert_int_equal(wide(BYTES(0x30, 0x28, 1, 0, 0x35)), 5); /* lit0 bra: not taken */
	assert_int_equal(wide(BYTES(0x31, 0x28, 1, 0, 0x35)), 7); /* lit1 bra: taken */
	/* 7 6 5 … 0: backwards. lit1 minus dup bra -6 */
	assert_int_equal(wide(BYTES(0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff)), 0);
	assert_int_equal(result(BYTES(0x31, 0x2f, 1, 0)), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(0x2f, 0xf0, 0xff)), REEL_EXPRESSION_BAD);
}

static void test_memory(void **unused)
{
	const struct reel_memory_range missing = { 4, 2 };
	struct setup s;
	uint64_t ret;

	assert_int_equal(wide(BYTES(0x0a, 0x00, 0x10, 0x06)), 0x8807060584030201); /* deref */
	assert_int_equal(wide(BYTES(0x0a, 0x02, 0x10, 0x94, 2)), 0x8403); /* deref_size 2 */
	assert_int_equal(value(reel_arch_by_name("s390x"), true, BYTES(0x0a, 0x10, 0x02, 0x94, 2)),
			 0x0384);
	/* A module's read-only data. */
	assert_int_equal(wide(BYTES(0x0a, 0x00, 0x90, 0x94, 4)), 0x11111111);
	assert_int_equal(result(BYTES(0x0a, 0x04, 0x10, 0x06)), REEL_EXPRESSION_MEMORY_MISSING);
	assert_int_equal(result(BYTES(0x0a, 0x00, 0x10, 0x94, 9)), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(0x0a, 0x00, 0x10, 0x94, 0)), REEL_EXPRESSION_BAD);

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

/*
 * A scrubbed sample: the words at 0x1000 are an address, 1, 0, 1 with all bytes missing, and 1 with
 * one byte missing; then half a word, about which nothing is known.
 */
static void test_scrubbed(void **unused)
{
	static const struct reel_memory_range missing[] = { { 24, 8 }, { 39, 1 } };
	static const uint8_t bytes[44] = { [1] = 0x10, [8] = 1, [32] = 1 };
	static const struct {
		uint8_t code[8];
		enum reel_expression_result result;
	} cases[] = {
		{ { 0x0a, 0x00, 0x10, 0x06 }, REEL_EXPRESSION_OK }, /* deref */
		{ { 0x0a, 0x08, 0x10, 0x06 }, REEL_EXPRESSION_SCRUBBED },
		{ { 0x0a, 0x10, 0x10, 0x06 }, REEL_EXPRESSION_OK },
		{ { 0x0a, 0x18, 0x10, 0x06 }, REEL_EXPRESSION_MEMORY_MISSING },
		/* Parts of words, and reads across two words. */
		{ { 0x0a, 0x02, 0x10, 0x94, 2 }, REEL_EXPRESSION_OK }, /* deref_size */
		{ { 0x0a, 0x0c, 0x10, 0x94, 4 }, REEL_EXPRESSION_SCRUBBED },
		{ { 0x0a, 0x0f, 0x10, 0x94, 1 }, REEL_EXPRESSION_SCRUBBED },
		{ { 0x0a, 0x04, 0x10, 0x06 }, REEL_EXPRESSION_SCRUBBED },
		{ { 0x0a, 0x0d, 0x10, 0x06 }, REEL_EXPRESSION_SCRUBBED },
		{ { 0x0a, 0x24, 0x10, 0x94, 2 }, REEL_EXPRESSION_SCRUBBED },
		{ { 0x0a, 0x28, 0x10, 0x94, 4 }, REEL_EXPRESSION_SCRUBBED },
		/* A module's data is not scrubbed. */
		{ { 0x0a, 0x00, 0x90, 0x06 }, REEL_EXPRESSION_OK },
		/* rdx, rbp, rsp, rip; rcx is 0. */
		{ { 0x71, 8 }, REEL_EXPRESSION_SCRUBBED },
		{ { 0x92, 6, 0 }, REEL_EXPRESSION_SCRUBBED },
		{ { 0x77, 8 }, REEL_EXPRESSION_OK },
		{ { 0x80, 0 }, REEL_EXPRESSION_OK },
		{ { 0x72, 0 }, REEL_EXPRESSION_OK },
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
		size_t size = code[0] == 0x92 ? 3 : code[0] != 0x0a ? 2 : code[3] == 6 ? 4 : 5;

		s.state.scrubbed = i % 2;
		if (!s.state.scrubbed && expected == REEL_EXPRESSION_SCRUBBED)
			expected = REEL_EXPRESSION_OK;
		assert_int_equal(reel_expression_evaluate(&s.state, code, size, NULL, 0, &ret),
				 expected);
	}
}

static void test_words(void **unused)
{
	assert_int_equal(narrow(BYTES(0x1f)), 0xfffffff9);	    /* neg wraps to 32 bits */
	assert_int_equal(narrow(BYTES(0x09, 0xff, 0x31, 0x22)), 0); /* -1 + 1 */
	assert_int_equal(narrow(BYTES(0x31, 0x08, 32, 0x24)), 0);   /* shl 32 */
	assert_int_equal(narrow(BYTES(0x09, 0xf8, 0x31, 0x26)), 0xfffffffc); /* -8 shra 1 */
	assert_int_equal(narrow(BYTES(0x0a, 0x00, 0x10, 0x06)), 0x84030201); /* deref: 4 bytes */
	assert_int_equal(narrow(BYTES(0x03, 1, 0, 0, 0)), 0x10001);	     /* addr: 4 bytes */
	assert_int_equal(narrow(BYTES(0x09, 0xff, 0x2d)), 0);		     /* 7 lt -1 */
}

static void test_bounds(void **unused)
{
	uint8_t code[200];

	assert_int_equal(result(NULL, 0), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(0x22)), REEL_EXPRESSION_BAD);	     /* plus, empty stack */
	assert_int_equal(result(BYTES(0x31, 0x15, 1)), REEL_EXPRESSION_BAD); /* pick too deep */
	assert_int_equal(result(BYTES(0x31, 0x16)), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(0x31, 0x32, 0x17)), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(0x0e, 1, 2)), REEL_EXPRESSION_BAD); /* truncated */
	assert_int_equal(result(BYTES(0x10, 0x80)), REEL_EXPRESSION_BAD);
	memset(code, 0x31, sizeof(code));
	assert_int_equal(result(code, 64), REEL_EXPRESSION_OK);
	assert_int_equal(result(code, 65), REEL_EXPRESSION_BAD);
	assert_int_equal(result(BYTES(0x2f, 0xfd, 0xff)), REEL_EXPRESSION_BAD); /* endless loop */
}

/* DWARF 5, 6.4.2: operations that CFI must not use. */
static void test_forbidden(void **unused)
{
	static const uint8_t ops[] = { 0x50, 0x90, 0x91, 0x93, 0x97, 0x98, 0x99, 0x9a, 0x9b,
				       0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa3, 0xa5, 0xe0, 0xff };

	for (size_t i = 0; i < sizeof(ops); i++)
		assert_int_equal(result(BYTES(0x31, ops[i], 0, 0, 0, 0, 0, 0, 0, 0)),
				 REEL_EXPRESSION_BAD);
}

static void test_mutations(void **unused)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constants),   cmocka_unit_test(test_registers),
		cmocka_unit_test(test_stack),	    cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_comparisons), cmocka_unit_test(test_branches),
		cmocka_unit_test(test_memory),	    cmocka_unit_test(test_words),
		cmocka_unit_test(test_scrubbed),    cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_forbidden),   cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
