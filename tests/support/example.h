/* SPDX-License-Identifier: Apache-2.0 */
/* A small capture of two threads, and its parts. */
#ifndef TESTS_SUPPORT_EXAMPLE_H
#define TESTS_SUPPORT_EXAMPLE_H

#include "tests/support/capture.h"

#define EXAMPLE_START 1000000000u

static const uint8_t example_id[REEL_FILE_ID_SIZE] = "stackreel-sample";

/* Strings used by example_side's records. */
static const struct reel_sample_target example_target = { .word_bits = 64 };

static inline struct reel_record example_capture_record(void)
{
	return (struct reel_record){
		.id = REEL_RECORD_CAPTURE,
		.capture = {
			.start_time = EXAMPLE_START,
			.start_wall_time = 1700000000000000000u,
			.clock = 1,
			.machine = 62,
			.word_bits = 64,
			.byte_order = REEL_BYTE_ORDER_LITTLE,
			.page_size = 4096,
			.cpus_possible = 2,
			.cpus_online = 2,
			.max_stack = 65536,
			.ring_size = 8 << 20,
			.rings = 1,
			.recording = { example_id, sizeof(example_id) },
			.hostname = reel_bytes_of_string("host"),
			.kernel_release = reel_bytes_of_string("6.1.0"),
			.tool_version = reel_bytes_of_string("0.1.0"),
		},
	};
}

static inline struct reel_record example_space_record(void)
{
	return (struct reel_record){
		.id = REEL_RECORD_SPACE,
		.space = { .time = EXAMPLE_START,
			   .id = 1,
			   .pid = 100,
			   .machine = 62,
			   .word_bits = 64,
			   .byte_order = REEL_BYTE_ORDER_LITTLE },
	};
}

static inline struct reel_record example_thread_record(uint64_t id)
{
	return (struct reel_record){
		.id = REEL_RECORD_THREAD,
		.thread = { .time = EXAMPLE_START,
			    .id = id,
			    .space = 1,
			    .tid = 99 + id,
			    .comm = reel_bytes_of_string("example") },
	};
}

static inline struct reel_record example_end_record(uint64_t samples)
{
	return (struct reel_record){
		.id = REEL_RECORD_END,
		.end = { .time = EXAMPLE_START + 1000000, .samples = samples },
	};
}

static inline void example_side(struct reel_writer *writer)
{
	struct reel_record event = {
		.id = REEL_RECORD_EVENT,
		.event = { .id = 1,
			   .perf_type = 1,
			   .frequency = 99,
			   .weight_unit = REEL_WEIGHT_NANOSECONDS,
			   .name = reel_bytes_of_string("cpu-clock") },
	};
	struct reel_record module = {
		.id = REEL_RECORD_MODULE,
		.module = { .id = 1,
			    .kind = REEL_MODULE_FILE,
			    .build_id = { (const uint8_t *)"\x01\x23\x45\x67\x89\xab\xcd\xef", 8 },
			    .path = reel_bytes_of_string("/bin/example") },
	};
	struct reel_record map = {
		.id = REEL_RECORD_MAP,
		.map = { .time = EXAMPLE_START,
			 .space = 1,
			 .address = 0x401000,
			 .size = 0x2000,
			 .offset = 0x1000,
			 .protection = 5,
			 .flags = 2,
			 .module = 1 },
	};
	struct reel_record record;

	record = example_capture_record();
	must(reel_writer_record(writer, &record));
	must(reel_writer_record(writer, &event));
	must(reel_writer_record(writer, &module));
	record = example_space_record();
	must(reel_writer_record(writer, &record));
	for (uint64_t thread = 1; thread <= 2; thread++) {
		record = example_thread_record(thread);
		must(reel_writer_record(writer, &record));
	}
	must(reel_writer_record(writer, &map));
}

#define EXAMPLE_STACK_MAX 256

