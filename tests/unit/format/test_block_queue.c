/* SPDX-License-Identifier: Apache-2.0 */
/* format/block_queue.c: a writer whose blocks are compressed and written by another thread. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/support/example.h"
#include "tests/support/read_all.h"
#include "tests/support/test.h"

#define BLOCKS	20
#define SAMPLES 30

static struct reel_writer *queued_writer(int fd, struct reel_block_queue *queue, bool owns_fd)
{
	const struct reel_writer_options options = { .queue = queue,
						     .owns_fd = owns_fd,
						     .target = example_target };
	struct reel_writer *writer;

	must(reel_writer_create(fd, "example", &options, example_id, &writer));
	return writer;
}

/* As example_capture writes it. */
static void write_example(struct reel_writer *writer)
{
	struct example_sample sample;
	struct reel_record end = example_end_record(BLOCKS * SAMPLES);

	example_side(writer);
	for (uint64_t i = 0; i < BLOCKS * SAMPLES; i++) {
		example_sample(&sample, i);
		must(reel_writer_sample(writer, &sample.sample));
		if (i % SAMPLES == SAMPLES - 1)
			must(reel_writer_flush(writer));
	}
	must(reel_writer_record(writer, &end));
	must(reel_writer_finish(writer));
}

static void assert_same(const struct reel_buffer *a, const struct reel_buffer *b)
{
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->bytes, b->bytes, a->size);
}

/* The file equals one written without a queue; so do two that share a thread. */
TEST(test_same_file)
{
	struct reel_buffer expected = { 0 }, one = { 0 }, other = { 0 };
	struct reel_block_queue *queue;
	int fds[2] = { memory_file("", 0), memory_file("", 0) };
	struct reel_writer *writers[2];

	example_capture(&expected, BLOCKS, SAMPLES, true);
	must(reel_block_queue_create(NULL, &queue));
	for (int i = 0; i < 2; i++)
		writers[i] = queued_writer(fds[i], queue, false);
	for (int i = 0; i < 2; i++) {
		write_example(writers[i]);
		/* The file continues without its writer. */
		reel_writer_destroy(writers[i]);
	}
	while (!reel_block_queue_wait(queue, 1000))
		;
	must(reel_block_queue_check(queue));
	assert_int_equal(reel_block_queue_waiting(queue), 0);
	assert_int_equal(reel_block_queue_counts(queue).samples, 2 * BLOCKS * SAMPLES);
	assert_int_equal(reel_block_queue_counts(queue).bytes, 2 * expected.size);
	reel_block_queue_destroy(queue, false);
	file_content(fds[0], &one);
	file_content(fds[1], &other);
	assert_same(&one, &expected);
	assert_same(&other, &expected);
	close(fds[0]);
	close(fds[1]);
	reel_buffer_free(&expected);
	reel_buffer_free(&one);
	reel_buffer_free(&other);
}

struct pipe_reader {
	int fd;
	struct reel_buffer bytes;
};

static void *read_pipe(void *context)
{
	struct pipe_reader *reader = context;
	uint8_t bytes[999];
	ssize_t n;

	while ((n = read(reader->fd, bytes, sizeof(bytes))) > 0)
		reel_buffer_append(&reader->bytes, bytes, (size_t)n);
	return NULL;
}

/*
 * Nobody reads: the writer continues and reports the waiting bytes; later all is read and correct.
 */
