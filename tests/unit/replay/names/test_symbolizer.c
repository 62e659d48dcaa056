/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols, demangling and inlined functions; tests/names/test-symbols.sh compares them with
 * those of other tools.
 */
#include <dlfcn.h>
#include <lzma.h>

#include "base/bytes.h"
#include "replay/dwarf/line_table.h"
#include "base/range_map.h"
#include "elf/symbol_table.h"
#include "elf/demangle.h"
#include "replay/names/symbolizer.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/elf_builder.h"
#include "tests/support/test.h"

/* ---- ranges ------------------------------------------------------------------ */

static uint32_t find(const struct reel_range_map *map, uint64_t address)
{
	const struct reel_range_entry *entry = reel_range_map_find(map, address);

	return entry ? entry->value : 0;
}

TEST(test_ranges_overlap)
{
	struct reel_range_map map = { 0 };

	assert_int_equal(find(&map, 0), 0);
	assert_true(reel_range_map_add(&map, 10, 100, 1, 1));
	assert_true(reel_range_map_add(&map, 20, 50, 2, 2));
	assert_true(reel_range_map_add(&map, 30, 40, 3, 3));
	assert_true(reel_range_map_add(&map, 100, 110, 4, 0));
	assert_true(reel_range_map_add(&map, 60, 60, 5, 9)); /* empty */
	assert_true(reel_range_map_add(&map, UINT64_MAX - 1, UINT64_MAX, 6, 0));
	assert_null(reel_range_map_build(&map));
	assert_int_equal(find(&map, 9), 0);
	assert_int_equal(find(&map, 10), 1);
	assert_int_equal(find(&map, 20), 2);
	assert_int_equal(find(&map, 35), 3);
	assert_int_equal(find(&map, 40), 2);
	assert_int_equal(find(&map, 50), 1);
	assert_int_equal(find(&map, 60), 1);
	assert_int_equal(find(&map, 100), 4);
	assert_int_equal(find(&map, 110), 0);
	assert_int_equal(find(&map, UINT64_MAX - 1), 6);
	assert_int_equal(find(&map, UINT64_MAX), 0);
	reel_range_map_free(&map);
}

TEST(test_ranges_at_random)
{
	srand(1);
	for (int round = 0; round < 300; round++) {
		struct reel_range_map map = { 0 };
		uint32_t expected[200] = { 0 };

		/* Painted in order of priority; the last one stays. */
		for (uint32_t i = 1; i <= (uint32_t)(1 + rand() % 40); i++) {
			uint64_t begin = (uint64_t)(rand() % 200);
			uint64_t end = (uint64_t)(rand() % 200);

			assert_true(reel_range_map_add(&map, begin, end, i, i));
			for (uint64_t at = begin; at < end; at++)
				expected[at] = i;
		}
		assert_null(reel_range_map_build(&map));
		for (uint64_t at = 0; at < 200; at++)
			assert_int_equal(find(&map, at), expected[at]);
		reel_range_map_free(&map);
	}
}

/* ---- names --------------------------------------------------------------------- */

TEST(test_demangle)
{
	static const struct {
		const char *mangled, *expected;
	} cases[] = {
		{ "_ZN5outer5firstEi", "outer::first(int)" },
		{ "_ZNSt6vectorIiSaIiEED1Ev", "std::vector<int, std::allocator<int> >::~vector()" },
		{ "_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const" },
		{ "_ZL9cold_pathi.cold", "cold_path(int) [clone .cold]" },
		{ "_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo()" },
		{ "_ZThn16_N1A1fEv", "non-virtual thunk to A::f()" },
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		  "core::fmt::Write::write_fmt" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		  "3bar17h930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNCNvCsgStHSCytQ6I_7mycrate4main0B3_", "mycrate::main::{closure#0}" },
		{ "main", NULL },
		{ "", NULL },
		{ "_", NULL },
		{ "_Z", NULL },
		{ "_ZN", NULL },
		{ "_R", NULL },
		{ "_start", NULL },
		{ "__GI_memcpy", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = reel_demangle(cases[i].mangled);

		if (cases[i].expected) {
			assert_non_null(name);
			assert_string_equal(name, cases[i].expected);
		} else {
			assert_null(name);
		}
		free(name);
	}
}

