/* SPDX-License-Identifier: Apache-2.0 */
/* Following code that is not there: it has no effects, whatever was on the stack before. */
#include "replay/synthesis/code.h"
#include "tests/support/test.h"

static bool reads_nothing(void *module, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	(void)module, (void)address, (void)size, (void)bytes_ret;
	return false;
}

/* Leaves a byte in the part of the stack that the next call uses. */
static __attribute__((noinline)) void fill_stack(int byte)
{
	uint8_t bytes[8192];

	memset(bytes, byte, sizeof(bytes));
	__asm__ volatile("" ::"r"(bytes) : "memory");
}

TEST(unreadable_code_has_no_effects)
{
	for (int byte = 0; byte <= 1; byte++) {
		struct reel_code_reader reader = { .input = { .arch = reel_arch_by_name("x86_64"),
							      .read_code = reads_nothing } };
		struct reel_code_graph graph;
		const struct reel_instruction *instruction;

		fill_stack(byte);
		assert_true(reel_code_follow(&reader, 0x1000, false, &graph));
		assert_int_equal(graph.n, 1);
		assert_true(graph.nodes[0].flags & REEL_CODE_OPEN);
		instruction = reel_code_instruction(&graph, &graph.nodes[0]);
		assert_int_equal(instruction->n_effects, 0);
		assert_int_equal(instruction->flow, REEL_FLOW_END);
		assert_int_equal(instruction->through, REEL_ARCH_NO_SLOT);
		assert_false(instruction->by_fp);
		assert_false(instruction->has_target);
		reel_code_graph_free(&graph);
	}
}

RUN_TESTS()
