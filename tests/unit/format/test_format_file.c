/* SPDX-License-Identifier: Apache-2.0 */
/* format/block.c, reader*.c, block_reader.c, source.c: whole captures. */
#include <fcntl.h>
#include <pthread.h>

#include "tests/support/example.h"
#include "tests/support/read_all.h"
#include "tests/support/test.h"

#define EXAMPLE_RECORDS 8 /* with END, without index and samples */

static void read_buffer(const struct reel_buffer *bytes, struct outcome *ret)
{
	read_all(bytes->bytes, bytes->size, ret);
}

static void assert_says(const struct outcome *outcome, const char *what)
{
	if (!strstr((const char *)outcome->text.bytes, what))
		fail_msg("\"%s\" is not in:\n%s", what, (const char *)outcome->text.bytes);
}

static void assert_clean(const struct outcome *outcome)
{
	if (outcome->text.size > 1)
		fail_msg("unexpected: %s", (const char *)outcome->text.bytes);
}

/* ---- headers ---------------------------------------------------------------------- */

static enum reel_error_code header_code(const uint8_t *bytes, size_t size)
{
	struct reel_file_header header;
	_cleanup_error_ struct reel_error *error = reel_file_header_load(bytes, size, &header);

	return error ? reel_error_code(error) : 0;
}

static enum reel_error_code header_code_with(size_t at, uint8_t value)
{
	struct reel_file_header header = { REEL_FORMAT_MAJOR, REEL_FORMAT_MINOR, 0,
					   "0123456789abcde" };
	uint8_t bytes[REEL_FILE_HEADER_SIZE];

	reel_file_header_store(&header, bytes);
	bytes[at] = value;
	fix_crc(bytes, sizeof(bytes));
	return header_code(bytes, sizeof(bytes));
}

TEST(test_file_header)
{
	struct reel_file_header header = { REEL_FORMAT_MAJOR, REEL_FORMAT_MINOR, 0,
					   "0123456789abcde" };
	struct reel_file_header loaded;
	uint8_t bytes[REEL_FILE_HEADER_SIZE];

	reel_file_header_store(&header, bytes);
	must(reel_file_header_load(bytes, sizeof(bytes), &loaded));
	assert_memory_equal(&header, &loaded, sizeof(header));
	for (size_t size = 0; size < sizeof(bytes); size++)
		assert_int_equal(header_code(bytes, size), REEL_ERROR_TRUNCATED);
	for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
		bytes[bit / 8] ^= 1 << bit % 8;
		assert_int_equal(header_code(bytes, sizeof(bytes)),
				 bit < 16 * 8 ? REEL_ERROR_NOT_A_CAPTURE : REEL_ERROR_CORRUPT);
		bytes[bit / 8] ^= 1 << bit % 8;
	}
	assert_int_equal(header_code_with(16, 2), REEL_ERROR_UNSUPPORTED);
	assert_int_equal(header_code_with(16, 0), REEL_ERROR_UNSUPPORTED);
	assert_int_equal(header_code_with(18, 255), 0);
	assert_int_equal(header_code_with(23, 0x80), REEL_ERROR_UNSUPPORTED);
	assert_int_equal(header_code_with(40, 1), 0);
	assert_int_equal(header_code((const uint8_t *)"PERFILE2", 8), REEL_ERROR_NOT_A_CAPTURE);
}

TEST(test_block_header)
{
	struct reel_block_header header = {
		2,	    1,		4,	    0x01020304, 0x01020305, 0x01020306,
		0x01020307, 1ull << 63, UINT64_MAX, 7,		8,
	};
	struct reel_block_header loaded = { 0 };
	uint8_t bytes[REEL_BLOCK_HEADER_SIZE], other[REEL_FILE_ID_SIZE] = "another";

	reel_block_header_store(&header, example_id, bytes);
	assert_true(reel_block_header_load(bytes, example_id, &loaded));
	assert_memory_equal(&header, &loaded, sizeof(header));
	assert_false(reel_block_header_load(bytes, other, &loaded));
	for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
		bytes[bit / 8] ^= 1 << bit % 8;
		assert_false(reel_block_header_load(bytes, example_id, &loaded));
		bytes[bit / 8] ^= 1 << bit % 8;
	}
	header.stored_size = REEL_BLOCK_STORED_MAX + 1;
	reel_block_header_store(&header, example_id, bytes);
	assert_false(reel_block_header_load(bytes, example_id, &loaded));
	header.stored_size = 0;
	header.raw_size = REEL_BLOCK_RAW_MAX + 1;
	reel_block_header_store(&header, example_id, bytes);
	assert_false(reel_block_header_load(bytes, example_id, &loaded));
	header.raw_size = 0;
	header.expanded_size = REEL_BLOCK_EXPANDED_MAX + 1ull;
	reel_block_header_store(&header, example_id, bytes);
	assert_false(reel_block_header_load(bytes, example_id, &loaded));
}