/* ---- symbols ------------------------------------------------------------------- */

struct symbol_spec {
	const char *name;
	unsigned binding, type;
	uint64_t value, size;
	uint16_t section; /* 1: .text, 2: .data */
};

static void build_symbols(struct elf_builder *builder, const struct symbol_spec *specs, unsigned n)
{
	static const uint8_t text[0x800];
	uint8_t table[24 * 32] = { 0 };
	char strings[512] = { 0 };
	size_t strings_size = 1;

	for (unsigned i = 0; i < n; i++) {
		elf_make_symbol(table + 24 * (i + 1), (uint32_t)strings_size, specs[i].binding,
				specs[i].type, specs[i].section, specs[i].value, specs[i].size);
		strcpy(strings + strings_size, specs[i].name);
		strings_size += strlen(specs[i].name) + 1;
	}
	elf_put_header(builder, ET_DYN, 1);
	elf_put_segment(builder, 0, PT_LOAD, PF_R | PF_X, 0x200, 0x1000, 0x800, 0x1000);
	elf_put(builder, 0x1ff, 0, 1);
	elf_add_section(builder,
			(struct elf_section_spec){ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
						   0x1000, text, sizeof(text), 0, 0 });
	elf_add_section(builder, (struct elf_section_spec){ ".data", SHT_PROGBITS, SHF_ALLOC,
							    0x3000, text, 0x100, 0, 0 });
	elf_add_section(builder, (struct elf_section_spec){ ".symtab", SHT_SYMTAB, 0, 0, table,
							    24 * (n + 1), 4, 24 });
	elf_add_section(builder, (struct elf_section_spec){ ".strtab", SHT_STRTAB, 0, 0, strings,
							    strings_size, 0, 0 });
	elf_finish_sections(builder);
}

static const char *symbol_at(const struct reel_symbol_table *table, uint64_t address)
{
	const struct reel_symbol *symbol = reel_symbol_table_find(table, address);

	return symbol ? symbol->name : "";
}

