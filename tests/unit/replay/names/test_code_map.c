/* SPDX-License-Identifier: Apache-2.0 */
/* What an address of a space contains, for the unwinder. */
#include <elf.h>

#include "replay/names/code_map.h"
#include "tests/support/test.h"

static void add(struct reel_timeline *timeline, struct reel_record record)
{
	assert_null(reel_timeline_add(timeline, &record));
}

static void add_sized_mapping(struct reel_timeline *timeline, uint64_t address, uint64_t size,
			      uint64_t protection, uint64_t module)
{
	add(timeline, (struct reel_record){ .id = REEL_RECORD_MAP,
					    .map = { .space = 1,
						     .address = address,
						     .size = size,
						     .protection = protection,
						     .flags = 2,
						     .module = module } });
}

static void add_mapping(struct reel_timeline *timeline, uint64_t address, uint64_t protection,
			uint64_t module)
{
	add_sized_mapping(timeline, address, 0x1000, protection, module);
}

/* Modules 1, without a file, and 2, and space 1. */
static void add_modules(struct reel_timeline *timeline)
{
	add(timeline, (struct reel_record){ .id = REEL_RECORD_MODULE,
					    .module = { .id = 1,
							.kind = REEL_MODULE_ANONYMOUS,
							.path = reel_bytes_of_string("//anon") } });
	add(timeline, (struct reel_record){ .id = REEL_RECORD_MODULE,
					    .module = { .id = 2,
							.kind = REEL_MODULE_FILE,
							.path = reel_bytes_of_string("/bin/a") } });
	add(timeline, (struct reel_record){ .id = REEL_RECORD_SPACE, .space = { .id = 1 } });
}

/*
 * perf record lists data as well as code.  A pc in data is not code of an unknown kind (JIT), for
 * which frame pointers may be tried: a stack that ends in zeros there would look complete.
 */
TEST(data_is_no_code)
{
	static const char *const nowhere[] = { NULL };
	struct reel_capture_options options = { .no_host_files = true, .debug_dirs = nowhere };
	struct reel_code_map *map = calloc(1, sizeof(*map));
	struct reel_timeline *timeline;
	struct reel_code code;
	uint8_t byte;

	assert_non_null(map);
	assert_null(reel_timeline_create(true, &timeline));
	add_modules(timeline);
	add_mapping(timeline, 0x10000, 3, 1);
	add_mapping(timeline, 0x20000, 7, 1);
	add_mapping(timeline, 0x30000, 1, 2);
	add_mapping(timeline, 0x40000, 5, 2);
	assert_null(reel_timeline_seal(timeline));
	assert_null(reel_modules_create(timeline, &options, "", NULL, &map->modules));
	reel_code_map_set_space(map, reel_timeline_view(timeline, 1, 1), NULL);

	assert_int_equal(reel_code_map_find_code(map, 0x10800, &code), REEL_CODE_NO_MAPPING);
	assert_int_equal(reel_code_map_find_code(map, 0x20800, &code), REEL_CODE_ANONYMOUS);
	assert_int_equal(reel_code_map_find_code(map, 0x30800, &code), REEL_CODE_NO_MAPPING);
	assert_int_equal(reel_code_map_find_code(map, 0x40800, &code), REEL_CODE_MODULE_MISSING);
	assert_int_equal(reel_code_map_find_code(map, 0x50800, &code), REEL_CODE_NO_MAPPING);
	assert_false(reel_code_map_read(map, 0x20800, 1, &byte));

	assert_null(map->error);
	reel_modules_destroy(map->modules);
	reel_timeline_destroy(timeline);
	reel_code_map_free(map);
	free(map);
}

/* A JIT's code is read like a file's, across adjacent records; a file takes precedence, and the
 * code of a missing file can also have been recorded. */