/* ---- whole captures ------------------------------------------------------------------ */

TEST(test_complete)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome outcome;

	example_capture(&bytes, 3, 5, true);
	read_buffer(&bytes, &outcome);
	assert_clean(&outcome);
	assert_true(outcome.opened && outcome.has_trailer && outcome.has_end);
	assert_int_equal(outcome.samples, 15);
	/* The example's side records are in the first block, END is in the fifth, the sixth is the
	 * index. */
	assert_int_equal(outcome.blocks, 6);
	assert_int_equal(outcome.records, EXAMPLE_RECORDS + 15 + 3 + 5);
	reel_buffer_free(&outcome.text);
}

TEST(test_unfinished)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome outcome;

	example_capture(&bytes, 3, 5, false);
	read_buffer(&bytes, &outcome);
	assert_int_equal(outcome.codes, CODE(TRUNCATED));
	assert_says(&outcome, "without a trailer");
	assert_int_equal(outcome.samples, 15);
	reel_buffer_free(&outcome.text);
}

/* A valid index gives the same result as a scan. */
TEST(test_index)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome by_index, by_scan;
	struct reel_block_header header;
	uint64_t offset;
	uint8_t *trailer;

	example_capture(&bytes, 3, 5, true);
	read_buffer(&bytes, &by_index);
	trailer = bytes.bytes + bytes.size - REEL_TRAILER_SIZE;
	assert_true(reel_trailer_load(trailer, example_id, &offset));
	reel_trailer_store(0, example_id, trailer);
	read_buffer(&bytes, &by_scan);
	assert_clean(&by_scan);
	assert_true(by_index.checksum == by_scan.checksum);
	assert_int_equal(by_index.blocks, by_scan.blocks);
	reel_buffer_free(&by_index.text);
	reel_buffer_free(&by_scan.text);

	/* An index with a wrong offset is ignored, and the file is still read. */
	reel_trailer_store(offset - 1, example_id, trailer);
	read_buffer(&bytes, &by_index);
	assert_clean(&by_index);
	assert_true(by_index.checksum == by_scan.checksum);
	reel_buffer_free(&by_index.text);

	/* So is a damaged one. */
	reel_trailer_store(offset, example_id, trailer);
	bytes.bytes[offset + REEL_BLOCK_HEADER_SIZE + 5] ^= 1;
	read_buffer(&bytes, &by_index);
	assert_int_equal(by_index.codes, CODE(CORRUPT));
	assert_says(&by_index, "wrong payload checksum; scanning the file");
	assert_int_equal(by_index.samples, 15);
	reel_buffer_free(&by_index.text);

	/* So is one that declares another block to be the index. */
	bytes.bytes[offset + REEL_BLOCK_HEADER_SIZE + 5] ^= 1;
	assert_true(
		reel_block_header_load(bytes.bytes + REEL_FILE_HEADER_SIZE, example_id, &header));
	reel_trailer_store(REEL_FILE_HEADER_SIZE, example_id, trailer);
	read_buffer(&bytes, &by_index);
	assert_clean(&by_index);
	assert_true(by_index.checksum == by_scan.checksum);
	reel_buffer_free(&by_index.text);
}

/* ---- damage -------------------------------------------------------------------------- */

/* Every prefix of a capture gives its complete blocks, and is reported as cut. */
TEST(test_prefixes)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	uint64_t previous_blocks = 0;

	example_capture(&bytes, 3, 3, true);
	for (size_t size = 0; size < bytes.size; size++) {
		struct outcome outcome;

		read_all(bytes.bytes, size, &outcome);
		assert_int_equal(outcome.codes, CODE(TRUNCATED));
		assert_int_equal(outcome.opened, size >= REEL_FILE_HEADER_SIZE);
		assert_false(outcome.has_trailer);
		assert_true(outcome.blocks == previous_blocks ||
			    outcome.blocks == previous_blocks + 1);
		previous_blocks = outcome.blocks;
		reel_buffer_free(&outcome.text);
	}
	assert_int_equal(previous_blocks, 6);
}

/* A change of any byte is reported, and costs no more than its block. */
TEST(test_flips)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };

	example_capture(&bytes, 4, 3, true);
	for (size_t at = REEL_FILE_HEADER_SIZE; at < bytes.size; at++) {
		struct outcome outcome;

		bytes.bytes[at] ^= 0x10;
		read_buffer(&bytes, &outcome);
		assert_true(outcome.opened);
		assert_true(outcome.codes & (CODE(CORRUPT) | CODE(TRUNCATED)));
		assert_true(outcome.samples >= 9);
		reel_buffer_free(&outcome.text);
		bytes.bytes[at] ^= 0x10;
	}
}

