/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures written by reel_recorder: the samples of a real capture, written anew as those of two
 * processes, have the same traces, and the file is intact.
 */
#include <unistd.h>

#include "include/commands.h"
#include "tests/support/capture.h"
#include "tests/support/test.h"

#define ORDERS "testdata/aarch64/orders"
#define TEXT   0x400000

static char path[64];
static uint64_t written[2000]; /* a hash of each trace */
static size_t n_written;

static uint64_t hash_of(const uint64_t *addresses, size_t n)
{
	uint64_t hash = n;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ addresses[i]) * 0x100000001b3;
	return hash;
}

static void add(struct reel_recorder *recorder, const struct reel_sample *sample)
{
	struct reel_register registers[REEL_REGISTERS_MAX];
	struct reel_memory memory[REEL_REGIONS_MAX];
	REEL_SIZED(reel_stack, stack, .registers = registers, .memory = memory,
		   .n_memory = sample->n_regions);
	uint32_t number = (uint32_t)(n_written % 2);
	const REEL_SIZED(reel_snapshot, snapshot, .time = sample->time, .weight = sample->weight,
			 .pid = 10 + number, .tid = 20 + number, .cpu = 7,
			 .comm = number ? "odd" : "even", .stack = &stack);

	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		if (sample->known[i / 8] >> i % 8 & 1)
			registers[stack.n_registers++] =
				(struct reel_register){ sample->layout->slots[i].dwarf,
							sample->values[i] };
	}
	for (size_t i = 0; i < sample->n_regions; i++)
		memory[i] =
			(struct reel_memory){ sample->regions[i].address, sample->regions[i].size,
					      sample->regions[i].bytes };
	must(reel_recorder_add(recorder, &snapshot));
}

/* Samples in the vDSO are skipped. */
static void copy(struct reel_recorder *recorder)
{
	static const char *const symfs[] = { ORDERS, NULL };
	const REEL_SIZED(reel_capture_options, options, .symfs = symfs, .no_host_files = true,
			 .no_inlines = true);
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	const struct reel_trace *trace;
	struct reel_capture *capture;
	struct reel_traces *traces;
	struct reel_reader *reader;
	size_t n_blocks;

	must(reel_capture_open(ORDERS "/orders.reel", &options, &capture));
	must(reel_traces_create(capture, NULL, &traces));
	must(reel_reader_open(ORDERS "/orders.reel", NULL, &reader));
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n_blocks);
	for (size_t i = 0; i < n_blocks; i++) {
		struct reel_block_item item = { 0 };

		must(reel_block_reader_load(block_reader, &blocks[i]));
		for (;;) {
			must(reel_block_reader_next(block_reader, &item));
			if (item.kind == REEL_ITEM_END)
				break;
			if (item.kind != REEL_ITEM_SAMPLE)
				continue;
			must(reel_traces_next(traces, &trace));
			if (!item.sample.layout || item.sample.where != REEL_WHERE_USER ||
			    item.sample.pc > 0x500000)
				continue;
			add(recorder, &item.sample);
			written[n_written++] = hash_of(trace->addresses, trace->n_frames);
		}
	}
	assert_true(n_written > 200);
	reel_block_reader_destroy(block_reader);
	reel_reader_close(reader);
	reel_traces_destroy(traces);
	reel_capture_close(capture);
}

