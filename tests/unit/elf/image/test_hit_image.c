/* SPDX-License-Identifier: Apache-2.0 */
/* Images made from the addresses of samples, for this very program. */
#include "elf/symbol_table.h"
#include "elf/image/hit_image.h"
#include "cfi/module_cfi.h"
#include "tests/support/test.h"

#define LIMIT (16u << 20)

__attribute__((noinline)) int hit_function(int value);
__attribute__((noinline)) int other_function(int value);

__attribute__((noinline)) int hit_function(int value)
{
	return (int)(7 * (unsigned)value);
}

__attribute__((noinline)) int other_function(int value)
{
	return (int)(9 * (unsigned)value);
}

/* Long enough that only all of it has its middle. */
#define LONG "	.rept 256\n	nop\n	.endr\n"
#define INTO 128

static const void *returned_to;
__attribute__((noinline)) void called_function(void);
__attribute__((noinline)) int calling_function(int value);

void called_function(void)
{
	returned_to = __builtin_return_address(0);
	__asm__ volatile(LONG);
}

int calling_function(int value)
{
	called_function();
	return value + 1;
}

/* Without an FDE, and not next to the code that begins the program, which has none either. */
__asm__("	.pushsection .text.bare, \"ax\"\n"
	"	.globl bare_function\n"
	"bare_function:\n" LONG "	.size bare_function, .-bare_function\n"
	"	.popsection\n");

struct made {
	struct reel_elf_file *file, *image;
	struct reel_symbol_table *symbols;
	struct reel_cfi *file_cfi, *cfi;
	struct reel_buffer bytes;
	uint64_t hit, other; /* ELF addresses */
};

struct wanted {
	const char *name;
	uint64_t address;
};

static void find(void *context, const char *name, uint64_t address)
{
	struct wanted *wanted = context;

	if (!strcmp(name, wanted->name))
		wanted->address = address;
}

static uint64_t address_of(struct reel_elf_file *file, const char *name)
{
	struct wanted wanted = { .name = name };

	assert_success(reel_symbol_table_visit(file, find, &wanted));
	assert_true(wanted.address);
	return wanted.address;
}

/* The offset of an ELF address, by trying all: the mapping has no inverse. */
static uint64_t offset_of(const struct reel_elf_file *file, uint64_t address)
{
	uint64_t found;

	for (uint64_t offset = 0; offset < reel_elf_file_length(file); offset += 4096) {
		if (reel_elf_file_address_of_offset(file, offset, true, &found) &&
		    address - found < 4096)
			return offset + (address - found);
	}
	fail_msg("no offset");
	return 0;
}

static const struct reel_arch *arch_of(const struct reel_elf_file *file)
{
	return reel_arch_by_machine(reel_elf_file_machine(file), reel_elf_file_word_bits(file));
}

/* The test is skipped when built for a CPU that cannot be recorded (tests/hosts). */
static struct reel_elf_file *open_self(void)
{
	struct reel_elf_file *file;

	assert_success(reel_elf_file_open("/proc/self/exe", &file));
	if (arch_of(file))
		return file;
	reel_elf_file_close(file);
	skip();
	return NULL;
}

static struct reel_error *make_once(struct reel_elf_file *file, const uint64_t *hits, size_t n,
				    const struct reel_hit_image_options *options, size_t limit,
				    struct reel_buffer *ret)
{
	struct reel_hit_imager *imager;
	struct reel_error *error;

	assert_success(reel_hit_imager_create(file, options, &imager));
	error = reel_hit_imager_make(imager, hits, n, limit, ret);
	reel_hit_imager_destroy(imager);
	return error;
}

static struct made make(const struct reel_hit_image_options *options)
{
	struct made made = { 0 };
	const struct reel_arch *arch;
	uint64_t hit;

	made.file = open_self();
	arch = arch_of(made.file);
	made.hit = address_of(made.file, "hit_function");
	made.other = address_of(made.file, "other_function");
	hit = offset_of(made.file, made.hit) | REEL_HIT_IS_PC;
	assert_success(make_once(made.file, &hit, 1, options, LIMIT, &made.bytes));
	assert_success(reel_elf_file_open_embedded(made.bytes.bytes, made.bytes.size, "image",
						   &made.image));
	assert_success(reel_module_cfi_create(made.file, NULL, arch, &made.file_cfi));
	assert_success(reel_module_cfi_create(made.image, NULL, arch, &made.cfi));
	assert_success(reel_symbol_table_create(made.image, NULL, &made.symbols));
	return made;
}

