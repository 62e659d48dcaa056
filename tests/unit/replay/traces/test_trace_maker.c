/* SPDX-License-Identifier: Apache-2.0 */
/* replay/traces/trace_maker.c: the contents of batches of traces, which readers of the traces do
 * not see. */
#include "replay/traces/trace_maker.h"
#include "tests/support/example.h"
#include "tests/support/test.h"

/* Together more frames than a batch usually has. */
#define THREADS 4
#define DEPTH	10000
#define SAMPLES 80

static void write_threads(struct reel_writer *writer)
{
	struct reel_record records[] = { example_capture_record(), example_space_record() };

	for (size_t i = 0; i < 2; i++)
		must(reel_writer_record(writer, &records[i]));
	for (uint64_t thread = 1; thread <= THREADS; thread++) {
		struct reel_record record = example_thread_record(thread);

		must(reel_writer_record(writer, &record));
	}
}

/* Threads whose stacks change only at the leaf, in turn; a chain's first address is the leaf. */
static void write_deep_samples(struct reel_writer *writer)
{
	static uint64_t chain[DEPTH];

	for (uint64_t i = 0; i < SAMPLES; i++) {
		uint64_t thread = 1 + i % THREADS;

		for (uint64_t j = 1; j < DEPTH; j++)
			chain[j] = (thread << 32) + 16 * j;
		chain[0] = i;
		must(reel_writer_sample(writer,
					&(struct reel_sample){ .id = i + 1,
							       .time = EXAMPLE_START + 1 + i,
							       .thread = thread,
							       .where = REEL_WHERE_USER,
							       .frame_chain = chain,
							       .n_frame_chain = DEPTH }));
	}
}

static struct reel_capture *open_capture(void (*write)(struct reel_writer *writer))
{
	static const char *const nowhere[] = { NULL };
	const REEL_SIZED(reel_capture_options, options, .debug_dirs = nowhere,
			 .no_host_files = true);
	int fd = memory_file("", 0);
	struct reel_capture *capture;
	struct reel_writer *writer;
	char path[64];

	must(reel_writer_create(fd, "deep", NULL, example_id, &writer));
	write_threads(writer);
	write(writer);
	must(reel_writer_finish(writer));
	reel_writer_destroy(writer);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(reel_capture_open(path, &options, &capture));
	close(fd);
	return capture;
}

static const struct reel_block *only_block_of_samples(const struct reel_capture *capture)
{
	size_t n, n_found = 0;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n), *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (blocks[i].header.type == REEL_BLOCK_SAMPLES) {
			found = &blocks[i];
			n_found++;
		}
	}
	assert_int_equal(n_found, 1);
	return found;
}

/*
 * However deep, a stack is in a batch once per thread: otherwise, from some depth on, all the work
 * would be repeated for each sample.
 */
TEST(test_deep_stacks_are_shared)
{
	struct reel_capture *capture = open_capture(write_deep_samples);
	size_t n_traces = 0, n_frames = 0;
	struct reel_sample_filter filter;
	struct reel_trace_maker *maker;
	struct reel_batch *batch;
	bool more = true;

	must(reel_sample_filter_copy(NULL, &filter));
	must(reel_trace_maker_create(capture, &filter, &maker));
	must(reel_batch_create(&batch));
	reel_trace_maker_start(maker, only_block_of_samples(capture));
	while (more) {
		reel_batch_clear(batch);
		more = reel_trace_maker_fill(maker, batch);
		must(batch->error);
		n_traces += batch->n_traces;
		n_frames += batch->n_frames;
	}
	assert_int_equal(n_traces, SAMPLES);
	assert_in_range(n_frames, THREADS * DEPTH, 2 * THREADS * DEPTH + SAMPLES);
	reel_batch_destroy(batch);
	reel_trace_maker_destroy(maker);
	reel_sample_filter_free(&filter);
	reel_capture_close(capture);
}

/* ---- JITs ------------------------------------------------------------------------------- */

#define CODE 0x10000u

static void write_jit(struct reel_writer *writer)
{
	const struct reel_bytes file = reel_bytes_of_string("/src/Foo.java");
	const struct reel_record records[] = {
		{ .id = REEL_RECORD_MODULE,
		  .module = { .id = 1,
			      .kind = REEL_MODULE_ANONYMOUS,
			      .path = reel_bytes_of_string("//anon") } },
		{ .id = REEL_RECORD_MAP, .map = { EXAMPLE_START, 1, CODE, 0x1000, 0, 5, 2, 1 } },
		{ .id = REEL_RECORD_JIT_SYMBOL,
		  .jit_symbol = { 0, 1, CODE + 0x10, 0x40, REEL_JIT_JITDUMP,
				  reel_bytes_of_string("Foo::bar()") } },
		{ .id = REEL_RECORD_JIT_LINE,
		  .jit_line = { 0, 1, CODE + 0x10, CODE + 0x10, 7, file } },
		{ .id = REEL_RECORD_JIT_LINE,
		  .jit_line = { 0, 1, CODE + 0x10, CODE + 0x20, 9, file } },
	};
	const uint64_t chain[] = { CODE + 0x20, CODE + 0x20, CODE + 0x21, CODE + 0x10 };

	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++)
		must(reel_writer_record(writer, &records[i]));
	must(reel_writer_sample(writer, &(struct reel_sample){ .id = 1,
							       .time = EXAMPLE_START + 1,
							       .thread = 1,
							       .where = REEL_WHERE_USER,
							       .frame_chain = chain,
							       .n_frame_chain = 4 }));
}

/* A return address gets the line and the name of the preceding byte. */
TEST(test_jits_have_lines)
{
	static const uint32_t lines[] = { 9, 7, 9, 0 };
	struct reel_capture *capture = open_capture(write_jit);
	struct reel_traces *traces;
	const struct reel_trace *trace;

	must(reel_traces_create(capture, NULL, &traces));
	must(reel_traces_next(traces, &trace));
	assert_int_equal(trace->n_frames, 4);
	for (size_t i = 0; i < trace->n_frames; i++) {
		const struct reel_frame *frame = trace->frames[i];

		assert_string_equal(frame->function, i < 3 ? "Foo::bar()" : "");
		assert_string_equal(frame->file, i < 3 ? "/src/Foo.java" : "");
		assert_int_equal(frame->line, lines[i]);
		assert_int_equal(frame->function_offset,
				 i < 3 ? trace->addresses[i] - CODE - 0x10 : 0);
		assert_string_equal(frame->module_path, "//anon");
	}
	reel_traces_destroy(traces);
	reel_capture_close(capture);
}

RUN_TESTS()