static void check(void)
{
	const REEL_SIZED(reel_capture_options, options, .no_inlines = true);
	REEL_SIZED(reel_verify_counts, counts);
	const struct reel_trace *trace;
	struct reel_capture *capture;
	struct reel_traces *traces;
	size_t n = 0;

	must(reel_capture_open(path, &options, &capture));
	assert_string_equal(reel_capture_info(capture)->arch, "aarch64");
	assert_string_equal(reel_capture_info(capture)->hostname, "here");
	assert_string_equal(reel_capture_info(capture)->tool_version, "test 1");
	must(reel_capture_verify(capture, NULL, &counts));
	assert_int_equal(counts.problems + counts.remarks, 0);
	must(reel_traces_create(capture, NULL, &traces));
	for (;; n++) {
		const struct reel_event_info *event;

		must(reel_traces_next(traces, &trace));
		if (!trace)
			break;
		assert_int_equal(hash_of(trace->addresses, trace->n_frames), written[n]);
		assert_int_equal(trace->stop, REEL_STOP_ROOT);
		assert_int_equal(trace->pid, 10 + n % 2);
		assert_int_equal(trace->tid, 20 + n % 2);
		assert_string_equal(trace->comm, n % 2 ? "odd" : "even");
		assert_int_equal(trace->cpu, 7);
		event = reel_capture_event(capture, trace->event);
		assert_string_equal(event->name, "ticks");
		assert_string_equal(event->weight_unit, "ns");
	}
	assert_int_equal(n, n_written);
	reel_traces_destroy(traces);
	reel_capture_close(capture);
}

TEST(test_same_traces)
{
	const REEL_SIZED(reel_recorder_options, options, .event = "ticks", .weights_are_ns = true,
			 .hostname = "here", .tool = "test 1");
	char *program = realpath(ORDERS "/usr/bin/orders", NULL);
	struct reel_recorder *recorder;

	must(reel_recorder_create(path, "aarch64", &options, &recorder));
	for (uint32_t pid = 10; pid <= 11; pid++)
		must(reel_recorder_map(recorder, pid, 0, TEXT, 0xa0000, 0, program));
	free(program);
	copy(recorder);
	assert_int_not_equal(access(path, F_OK), 0);
	must(reel_recorder_finish(recorder));
	reel_recorder_destroy(recorder);
	check();
	assert_int_equal(unlink(path), 0);
}

TEST(test_wrong_calls)
{
	static const uint8_t byte;
	const struct reel_register pc = { 32, TEXT };
	struct reel_memory memory[REEL_REGIONS_MAX + 1] = { { TEXT, 1, &byte } };
	REEL_SIZED(reel_stack, stack, .memory = memory);
	const REEL_SIZED(reel_snapshot, snapshot, .stack = &stack);
	struct reel_recorder *recorder;

	assert_error(reel_recorder_create(path, "vax", NULL, &recorder), REEL_ERROR_UNSUPPORTED);
	assert_error(reel_recorder_create("/no/such/folder/x", "aarch64", NULL, &recorder),
		     REEL_ERROR_OS);
	must(reel_recorder_create(path, "aarch64", NULL, &recorder));
	assert_error(reel_recorder_map(recorder, 1, 0, TEXT, 0, 0, "/x"), REEL_ERROR_INVALID);
	assert_error(reel_recorder_map(recorder, 1, 0, UINT64_MAX, 2, 0, "/x"), REEL_ERROR_INVALID);
	assert_error(reel_recorder_add(recorder, &snapshot), REEL_ERROR_INVALID);
	stack.registers = &pc;
	stack.n_registers = 1;
	stack.n_memory = REEL_REGIONS_MAX + 1;
	assert_error(reel_recorder_add(recorder, &snapshot), REEL_ERROR_INVALID);
	stack.n_memory = 1;
	memory[0].size = REEL_REGION_SIZE_MAX + 1;
	assert_error(reel_recorder_add(recorder, &snapshot), REEL_ERROR_INVALID);
	memory[0] = (struct reel_memory){ UINT64_MAX, 2, &byte };
	assert_error(reel_recorder_add(recorder, &snapshot), REEL_ERROR_INVALID);
	/* Not finished: no file. */
	reel_recorder_destroy(recorder);
	assert_int_not_equal(access(path, F_OK), 0);
	reel_recorder_destroy(NULL);
}

static int name_file(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/reel-recorder-%d.reel", getpid());
	return 0;
}

RUN_TESTS_WITH(name_file, NULL)
