/* SPDX-License-Identifier: Apache-2.0 */
/* record/sampling/user_probes.c: a thread's state as it would be without the kernel's probes. */
#include <linux/types.h>

#include "record/sampling/sample_translator.h"
#include "tests/support/test.h"

#define TRAMPOLINE 0x7fffffffe000u
#define BASE	   0x7ffc1000u
#define WORDS	   64

static struct {
	struct reel_bpf_sample sample;
	struct reel_bpf_user_probes probes;
	size_t n_returns;
	uint64_t stack[WORDS];
	uint64_t frame_chain[8];
	struct reel_sample_translator translator;
} state;

static void prepare(uint32_t pc_register, uint32_t n_registers, uint32_t where)
{
	reel_sample_translator_free(&state.translator);
	memset(&state, 0, sizeof(state));
	state.translator.page_size = 4096;
	state.sample.flags = REEL_BPF_REGISTERS;
	state.sample.where = where;
	state.sample.pc_register = pc_register;
	state.sample.n_registers = n_registers;
	state.sample.known = n_registers == 32 ? UINT32_MAX : (1u << n_registers) - 1;
	state.sample.n_regions = 1;
	state.sample.regions[0].address = BASE;
	state.sample.regions[0].size = sizeof(state.stack);
	state.probes.trampoline = TRAMPOLINE;
}

static void add_return(uint64_t stack, uint64_t address)
{
	state.probes.returns[state.n_returns++] =
		(struct reel_bpf_return){ .stack = stack, .address = address };
}

static const struct reel_sample *translate(void)
{
	struct reel_sampler_parts parts = {
		.sample = &state.sample,
		.frame_chain = state.frame_chain,
		.user_probes = &state.probes,
		.n_returns = state.n_returns,
		.region_bytes = { (const uint8_t *)state.stack },
	};
	const struct reel_sample *sample = reel_sample_translate(&state.translator, &parts);

	assert_non_null(sample);
	return sample;
}

static uint64_t word(const struct reel_sample *sample, size_t i)
{
	uint64_t ret;

	memcpy(&ret, sample->regions[0].bytes + 8 * i, 8);
	return ret;
}

/* ---- return addresses ---------------------------------------------------------------- */

TEST(test_x86_64)
{
	const struct reel_sample *sample;

	prepare(16, 16, REEL_BPF_WHERE_USER);
	state.sample.pc = 0x401000;
	state.sample.registers[7] = BASE + 8;
	/* Two that have not returned, one left by longjmp whose place has other data now, and a
	 * place of the same address as an earlier one. */
	state.stack[3] = TRAMPOLINE;
	state.stack[9] = TRAMPOLINE;
	state.stack[12] = TRAMPOLINE;
	state.stack[20] = 0x1234;
	add_return(BASE + 8 * 3, 0x402003);
	add_return(BASE + 8 * 9, 0x402009);
	add_return(BASE + 8 * 9, 0x40dead);
	add_return(BASE + 8 * 20, 0x402020);
	state.sample.n_frame_chain = 3;
	memcpy(state.frame_chain, (uint64_t[]){ 0x401000, TRAMPOLINE, 0x402003 }, 24);
	sample = translate();
	assert_true(word(sample, 3) == 0x402003);
	assert_true(word(sample, 9) == 0x402009);
	/* Unknown: the trace ends there. */
	assert_true(word(sample, 12) == TRAMPOLINE);
	assert_true(word(sample, 20) == 0x1234);
	assert_true(sample->pc == 0x401000);
	assert_true(sample->frame_chain[1] == 0x402003);
	/* The kernel's own bytes are as they were. */
	assert_true(state.stack[3] == TRAMPOLINE);
}

TEST(test_i386)
{
	const struct reel_sample *sample;
	uint32_t words[WORDS];

	prepare(8, 8, REEL_BPF_WHERE_USER);
	state.sample.flags |= REEL_BPF_COMPAT;
	state.probes.trampoline = 0xf7fff000;
	state.sample.registers[4] = BASE;
	memset(words, 0, sizeof(words));
	words[5] = 0xf7fff000;
	memcpy(state.stack, words, sizeof(words));
	add_return(BASE + 20, 0x8049005);
	sample = translate();
	memcpy(words, sample->regions[0].bytes, sizeof(words));
	assert_int_equal(words[5], 0x8049005);
}