TEST(test_symbol_choice)
{
	static const struct symbol_spec specs[] = {
		{ "alpha", STB_GLOBAL, STT_FUNC, 0x1000, 0x100, 1 },
		/* Aliases: global, then weak, then local; fewer underscores; the longer name. */
		{ "weak", STB_WEAK, STT_FUNC, 0x1100, 0x10, 1 },
		{ "local", STB_LOCAL, STT_FUNC, 0x1100, 0x10, 1 },
		{ "__global", STB_GLOBAL, STT_FUNC, 0x1100, 0x10, 1 },
		{ "__underscored", STB_GLOBAL, STT_FUNC, 0x1120, 0x10, 1 },
		{ "_less", STB_GLOBAL, STT_FUNC, 0x1120, 0x10, 1 },
		{ "short", STB_GLOBAL, STT_FUNC, 0x1140, 0x10, 1 },
		{ "longer", STB_GLOBAL, STT_FUNC, 0x1140, 0x10, 1 },
		{ "b_same", STB_GLOBAL, STT_FUNC, 0x1160, 0x10, 1 },
		{ "a_same", STB_GLOBAL, STT_FUNC, 0x1160, 0x10, 1 },
		{ "unsized_alias", STB_GLOBAL, STT_FUNC, 0x1180, 0, 1 },
		{ "sized_local", STB_LOCAL, STT_FUNC, 0x1180, 0x10, 1 },
		/* Inside another function. */
		{ "whole", STB_GLOBAL, STT_FUNC, 0x1200, 0x100, 1 },
		{ "part", STB_GLOBAL, STT_FUNC, 0x1240, 0x10, 1 },
		{ "label", STB_LOCAL, STT_NOTYPE, 0x1280, 0, 1 },
		/* Without a size: up to the next one, and to the section's end. */
		{ "_start", STB_GLOBAL, STT_NOTYPE, 0x1400, 0, 1 },
		{ "next", STB_GLOBAL, STT_FUNC, 0x1480, 0x10, 1 },
		{ "last", STB_LOCAL, STT_NOTYPE, 0x1500, 0, 1 },
		/* None of these is a function. */
		{ "object", STB_GLOBAL, STT_OBJECT, 0x1600, 0x10, 1 },
		{ "data", STB_GLOBAL, STT_NOTYPE, 0x3000, 0, 2 },
		{ "undefined", STB_GLOBAL, STT_FUNC, 0x1700, 0x10, 0 },
		{ ".Llocal", STB_LOCAL, STT_NOTYPE, 0x1710, 0, 1 },
		{ "", STB_LOCAL, STT_FUNC, 0x1720, 0x10, 1 },
		{ "outside", STB_GLOBAL, STT_FUNC, 0x9000, 0x10, 1 },
		{ "ifunc", STB_GLOBAL, STT_GNU_IFUNC, 0x1740, UINT64_MAX, 1 },
	};
	static const struct {
		uint64_t address;
		const char *name;
	} expected[] = {
		{ 0xfff, "" },		{ 0x1000, "alpha" },  { 0x10ff, "alpha" },
		{ 0x1100, "__global" }, { 0x1110, "" },	      { 0x1120, "_less" },
		{ 0x1140, "longer" },	{ 0x1160, "a_same" }, { 0x1180, "sized_local" },
		{ 0x1190, "" },		{ 0x1200, "whole" },  { 0x1240, "part" },
		{ 0x1250, "whole" },	{ 0x1280, "whole" },  { 0x12ff, "whole" },
		{ 0x1300, "" },		{ 0x1400, "_start" }, { 0x147f, "_start" },
		{ 0x1480, "next" },	{ 0x1490, "" },	      { 0x1500, "last" },
		{ 0x1605, "last" },	{ 0x1740, "ifunc" },  { 0x17ff, "ifunc" },
		{ 0x1800, "" },		{ 0x3000, "" },	      { UINT64_MAX, "" },
	};
	struct elf_builder builder = { 0 };
	struct reel_symbol_table *table;
	struct reel_elf_file *file;

	build_symbols(&builder, specs, sizeof(specs) / sizeof(specs[0]));
	assert_null(reel_elf_file_open_memory(builder.bytes, builder.size, "symbols", &file));
	assert_null(reel_symbol_table_create(file, NULL, &table));
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_string_equal(symbol_at(table, expected[i].address), expected[i].name);
	assert_true(reel_symbol_table_find(table, 0x1000)->sized);
	assert_false(reel_symbol_table_find(table, 0x1400)->sized);
	reel_symbol_table_destroy(table);
	reel_elf_file_close(file);
}