static uint64_t block_offset(const struct reel_buffer *bytes, size_t i)
{
	struct reel_reader *reader;
	uint64_t offset;
	size_t n;

	must(open_bytes(bytes->bytes, bytes->size, &reader));
	offset = reel_reader_blocks(reader, &n)[i].offset;
	assert_true(i < n);
	reel_reader_close(reader);
	return offset;
}

static void remove_bytes(struct reel_buffer *bytes, size_t at, size_t n)
{
	memmove(bytes->bytes + at, bytes->bytes + at + n, bytes->size - at - n);
	bytes->size -= n;
}

/* Missing or extra bytes within a payload cost that block only. */
TEST(test_missing_and_surplus)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 }, surplus = { 0 };
	struct outcome outcome;
	uint64_t offset;

	example_capture(&bytes, 4, 3, true);
	offset = block_offset(&bytes, 2) + REEL_BLOCK_HEADER_SIZE + 10;
	reel_buffer_append(&surplus, bytes.bytes, offset);
	reel_buffer_append(&surplus, "surplus", 7);
	reel_buffer_append(&surplus, bytes.bytes + offset, bytes.size - offset);
	read_buffer(&surplus, &outcome);
	assert_int_equal(outcome.samples, 9);
	assert_says(&outcome, "7 damaged bytes at offset");
	assert_says(&outcome, "block 2 at offset");
	reel_buffer_free(&outcome.text);

	remove_bytes(&bytes, offset, 7);
	read_buffer(&bytes, &outcome);
	assert_int_equal(outcome.samples, 9);
	assert_says(&outcome, "begins within the previous block");
	assert_says(&outcome, "block 2 at offset");
	reel_buffer_free(&outcome.text);
}

TEST(test_sequence)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome outcome;
	struct parts parts;

	example_capture(&bytes, 4, 3, true);
	parts_split(&bytes, &parts);
	parts.keep_sequence = true;
	parts.parts[3].header.sequence = 5;
	parts.parts[4].header.sequence = 5;
	parts_join(&parts, &bytes);
	read_buffer(&bytes, &outcome);
	assert_int_equal(outcome.samples, 12);
	assert_says(&outcome, "2 blocks are missing before block 5");
	assert_says(&outcome, "follows a block with the same or a larger number");
	reel_buffer_free(&outcome.text);
	parts_free(&parts);
}

/* One file holds one capture: a second one after it is damage, even a copy. */
TEST(test_concatenated)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 }, twice = { 0 };
	struct outcome outcome;

	example_capture(&bytes, 2, 3, true);
	reel_buffer_append(&twice, bytes.bytes, bytes.size);
	reel_buffer_append(&twice, bytes.bytes, bytes.size);
	read_buffer(&twice, &outcome);
	assert_int_equal(outcome.codes, CODE(CORRUPT));
	assert_says(&outcome, "48 damaged bytes at offset"); /* the second file header */
	assert_says(&outcome, "follows a block with the same or a larger number");
	reel_buffer_free(&outcome.text);

	reel_buffer_append(&bytes, "more", 4);
	read_buffer(&bytes, &outcome);
	assert_int_equal(outcome.codes, CODE(CORRUPT));
	assert_true(outcome.has_trailer);
	assert_int_equal(outcome.samples, 6);
	reel_buffer_free(&outcome.text);
}

/* A file full of truncated headers takes linear time. */
TEST(test_false_headers)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	uint8_t mark[REEL_BLOCK_MARK_SIZE];
	struct outcome outcome;

	example_capture(&bytes, 1, 1, false);
	reel_block_mark_store(example_id, mark);
	for (int i = 0; i < 200000; i++)
		reel_buffer_append(&bytes, mark, sizeof(mark));
	read_buffer(&bytes, &outcome);
	assert_int_equal(outcome.samples, 1);
	assert_says(&outcome, "3200000 damaged bytes at offset");
	reel_buffer_free(&outcome.text);
}

/* Whole headers whose payloads are all cut; problems are counted, but only some are kept. */
TEST(test_many_cut_blocks)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	uint8_t header[REEL_BLOCK_HEADER_SIZE];
	struct outcome outcome;

	example_capture(&bytes, 1, 1, false);
	for (uint32_t i = 0; i < 5000; i++) {
		struct reel_block_header block = { .type = 1,
						   .codec = 1,
						   .sequence = i + 2,
						   .stored_size = REEL_BLOCK_STORED_MAX };

		reel_block_header_store(&block, example_id, header);
		reel_buffer_append(&bytes, header, sizeof(header));
	}
	read_buffer(&bytes, &outcome);
	assert_int_equal(outcome.samples, 1);
	assert_says(&outcome, "more problems");
	reel_buffer_free(&outcome.text);
}