/* A frame is below sp at the function's entry; a leaf's return address is in x30. */
TEST(test_arm64)
{
	const struct reel_sample *sample;

	prepare(32, 32, REEL_BPF_WHERE_USER);
	state.sample.registers[31] = BASE;
	state.sample.registers[30] = TRAMPOLINE;
	state.sample.registers[19] = 0x19;
	/* Frames [0, 4), [4, 10), [10, 16); the second one saves at the lowest address. */
	state.stack[1] = TRAMPOLINE;
	state.stack[4] = TRAMPOLINE;
	state.stack[15] = TRAMPOLINE;
	state.stack[16] = TRAMPOLINE;
	add_return(BASE + 8 * 4, 0x402004);
	add_return(BASE + 8 * 10, 0x40200c);
	add_return(BASE + 8 * 16, 0x402010);
	sample = translate();
	assert_true(word(sample, 1) == 0x402004);
	assert_true(word(sample, 4) == 0x40200c);
	assert_true(word(sample, 15) == 0x402010);
	assert_true(word(sample, 16) == TRAMPOLINE);
	assert_true(sample->values[30] == 0x402004);
	assert_true(sample->values[19] == 0x19);
}

/* The kernel has replaced a called function's return address, and not noted it yet. */
TEST(test_not_noted)
{
	const struct reel_sample *sample;

	for (unsigned is_noted = 0; is_noted < 2; is_noted++) {
		prepare(32, 32, REEL_BPF_WHERE_INTERRUPT);
		state.sample.registers[31] = BASE;
		state.sample.registers[30] = TRAMPOLINE;
		if (is_noted)
			add_return(BASE, 0x402000);
		add_return(BASE + 8 * 4, 0x402004);
		sample = translate();
		assert_true((sample->known[3] >> 6 & 1) == is_noted);
		assert_true(sample->values[30] == (is_noted ? 0x402000 : 0));
	}
}

TEST(test_riscv)
{
	const struct reel_sample *sample;

	prepare(64, 32, REEL_BPF_WHERE_USER);
	state.sample.registers[2] = BASE + 32;
	state.sample.registers[1] = TRAMPOLINE;
	/* Longjmp has left it. */
	add_return(BASE + 16, 0x40dead);
	add_return(BASE + 32, 0x402004);
	sample = translate();
	assert_true(sample->values[1] == 0x402004);
}

/* r14 is saved above sp at the entry, in the caller's save area. */
TEST(test_s390x)
{
	const struct reel_sample *sample;

	prepare(65, 16, REEL_BPF_WHERE_USER);
	state.sample.registers[15] = BASE;
	state.stack[2 + 14] = TRAMPOLINE;
	state.stack[22 + 14] = TRAMPOLINE;
	add_return(BASE + 8 * 2, 0x402002);
	add_return(BASE + 8 * 22, 0x40200a);
	sample = translate();
	assert_true(word(sample, 2 + 14) == 0x402002);
	assert_true(word(sample, 22 + 14) == 0x40200a);
}

/* ---- the kernel's page ---------------------------------------------------------------- */

TEST(test_copy)
{
	prepare(16, 16, REEL_BPF_WHERE_USER);
	state.sample.registers[7] = BASE;
	state.probes.probed = 0x401230;
	state.probes.its_copy = TRAMPOLINE + 128;
	state.sample.pc = TRAMPOLINE + 128;
	assert_true(translate()->pc == 0x401230);
	state.sample.pc = TRAMPOLINE + 128 + 7;
	assert_true(translate()->pc == 0x401237);
	state.sample.pc = TRAMPOLINE + 256;
	assert_true(translate()->pc == TRAMPOLINE + 256);
}