TEST(recorded_code_is_read)
{
	static const char *const nowhere[] = { NULL };
	struct reel_capture_options options = { .no_host_files = true, .debug_dirs = nowhere };
	struct reel_code_map *map = calloc(1, sizeof(*map));
	struct reel_record_code records[] = {
		{ 1, 1, 0, 0x20ffc, reel_bytes_of_string("1234") },
		{ 1, 1, 0, 0x21000, reel_bytes_of_string("5678") },
		{ 1, 1, 0, 0x40000, reel_bytes_of_string("gone") },
		{ 2, 1, 0, 0x21000, reel_bytes_of_string("!") },
	};
	struct reel_timeline *timeline;
	struct reel_code code = { 0 };
	uint8_t bytes[9] = { 0 };

	assert_non_null(map);
	assert_null(reel_timeline_create(true, &timeline));
	add_modules(timeline);
	add_mapping(timeline, 0x20000, 7, 1);
	add_mapping(timeline, 0x21000, 7, 1);
	add_mapping(timeline, 0x40000, 5, 2);
	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++)
		add(timeline, (struct reel_record){ .id = REEL_RECORD_CODE, .code = records[i] });
	assert_null(reel_timeline_seal(timeline));
	assert_null(reel_modules_create(timeline, &options, "", NULL, &map->modules));
	reel_code_map_set_space(map, reel_timeline_view(timeline, 1, 1), NULL);

	assert_int_equal(reel_code_map_find_code(map, 0x20ffd, &code), REEL_CODE_ANONYMOUS);
	assert_null(code.rows);
	assert_true(code.read_code(code.module, 0x20ffd - code.bias, 7, bytes));
	assert_string_equal((char *)bytes, "2345678");
	assert_false(code.read_code(code.module, 0x20ffd - code.bias, 8, bytes));
	assert_false(code.read_code(code.module, 0x20ffb - code.bias, 2, bytes));
	assert_true(reel_code_map_read(map, 0x21001, 3, bytes));
	assert_memory_equal(bytes, "678", 3);
	assert_int_equal(reel_code_map_find_code(map, 0x40001, &code), REEL_CODE_MODULE_MISSING);
	assert_true(code.read_code(code.module, 0x40001 - code.bias, 3, bytes));
	assert_memory_equal(bytes, "one", 3);
	assert_false(reel_code_map_read(map, 0x50000, 1, bytes));

	reel_code_map_set_space(map, reel_timeline_view(timeline, 1, 2), NULL);
	assert_true(reel_code_map_read(map, 0x20ffe, 4, bytes));
	assert_memory_equal(bytes, "34!6", 4);
	assert_null(map->error);
	reel_modules_destroy(map->modules);
	reel_timeline_destroy(timeline);
	reel_code_map_free(map);
	free(map);
}

/*
 * No process starts in the vDSO, but i386's has an e_entry: __kernel_vsyscall, which has callers.
 * Only the pages with code are in the range, of which the unwinder's fast path takes all addresses
 * for code of the file.
 */
TEST(vdso_code)
{
	static const struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
	} image = {
		.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32,
					 __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
										   : ELFDATA2MSB,
					 EV_CURRENT },
			    .e_type = ET_DYN,
			    .e_machine = EM_386,
			    .e_version = EV_CURRENT,
			    .e_entry = 0x50,
			    .e_phoff = sizeof(Elf32_Ehdr),
			    .e_ehsize = sizeof(Elf32_Ehdr),
			    .e_phentsize = sizeof(Elf32_Phdr),
			    .e_phnum = 1 },
		.segment = { .p_type = PT_LOAD,
			     .p_filesz = sizeof(image),
			     .p_memsz = sizeof(image),
			     .p_flags = PF_R | PF_X,
			     .p_align = 0x1000 },
	};
	struct reel_capture_options options = { .no_host_files = true };
	struct reel_code_map *map = calloc(1, sizeof(*map));
	struct reel_timeline *timeline;
	struct reel_code code;

	assert_non_null(map);
	assert_null(reel_timeline_create(true, &timeline));
	add(timeline, (struct reel_record){ .id = REEL_RECORD_MODULE,
					    .module = { .id = 1,
							.kind = REEL_MODULE_VDSO,
							.path = reel_bytes_of_string("[vdso]") } });
	add(timeline, (struct reel_record){ .id = REEL_RECORD_SPACE, .space = { .id = 1 } });
	add_sized_mapping(timeline, 0xf7fd0000, 0x3000, 5, 1);
	assert_null(reel_timeline_seal(timeline));
	assert_null(reel_modules_create(timeline, &options, "", NULL, &map->modules));
	assert_null(reel_modules_add_image(
		map->modules, &(struct reel_record_image){
				      .module = 1,
				      .total_size = sizeof(image),
				      .bytes = { (const uint8_t *)&image, sizeof(image) } }));
	reel_code_map_set_space(map, reel_timeline_view(timeline, 1, 1), reel_arch_by_name("i386"));
	assert_int_equal(reel_code_map_find_code(map, 0xf7fd0050, &code), REEL_CODE_FOUND);
	assert_int_equal(reel_row_outcome(reel_rows_at(code.rows, 0x50)), REEL_ROW_NONE);
	assert_int_equal(code.begin, 0xf7fd0000);
	assert_int_equal(code.size, 0x1000);
	assert_int_equal(reel_code_map_find_code(map, 0xf7fd1000, &code), REEL_CODE_ANONYMOUS);

	assert_null(map->error);
	reel_modules_destroy(map->modules);
	reel_timeline_destroy(timeline);
	reel_code_map_free(map);
	free(map);
}

RUN_TESTS()
