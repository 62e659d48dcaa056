/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files: built in memory for layouts that no linker here produces, and this very program for
 * the rest.
 */
#include <link.h>
#include <sys/auxv.h>

#include "elf/elf_file.h"
#include "cfi/module_cfi.h"
#include "replay/names/symbolizer.h"

#include "base/bytes.h"
#include "tests/support/elf_builder.h"
#include "tests/support/test.h"

static struct reel_elf_file *open_image(const struct elf_builder *builder)
{
	struct reel_elf_file *file = NULL;

	assert_null(reel_elf_file_open_memory(builder->bytes, builder->size, "image", &file));
	return file;
}

static uint64_t address_of(const struct reel_elf_file *file, uint64_t offset)
{
	uint64_t address = 0;

	assert_true(reel_elf_file_address_of_offset(file, offset, true, &address));
	return address;
}

/* As lld lays out files: each segment's address is one page farther than its offset. */
TEST(test_addresses_differ_from_offsets)
{
	struct elf_builder builder = { 0 };
	struct reel_elf_file *file;
	uint64_t address;

	elf_put_header(&builder, ET_DYN, 3);
	elf_put_segment(&builder, 0, PT_LOAD, PF_R, 0, 0, 0x5f0, 0x1000);
	elf_put_segment(&builder, 1, PT_LOAD, PF_R | PF_X, 0x5f0, 0x15f0, 0x400, 0x1000);
	elf_put_segment(&builder, 2, PT_LOAD, PF_R | PF_W, 0x9f0, 0x29f0, 0x100, 0x1000);
	elf_put(&builder, 0x5f8, 0x1122334455667788, 8);
	elf_put(&builder, 0xb00, 0, 1);
	file = open_image(&builder);
	assert_int_equal(address_of(file, 0x5f8), 0x15f8);
	/* The mapping of the code starts at offset 0, as does the code. */
	assert_int_equal(address_of(file, 0), 0x1000);
	assert_int_equal(address_of(file, 0x9ef), 0x19ef);
	/* The data's exact bytes, in a page that is also mapped as code. */
	assert_int_equal(address_of(file, 0x9f8), 0x19f8);
	assert_false(reel_elf_file_address_of_offset(file, 0x1000, true, &address));
	assert_false(reel_elf_file_address_of_offset(file, UINT64_MAX, true, &address));
	reel_elf_file_close(file);
}

TEST(test_text_range_and_read)
{
	struct elf_builder builder = { 0 };
	uint64_t begin, end;
	struct reel_segment segment;
	struct reel_elf_file *file;
	uint8_t bytes[8];

	elf_put_header(&builder, ET_EXEC, 2);
	elf_put_segment(&builder, 0, PT_LOAD, PF_R | PF_X, 0x200, 0x401200, 0x100, 0x1000);
	elf_put_segment(&builder, 1, PT_LOAD, PF_R | PF_X, 0x300, 0x700300, 0x10, 0x1000);
	elf_put(&builder, 0x2f8, 0x0102030405060708, 8);
	elf_put(&builder, 0x400, 0, 1);
	file = open_image(&builder);
	reel_elf_file_text_range(file, &begin, &end);
	assert_int_equal(begin, 0x401200);
	assert_int_equal(end, 0x700310);
	assert_true(reel_elf_file_code_segment(file, 0x70030f, &segment));
	assert_int_equal(segment.address, 0x700300);
	assert_int_equal(segment.offset, 0x300);
	assert_int_equal(segment.size, 0x10);
	assert_false(reel_elf_file_code_segment(file, 0x700310, &segment));
	assert_false(reel_elf_file_code_segment(file, 0x4011ff, &segment));
	assert_true(reel_elf_file_read(file, 0x4012f8, 8, bytes));
	assert_int_equal(reel_load64(bytes), 0x0102030405060708);
	assert_false(reel_elf_file_read(file, 0x4012f9, 8, bytes));
	assert_false(reel_elf_file_read(file, 0x4011ff, 1, bytes));
	assert_false(reel_elf_file_read(file, 0x401200, SIZE_MAX, bytes));
	assert_int_equal(reel_elf_file_entry(file), 0x401234);
	reel_elf_file_close(file);
}

/*
 * No linker makes such files.  For every read, a byte belongs to the first segment that holds it.
 */