static void end(struct made *made)
{
	reel_symbol_table_destroy(made->symbols);
	reel_cfi_destroy(made->cfi);
	reel_cfi_destroy(made->file_cfi);
	reel_elf_file_close(made->image);
	reel_elf_file_close(made->file);
	reel_buffer_free(&made->bytes);
}

TEST(what_was_hit_is_in_it)
{
	struct made made = make(&(struct reel_hit_image_options){ 0 });
	const struct reel_symbol *symbol = reel_symbol_table_find(made.symbols, made.hit);
	uint8_t of_file[16], of_image[16];
	struct reel_cfi_row row, row_of_file;

	assert_non_null(symbol);
	assert_string_equal(symbol->name, "hit_function");
	assert_int_equal(symbol->address, made.hit);
	assert_int_equal(reel_cfi_row_at(made.cfi, made.hit, &row, NULL),
			 reel_cfi_row_at(made.file_cfi, made.hit, &row_of_file, NULL));
	assert_int_equal(row.fde_begin, row_of_file.fde_begin);
	assert_int_equal(row.fde_end, row_of_file.fde_end);
	assert_true(reel_elf_file_read(made.image, made.hit, sizeof(of_image), of_image));
	assert_true(reel_elf_file_read(made.file, made.hit, sizeof(of_file), of_file));
	assert_memory_equal(of_image, of_file, sizeof(of_file));
	/* The code that the kernel or the dynamic loader jumps to. */
	if (reel_cfi_row_at(made.file_cfi, reel_elf_file_entry(made.file), &row, NULL) ==
	    REEL_CFI_FOUND)
		assert_true(reel_elf_file_read(made.image, reel_elf_file_entry(made.file),
					       sizeof(of_image), of_image));
	end(&made);
}

TEST(what_was_not_hit_is_not)
{
	struct made made = make(&(struct reel_hit_image_options){ 0 });
	const struct reel_symbol *symbol = reel_symbol_table_find(made.symbols, made.other);
	uint64_t begin, end_of;
	uint8_t byte;

	assert_null(symbol);
	assert_true(reel_cfi_function_at(made.file_cfi, made.other, &begin, &end_of));
	assert_false(reel_cfi_function_at(made.cfi, made.other, &begin, &end_of));
	assert_false(reel_elf_file_read(made.image, made.hit + 8192, 1, &byte));
	assert_true(made.bytes.size < 8192);
	end(&made);
}

/* Whether an image has the code that a hit return address was called for, beside a hit pc. */
static bool has_callee(const char *pc)
{
	struct reel_elf_file *file = open_self(), *image;
	uint64_t callee = address_of(file, "called_function"), hits[2];
	struct wanted wanted = { .name = pc };
	struct reel_buffer bytes = { 0 };
	uint8_t byte;
	bool has;

	assert_int_equal(calling_function(1), 2);
	assert_success(reel_symbol_table_visit(file, find, &wanted));
	if (!wanted.address) {
		reel_elf_file_close(file);
		skip(); /* other toolchains have other code there */
	}
	hits[0] = offset_of(
		file, callee + (uint64_t)((uintptr_t)returned_to - (uintptr_t)called_function));
	hits[1] = offset_of(file, wanted.address) | REEL_HIT_IS_PC;
	assert_success(
		make_once(file, hits, 2, &(struct reel_hit_image_options){ 0 }, LIMIT, &bytes));
	assert_success(reel_elf_file_open_embedded(bytes.bytes, bytes.size, "image", &image));
	has = reel_elf_file_read(image, callee + INTO, 1, &byte);
	reel_elf_file_close(image);
	reel_buffer_free(&bytes);
	reel_elf_file_close(file);
	return has;
}

/* Any call may have led to code without an FDE, by a jump. */
TEST(what_may_lead_to_code_without_an_fde_is)
{
	assert_true(has_callee("bare_function"));
}

/* lld leaves the array to the relocations. */
static bool names_its_end(void)
{
	struct reel_elf_file *file = open_self();
	struct reel_loaded_bytes array;
	uint8_t none[sizeof(uintptr_t)] = { 0 };
	bool names = reel_elf_file_section(file, ".fini_array", &array) &&
		     array.size >= sizeof(none) && memcmp(array.bytes, none, sizeof(none)) != 0;

	reel_elf_file_close(file);
	return names;
}

