/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet's hybrid encoding, and the frame of its files. Other programs read whole files in
 * tests/export/test-parquet.py. */
#include <errno.h>
#include <fcntl.h>

#include "base/bytes.h"
#include "base/files.h"
#include "cli/parquet/writer.h"
#include "tests/support/test.h"

/* Reads `n` values as Encodings.md says; the rest of a group of eight is padding. */
static void decode(struct reel_buffer *encoded, uint32_t *values, size_t n, unsigned int width)
{
	struct reel_cursor cursor = reel_cursor(encoded->bytes, encoded->size);

	for (size_t i = 0; i < n;) {
		uint64_t header = reel_cursor_uleb(&cursor), count = header >> 1;
		const uint8_t *bytes =
			reel_cursor_take(&cursor, header & 1 ? count * width : (width + 7) / 8);

		assert_non_null(bytes);
		assert_true(count > 0);
		for (size_t k = 0; k < (header & 1 ? count * 8 : count); k++) {
			uint32_t value = 0;

			for (unsigned int bit = 0; bit < width; bit++) {
				size_t at = (header & 1 ? k * width : 0) + bit;

				value |= (uint32_t)(bytes[at / 8] >> at % 8 & 1) << bit;
			}
			if (i < n)
				values[i++] = value;
			else
				assert_int_equal(header & 1, 1);
		}
	}
	assert_int_equal(reel_cursor_left(&cursor), 0);
}

static void assert_decodes(const uint32_t *values, size_t n, unsigned int width)
{
	struct reel_buffer encoded = { 0 };
	uint32_t decoded[200];

	parquet_encode_hybrid(&encoded, values, n, width);
	decode(&encoded, decoded, n, width);
	assert_memory_equal(decoded, values, n * sizeof(*values));
	reel_buffer_free(&encoded);
}

TEST(packed_as_in_the_specification)
{
	/* The example of Encodings.md: the numbers 0 to 7 of three bits. */
	static const uint8_t expected[] = { 1 << 1 | 1, 0x88, 0xc6, 0xfa };
	const uint32_t values[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct reel_buffer encoded = { 0 };

	parquet_encode_hybrid(&encoded, values, 8, 3);
	assert_int_equal(encoded.size, sizeof(expected));
	assert_memory_equal(encoded.bytes, expected, sizeof(expected));
	reel_buffer_free(&encoded);
}

TEST(runs_of_all_lengths_are_decoded)
{
	uint32_t values[200];

	for (unsigned int width = 1; width <= 32; width++) {
		for (size_t run = 1; run < 40; run++) {
			for (size_t i = 0; i < 200; i++)
				values[i] = (uint32_t)(i / run * 2654435761u) >> (32 - width);
			for (size_t n = 1; n <= 200; n += 13)
				assert_decodes(values, n, width);
		}
	}
}

static const struct parquet_column columns[] = {
	{ "number", PARQUET_INT64, true, PARQUET_FLAT, NULL },
	{ "element", PARQUET_TEXT, false, PARQUET_LIST, "texts" },
};

TEST(file_begins_and_ends_with_its_magic)
{
	struct parquet *file;
	uint8_t bytes[4096];
	ssize_t size;
	int fd;

	assert_null(reel_temporary_file(&fd));
	file = parquet_create(fd, columns, 2);
	assert_true(parquet_end_row(file));
	parquet_number(file, 0, 7);
	parquet_text(file, 1, "a");
	parquet_text(file, 1, "");
	assert_true(parquet_end_row(file));
	assert_int_equal(parquet_finish(file), 0);
	parquet_destroy(file);
	size = pread(fd, bytes, sizeof(bytes), 0);
	close(fd);
	assert_true(size > 12);
	assert_memory_equal(bytes, "PAR1", 4);
	assert_memory_equal(bytes + size - 4, "PAR1", 4);
	assert_true(reel_load32(bytes + size - 8) < (size_t)size - 12);
	/* The footer begins with its version, field 1, an I32: 1. */
	assert_memory_equal(bytes + size - 8 - reel_load32(bytes + size - 8), "\x15\x02", 2);
}

TEST(full_disk_is_reported)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct parquet *file;
	bool ok = true;

	if (fd < 0)
		skip();
	file = parquet_create(fd, columns, 2);
	for (size_t i = 0; i < PARQUET_ROWS_MAX; i++)
		ok = parquet_end_row(file);
	assert_false(ok);
	assert_int_equal(parquet_finish(file), ENOSPC);
	parquet_destroy(file);
	close(fd);
}

RUN_TESTS()
