/* SPDX-License-Identifier: Apache-2.0 */
/* Images of files: a written image can be read back, and an image that violates SPEC.md 5.1 is
 * rejected.
 */
#include "elf/symbol_table.h"
#include "elf/image/embedded_image.h"
#include "tests/support/elf_builder.h"
#include "tests/support/test.h"

#define LIMIT (16u << 20)

/* From this program: 32 bytes at its entry, and a symbol there. */
static struct reel_buffer make(uint64_t *entry_ret, uint8_t code_ret[32])
{
	struct reel_address_ranges ranges = { 0 };
	struct reel_embedded_symbol symbol = { .name = "entry" };
	struct reel_address_range switches = { 16, 32 };
	struct reel_embedded_input input = { .code = &ranges,
					     .symbols = &symbol,
					     .n_symbols = 1,
					     .switches = &switches,
					     .n_switches = 1 };
	struct reel_buffer image = { 0 };

	assert_success(reel_elf_file_open("/proc/self/exe", &input.file));
	/* Addresses of Thumb code are odd (ELF for the Arm Architecture, 5.5.3). */
	*entry_ret = reel_elf_file_entry(input.file) & ~(uint64_t)1;
	symbol.begin = *entry_ret;
	symbol.end = *entry_ret + 8;
	assert_true(reel_elf_file_read(input.file, *entry_ret, 32, code_ret));
	/* Two pieces that touch become one. */
	reel_address_ranges_add(&ranges, *entry_ret + 8, *entry_ret + 32);
	reel_address_ranges_add(&ranges, *entry_ret, *entry_ret + 8);
	reel_address_ranges_tidy(&ranges);
	assert_int_equal(ranges.n, 1);
	assert_success(reel_embedded_image_write(&input, LIMIT, &image));
	reel_elf_file_close(input.file);
	reel_address_ranges_free(&ranges);
	return image;
}

TEST(image_is_read_again)
{
	struct reel_elf_file *file, *self;
	struct reel_symbol_table *table;
	const struct reel_symbol *symbol;
	uint8_t code[32], read[32];
	uint64_t entry, address, own;
	struct reel_buffer image = make(&entry, code);

	assert_success(reel_elf_file_open_embedded(image.bytes, image.size, "image", &file));
	assert_success(reel_elf_file_open("/proc/self/exe", &self));
	assert_true(reel_elf_file_is_embedded(file));
	assert_int_equal(reel_elf_file_entry(file), reel_elf_file_entry(self));
	assert_int_equal(reel_elf_file_build_id(file).size, reel_elf_file_build_id(self).size);
	assert_true(reel_elf_file_address_of_offset(self, 4096, true, &own));
	assert_true(reel_elf_file_address_of_offset(file, 4096, true, &address));
	assert_int_equal(address, own);
	/* Of the code, only the requested bytes. */
	assert_true(reel_elf_file_read(file, entry, 32, read));
	assert_memory_equal(read, code, 32);
	assert_true(reel_elf_file_read(file, entry + 31, 1, read));
	assert_false(reel_elf_file_read(file, entry + 31, 2, read));
	assert_false(reel_elf_file_read(file, entry - 1, 1, read));
	assert_success(reel_symbol_table_create(file, NULL, &table));
	symbol = reel_symbol_table_find(table, entry + 7);
	assert_non_null(symbol);
	assert_string_equal(symbol->name, "entry");
	assert_null(reel_symbol_table_find(table, entry + 8));
	reel_symbol_table_destroy(table);
	reel_elf_file_close(self);
	reel_elf_file_close(file);
	reel_buffer_free(&image);
}

/* A segment of code with a section of data in it; the headers are the file's. */
TEST(data_in_code_is_blank)
{
	static const uint8_t bytes[16] = "0123456789abcdef";
	struct elf_builder builder = { 0 };
	struct reel_address_ranges ranges = { 0 };
	struct reel_embedded_input input = { .code = &ranges };
	struct reel_buffer image = { 0 };
	struct reel_elf_file *file;
	uint8_t read[16];

	elf_put_header(&builder, ET_EXEC, 1);
	elf_put_segment(&builder, 0, PT_LOAD, PF_R | PF_X, 0x200, 0x401200, 0x10, 0x10);
	elf_put_bytes(&builder, 0x200, bytes, sizeof(bytes));
	elf_add_section(&builder,
			(struct elf_section_spec){ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
						   0x401200, bytes, 8, 0, 0 });
	elf_add_section(&builder, (struct elf_section_spec){ ".rodata", SHT_PROGBITS, SHF_ALLOC,
							     0x401208, bytes + 8, 4, 0, 0 });
	elf_finish_sections(&builder);
	assert_success(reel_elf_file_open_memory(builder.bytes, builder.size, "file", &input.file));
	reel_address_ranges_add(&ranges, 0x401200, 0x401210);
	assert_success(reel_embedded_image_write(&input, LIMIT, &image));
	/* Class and byte order; type, machine, version and entry; flags. */
	assert_memory_equal(image.bytes, builder.bytes, 6);
	assert_memory_equal(image.bytes + 16, builder.bytes + 16, 16);
	assert_memory_equal(image.bytes + 48, builder.bytes + 48, 4);
	assert_success(reel_elf_file_open_embedded(image.bytes, image.size, "image", &file));
	assert_true(reel_elf_file_read(file, 0x401200, sizeof(read), read));
	assert_memory_equal(read, "01234567\0\0\0\0cdef", sizeof(read));
	reel_elf_file_close(file);
	reel_elf_file_close(input.file);
	reel_address_ranges_free(&ranges);
	reel_buffer_free(&image);
}