/* $x, $d and similar symbols mark where code changes to data, on CPUs that have them. */
TEST(test_mapping_symbols)
{
	static const struct symbol_spec specs[] = {
		{ "$x", STB_LOCAL, STT_NOTYPE, 0x1000, 0, 1 },
		{ "$d.5", STB_LOCAL, STT_NOTYPE, 0x1010, 0, 1 },
		{ "$xrv64gc", STB_LOCAL, STT_NOTYPE, 0x1020, 0, 1 },
	};
	static const struct {
		uint16_t machine;
		const char *name;
	} cases[] = { { EM_AARCH64, "" }, { EM_RISCV, "" }, { EM_ARM, "" }, { EM_X86_64, "$x" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct elf_builder builder = { 0 };
		struct reel_symbol_table *table;
		struct reel_elf_file *file;

		build_symbols(&builder, specs, sizeof(specs) / sizeof(specs[0]));
		elf_put(&builder, 18, cases[i].machine, 2);
		assert_null(reel_elf_file_open_memory(builder.bytes, builder.size, "marks", &file));
		assert_null(reel_symbol_table_create(file, NULL, &table));
		assert_string_equal(symbol_at(table, 0x1008), cases[i].name);
		reel_symbol_table_destroy(table);
		reel_elf_file_close(file);
	}
}

TEST(test_names_and_offsets)
{
	static const struct symbol_spec specs[] = {
		{ "memcpy@@GLIBC_2.14", STB_GLOBAL, STT_FUNC, 0x1000, 0x40, 1 },
		{ "_ZN5outer5firstEi", STB_GLOBAL, STT_FUNC, 0x1040, 0x40, 1 },
	};
	struct elf_builder builder = { 0 };
	const struct reel_symbol_frame *frames;
	struct reel_symbolizer *symbolizer;
	struct reel_elf_file *file;
	const char *first;
	size_t n;

	build_symbols(&builder, specs, sizeof(specs) / sizeof(specs[0]));
	assert_null(reel_elf_file_open_memory(builder.bytes, builder.size, "names", &file));
	for (int no_demangle = 0; no_demangle < 2; no_demangle++) {
		struct reel_symbolizer_options options = { .no_demangle = no_demangle };

		assert_null(reel_symbolizer_create(file, NULL, &options, &symbolizer));
		assert_null(reel_symbolizer_look_up(symbolizer, 0x1010, &frames, &n));
		assert_int_equal(n, 1);
		assert_string_equal(frames[0].function, "memcpy");
		assert_int_equal(frames[0].function_offset, 0x10);
		assert_string_equal(frames[0].file, "");
		assert_false(frames[0].inlined);
		first = frames[0].function;
		assert_null(reel_symbolizer_look_up(symbolizer, 0x1044, &frames, &n));
		assert_string_equal(frames[0].function,
				    no_demangle ? "_ZN5outer5firstEi" : "outer::first(int)");
		assert_null(reel_symbolizer_look_up(symbolizer, 0x1000, &frames, &n));
		assert_ptr_equal(frames[0].function, first);
		assert_null(reel_symbolizer_look_up(symbolizer, 0x1100, &frames, &n));
		assert_int_equal(n, 1);
		assert_string_equal(frames[0].function, "");
		assert_null(reel_symbolizer_problem(symbolizer));
		reel_symbolizer_destroy(symbolizer);
	}
	reel_elf_file_close(file);
	/* No file: one frame without a name. */
	assert_null(reel_symbolizer_create(NULL, NULL, NULL, &symbolizer));
	assert_null(reel_symbolizer_look_up(symbolizer, 1, &frames, &n));
	assert_int_equal(n, 1);
	assert_string_equal(frames[0].function, "");
	reel_symbolizer_destroy(symbolizer);
}

/* Labels of annobin and BOLT are not names, whatever their type. */
TEST(test_tools_labels)
{
	static const struct symbol_spec specs[] = {
		{ ".annobin_main.c.unlikely", STB_LOCAL, STT_FUNC, 0x1000, 0, 1 },
		{ "main.cold", STB_LOCAL, STT_NOTYPE, 0x1000, 0, 1 },
		{ ".annobin_main.c_end.unlikely", STB_LOCAL, STT_FUNC, 0x1010, 0, 1 },
		{ "__hot_start", STB_GLOBAL, STT_FUNC, 0x1100, 0, 1 },
		{ "main", STB_LOCAL, STT_NOTYPE, 0x1100, 0, 1 },
		{ "__BOLT_FDE_FUNCat1200", STB_LOCAL, STT_FUNC, 0x1200, 0x20, 1 },
		{ "__hot_end", STB_GLOBAL, STT_FUNC, 0x1300, 0, 1 },
	};
	struct elf_builder builder = { 0 };
	struct reel_symbol_table *table;
	struct reel_elf_file *file;

	build_symbols(&builder, specs, sizeof(specs) / sizeof(specs[0]));
	assert_null(reel_elf_file_open_memory(builder.bytes, builder.size, "labels", &file));
	assert_null(reel_symbol_table_create(file, NULL, &table));
	assert_string_equal(symbol_at(table, 0x1000), "main.cold");
	assert_string_equal(symbol_at(table, 0x1018), "main.cold");
	assert_string_equal(symbol_at(table, 0x1100), "main");
	assert_string_equal(symbol_at(table, 0x1210), "main");
	assert_string_equal(symbol_at(table, 0x1310), "main");
	reel_symbol_table_destroy(table);
	reel_elf_file_close(file);
}

/* A file with only .text, and with `bytes`, compressed by xz, as its .gnu_debugdata. */
static void build_with_mini(struct elf_builder *builder, const uint8_t *bytes, size_t size)
{
	static const uint8_t text[0x800];
	static uint8_t packed[8192];
	size_t packed_size = 0;

	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, NULL, bytes, size, packed,
						 &packed_size, sizeof(packed)),
			 LZMA_OK);
	elf_put_header(builder, ET_DYN, 1);
	elf_put_segment(builder, 0, PT_LOAD, PF_R | PF_X, 0x200, 0x1000, 0x800, 0x1000);
	elf_put(builder, 0x1ff, 0, 1);
	elf_add_section(builder,
			(struct elf_section_spec){ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
						   0x1000, text, sizeof(text), 0, 0 });
	elf_add_section(builder, (struct elf_section_spec){ ".gnu_debugdata", SHT_PROGBITS, 0, 0,
							    packed, packed_size, 0, 0 });
	elf_finish_sections(builder);
}