TEST(test_overlapping_segments)
{
	struct elf_builder builder = { 0 };
	struct reel_elf_file *file;
	uint8_t bytes[0x200];

	elf_put_header(&builder, ET_DYN, 2);
	elf_put_segment(&builder, 0, PT_LOAD, PF_R | PF_X, 0x400, 0x1100, 0x100, 0x1000);
	elf_put_segment(&builder, 1, PT_LOAD, PF_R | PF_X, 0x600, 0x1000, 0x300, 0x1000);
	elf_put(&builder, 0x400, 1, 1);
	elf_put(&builder, 0x600 + 0xff, 2, 1);
	elf_put(&builder, 0x600 + 0x100, 3, 1);
	elf_put(&builder, 0x900, 0, 1);
	file = open_image(&builder);
	assert_true(reel_elf_file_read(file, 0x1100, 1, bytes));
	assert_int_equal(bytes[0], 1);
	assert_true(reel_elf_file_read(file, 0x1000, 0x100, bytes));
	assert_int_equal(bytes[0xff], 2);
	assert_false(reel_elf_file_read(file, 0x1000, 0x101, bytes));
	assert_false(reel_elf_file_read(file, 0x11ff, 2, bytes));
	assert_true(reel_elf_file_read(file, 0x1200, 0x100, bytes));
	reel_elf_file_close(file);
}

/* A file without sections, in both byte orders: the build-id is in PT_NOTE. */
TEST(test_build_id_of_segments)
{
	for (int big_endian = 0; big_endian < 2; big_endian++) {
		struct elf_builder builder = { .big_endian = big_endian };
		struct reel_bytes build_id;
		struct reel_elf_file *file;

		elf_put_header(&builder, ET_DYN, 2);
		elf_put_segment(&builder, 0, PT_LOAD, PF_R | PF_X, 0, 0, 0x300, 0x1000);
		elf_put_segment(&builder, 1, PT_NOTE, PF_R, 0x200, 0x200, 36, 4);
		elf_put_note(&builder, 0x200, "0123456789abcdefghij");
		elf_put(&builder, 0x300, 0, 1);
		file = open_image(&builder);
		build_id = reel_elf_file_build_id(file);
		assert_int_equal(build_id.size, 20);
		assert_memory_equal(build_id.data, "0123456789abcdefghij", 20);
		assert_int_equal(reel_elf_file_big_endian(file), big_endian);
		assert_int_equal(reel_elf_file_machine(file), big_endian ? EM_S390 : EM_X86_64);
		assert_int_equal(reel_elf_file_word_bits(file), 64);
		reel_elf_file_close(file);
	}
}

/* Notes that claim to be longer than they are. */
TEST(test_bad_notes)
{
	static const uint32_t sizes[][2] = { { 4, UINT32_MAX }, { UINT32_MAX, 20 }, { 4, 65 },
					     { 4, 0 },		{ 3, 20 },	    { 0, 20 } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct elf_builder builder = { 0 };
		struct reel_elf_file *file;

		elf_put_header(&builder, ET_DYN, 1);
		elf_put_segment(&builder, 0, PT_NOTE, PF_R, 0x200, 0x200, 0x100, 4);
		elf_put_note(&builder, 0x200, "0123456789abcdefghij");
		elf_put(&builder, 0x200, sizes[i][0], 4);
		elf_put(&builder, 0x204, sizes[i][1], 4);
		elf_put(&builder, 0x300, 0, 1);
		file = open_image(&builder);
		assert_int_equal(reel_elf_file_build_id(file).size, 0);
		reel_elf_file_close(file);
	}
}

/* No section headers: .eh_frame_hdr by PT_GNU_EH_FRAME, and .eh_frame by the pointer in it. */
TEST(test_eh_frame_without_sections)
{
	struct elf_builder builder = { 0 };
	struct reel_cfi_input input;
	struct reel_elf_file *file;

	elf_put_header(&builder, ET_DYN, 3);
	elf_put_segment(&builder, 0, PT_LOAD, PF_R, 0, 0x10000, 0x400, 0x1000);
	elf_put_segment(&builder, 1, PT_LOAD, PF_R | PF_X, 0x400, 0x20400, 0x100, 0x1000);
	elf_put_segment(&builder, 2, PT_GNU_EH_FRAME, PF_R, 0x300, 0x10300, 0x20, 4);
	elf_put(&builder, 0x300, 0x3b031b01,
		4);			   /* version 1, pcrel sdata4, udata4, datarel sdata4 */
	elf_put(&builder, 0x304, 0x1c, 4); /* 0x10320 */
	elf_put(&builder, 0x320, 0xabcd, 4);
	elf_put(&builder, 0x500, 0, 1);
	file = open_image(&builder);
	assert_null(reel_module_cfi_input(file, &input));
	assert_int_equal(input.eh_frame_hdr.address, 0x10300);
	assert_int_equal(input.eh_frame_hdr.size, 0x20);
	assert_int_equal(input.eh_frame.address, 0x10320);
	assert_int_equal(input.eh_frame.size, 0xe0);
	assert_int_equal(reel_load32(input.eh_frame.bytes), 0xabcd);
	assert_int_equal(input.debug_frame.size, 0);
	assert_int_equal(input.text_begin, 0x20400);
	reel_elf_file_close(file);
}

