/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges with a known row: whatever was looked up before, they must agree with the CFI. */
#include "cfi/row_internal.h"
#include "cfi/row_ranges.h"
#include "cfi/row_table.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/test.h"

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % limit);
}

/* ---- the cache -------------------------------------------------------------------- */

TEST(test_edges)
{
	const uint64_t last = ROW_ADDRESS_LIMIT - 1;
	struct row_ranges rows = { 0 };

	assert_int_equal(reel_row_ranges_find(&rows, 0), 0);
	assert_int_equal(reel_row_ranges_bytes(&rows), 0);
	/* Of a row that spans many blocks, only the block with the address is stored. */
	reel_row_ranges_add(&rows, 0x10, 0x5000, 0x1234, 7);
	assert_int_equal(reel_row_ranges_find(&rows, 0x1000), 7);
	assert_int_equal(reel_row_ranges_find(&rows, 0x13ff), 7);
	assert_int_equal(reel_row_ranges_find(&rows, 0x1400), 0);
	assert_int_equal(reel_row_ranges_find(&rows, 0xfff), 0);
	/* Within one block, up to its ends. */
	reel_row_ranges_add(&rows, 0x400, 0x401, 0x400, 8);
	reel_row_ranges_add(&rows, 0x7ff, 0x800, 0x7ff, 9);
	assert_int_equal(reel_row_ranges_find(&rows, 0x400), 8);
	assert_int_equal(reel_row_ranges_find(&rows, 0x401), 0);
	assert_int_equal(reel_row_ranges_find(&rows, 0x7fe), 0);
	assert_int_equal(reel_row_ranges_find(&rows, 0x7ff), 9);
	assert_int_equal(reel_row_ranges_find(&rows, 0x800), 0);
	/* Both ends of the address space; another block uses the same slot. */
	reel_row_ranges_add(&rows, 0, 1, 0, 1);
	reel_row_ranges_add(&rows, last, UINT64_MAX, last, 2);
	assert_int_equal(reel_row_ranges_find(&rows, 0), 1);
	assert_int_equal(reel_row_ranges_find(&rows, 1), 0);
	assert_int_equal(reel_row_ranges_find(&rows, last), 2);
	assert_int_equal(reel_row_ranges_find(&rows, last - 1), 0);
	/* A range that does not contain its own address is not stored. */
	reel_row_ranges_add(&rows, 0x9000, 0x9000, 0x9000, 3);
	reel_row_ranges_add(&rows, 0x9001, 0x9002, 0x9000, 3);
	assert_int_equal(reel_row_ranges_find(&rows, 0x9000), 0);
	assert_int_equal(reel_row_ranges_find(&rows, 0x9001), 0);
	reel_row_ranges_free(&rows);
}

/* Rows of 48 bytes over 48 MB, each with its own number. */
TEST(test_many)
{
	struct row_ranges rows = { 0 };
	size_t found = 0;

	for (size_t i = 0; i < 400000; i++) {
		uint64_t row = random_below(1000000), address = row * 48 + random_below(48);
		uint32_t number = reel_row_ranges_find(&rows, address);

		found += number != 0;
		assert_true(!number || number == row + 1);
		if (!number)
			reel_row_ranges_add(&rows, row * 48, row * 48 + 48, address,
					    (uint32_t)row + 1);
		assert_int_equal(reel_row_ranges_find(&rows, address), row + 1);
	}
	assert_true(reel_row_ranges_bytes(&rows) <= 65536);
	/* About four thousand of a million are still stored. */
	assert_true(found > 100 && found < 10000);
	reel_row_ranges_free(&rows);
}

/* Ranges that are looked up again and again stay while there is room, even when the cache grows. */
TEST(test_growth)
{
	struct row_ranges rows = { 0 };
	size_t found = 0;

	for (uint32_t row = 0; row < 800; row++)
		reel_row_ranges_add(&rows, row * 1024, row * 1024 + 1024, row * 1024 + 5, row + 1);
	for (uint32_t row = 0; row < 800; row++)
		found += reel_row_ranges_find(&rows, row * 1024 + 1023) == row + 1;
	assert_int_equal(found, 800);
	reel_row_ranges_free(&rows);
}

