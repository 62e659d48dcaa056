/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a file that are read once. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf/file_pages.h"
#include "tests/support/test.h"

#define SIZE 10000u /* the third page is not whole */

TEST(reads_are_those_of_the_file)
{
	static const struct {
		uint64_t offset;
		size_t size;
	} reads[] = { { 0, 1 },	   { 4095, 1 }, { 4095, 2 },	{ 4096, 4096 }, { 4090, 4096 },
		      { 9999, 1 }, { 1, 9999 }, { 8190, 1810 }, { 0, SIZE },	{ 10000, 0 } };
	struct reel_file_pages *pages = reel_file_pages_create(SIZE);
	FILE *file = tmpfile();
	uint8_t bytes[SIZE], read[SIZE];

	assert_non_null(pages);
	assert_non_null(file);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	assert_int_equal(fwrite(bytes, 1, SIZE, file), SIZE);
	assert_int_equal(fflush(file), 0);
	for (size_t i = 0; i < sizeof(reads) / sizeof(*reads); i++) {
		memset(read, 0, sizeof(read));
		assert_true(reel_file_pages_read(pages, fileno(file), reads[i].offset,
						 reads[i].size, read));
		assert_memory_equal(read, bytes + reads[i].offset, reads[i].size);
		assert_true(reel_file_pages_read(NULL, fileno(file), reads[i].offset, reads[i].size,
						 read));
		assert_memory_equal(read, bytes + reads[i].offset, reads[i].size);
	}
	/* No page is read twice. */
	assert_int_equal(ftruncate(fileno(file), 0), 0);
	assert_true(reel_file_pages_read(pages, fileno(file), 4000, 200, read));
	assert_memory_equal(read, bytes + 4000, 200);
	assert_false(reel_file_pages_read(NULL, fileno(file), 4000, 200, read));
	reel_file_pages_destroy(pages);
	fclose(file);
}

TEST(what_cannot_be_read_is_not_kept)
{
	struct reel_file_pages *pages = reel_file_pages_create(SIZE);
	FILE *file = tmpfile();
	uint8_t read[4] = { 0 };

	assert_non_null(pages);
	assert_non_null(file);
	assert_false(reel_file_pages_read(pages, fileno(file), 0, 4, read));
	assert_int_equal(ftruncate(fileno(file), SIZE), 0);
	assert_true(reel_file_pages_read(pages, fileno(file), 0, 4, read));
	reel_file_pages_destroy(pages);
	fclose(file);
}

/* A sparse file costs its maker nothing. */
TEST(none_of_a_file_above_4_GiB)
{
	assert_null(reel_file_pages_create(((uint64_t)4 << 30) + 1));
}

RUN_TESTS()