/* The name at 0x1010, and the problem reported for the file's symbols. */
static void check_mini(const struct elf_builder *builder, const char *name, const char *problem)
{
	const struct reel_symbol_frame *frames;
	struct reel_symbolizer *symbolizer;
	struct reel_elf_file *file;
	size_t n;

	assert_null(reel_elf_file_open_memory(builder->bytes, builder->size, "mini", &file));
	assert_null(reel_symbolizer_create(file, NULL, NULL, &symbolizer));
	assert_null(reel_symbolizer_look_up(symbolizer, 0x1010, &frames, &n));
	assert_string_equal(frames[0].function, name);
	if (problem)
		assert_non_null(strstr(reel_symbolizer_problem(symbolizer), problem));
	else
		assert_null(reel_symbolizer_problem(symbolizer));
	reel_symbolizer_destroy(symbolizer);
	reel_elf_file_close(file);
}

TEST(test_mini_debug_info)
{
	static const struct symbol_spec specs[] = {
		{ "static_function", STB_LOCAL, STT_FUNC, 0x1000, 0x40, 1 },
	};
	static struct elf_builder mini, builder;
	static uint8_t zeros[30 << 20];

	build_symbols(&mini, specs, 1);
	build_with_mini(&builder, mini.bytes, mini.size);
	check_mini(&builder, "static_function", NULL);
	/* One byte is changed. */
	builder.bytes[builder.offsets[1] + 40] ^= 0xff;
	check_mini(&builder, "", "mini: .gnu_debugdata: damaged xz data");
	/* It is of another CPU. */
	memset(&builder, 0, sizeof(builder));
	elf_put(&mini, 18, EM_AARCH64, 2);
	build_with_mini(&builder, mini.bytes, mini.size);
	check_mini(&builder, "", "for a different CPU");
	memset(&builder, 0, sizeof(builder));
	build_with_mini(&builder, (const uint8_t *)"no ELF file", 11);
	check_mini(&builder, "", "mini: .gnu_debugdata: not an ELF file");
	/* A bomb: ten thousand times as large when decompressed. */
	memset(&builder, 0, sizeof(builder));
	build_with_mini(&builder, zeros, sizeof(zeros));
	check_mini(&builder, "", "decompresses to far more data");
}

/* Addresses of FDEs, in .eh_frame or, after them, in .debug_frame. */
static struct reel_cfi *make_cfi(const uint64_t (*ranges)[2], size_t n, bool debug_frame)
{
	static struct cfi_builder builder;
	struct reel_cfi_input input = { .arch = reel_arch_by_name("x86_64") };
	struct reel_loaded_bytes *section = debug_frame ? &input.debug_frame : &input.eh_frame;
	struct reel_cfi *cfi;
	size_t cie;

	builder = (struct cfi_builder){ .address = 0x20000, .debug_frame = debug_frame };
	cie = debug_frame ? build_cie(&builder, 4, "", NULL, 0, 1, 16, X86_INITIAL)
			  : build_cie(&builder, 1, "zR", PCREL_SDATA4, 1, 16, X86_INITIAL);
	for (size_t i = 0; i < n; i++)
		build_fde(&builder, cie, !debug_frame, ranges[i][0], ranges[i][1] - ranges[i][0],
			  NULL, 0);
	*section = (struct reel_loaded_bytes){ builder.bytes, builder.size, builder.address };
	assert_null(reel_cfi_create(&input, &cfi));
	return cfi;
}