TEST(test_trampoline)
{
	const struct reel_sample *sample;

	/* It has returned; then it pushes up to three words. */
	for (unsigned pushed = 0; pushed <= 3; pushed++) {
		prepare(16, 16, REEL_BPF_WHERE_USER);
		state.sample.registers[7] = BASE + 8 * (10 - pushed);
		state.sample.registers[0] = 0xaaaa;
		state.sample.pc = TRAMPOLINE + pushed;
		add_return(BASE + 8 * 9, 0x402009);
		sample = translate();
		assert_true(sample->pc == 0x402009);
		assert_true(sample->values[7] == BASE + 80);
		assert_int_equal(sample->known[0] & 1, pushed == 0);
	}
	/* Another function's. */
	prepare(16, 16, REEL_BPF_WHERE_USER);
	state.sample.registers[7] = BASE;
	state.sample.pc = TRAMPOLINE;
	add_return(BASE + 8 * 9, 0x402009);
	assert_true(translate()->pc == TRAMPOLINE);
	/* arm64: sp is as at the entry. */
	prepare(32, 32, REEL_BPF_WHERE_USER);
	state.sample.registers[31] = BASE + 16;
	state.sample.pc = TRAMPOLINE;
	add_return(BASE + 16, 0x402009);
	assert_true(translate()->pc == 0x402009);
}

TEST(test_after_call)
{
	static const struct {
		unsigned at, to_return;
	} cases[] = { { 13, 2 }, { 15, 1 }, { 16, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct reel_sample *sample;

		prepare(16, 16, REEL_BPF_WHERE_USER);
		state.sample.registers[7] = BASE;
		state.sample.pc = TRAMPOLINE + cases[i].at;
		state.stack[cases[i].to_return] = 0x402009;
		sample = translate();
		assert_true(sample->pc == 0x402009);
		assert_true(sample->values[7] == BASE + 8 * (cases[i].to_return + 1));
	}
	/* The result is still where the address will be. */
	prepare(16, 16, REEL_BPF_WHERE_INTERRUPT);
	state.sample.registers[7] = BASE;
	state.sample.registers[0] = state.stack[2] = 0x402009;
	state.sample.pc = TRAMPOLINE + 13;
	assert_true(translate()->pc == TRAMPOLINE + 13);
	/* The pc is the caller's again, but sp is not yet. */
	prepare(16, 16, REEL_BPF_WHERE_INTERRUPT);
	state.sample.registers[7] = BASE;
	state.sample.registers[11] = state.stack[0] = 0x246;
	state.sample.registers[2] = state.stack[1] = 0x77;
	state.sample.registers[0] = state.stack[2] = 0x5;
	state.sample.pc = 0x402009;
	assert_true(translate()->values[7] == BASE + 24);
}

TEST(test_pushed)
{
	/* A call: its return address is there, but the pc is not the function's. */
	prepare(16, 16, REEL_BPF_WHERE_INTERRUPT);
	state.sample.registers[7] = BASE;
	state.sample.pc = state.stack[0] = 0x401005;
	assert_true(translate()->values[7] == BASE + 8);
	/* push %rbp at a function's entry */
	prepare(16, 16, REEL_BPF_WHERE_INTERRUPT);
	state.sample.registers[7] = BASE;
	state.sample.registers[6] = state.stack[0] = 0xb;
	state.sample.pc = 0x401000;
	add_return(BASE + 8, 0x402009);
	state.probes.returns[0].function = 0x401000;
	assert_true(translate()->values[7] == BASE + 8);
	/* Not in user code. */
	state.sample.where = REEL_BPF_WHERE_USER;
	assert_true(translate()->values[7] == BASE);
}

/* ---- records ------------------------------------------------------------------------------ */

TEST(test_parts)
{
	static struct {
		struct reel_bpf_sample sample;
		struct reel_bpf_user_probes probes;
	} record;
	struct reel_sampler_parts parts;

	record.sample.n_user_probes = REEL_BPF_USER_PROBES_HEAD + 3 * 2;
	record.probes.trampoline = TRAMPOLINE;
	assert_true(reel_sampler_parts_parse(&record.sample, sizeof(record), &parts));
	assert_ptr_equal(parts.user_probes, &record.probes);
	assert_int_equal(parts.n_returns, 2);
	assert_false(reel_sampler_parts_parse(&record.sample, sizeof(record.sample) + 64, &parts));
	record.sample.n_user_probes = 1;
	assert_false(reel_sampler_parts_parse(&record.sample, sizeof(record), &parts));
	record.sample.n_user_probes = REEL_BPF_USER_PROBES_WORDS + 1;
	assert_false(reel_sampler_parts_parse(&record.sample, sizeof(record), &parts));
	record.sample.n_user_probes = 0;
	assert_true(reel_sampler_parts_parse(&record.sample, sizeof(record), &parts));
	assert_null(parts.user_probes);
}

RUN_TESTS()