/* ---- as part of the rows ----------------------------------------------------------- */

#define TEXT	 0x10000
#define TEXT_END 0x14000
#define HEADER	 0x8000

struct module {
	struct cfi_builder eh, header;
	uint64_t begins[256], fdes[256];
	size_t n;
};

/* Rows as long as a block, shorter and longer, each with its own rule. */
static void add_fde(struct module *module, size_t cie, uint64_t begin, uint64_t length)
{
	uint8_t program[64];
	size_t size = 0;

	for (unsigned n = random_below(6); n; n--) {
		unsigned delta = 1 + random_below(0x300);

		program[size++] = DW_CFA_advance_loc2;
		program[size++] = (uint8_t)delta;
		program[size++] = (uint8_t)(delta >> 8);
		program[size++] = DW_CFA_def_cfa_offset;
		program[size++] = (uint8_t)(8 * (1 + random_below(15)));
	}
	/* Some are malformed from this point on. */
	if (!random_below(12))
		program[size++] = DW_CFA_high_user;
	module->begins[module->n] = begin;
	module->fdes[module->n++] = module->eh.address +
				    build_fde(&module->eh, cie, true, begin, length, program, size);
}

/* Functions with gaps between them, nested ones, and empty ones that displace others. */
static void make_module(struct module *module)
{
	struct cfi_builder *header = &module->header;
	size_t cie;

	*module = (struct module){ .eh = { .address = 0x20000 }, .header = { .address = HEADER } };
	cie = build_cie(&module->eh, 1, "zR", PCREL_SDATA4, 1, 16, X86_INITIAL);
	for (uint64_t at = TEXT; at < TEXT_END - 0x1000;) {
		uint64_t length = 1 + random_below(0x900);

		add_fde(module, cie, at, length);
		if (!random_below(4))
			add_fde(module, cie, at + length / 3, random_below(2) ? 0 : length / 3);
		at += length + (random_below(3) ? 0 : random_below(40));
	}
	build_bytes(header, BYTES(1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0));
	build_number(header, module->n, 4);
	for (size_t i = 0; i < module->n; i++) {
		build_number(header, module->begins[i] - HEADER, 4);
		build_number(header, module->fdes[i] - HEADER, 4);
	}
}

static struct reel_cfi *open_module(const struct module *module)
{
	const struct reel_cfi_input input = {
		.arch = reel_arch_by_name("x86_64"),
		.eh_frame = { module->eh.bytes, module->eh.size, module->eh.address },
		.eh_frame_hdr = { module->header.bytes, module->header.size, HEADER },
		.text_begin = TEXT,
		.text_end = TEXT_END,
	};
	struct reel_cfi *cfi;

	assert_null(reel_cfi_create(&input, &cfi));
	return cfi;
}

static struct reel_rows *rows_of(struct reel_cfi *cfi, uint64_t entry)
{
	struct reel_rows *rules;

	assert_null(reel_rows_create(reel_arch_by_name("x86_64"), cfi, entry, &rules));
	return rules;
}

static void check_row(const struct reel_row *row, const struct reel_row *expected)
{
	assert_int_equal(row_size(row), row_size(expected));
	assert_memory_equal(row, expected, row_size(row));
}

/* Whatever was looked up before, an address gets the same row as when it is the only lookup. */
TEST(test_any_order)
{
	static struct module module;

	for (unsigned round = 0; round < 40; round++) {
		uint64_t entry = round % 2 ? TEXT + random_below(0x3000) : 0;
		struct reel_rows *rules;
		struct reel_cfi *cfi;

		make_module(&module);
		cfi = open_module(&module);
		rules = rows_of(cfi, entry);
		for (unsigned i = 0; i < 3000; i++) {
			uint64_t address = TEXT - 20 + random_below(TEXT_END - TEXT);
			struct reel_rows *fresh = rows_of(cfi, entry);

			if (!random_below(20))
				address = entry + random_below(3) - 1;
			check_row(reel_rows_at(rules, address), reel_rows_at(fresh, address));
			reel_rows_destroy(fresh);
		}
		assert_true(reel_rows_counts(rules).addresses > 2000);
		reel_rows_destroy(rules);
		reel_cfi_destroy(cfi);
	}
}

RUN_TESTS()