/* Where a name is missing, an FDE gives the function's start; where a size is missing, its end. */
TEST(test_unwind_entries)
{
	static const struct symbol_spec specs[] = {
		{ "sized", STB_GLOBAL, STT_FUNC, 0x1000, 0x20, 1 },
		{ "assembly", STB_GLOBAL, STT_NOTYPE, 0x1100, 0, 1 },
		{ "in_one", STB_GLOBAL, STT_NOTYPE, 0x1201, 0, 1 },
	};
	static const uint64_t ranges[][2] = {
		{ 0x1040, 0x1080 },
		{ 0x1140, 0x1160 },
		{ 0x1200, 0x1220 },
		{ 0x1300, 0x1320 },
	};
	static const struct {
		uint64_t address;
		const char *name;
		uint64_t offset;
		bool is_fde;
	} expected[] = {
		{ 0x1010, "sized", 0x10, false },
		{ 0x1030, "", 0, false },
		{ 0x1045, "", 5, true },
		{ 0x107f, "", 0x3f, true },
		{ 0x1080, "", 0, false },
		/* Up to the next FDE, and no farther. */
		{ 0x1100, "assembly", 0, false },
		{ 0x113f, "assembly", 0x3f, false },
		{ 0x1140, "", 0, true },
		{ 0x1160, "", 0, false },
		/* Up to the end of its own FDE, which may begin a byte earlier (signal
		 * trampolines).
		 */
		{ 0x1201, "in_one", 0, false },
		{ 0x121f, "in_one", 0x1e, false },
		{ 0x1220, "", 0, false },
		{ 0x1310, "", 0x10, true },
	};
	struct elf_builder builder = { 0 };
	const struct reel_symbol_frame *frames;
	struct reel_symbolizer *symbolizer;
	struct reel_elf_file *file;
	size_t n;

	build_symbols(&builder, specs, sizeof(specs) / sizeof(specs[0]));
	assert_null(reel_elf_file_open_memory(builder.bytes, builder.size, "fdes", &file));
	for (int debug_frame = 0; debug_frame < 2; debug_frame++) {
		struct reel_cfi *cfi = make_cfi(ranges, 4, debug_frame);

		assert_null(reel_symbolizer_create(file, NULL, NULL, &symbolizer));
		reel_symbolizer_set_code(symbolizer, cfi, NULL);
		for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
			assert_null(reel_symbolizer_look_up(symbolizer, expected[i].address,
							    &frames, &n));
			assert_int_equal(n, 1);
			assert_string_equal(frames[0].function, expected[i].name);
			assert_int_equal(frames[0].function_offset, expected[i].offset);
			assert_int_equal(frames[0].is_fde, expected[i].is_fde);
		}
		reel_symbolizer_destroy(symbolizer);
		reel_cfi_destroy(cfi);
	}
	reel_elf_file_close(file);
}

/* ---- this very program ------------------------------------------------------------ */

extern void _start(void);

static struct reel_elf_file *open_self(uint64_t *bias_ret)
{
	struct reel_elf_file *file;

	assert_null(reel_elf_file_open("/proc/self/exe", &file));
	*bias_ret = (uint64_t)(uintptr_t)_start - reel_elf_file_entry(file);
	return file;
}

/* Bit 0 of a 32-bit Arm address marks Thumb code. */
#ifdef __arm__
#define CODE_MASK (~(uintptr_t)1)
#else
#define CODE_MASK (~(uintptr_t)0)
#endif

static uintptr_t caller;
static int innermost_line, middle_line, outer_line;

__attribute__((noinline)) static void note_caller(void)
{
	caller = (uintptr_t)__builtin_return_address(0) & CODE_MASK;
	__asm__ volatile("" ::: "memory");
}

#define INLINE static inline __attribute__((always_inline))

/* The barriers prevent tail calls, and keep the tables from naming another line. */
INLINE void innermost(void)
{
	innermost_line = __LINE__ + 1;
	note_caller();
	__asm__ volatile("" ::: "memory");
}

INLINE void middle(void)
{
	middle_line = __LINE__ + 1;
	innermost();
}

__attribute__((noinline)) static void outer(void)
{
	outer_line = __LINE__ + 1;
	middle();
}

