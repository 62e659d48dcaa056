/* SPDX-License-Identifier: Apache-2.0 */
/* replay/dwarf/debug_info.c on DWARF that no compiler writes; tests/names/test-libdw-symbols.sh
 * covers the rest.
 */
#include "replay/dwarf/debug_info.h"
#include "tests/support/elf_builder.h"
#include "tests/support/test.h"

#define TEXT 0x1000
/* A size or an offset of 0x1000 times n, and an address, as encoded in DWARF. */
#define K4(n) 0, (n) << 4, 0, 0
#define K8(n) K4(n), 0, 0, 0, 0

static const uint8_t abbreviations[] = {
	1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0,	  0,	      /* compile_unit: low_pc, high_pc */
	2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0, /* subprogram: also a name */
	0,
};

/* b: [0x2000, 0x3000); a: [0x1000, 0x2000), containing inner: [0x1000, 0x3000). */
static const uint8_t overlapping[] = {
	69, 0,	   0,	  0,	 4,	0,
	0,  0,	   0,	  0,	 8,	   /* length, version 4, abbreviations, addresses */
	1,  K8(1), K4(8),		   /* the unit: [0x1000, 0x9000) */
	2,  'b',   0,	  K8(2), K4(1), 0, /* without children */
	2,  'a',   0,	  K8(1), K4(1),	   /* */
	2,  'i',   0,	  K8(1), K4(2), 0, /* within a */
	0,				   /* of a */
	0,				   /* of the unit */
};

struct opened {
	struct elf_builder builder;
	struct reel_elf_file *file;
	struct reel_debug_info *info;
};

static void open_debug_info(struct opened *ret, const uint8_t *info, size_t size)
{
	struct elf_builder *builder = &ret->builder;

	memset(ret, 0, sizeof(*ret));
	elf_put_header(builder, ET_DYN, 1);
	elf_put_segment(builder, 0, PT_LOAD, PF_R | PF_X, 0, TEXT, 0x8000, 0x1000);
	elf_add_section(builder, (struct elf_section_spec){ ".debug_info", SHT_PROGBITS, 0, 0, info,
							    size, 0, 0 });
	elf_add_section(builder,
			(struct elf_section_spec){ ".debug_abbrev", SHT_PROGBITS, 0, 0,
						   abbreviations, sizeof(abbreviations), 0, 0 });
	elf_finish_sections(builder);
	assert_null(reel_elf_file_open_memory(builder->bytes, builder->size, "test", &ret->file));
	assert_null(reel_debug_info_open(ret->file, ret->file, NULL, &ret->info));
}

static void close_debug_info(struct opened *opened)
{
	reel_debug_info_close(opened->info);
	reel_elf_file_close(opened->file);
}

static const char *function_at(struct opened *opened, uint64_t address)
{
	const struct reel_debug_frame *frames;
	uint64_t begin;
	size_t n;

	assert_null(reel_debug_info_look_up(opened->info, address, &frames, &n, &begin));
	return n ? frames[n - 1].function : "";
}

/* Entries below functions are read only when needed: that must not change earlier answers. */
TEST(test_order_of_addresses)
{
	struct opened opened;

	open_debug_info(&opened, overlapping, sizeof(overlapping));
	assert_string_equal(function_at(&opened, 0x2800), "b");
	assert_string_equal(function_at(&opened, 0x1800), "i");
	assert_string_equal(function_at(&opened, 0x2800), "b");
	close_debug_info(&opened);
	open_debug_info(&opened, overlapping, sizeof(overlapping));
	assert_string_equal(function_at(&opened, 0x1800), "i");
	assert_string_equal(function_at(&opened, 0x2800), "b");
	assert_string_equal(function_at(&opened, 0x3800), "");
	assert_string_equal(function_at(&opened, 0x2800), "b");
	close_debug_info(&opened);
}

RUN_TESTS()
