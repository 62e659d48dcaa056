/* SPDX-License-Identifier: Apache-2.0 */
/* What lies at an address of a space, for the unwinder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replay/code_map.h"

static void add(struct reel_timeline *timeline, struct reel_record record)
{
	assert_null(reel_timeline_add(timeline, &record));
}

static void add_mapping(struct reel_timeline *timeline, uint64_t address, uint64_t protection,
			uint64_t module)
{
	add(timeline, (struct reel_record){ .id = REEL_RECORD_MAP,
					    .map = { .space = 1,
						     .address = address,
						     .size = 0x1000,
						     .protection = protection,
						     .flags = 2,
						     .module = module } });
}

/*
 * perf record lists data as well as code.  A pc in data is no code of an unknown kind (JIT), in
 * which frame pointers may be tried: a stack that ends in zeros there would look like a whole one.
 */
static void data_is_no_code(void **state)
{
	static const char *const nowhere[] = { NULL };
	struct reel_capture_options options = { .no_host_files = true, .debug_dirs = nowhere };
	struct reel_code_map *map = calloc(1, sizeof(*map));
	struct reel_timeline *timeline;
	struct reel_code code;

	(void)state;
	assert_non_null(map);
	assert_null(reel_timeline_create(true, &timeline));
	add(timeline, (struct reel_record){ .id = REEL_RECORD_MODULE,
					    .module = { .id = 1,
							.kind = REEL_MODULE_ANONYMOUS,
							.path = reel_bytes_of_string("//anon") } });
	add(timeline, (struct reel_record){ .id = REEL_RECORD_MODULE,
					    .module = { .id = 2,
							.kind = REEL_MODULE_FILE,
							.path = reel_bytes_of_string("/bin/a") } });
	add(timeline, (struct reel_record){ .id = REEL_RECORD_SPACE, .space = { .id = 1 } });
	add_mapping(timeline, 0x10000, 3, 1);
	add_mapping(timeline, 0x20000, 7, 1);
	add_mapping(timeline, 0x30000, 1, 2);
	add_mapping(timeline, 0x40000, 5, 2);
	assert_null(reel_timeline_seal(timeline));
	assert_null(reel_modules_create(timeline, &options, &map->modules));
	reel_code_map_set_space(map, reel_timeline_view(timeline, 1, 1), NULL);

	assert_int_equal(reel_code_map_find_code(map, 0x10800, &code), REEL_CODE_NO_MAPPING);
	assert_int_equal(reel_code_map_find_code(map, 0x20800, &code), REEL_CODE_ANONYMOUS);
	assert_int_equal(reel_code_map_find_code(map, 0x30800, &code), REEL_CODE_NO_MAPPING);
	assert_int_equal(reel_code_map_find_code(map, 0x40800, &code), REEL_CODE_MODULE_MISSING);
	assert_int_equal(reel_code_map_find_code(map, 0x50800, &code), REEL_CODE_NO_MAPPING);

	assert_null(map->error);
	reel_modules_destroy(map->modules);
	reel_timeline_destroy(timeline);
	free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_is_no_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