TEST(test_inlined_functions)
{
	const struct reel_symbol_frame *frames;
	struct reel_symbolizer *symbolizer;
	struct reel_elf_file *file;
	uint64_t bias;
	size_t n;

	outer();
	file = open_self(&bias);
	if (!reel_elf_file_has_debug_info(file)) {
		reel_elf_file_close(file);
		skip();
	}
	assert_null(reel_symbolizer_create(file, NULL, NULL, &symbolizer));
	assert_null(reel_symbolizer_look_up(symbolizer, caller - bias - 1, &frames, &n));
	assert_int_equal(n, 3);
	assert_string_equal(frames[0].function, "innermost");
	assert_string_equal(frames[1].function, "middle");
	assert_string_equal(frames[2].function, "outer");
	assert_true(frames[0].inlined && frames[1].inlined && !frames[2].inlined);
	assert_int_equal(frames[0].line, innermost_line);
	assert_int_equal(frames[1].line, middle_line);
	assert_int_equal(frames[2].line, outer_line);
	for (size_t i = 0; i < n; i++) {
		assert_non_null(strstr(frames[i].file, "test_symbolizer.c"));
		assert_int_equal(frames[i].file[0], '/');
		assert_int_equal(frames[i].function_offset,
				 caller - 1 - ((uintptr_t)outer & CODE_MASK));
	}
	reel_symbolizer_destroy(symbolizer);

	/* Without inlined functions and lines. */
	assert_null(reel_symbolizer_create(
		file, NULL, &(struct reel_symbolizer_options){ .no_inlines = true }, &symbolizer));
	assert_null(reel_symbolizer_look_up(symbolizer, caller - bias - 1, &frames, &n));
	assert_int_equal(n, 1);
	assert_string_equal(frames[0].function, "outer");
	assert_string_equal(frames[0].file, "");
	assert_int_equal(frames[0].line, 0);
	reel_symbolizer_destroy(symbolizer);
	reel_elf_file_close(file);
}

/* A library as distributions ship it: with only .dynsym. */
TEST(test_dynamic_symbols)
{
	const struct reel_symbol_frame *frames;
	struct reel_symbolizer *symbolizer;
	struct reel_elf_file *file;
	Dl_info info;
	size_t n;

	assert_int_not_equal(dladdr((void *)(uintptr_t)drand48, &info), 0);
	if (!info.dli_fname || !strstr(info.dli_fname, ".so"))
		skip(); /* static */
	assert_null(reel_elf_file_open(info.dli_fname, &file));
	assert_null(reel_symbolizer_create(file, NULL, NULL, &symbolizer));
	assert_null(reel_symbolizer_look_up(
		symbolizer, ((uintptr_t)drand48 & CODE_MASK) - (uintptr_t)info.dli_fbase, &frames,
		&n));
	assert_string_equal(frames[n - 1].function, "drand48");
	assert_int_equal(frames[n - 1].function_offset, 0);
	reel_symbolizer_destroy(symbolizer);
	reel_elf_file_close(file);
}

/* ---- line tables ----------------------------------------------------------------------- */

/* Version 2, as in DWARF 5's appendix D.5, plus what compilers write: two sequences, the second
 * dead. */
static const uint8_t line_table[] = {
	82,   0,   0,	 0,    2,    0,		       /* unit_length, version */
	34,   0,   0,	 0,			       /* header_length */
	1,    1,   0xfb, 14,   10,		       /* default_is_stmt … opcode_base */
	0,    1,   1,	 1,    1,    0, 0, 0, 1,       /* standard_opcode_lengths */
	'i',  'n', 'c',	 0,    0,		       /* include_directories */
	'a',  '.', 'c',	 0,    0,    0, 0,	       /* file 1 */
	'b',  '.', 'h',	 0,    1,    0, 0,	       /* file 2 */
	0,					       /* end of file_names */
	0,    9,   2,	 0x00, 0x10, 0, 0, 0, 0, 0, 0, /* set_address 0x1000 */
	18,					       /* line + 3, address + 0: 10 + 3 + 5 */
	5,    7,   4,	 2,			       /* column 7, file 2 */
	0x91,					       /* address + 9, line + 4 */
	2,    4,   0,	 1,    1,		       /* advance_pc 4, end_sequence */
	0,    9,   2,	 0,    0,    0, 0, 0, 0, 0, 0, /* a removed section's: address 0 */
	1,    2,   16,	 0,    1,    1,
};