/* A program's last samples would make its images several times as large. */
TEST(nothing_leads_to_the_code_that_ends_a_program)
{
	assert_false(has_callee("_init"));
	if (!names_its_end())
		skip();
	assert_false(has_callee("__do_global_dtors_aux"));
}

TEST(everything_is_if_that_is_wanted)
{
	struct made made = make(&(struct reel_hit_image_options){ .everything = true });
	const struct reel_symbol *symbol = reel_symbol_table_find(made.symbols, made.other);
	uint64_t begin, end_of;

	assert_non_null(symbol);
	assert_string_equal(symbol->name, "other_function");
	assert_true(reel_cfi_function_at(made.cfi, made.other, &begin, &end_of));
	end(&made);
}

TEST(names_can_be_left_out)
{
	struct made made = make(&(struct reel_hit_image_options){ .no_symbols = true });
	uint64_t begin, end_of;

	assert_null(reel_symbol_table_find(made.symbols, made.hit));
	assert_true(reel_cfi_function_at(made.cfi, made.hit, &begin, &end_of));
	assert_null(memmem(made.bytes.bytes, made.bytes.size, "hit_function", 12));
	end(&made);
}

TEST(too_much_is_refused)
{
	const struct reel_hit_image_options options = { .everything = true };
	struct reel_buffer image = { 0 };
	struct reel_elf_file *file;

	assert_success(reel_elf_file_open("/proc/self/exe", &file));
	assert_error(make_once(file, NULL, 0, &options, 4096, &image), REEL_ERROR_UNSUPPORTED);
	reel_buffer_free(&image);
	reel_elf_file_close(file);
}

/* Hits come from an untrusted stack: any address. */
TEST(no_code_is_no_harm)
{
	const struct reel_hit_image_options options = { 0 };
	const uint64_t hits[] = { 0, 1, 4096, UINT32_MAX, INT64_MAX, REEL_HIT_IS_PC, UINT64_MAX };
	struct reel_buffer image = { 0 };
	struct reel_elf_file *file;

	file = open_self();
	assert_success(
		make_once(file, hits, sizeof(hits) / sizeof(*hits), &options, LIMIT, &image));
	reel_buffer_free(&image);
	reel_elf_file_close(file);
}

/* Every 256th byte of the file, a part of them first: as if all had been hit at once. */
TEST(images_grow_to_what_all_hits_need)
{
	static uint64_t all[4096], some[4096];
	const struct reel_hit_image_options options = { 0 };
	struct reel_buffer once = { 0 }, image = { 0 };
	struct reel_hit_imager *imager;
	struct reel_elf_file *file = open_self();
	size_t n_some = 0, n = sizeof(all) / sizeof(*all);

	for (size_t i = 0; i < n; i++)
		all[i] = 256 * i;
	assert_success(make_once(file, all, n, &options, LIMIT, &once));
	assert_success(reel_hit_imager_create(file, &options, &imager));
	for (unsigned int part = 5; part; part--) {
		n_some = 0;
		for (size_t i = 0; i < n; i++)
			if (part == 1 || i % part == 3)
				some[n_some++] = all[i];
		image.size = 0;
		/* The next part does not have these hits: it begins again. */
		assert_success(reel_hit_imager_make(imager, some, n_some, LIMIT, &image));
		image.size = 0;
		assert_success(reel_hit_imager_make(imager, all, n, LIMIT, &image));
		assert_int_equal(image.size, once.size);
		assert_memory_equal(image.bytes, once.bytes, once.size);
	}
	/* After a failure as well. */
	assert_error(reel_hit_imager_make(imager, all, n, 4096, &image), REEL_ERROR_UNSUPPORTED);
	image.size = 0;
	assert_success(reel_hit_imager_make(imager, all, n, LIMIT, &image));
	assert_int_equal(image.size, once.size);
	assert_memory_equal(image.bytes, once.bytes, once.size);
	reel_hit_imager_destroy(imager);
	reel_buffer_free(&once);
	reel_buffer_free(&image);
	reel_elf_file_close(file);
}

int main(void)
{
	/* They decide what the images contain. */
	if (hit_function(1) == other_function(2))
		return 1;
	return unit_tests_run(NULL, NULL);
}
