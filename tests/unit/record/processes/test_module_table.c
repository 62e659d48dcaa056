/* SPDX-License-Identifier: Apache-2.0 */
/* What a new file means for how soon samples are handled: only some cannot be read later. */
#include "base/quantity.h"
#include "record/processes/module_table.h"
#include "tests/support/test.h"

static struct reel_proc_file file;
static bool is_readable;

bool reel_inspector_file(struct reel_inspector *inspector, uint32_t pid,
			 const struct reel_proc_map *map, struct reel_proc_file *ret, int *fd_ret)
{
	*ret = file;
	ret->inode = map->inode;
	ret->build_id = (struct reel_build_id){ .size = 8, .bytes = { (uint8_t)map->inode } };
	*fd_ret = -1;
	return is_readable;
}

/* Whether a program that maps the file makes news. */
static bool has_news(struct reel_module_table *table, uint64_t inode, const char *path)
{
	const struct reel_proc_map map = { .size = 4096, .inode = inode, .path = path };
	uint64_t before = reel_module_table_news(table), id;
	struct reel_file_hints hints;

	assert_null(reel_module_table_add_mapped(table, 7, &map, NULL, 0, reel_now(), &hints, &id));
	return reel_module_table_news(table) != before;
}

TEST(news)
{
	struct reel_module_table *table;

	assert_null(reel_module_table_create((struct reel_inspector *)&file, &table));
	is_readable = true;
	file.stays = true;
	assert_false(has_news(table, 1, "/usr/bin/ls"));
	/* A container's. */
	file.stays = false;
	assert_true(has_news(table, 2, "/usr/bin/ls"));
	assert_false(has_news(table, 2, "/usr/bin/ls"));
	/* Its process has ended. */
	is_readable = false;
	assert_true(has_news(table, 3, "/a.out (deleted)"));
	reel_module_table_destroy(table);
}

RUN_TESTS()