/* Opens the image if possible, and queries everything. */
static void use(const struct reel_buffer *image, uint64_t entry)
{
	struct reel_symbol_table *table;
	struct reel_elf_file *file;
	uint8_t read[32];
	uint64_t address;
	struct reel_error *error =
		reel_elf_file_open_embedded(image->bytes, image->size, "image", &file);

	if (error) {
		reel_error_destroy(error);
		return;
	}
	reel_elf_file_read(file, entry, sizeof(read), read);
	reel_elf_file_read(file, UINT64_MAX - 4, sizeof(read), read);
	reel_elf_file_address_of_offset(file, 4096, true, &address);
	error = reel_symbol_table_create(file, NULL, &table);
	if (!error)
		reel_symbol_table_destroy(table);
	reel_error_destroy(error);
	reel_elf_file_close(file);
}

/* Change each byte, and try each size, of a copy that ends where its memory ends. */
TEST(hostile_images_are_harmless)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0xff };
	uint8_t code[32];
	uint64_t entry;
	struct reel_buffer image = make(&entry, code);

	for (size_t at = 0; at < image.size; at++) {
		uint8_t was = image.bytes[at];
		struct reel_buffer shorter = { .bytes = malloc(at + 1), .size = at };

		for (size_t i = 0; i < sizeof(values); i++) {
			image.bytes[at] = values[i];
			use(&image, entry);
		}
		image.bytes[at] = was;
		assert_non_null(shorter.bytes);
		memcpy(shorter.bytes, image.bytes, at);
		use(&shorter, entry);
		free(shorter.bytes);
	}
	reel_buffer_free(&image);
}

static void bad_code(const uint64_t *words, size_t n)
{
	struct reel_embedded_code code;
	uint8_t bytes[128];

	for (size_t i = 0; i < n; i++)
		reel_store64(bytes + 8 * i, words[i]);
	assert_error(reel_embedded_code_open((struct reel_bytes){ bytes, 8 * n }, false, &code),
		     REEL_ERROR_CORRUPT);
}

TEST(malformed_code_is_refused)
{
	static const uint64_t more_pieces[] = { 2, 16, 8, 0 };
	static const uint64_t many[] = { UINT64_MAX, 16, 8, 0 };
	static const uint64_t more_bytes[] = { 1, 16, 9, 0 };
	static const uint64_t no_bytes[] = { 1, 16, 0, 0 };
	static const uint64_t past_end[] = { 1, UINT64_MAX - 6, 8, 0 };
	static const uint64_t touching[] = { 2, 16, 8, 24, 8, 0, 0 };
	static const uint64_t descending[] = { 2, 64, 8, 16, 8, 0, 0 };

	bad_code(more_pieces, 4);
	bad_code(many, 4);
	bad_code(more_bytes, 4);
	bad_code(no_bytes, 4);
	bad_code(past_end, 4);
	bad_code(touching, 7);
	bad_code(descending, 7);
}

TEST(limits_are_kept)
{
	struct reel_address_ranges none = { 0 };
	struct reel_embedded_input input = { .code = &none };
	struct reel_buffer image = { 0 };

	assert_success(reel_elf_file_open("/proc/self/exe", &input.file));
	assert_error(reel_embedded_image_write(&input, 100, &image), REEL_ERROR_UNSUPPORTED);
	reel_buffer_free(&image);
	/* A buffer without memory does not grow, to any alignment. */
	image = (struct reel_buffer){ .size = 1, .failed = true };
	assert_error(reel_embedded_image_write(&input, LIMIT, &image), REEL_ERROR_NO_MEMORY);
	reel_elf_file_close(input.file);
}

RUN_TESTS()