TEST(test_not_elf)
{
	static const uint8_t text[] = "This is not an ELF file, and long enough to be read.";
	struct elf_builder builder = { 0 };
	struct reel_elf_file *file;

	assert_error_says(reel_elf_file_open_memory(text, sizeof(text), "text", &file),
			  REEL_ERROR_NOT_A_CAPTURE, "text: not an ELF file");
	assert_error_says(reel_elf_file_open("/", &file), REEL_ERROR_NOT_A_CAPTURE,
			  "not a regular file");
	assert_error_says(reel_elf_file_open("/nowhere/at/all", &file), REEL_ERROR_OS,
			  "No such file");
	elf_put_header(&builder, ET_CORE, 0);
	elf_put(&builder, 64, 0, 1);
	assert_error_says(reel_elf_file_open_memory(builder.bytes, builder.size, "core", &file),
			  REEL_ERROR_UNSUPPORTED, "core dump");
}

TEST(test_own_file)
{
	struct reel_loaded_bytes section;
	struct reel_cfi_input input;
	uint64_t device, inode, begin, end;
	struct reel_elf_file *file;
	uint8_t code[4];

	assert_null(reel_elf_file_open("/proc/self/exe", &file));
	assert_true(reel_elf_file_identity(file, &device, &inode));
	assert_false(reel_elf_file_is_debug_only(file));
	assert_true(reel_elf_file_has_symbols(file));
	assert_null(reel_module_cfi_input(file, &input));
#ifndef __arm__ /* which has .ARM.exidx instead */
	assert_true(input.eh_frame.size && input.eh_frame_hdr.size);
#endif
	assert_true(reel_elf_file_section(file, ".text", &section));
	assert_int_equal(section.address, input.text_base);
	reel_elf_file_text_range(file, &begin, &end);
	assert_true(section.address >= begin && section.address + section.size <= end);
	assert_true(reel_elf_file_read(file, section.address, sizeof(code), code));
	assert_memory_equal(code, section.bytes, sizeof(code));
	assert_false(reel_elf_file_section(file, ".bss", &section));
	assert_false(reel_elf_file_section(file, ".no_such_section", &section));
	reel_elf_file_close(file);
}

/* The vDSO is an image in memory, as in captures. */
TEST(test_vdso)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
	const struct reel_symbol_frame *frames;
	struct reel_symbolizer *symbolizer;
	uint64_t begin, end, address;
	struct reel_cfi_input input;
	struct reel_elf_file *file;
	bool found = false;
	size_t n;

	if (!header)
		skip();
	assert_null(reel_elf_file_open_memory(
		(const uint8_t *)header,
		header->e_shoff + (size_t)header->e_shnum * header->e_shentsize, "[vdso]", &file));
	assert_true(reel_elf_file_build_id(file).size > 0);
	assert_null(reel_module_cfi_input(file, &input));
	assert_true(input.eh_frame.size > 0);
	assert_true(reel_elf_file_address_of_offset(file, header->e_entry, true, &address));
	assert_null(reel_symbolizer_create(file, NULL, NULL, &symbolizer));
	reel_elf_file_text_range(file, &begin, &end);
	for (address = begin; address < end && !found; address += 4) {
		assert_null(reel_symbolizer_look_up(symbolizer, address, &frames, &n));
		found = strstr(frames[0].function, "clock_gettime");
	}
	assert_true(found);
	reel_symbolizer_destroy(symbolizer);
	reel_elf_file_close(file);
}

/* ---- damage ------------------------------------------------------------------ */

static uint64_t random_state = 88172645463325252;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint8_t *read_own_file(size_t *size_ret)
{
	FILE *stream = fopen("/proc/self/exe", "rb");
	uint8_t *bytes;
	long size;

	assert_non_null(stream);
	assert_int_equal(fseek(stream, 0, SEEK_END), 0);
	size = ftell(stream);
	rewind(stream);
	bytes = malloc((size_t)size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)size, stream), size);
	fclose(stream);
	*size_ret = (size_t)size;
	return bytes;
}

extern void _start(void);

/* The difference between the file's addresses and this process's. */
static uint64_t load_bias(void)
{
	struct reel_elf_file *file;
	uint64_t bias;

	assert_null(reel_elf_file_open("/proc/self/exe", &file));
	bias = (uint64_t)(uintptr_t)_start - reel_elf_file_entry(file);
	reel_elf_file_close(file);
	return bias;
}

/* An ELF address in or shortly after one of our own functions, which have debug information. */
static uint64_t random_address(void)
{
	static uint64_t bias = UINT64_MAX;
	const uintptr_t functions[] = {
		(uintptr_t)read_own_file,
		(uintptr_t)next_random,
		(uintptr_t)reel_elf_file_open_memory,
		(uintptr_t)reel_elf_file_section,
		(uintptr_t)reel_symbolizer_look_up,
		(uintptr_t)reel_module_cfi_input,
	};

	if (bias == UINT64_MAX)
		bias = load_bias();
	return functions[next_random() % (sizeof(functions) / sizeof(functions[0]))] - bias +
	       next_random() % 4096;
}