/* Storage of a sample. */
struct example_sample {
	struct reel_sample sample;
	struct reel_register_slot slots[3];
	struct reel_record_sample_layout layout;
	uint64_t values[3];
	uint8_t known[1];
	uint8_t stack[EXAMPLE_STACK_MAX];
	struct reel_range missing[1];
	struct reel_region region;
	uint64_t kernel_chain[2], frame_chain[2];
};

/* The `i`th sample, of thread 1 or 2 in turn: stacks grow and shrink at their low end. */
static inline void example_sample(struct example_sample *ret, uint64_t i)
{
	size_t size = 64 + i % 4 * 32;
	uint64_t top = 0x7ffc00001000 + (i % 2 << 20);

	*ret = (struct example_sample){
		.slots = { { 6, 8 }, { 7, 8 }, { 16, 8 } },
		.values = { 0, top - size, 0x401100 + i * 4 },
		.known = { 6 },
		.kernel_chain = { 0xffffffff81000100 + i, 0xffffffff81000200 },
		.frame_chain = { 0x401100 + i * 4, 0x401200 },
		.missing = { { 8, 16 } },
	};
	ret->layout = (struct reel_record_sample_layout){ 0, 3, ret->slots };
	/* Words by their distance to the top, a few of them changing. */
	for (size_t at = 0; at < size; at += 8)
		reel_store64(ret->stack + at,
			     at % 64 ? 0x401000 + (size - at) : 0x500000 + i * (size - at));
	ret->region = (struct reel_region){
		.kind = REEL_REGION_STACK,
		.address = top - size,
		.bytes = ret->stack,
		.size = size,
	};
	if (i % 3 == 2) {
		memset(ret->stack + 8, 0, 16);
		ret->region.missing = ret->missing;
		ret->region.n_missing = 1;
	}
	ret->sample = (struct reel_sample){
		.id = i,
		.time = EXAMPLE_START + 1000 * i,
		.thread = 1 + i % 2,
		.cpu = i % 2,
		.event = 1,
		.weight = 10101010,
		.where = i % 4 == 1 ? REEL_WHERE_SYSCALL : REEL_WHERE_USER,
		.pc = ret->values[2],
		.layout = &ret->layout,
		.values = ret->values,
		.known = ret->known,
		.regions = &ret->region,
		.n_regions = 1,
	};
	if (i % 4 == 1) {
		ret->sample.kernel_chain = ret->kernel_chain;
		ret->sample.n_kernel_chain = 2;
	}
	if (i % 4 == 3) {
		ret->sample.frame_chain = ret->frame_chain;
		ret->sample.n_frame_chain = 2;
	}
}

/* Side block, sample block, side block (END) and index; `samples` of them in each of `n` sample
 * blocks. */
static inline void example_capture_with(const struct reel_writer_options *options,
					struct reel_buffer *ret, uint64_t blocks, uint64_t samples,
					bool finish)
{
	struct reel_writer_options with_target = { 0 };
	int fd = memory_file("", 0);
	struct example_sample sample;
	struct reel_writer *writer;
	struct reel_record end;

	if (options)
		with_target = *options;
	with_target.target = example_target;
	must(reel_writer_create(fd, "example", &with_target, example_id, &writer));
	example_side(writer);
	for (uint64_t i = 0; i < blocks * samples; i++) {
		example_sample(&sample, i);
		must(reel_writer_sample(writer, &sample.sample));
		if (i % samples == samples - 1)
			must(reel_writer_flush(writer));
	}
	if (finish) {
		end = example_end_record(blocks * samples);
		must(reel_writer_record(writer, &end));
		must(reel_writer_finish(writer));
	} else {
		must(reel_writer_flush(writer));
	}
	reel_writer_destroy(writer);
	ret->size = 0;
	file_content(fd, ret);
	close(fd);
}

static inline void example_capture(struct reel_buffer *ret, uint64_t blocks, uint64_t samples,
				   bool finish)
{
	example_capture_with(NULL, ret, blocks, samples, finish);
}

#endif