TEST(test_line_table)
{
	struct reel_line_input input = { .directory = "/src",
					 .text_begin = 0x1000,
					 .text_end = 0x2000 };
	uint8_t bytes[sizeof(line_table)];
	struct reel_line_table *table;
	struct reel_line line;

	memcpy(bytes, line_table, sizeof(bytes));
	bytes[0] = sizeof(bytes) - 4;
	input.line.bytes = bytes;
	input.line.size = sizeof(bytes);
	assert_null(reel_line_table_create(&input, &table));
	assert_true(reel_line_table_find(table, 0x1000, &line));
	assert_int_equal(line.line, 4);
	assert_int_equal(line.column, 0);
	assert_string_equal(reel_line_table_path(table, line.file), "/src/a.c");
	assert_true(reel_line_table_find(table, 0x1008, &line));
	assert_int_equal(line.line, 4);
	assert_true(reel_line_table_find(table, 0x1009, &line));
	assert_int_equal(line.line, 8);
	assert_int_equal(line.column, 7);
	assert_string_equal(reel_line_table_path(table, line.file), "/src/inc/b.h");
	assert_true(reel_line_table_find(table, 0x100c, &line));
	assert_false(reel_line_table_find(table, 0x100d, &line));
	assert_false(reel_line_table_find(table, 0, &line));
	assert_string_equal(reel_line_table_path(table, 3), "");
	assert_string_equal(reel_line_table_path(table, UINT64_MAX), "");
	reel_line_table_destroy(table);
	/* Cut anywhere, it is a short table; in a buffer of the exact size, for ASan. */
	for (size_t size = 1; size < sizeof(bytes); size++) {
		uint8_t *copy = malloc(size);

		assert_non_null(copy);
		memcpy(copy, bytes, size);
		input.line.bytes = copy;
		input.line.size = size;
		for (int fixed = 0; fixed < 2; fixed++) {
			/* With the old length, and with a length that fits. */
			if (fixed && size >= 4)
				copy[0] = (uint8_t)(size - 4);
			assert_null(reel_line_table_create(&input, &table));
			reel_line_table_find(table, 0x1000, &line);
			reel_line_table_destroy(table);
		}
		free(copy);
	}
}

/* Version 5, as GCC 12 writes it for a file in ./csu after -ffile-prefix-map: directory 0 is the
 * unit's own; the path must not contain it twice. */
static const uint8_t line_table_5[] = {
	88,  0,	  0,   0,    5,	  0,   8,    0,	      /* unit_length, version, address_size, … */
	62,  0,	  0,   0,			      /* header_length */
	1,   1,	  1,   0xfb, 14,  10,		      /* min_instruction … opcode_base */
	0,   1,	  1,   1,    1,	  0,   0,    0,	   1, /* standard_opcode_lengths */
	1,   1,	  8, /* directories: DW_LNCT_path, DW_FORM_string */
	2,   '.', '/', 'c',  's', 'u', 0,    '.',  '.', '/', 'e', 'l', 'f', 0,	 2,   1,
	8,   2,	  0xb, /* files: path, and DW_LNCT_directory_index, DW_FORM_data1 */
	3,   'a', '.', 'c',  0,	  0,   'b',  '.',  'h', 0,   1,	  '/', 'x', '/', 'c', '.',
	'h', 0,	  0,   0,    9,	  2,   0x00, 0x10, 0,	0,   0,	  0,   0,   0, /* set_address 0x1000
										*/
	18,  2,	  1,   0,    1,	  1, /* line + 3, advance_pc 1, end_sequence */
};

TEST(test_line_table_directory_0)
{
	struct reel_line_input input = { .directory = "./csu",
					 .text_begin = 0x1000,
					 .text_end = 0x2000 };
	uint8_t bytes[sizeof(line_table_5)];
	struct reel_line_table *table;
	struct reel_line line;

	memcpy(bytes, line_table_5, sizeof(bytes));
	bytes[0] = sizeof(bytes) - 4;
	bytes[8] = sizeof(bytes) - 12 - 17;
	input.line.bytes = bytes;
	input.line.size = sizeof(bytes);
	assert_null(reel_line_table_create(&input, &table));
	assert_true(reel_line_table_find(table, 0x1000, &line));
	assert_int_equal(line.line, 4);
	assert_string_equal(reel_line_table_path(table, 0), "./csu/a.c");
	assert_string_equal(reel_line_table_path(table, 1), "./csu/../elf/b.h");
	assert_string_equal(reel_line_table_path(table, 2), "/x/c.h");
	reel_line_table_destroy(table);
}

RUN_TESTS()
