/* SPDX-License-Identifier: Apache-2.0 */
/* format/writer.c: its output, its checks, and its failures. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <zstd.h>

#include "tests/support/example.h"
#include "tests/support/read_all.h"
#include "tests/support/test.h"

static void read_buffer(const struct reel_buffer *bytes, struct outcome *ret)
{
	read_all(bytes->bytes, bytes->size, ret);
}

static void assert_clean(const struct outcome *outcome)
{
	if (outcome->text.size > 1)
		fail_msg("unexpected: %s", (const char *)outcome->text.bytes);
}

static struct reel_writer *writer_to(int fd, const struct reel_writer_options *options)
{
	struct reel_writer *writer;

	must(reel_writer_create(fd, "test.reel", options, example_id, &writer));
	return writer;
}

TEST(test_writer_refuses)
{
	_cleanup_fd_ int fd = memory_file("", 0);
	struct reel_writer *writer = writer_to(fd, NULL);
	_cleanup_free_ char *text = malloc(REEL_TEXT_MAX + 1);
	struct reel_record record = { .id = REEL_RECORD_COLUMNS };
	struct example_sample sample;

	assert_error(reel_writer_record(writer, &record), REEL_ERROR_INVALID);
	record.id = REEL_RECORD_SAMPLE_LAYOUT;
	assert_error(reel_writer_record(writer, &record), REEL_ERROR_INVALID);
	record = example_thread_record(0);
	assert_error(reel_writer_record(writer, &record), REEL_ERROR_INVALID);
	memset(text, 'x', REEL_TEXT_MAX + 1);
	record = example_thread_record(1);
	record.thread.comm = (struct reel_bytes){ (uint8_t *)text, REEL_TEXT_MAX + 1 };
	assert_error(reel_writer_record(writer, &record), REEL_ERROR_INVALID);
	example_sample(&sample, 0);
	sample.sample.id = 7;
	must(reel_writer_sample(writer, &sample.sample));
	assert_error(reel_writer_sample(writer, &sample.sample), REEL_ERROR_INVALID);
	assert_int_equal(reel_writer_counts(writer).samples, 1);
	must(reel_writer_finish(writer));
	assert_error(reel_writer_flush(writer), REEL_ERROR_INVALID);
	reel_writer_destroy(writer);
}

TEST(test_writer_errors)
{
	_cleanup_fd_ int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct reel_writer *writer;

	if (fd < 0)
		skip();
	assert_error_says(reel_writer_create(fd, "full.reel", NULL, NULL, &writer), REEL_ERROR_OS,
			  "writing full.reel: No space left");
}

/* After a failed write nothing more is written, and each call returns the reason. */
TEST(test_writer_stays_failed)
{
	int fds[2];
	struct reel_writer *writer;
	struct example_sample sample;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	writer = writer_to(fds[1], NULL);
	close(fds[0]);
	example_sample(&sample, 0);
	must(reel_writer_sample(writer, &sample.sample));
	assert_error(reel_writer_flush(writer), REEL_ERROR_OS);
	assert_error(reel_writer_flush(writer), REEL_ERROR_OS);
	assert_error(reel_writer_sample(writer, &sample.sample), REEL_ERROR_OS);
	assert_error(reel_writer_finish(writer), REEL_ERROR_OS);
	reel_writer_destroy(writer);
	close(fds[1]);
}

static void *drain(void *arg)
{
	int *fds = arg;
	struct reel_buffer *content = calloc(1, sizeof(*content));

	for (;;) {
		uint8_t *room = reel_buffer_reserve(content, 1000);
		ssize_t n = read(fds[0], room, 1000);

		if (n <= 0)
			return content;
		content->size += (size_t)n;
	}
}

/* A non-blocking pipe accepts only part of each block. */
TEST(test_short_writes)
{
	_cleanup_free_ uint8_t *noise = malloc(1 << 20);
	struct example_sample sample;
	struct reel_writer *writer;
	struct reel_buffer *content;
	struct outcome outcome;
	uint64_t random = 5;
	pthread_t thread;
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, drain, fds), 0);
	for (size_t i = 0; i < 1 << 20; i++)
		noise[i] = (uint8_t)next_random(&random);
	writer = writer_to(fds[1], NULL);
	example_side(writer);
	for (uint64_t i = 0; i < 6; i++) {
		example_sample(&sample, i);
		sample.region = (struct reel_region){ .bytes = noise + i, .size = (1 << 20) - i };
		must(reel_writer_sample(writer, &sample.sample));
	}
	must(reel_writer_finish(writer));
	reel_writer_destroy(writer);
	close(fds[1]);
	pthread_join(thread, (void **)&content);
	read_buffer(content, &outcome);
	assert_clean(&outcome);
	assert_int_equal(outcome.samples, 6);
	reel_buffer_free(&outcome.text);
	reel_buffer_free(content);
	free(content);
	close(fds[0]);
}