/* Every query on a file; it only counts that they return. */
static void exercise(struct reel_elf_file *file)
{
	const struct reel_symbol_frame *frames;
	struct reel_symbolizer *symbolizer;
	struct reel_cfi_input input;
	uint64_t address;
	volatile uint8_t byte;
	size_t n;

	assert_null(reel_module_cfi_input(file, &input));
	/* Reads every byte, so that ASan sees invalid ones. */
	for (size_t i = 0; i < input.eh_frame.size; i++)
		byte = input.eh_frame.bytes[i];
	for (size_t i = 0; i < input.eh_frame_hdr.size; i++)
		byte = input.eh_frame_hdr.bytes[i];
	(void)byte;
	reel_elf_file_address_of_offset(file, next_random() % 65536, true, &address);
	assert_null(reel_symbolizer_create(file, NULL, NULL, &symbolizer));
	for (int i = 0; i < 40; i++) {
		assert_null(reel_symbolizer_look_up(symbolizer, random_address(), &frames, &n));
		assert_true(n >= 1);
		for (size_t j = 0; j < n; j++)
			assert_true(strlen(frames[j].function) + strlen(frames[j].file) < 1 << 20);
	}
	reel_symbolizer_destroy(symbolizer);
}

static void try_image(const uint8_t *bytes, size_t size)
{
	/* A buffer of the exact size, so that ASan knows its end. */
	uint8_t *copy = malloc(size + !size);
	struct reel_elf_file *file = NULL;
	struct reel_error *error;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	error = reel_elf_file_open_memory(copy, size, "damaged", &file);
	if (error)
		reel_error_destroy(error);
	else
		exercise(file);
	reel_elf_file_close(file);
	free(copy);
}

TEST(test_truncated)
{
	size_t size;
	uint8_t *bytes = read_own_file(&size);

	for (size_t i = 0; i < 128; i++)
		try_image(bytes, i);
	for (int i = 0; i < 100; i++)
		try_image(bytes, next_random() % size);
	free(bytes);
}

/* The sections that contain headers, symbols and DWARF, to damage the bytes that are read. */
static void damage(uint8_t *bytes, size_t size, const struct reel_loaded_bytes *sections, size_t n)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	uint8_t *target = bytes;
	size_t target_size = 64 + 13 * 56, which = next_random() % (n + 2);

	if (which == n + 1) {
		/* The section headers are at the end. */
		target_size = size < 4096 ? size : 4096;
		target = bytes + size - target_size;
	} else if (which < n && sections[which].size) {
		/* Sections' bytes are in the image itself; see the caller. */
		target = bytes + sections[which].address;
		target_size = sections[which].size;
	}
	for (size_t i = 0; i < 1 + next_random() % 8; i++) {
		size_t at = next_random() % target_size;

		target[at] = next_random() % 2 ? (uint8_t)next_random()
					       : values[next_random() % sizeof(values)];
	}
}

TEST(test_mutated)
{
	static const char *const names[] = {
		".symtab",	  ".strtab",	     ".debug_info",	  ".debug_abbrev",
		".debug_line",	  ".debug_line_str", ".debug_str",	  ".debug_rnglists",
		".debug_aranges", ".eh_frame_hdr",   ".note.gnu.build-id"
	};
	enum { COUNT = sizeof(names) / sizeof(names[0]) };
	const char *wanted = getenv("REEL_MUTATIONS");
	struct reel_loaded_bytes sections[COUNT];
	long rounds = wanted ? atol(wanted) : 400;
	struct reel_elf_file *file;
	size_t size;
	uint8_t *bytes = read_own_file(&size), *copy = malloc(size);

	assert_non_null(copy);
	assert_null(reel_elf_file_open_memory(bytes, size, "self", &file));
	for (size_t i = 0; i < COUNT; i++) {
		/* libelf returns pointers into an image in memory. */
		if (!reel_elf_file_section(file, names[i], &sections[i]) ||
		    sections[i].bytes < bytes || sections[i].bytes >= bytes + size)
			sections[i].size = 0;
		else
			sections[i].address = (uint64_t)(sections[i].bytes - bytes);
	}
	reel_elf_file_close(file);
	for (long i = 0; i < rounds; i++) {
		memcpy(copy, bytes, size);
		damage(copy, size, sections, COUNT);
		try_image(copy, size);
	}
	free(copy);
	free(bytes);
}

/* The error number that elf_sections.c reports as out of memory. */
TEST(test_no_memory_number)
{
	assert_string_equal(elf_errmsg(8), "out of memory");
}

RUN_TESTS()