TEST(test_slow_reader)
{
	struct reel_buffer expected = { 0 };
	struct reel_block_queue *queue;
	struct reel_writer *writer;
	struct pipe_reader reader = { 0 };
	pthread_t thread;
	int fds[2];

	example_capture(&expected, BLOCKS, SAMPLES, true);
	assert_int_equal(pipe(fds), 0);
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, 4096) >= 4096);
	/* Otherwise nothing would have to wait. */
	assert_true(expected.size > (size_t)fcntl(fds[1], F_GETPIPE_SZ));
	must(reel_block_queue_create(NULL, &queue));
	writer = queued_writer(fds[1], queue, true);
	write_example(writer);
	assert_false(reel_block_queue_wait(queue, 20));
	assert_true(reel_block_queue_waiting(queue) > 0);
	assert_true(reel_writer_counts(writer).file_bytes < expected.size);
	assert_true(reel_block_queue_counts(queue).samples < BLOCKS * SAMPLES);
	reel_writer_destroy(writer);
	reader.fd = fds[0];
	assert_int_equal(pthread_create(&thread, NULL, read_pipe, &reader), 0);
	while (!reel_block_queue_wait(queue, 1000))
		;
	must(reel_block_queue_check(queue));
	reel_block_queue_destroy(queue, false);
	pthread_join(thread, NULL);
	assert_same(&reader.bytes, &expected);
	close(fds[0]);
	reel_buffer_free(&reader.bytes);
	reel_buffer_free(&expected);
}

/* The reader goes away: the error is reported, all waiting and later blocks are dropped. */
TEST(test_broken_pipe)
{
	struct reel_block_queue *queue;
	struct reel_writer *writer;
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	must(reel_block_queue_create(NULL, &queue));
	writer = queued_writer(fds[1], queue, true);
	write_example(writer);
	while (!reel_block_queue_wait(queue, 1000))
		;
	for (int i = 0; i < 2; i++) {
		assert_error_says(reel_block_queue_check(queue), REEL_ERROR_OS,
				  "writing example: Broken pipe");
	}
	while (reel_block_queue_waiting(queue))
		usleep(1000);
	assert_int_equal(reel_block_queue_counts(queue).samples, 0);
	reel_writer_destroy(writer);
	reel_block_queue_destroy(queue, false);
}

/* The disk gets full within a block: the partial block is cut off, and the complete ones are
 * counted.
 */
TEST(test_full_disk)
{
	struct rlimit before, limit;
	struct reel_buffer expected = { 0 }, bytes = { 0 };
	struct reel_writer_counts counts;
	struct reel_block_queue *queue;
	struct reel_writer *writer;
	struct reel_error *error;
	int fd = memory_file("", 0);
	struct outcome outcome;
	uint64_t samples;

	example_capture(&expected, BLOCKS, SAMPLES, true);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = expected.size / 2;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	must(reel_block_queue_create(NULL, &queue));
	writer = queued_writer(fd, queue, false);
	write_example(writer);
	while (!reel_block_queue_wait(queue, 1000))
		;
	setrlimit(RLIMIT_FSIZE, &before);
	error = reel_block_queue_check(queue);
	assert_non_null(error);
	assert_non_null(strstr(reel_error_message(error), "File too large"));
	reel_error_destroy(error);
	samples = reel_block_queue_counts(queue).samples;
	reel_block_queue_destroy(queue, false);
	counts = reel_writer_counts(writer);
	reel_writer_destroy(writer);
	file_content(fd, &bytes);
	assert_int_equal(bytes.size, counts.file_bytes);
	assert_true(bytes.size < expected.size / 2);
	assert_memory_equal(bytes.bytes, expected.bytes, bytes.size);
	read_all(bytes.bytes, bytes.size, &outcome);
	assert_int_equal(outcome.samples, samples);
	assert_true(outcome.samples > 0);
	close(fd);
	reel_buffer_free(&outcome.text);
	reel_buffer_free(&bytes);
	reel_buffer_free(&expected);
}

/* A caller that waits for a reader can give up. */
TEST(test_abandon)
{
	struct reel_block_queue *queue;
	struct reel_writer *writer;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, 4096) >= 4096);
	must(reel_block_queue_create(NULL, &queue));
	writer = queued_writer(fds[1], queue, true);
	write_example(writer);
	assert_false(reel_block_queue_wait(queue, 20));
	reel_writer_destroy(writer);
	reel_block_queue_destroy(queue, true);
	/* The thread's write fails, and the thread ends. */
	close(fds[0]);
}

RUN_TESTS()