/* ---- the reader -------------------------------------------------------------------------- */

static void blocks_of(int fd, struct reel_reader **reader_ret, const struct reel_block **blocks_ret,
		      size_t *n_ret)
{
	must(reel_reader_open_fd(dup(fd), "test.reel", NULL, reader_ret));
	*blocks_ret = reel_reader_blocks(*reader_ret, n_ret);
}

static void assert_open_code(const char *path, enum reel_error_code code)
{
	struct reel_reader *reader;

	assert_error(reel_reader_open(path, NULL, &reader), code);
}

TEST(test_open_errors)
{
	assert_open_code("/nonexistent/x.reel", REEL_ERROR_OS);
	assert_open_code("/", REEL_ERROR_OS);
	/* Endless, but not a capture. */
	assert_open_code("/dev/zero", REEL_ERROR_NOT_A_CAPTURE);
	assert_open_code("/dev/null", REEL_ERROR_TRUNCATED);
	assert_open_code("/proc/self/exe", REEL_ERROR_NOT_A_CAPTURE);
}

TEST(test_standard_input)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	int fds[2], saved = dup(STDIN_FILENO);
	struct reel_reader *reader;
	size_t n;

	example_capture(&bytes, 2, 3, true);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], bytes.bytes, bytes.size), bytes.size);
	close(fds[1]);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	must(reel_reader_open("-", NULL, &reader));
	dup2(saved, STDIN_FILENO);
	close(saved);
	assert_int_equal(reel_reader_file_size(reader), bytes.size);
	assert_true(reel_reader_has_trailer(reader));
	reel_reader_blocks(reader, &n);
	assert_int_equal(n, 5);
	assert_string_equal(reel_reader_name(reader), "standard input");
	reel_reader_close(reader);
}

/* A file that shrinks while it is read is an error, not a crash. */
TEST(test_file_shrinks)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	struct reel_reader *reader;
	size_t n;
	int fd;

	example_capture(&bytes, 2, 3, true);
	fd = memory_file(bytes.bytes, bytes.size);
	blocks_of(fd, &reader, &blocks, &n);
	assert_int_equal(ftruncate(fd, (off_t)blocks[1].offset + 100), 0);
	must(reel_block_reader_create(reader, &block_reader));
	must(reel_block_reader_load(block_reader, &blocks[0]));
	assert_error(reel_block_reader_load(block_reader, &blocks[1]), REEL_ERROR_TRUNCATED);
	assert_error(reel_block_reader_load(block_reader, &blocks[3]), REEL_ERROR_TRUNCATED);
	reel_block_reader_destroy(block_reader);
	reel_reader_close(reader);
	close(fd);
}

static void *read_blocks(void *arg)
{
	const struct reel_reader *reader = arg;
	struct reel_block_reader *block_reader;
	struct outcome *outcome = calloc(1, sizeof(*outcome));
	const struct reel_block *blocks;
	size_t n;

	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n);
	for (size_t i = 0; i < n; i++)
		outcome_block(outcome, block_reader, &blocks[i]);
	reel_block_reader_destroy(block_reader);
	return outcome;
}

TEST(test_threads)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome *outcomes[4];
	struct reel_reader *reader;
	pthread_t threads[4];

	example_capture(&bytes, 8, 50, true);
	must(open_bytes(bytes.bytes, bytes.size, &reader));
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_blocks, reader), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], (void **)&outcomes[i]);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(outcomes[i]->samples, 400);
		assert_true(outcomes[i]->checksum == outcomes[0]->checksum);
		assert_int_equal(outcomes[i]->codes, 0);
	}
	for (int i = 0; i < 4; i++)
		free(outcomes[i]);
	reel_reader_close(reader);
}

/* Blocks decode independently, in any order. */
TEST(test_any_order)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome forward = { 0 }, outcome = { 0 };
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	struct reel_reader *reader;
	size_t n;

	example_capture(&bytes, 4, 5, true);
	must(open_bytes(bytes.bytes, bytes.size, &reader));
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n);
	outcome_block(&forward, block_reader, &blocks[3]);
	for (size_t i = n; i-- > 0;)
		outcome_block(&outcome, block_reader, &blocks[i]);
	assert_int_equal(outcome.samples, 20);
	outcome.checksum = 0;
	outcome_block(&outcome, block_reader, &blocks[3]);
	assert_true(outcome.checksum == forward.checksum);
	assert_int_equal(outcome.codes, 0);
	reel_block_reader_destroy(block_reader);
	reel_reader_close(reader);
}

RUN_TESTS()
