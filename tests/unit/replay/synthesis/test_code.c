/* SPDX-License-Identifier: Apache-2.0 */
/* Code that is not there has no effects; code that changes is analyzed again where it has. */
#include "cfi/row_internal.h"
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
		assert_true(reel_code_follow(&reader, 0x1000, false, NULL, NULL, &graph));
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

#define BEGIN 0x1000

/* Two functions: push %rbp; call 0x1010; pop %rbp; ret.  And ret; ret. */
static const uint8_t first[64] = { 0x55, 0xe8, 0x0a, 0, 0, 0, 0x5d, 0xc3, [0x10] = 0xc3, 0xc3 };

struct changing {
	uint8_t bytes[64];
	size_t size;
	uint64_t source;
	unsigned n_windows; /* read, as only an analysis does */
};

static bool read_changing(void *module, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	struct changing *code = module;

	code->n_windows += size == REEL_CODE_WINDOW;
	if (address < BEGIN || address - BEGIN > code->size ||
	    size > code->size - (address - BEGIN))
		return false;
	memcpy(bytes_ret, code->bytes + (address - BEGIN), size);
	return true;
}

static uint64_t source_of_changing(void *module, uint64_t address)
{
	(void)address;
	return ((struct changing *)module)->source;
}

static struct reel_synthesis *synthesis_of(struct changing *code)
{
	const struct reel_synthesis_input input = { .arch = reel_arch_by_name("x86_64"),
						    .read_code = read_changing,
						    .module = code,
						    .find_source = source_of_changing };
	struct reel_synthesis *synthesis;

	*code = (struct changing){ .size = sizeof(code->bytes) };
	memcpy(code->bytes, first, sizeof(first));
	assert_null(reel_synthesis_create(&input, &synthesis));
	return synthesis;
}

static const struct reel_row *row_after_push(struct reel_synthesis *synthesis)
{
	struct reel_synthesized_rows rows;

	reel_synthesis_at(synthesis, BEGIN + 1, &rows);
	return rows.n == 1 ? rows.rows[0].row : NULL;
}

static const struct reel_row *row_after_call(struct reel_synthesis *synthesis)
{
	const struct reel_row *row;

	assert_int_equal(reel_synthesis_leads(synthesis, BEGIN, BEGIN + 6, &row), REEL_LEADS_THERE);
	return row;
}

TEST(results_stay_if_other_code_changes)
{
	struct changing code;
	struct reel_synthesis *synthesis = synthesis_of(&code);
	const struct reel_row *to_return = row_after_push(synthesis);
	const struct reel_row *from_entry = row_after_call(synthesis);
	unsigned n_windows = code.n_windows;

	assert_non_null(to_return);
	assert_non_null(from_entry);
	code.bytes[0x11] ^= 1;
	code.bytes[8] ^= 1;
	reel_synthesis_changed(synthesis);
	assert_ptr_equal(row_after_push(synthesis), to_return);
	assert_ptr_equal(row_after_call(synthesis), from_entry);
	assert_int_equal(code.n_windows, n_windows);
	reel_synthesis_destroy(synthesis);
}

TEST(results_go_if_their_code_changes)
{
	/* The byte, and whether it matters to the results to the return and from the entry. */
	static const struct {
		uint8_t at, byte;
		bool to_return, from_entry;
	} changes[] = {
		{ 0, 0x90, false, true },    /* push: nop */
		{ 6, 0x90, true, false },    /* pop: nop */
		{ 0x10, 0x58, true, false }, /* the called function begins by popping its address */
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct changing code;
		struct reel_synthesis *synthesis = synthesis_of(&code);
		const struct reel_row *to_return = row_after_push(synthesis);
		const struct reel_row *from_entry = row_after_call(synthesis), *row;

		code.bytes[changes[i].at] = changes[i].byte;
		reel_synthesis_changed(synthesis);
		assert_int_equal(row_after_push(synthesis) != to_return, changes[i].to_return);
		row = row_after_call(synthesis);
		assert_int_equal(row != from_entry, changes[i].from_entry);
		/* And back. */
		code.bytes[changes[i].at] = first[changes[i].at];
		reel_synthesis_changed(synthesis);
		assert_ptr_equal(row_after_push(synthesis), to_return);
		assert_ptr_equal(row_after_call(synthesis), from_entry);
		reel_synthesis_destroy(synthesis);
	}
}

TEST(results_go_if_their_code_appears_or_gets_a_source)
{
	struct changing code;
	struct reel_synthesis *synthesis = synthesis_of(&code);
	unsigned n_windows;

	code.size = 7;
	assert_null(row_after_push(synthesis));
	code.size = sizeof(code.bytes);
	reel_synthesis_changed(synthesis);
	assert_non_null(row_after_push(synthesis));
	n_windows = code.n_windows;
	code.source = 7;
	reel_synthesis_changed(synthesis);
	assert_non_null(row_after_push(synthesis));
	assert_true(code.n_windows > n_windows);
	/* Its bytes do not matter now. */
	n_windows = code.n_windows;
	reel_synthesis_changed(synthesis);
	assert_non_null(row_after_push(synthesis));
	assert_int_equal(code.n_windows, n_windows);
	reel_synthesis_destroy(synthesis);
}

/*
 *   0: push %rbx; sub $0x20,%rsp
 *   5: xor %ebx,%ebx
 *   7: jne 7
 *   9: add $0x20,%rsp; pop %rbx; ret
 */
static const uint8_t framed[] = { 0x53, 0x48, 0x83, 0xec, 0x20, 0x31, 0xdb, 0x75,
				  0xfe, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3 };

/* From the last instruction on, an analysis ends where the results of the previous ones begin. */
TEST(results_are_the_same_in_any_order)
{
	static const uint64_t places[] = { 14, 13, 9, 7, 5, 1, 0 };
	struct changing code, same;
	struct reel_synthesis *all = synthesis_of(&code);
	struct reel_synthesized_rows found, expected;
	const struct reel_row *row;

	memcpy(code.bytes, framed, sizeof(framed));
	reel_synthesis_changed(all);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct reel_synthesis *one = synthesis_of(&same);

		memcpy(same.bytes, framed, sizeof(framed));
		reel_synthesis_changed(one);
		reel_synthesis_at(all, BEGIN + places[i], &found);
		reel_synthesis_at(one, BEGIN + places[i], &expected);
		assert_int_equal(expected.n, 1);
		assert_int_equal(found.n, 1);
		assert_int_equal(row_size(found.rows[0].row), row_size(expected.rows[0].row));
		assert_memory_equal(found.rows[0].row, expected.rows[0].row,
				    row_size(expected.rows[0].row));
		assert_true(found.whole && expected.whole);
		assert_int_equal(found.untouched, expected.untouched);
		assert_int_equal(found.passed_on, expected.passed_on);
		reel_synthesis_destroy(one);
	}
	/* A result depends on the code of those that it was taken from: pop becomes nop. */
	row = found.rows[0].row;
	code.bytes[13] = 0x90;
	reel_synthesis_changed(all);
	reel_synthesis_at(all, BEGIN, &found);
	assert_int_equal(found.n, 1);
	assert_ptr_not_equal(found.rows[0].row, row);
	reel_synthesis_destroy(all);
}

RUN_TESTS()