static void blocks_of(int fd, struct reel_reader **reader_ret, const struct reel_block **blocks_ret,
		      size_t *n_ret)
{
	must(reel_reader_open_fd(dup(fd), "test.reel", NULL, reader_ret));
	*blocks_ret = reel_reader_blocks(*reader_ret, n_ret);
}

/* A sample block is ended automatically, and earlier side records precede it. */
TEST(test_block_ends)
{
	_cleanup_free_ uint8_t *stack = calloc(1, 1 << 20);
	_cleanup_fd_ int fd = memory_file("", 0);
	struct reel_writer *writer = writer_to(fd, NULL);
	const struct reel_block *blocks;
	struct example_sample sample;
	struct reel_reader *reader;
	size_t n;

	for (uint64_t i = 0; i < 200; i++) {
		struct reel_record record = example_thread_record(i + 1);

		record.thread.time = 1000 + i;
		must(reel_writer_record(writer, &record));
		example_sample(&sample, i);
		sample.region = (struct reel_region){ .bytes = stack, .size = 1 << 20 };
		sample.sample.time = 5000 - i;
		sample.sample.flags = REEL_SAMPLE_SCRUBBED;
		must(reel_writer_sample(writer, &sample.sample));
	}
	assert_true(reel_writer_counts(writer).stack_bytes == 200ull << 20);
	must(reel_writer_finish(writer));
	reel_writer_destroy(writer);
	blocks_of(fd, &reader, &blocks, &n);
	assert_int_equal(n, 9);
	for (size_t i = 0; i < 8; i++) {
		uint64_t first = i / 2 * 64, last = i / 2 == 3 ? 199 : first + 63;
		const struct reel_block_header *header = &blocks[i].header;

		assert_int_equal(header->sequence, i);
		assert_int_equal(header->type, i % 2 ? REEL_BLOCK_SAMPLES : REEL_BLOCK_SIDE);
		assert_int_equal(header->flags, i % 2 ? REEL_BLOCK_SCRUBBED : 0);
		assert_int_equal(header->time_first, i % 2 ? 5000 - last : 1000 + first);
		assert_int_equal(header->time_last, i % 2 ? 5000 - first : 1000 + last);
		assert_true(header->expanded_size == (i % 2 ? (last - first + 1) << 20 : 0));
	}
	reel_reader_close(reader);
}

/* Blocks end before they exceed the format's limits on raw bytes, expanded bytes or threads. */
TEST(test_block_limits)
{
	struct reel_record image = { .id = REEL_RECORD_IMAGE,
				     .image = { .module = 1, .total_size = 5 << 20 } };
	_cleanup_free_ uint8_t *noise = malloc(5 << 20);
	_cleanup_fd_ int fd = memory_file("", 0);
	struct reel_writer *writer = writer_to(fd, NULL);
	const struct reel_block *blocks;
	struct example_sample sample;
	struct reel_reader *reader;
	uint64_t random = 9;
	size_t n, i = 0;

	for (size_t at = 0; at < 5 << 20; at++)
		noise[at] = (uint8_t)next_random(&random);
	image.image.bytes = (struct reel_bytes){ noise, 5 << 20 };
	for (; i < 3; i++)
		must(reel_writer_record(writer, &image));
	must(reel_writer_flush(writer));
	for (; i < 100000; i++) {
		example_sample(&sample, i);
		sample.sample.thread = i;
		sample.sample.n_regions = 0;
		must(reel_writer_sample(writer, &sample.sample));
	}
	for (; i < 100003; i++) {
		example_sample(&sample, i);
		sample.region = (struct reel_region){ .bytes = noise, .size = 5 << 20 };
		sample.sample.thread = i;
		must(reel_writer_sample(writer, &sample.sample));
	}
	must(reel_writer_finish(writer));
	reel_writer_destroy(writer);
	blocks_of(fd, &reader, &blocks, &n);
	for (i = 0; i < n; i++)
		assert_true(blocks[i].header.raw_size < 16 << 20);
	/* Images: 2 and 1; samples: 65536, the others with two large ones, one large one. */
	assert_int_equal(n, 6);
	/* A layout and all samples together. */
	assert_int_equal(blocks[2].header.records, 2);
	reel_reader_close(reader);
}

static void fill_regions(struct reel_region *regions, uint8_t *bytes)
{
	for (size_t i = 0; i < REEL_REGIONS_MAX; i++)
		regions[i] = (struct reel_region){
			.address = i * REEL_REGION_SIZE_MAX,
			.bytes = bytes,
			.size = REEL_REGION_SIZE_MAX,
		};
}

/* The largest sample fits if it compresses well; with noise it does not, and leaves no trace. */
TEST(test_largest_sample)
{
	_cleanup_free_ uint8_t *bytes = calloc(1, REEL_REGION_SIZE_MAX);
	_cleanup_fd_ int fd = memory_file("", 0);
	struct reel_writer *writer = writer_to(fd, NULL);
	struct reel_region regions[REEL_REGIONS_MAX];
	struct example_sample sample;
	struct reel_buffer content = { 0 };
	struct outcome outcome;
	uint64_t random = 5;

	fill_regions(regions, bytes);
	example_sample(&sample, 0);
	must(reel_writer_sample(writer, &sample.sample));
	sample.sample.regions = regions;
	sample.sample.n_regions = REEL_REGIONS_MAX;
	sample.sample.id = 1;
	must(reel_writer_sample(writer, &sample.sample));
	example_sample(&sample, 2);
	must(reel_writer_sample(writer, &sample.sample));
	for (size_t i = 0; i < REEL_REGION_SIZE_MAX; i += 8)
		reel_store64(bytes + i, next_random(&random));
	sample.sample.regions = regions;
	sample.sample.n_regions = REEL_REGIONS_MAX;
	sample.sample.id = 3;
	assert_error(reel_writer_sample(writer, &sample.sample), REEL_ERROR_INVALID);
	example_sample(&sample, 4);
	must(reel_writer_sample(writer, &sample.sample));
	assert_int_equal(reel_writer_counts(writer).samples, 4);
	must(reel_writer_finish(writer));
	reel_writer_destroy(writer);
	file_content(fd, &content);
	read_buffer(&content, &outcome);
	assert_clean(&outcome);
	assert_int_equal(outcome.samples, 4);
	assert_int_equal(outcome.blocks, 5);
	reel_buffer_free(&outcome.text);
	reel_buffer_free(&content);
}

/* A sample without a stack takes few bytes. */
static void strip(struct reel_sample *sample)
{
	sample->layout = NULL;
	sample->pc = 0;
	sample->n_regions = sample->n_kernel_chain = sample->n_frame_chain = 0;
	sample->has_kernel_frame = false;
}

static void write_equal_samples(uint64_t count, bool bare, int level, struct reel_buffer *ret)
{
	const struct reel_writer_options options = {
		.target = { .word_bits = 64 },
		.level = level,
	};
	_cleanup_fd_ int fd = memory_file("", 0);
	struct reel_writer *writer = writer_to(fd, &options);
	struct example_sample sample;

	example_side(writer);
	example_sample(&sample, 0);
	for (uint64_t i = 0; i < count; i++) {
		sample.sample.id = i;
		sample.sample.time = EXAMPLE_START + i * 1000000;
		if (bare)
			strip(&sample.sample);
		must(reel_writer_sample(writer, &sample.sample));
	}
	must(reel_writer_finish(writer));
	reel_writer_destroy(writer);
	file_content(fd, ret);
}

/* Many samples without new information: enough bytes are stored that a reader accepts them. */
TEST(test_equal_samples)
{
	for (int i = 0; i < 4; i++) {
		_cleanup_buffer_ struct reel_buffer content = { 0 };
		struct outcome outcome;

		write_equal_samples(140000, i / 2, i % 2 * 19, &content);
		read_buffer(&content, &outcome);
		assert_clean(&outcome);
		assert_int_equal(outcome.samples, 140000);
		reel_buffer_free(&outcome.text);
	}
}

/* The same, compressed by a careless writer. */
TEST(test_too_many_samples)
{
	_cleanup_buffer_ struct reel_buffer content = { 0 }, again = { 0 };
	struct outcome outcome;
	struct parts parts;

	write_equal_samples(20000, false, 0, &content);
	parts_split(&content, &parts);
	for (size_t i = 0; i < parts.n; i++) {
		struct part *part = &parts.parts[i];
		size_t bound = ZSTD_compressBound(part->raw.size);

		if (part->header.type != REEL_BLOCK_SAMPLES)
			continue;
		part->payload.size = ZSTD_compress(reel_buffer_reserve(&part->payload, bound),
						   bound, part->raw.bytes, part->raw.size, 19);
		assert_true(part->payload.size * 16 + 256 < 20000);
	}
	parts_join(&parts, &again);
	parts_free(&parts);
	read_buffer(&again, &outcome);
	assert_non_null(strstr((const char *)outcome.text.bytes, "for its stored size"));
	assert_true(outcome.samples < 20000);
	reel_buffer_free(&outcome.text);
}

TEST(test_random_id)
{
	static const uint8_t zero[REEL_FILE_ID_SIZE];
	uint8_t ids[2][REEL_FILE_ID_SIZE];

	for (int i = 0; i < 2; i++) {
		_cleanup_fd_ int fd = memory_file("", 0);
		struct reel_writer *writer;

		must(reel_writer_create(fd, "x", NULL, NULL, &writer));
		memcpy(ids[i], reel_writer_file_id(writer), REEL_FILE_ID_SIZE);
		reel_writer_destroy(writer);
	}
	assert_memory_not_equal(ids[0], ids[1], REEL_FILE_ID_SIZE);
	assert_memory_not_equal(ids[0], zero, REEL_FILE_ID_SIZE);
}

RUN_TESTS()
