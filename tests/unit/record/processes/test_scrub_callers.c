/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder, import and `stackreel scrub` keep the same words of the same stack, with each
 * possible mask of pointer authentication (SPEC.md, 8.1).
 */
#include <elf.h>
#include "base/quantity.h"
#include "record/processes/tracker_internal.h"
#include "format/scrub/scrub.h"
#include "tests/support/example.h"
#include "tests/support/import.h"
#include "tests/support/test.h"

#define PID	4194001u /* above the pids of all but the largest hosts */
#define CODE	UINT64_C(0xaaaa00001000)
#define CODE_PC (CODE + 0x10)
#define STACK	UINT64_C(0xffff00002000)

static const uint64_t words[] = {
	CODE_PC,
	CODE_PC | UINT64_C(0x007f) << 48, /* with a signature */
	CODE_PC | UINT64_C(0x0080) << 48, /* in bits that no kernel mask contains */
	STACK + 8,
	UINT64_C(0x68736d6170617373), /* a secret */
	0,
};

#define WORDS (sizeof(words) / sizeof(*words))

struct kind {
	struct reel_target target;
	bool stays[WORDS];
	const char *perf_machine; /* NULL: perf.data does not give this mask */
};

static const struct kind kinds[] = {
	/* The mask of the kernel's NT_ARM_PAC_MASK, with addresses of 48 bits. */
	{ { .elf = { EM_AARCH64, 64, REEL_BYTE_ORDER_LITTLE },
	    .code_mask = UINT64_C(0x007f) << 48,
	    .data_mask = UINT64_C(0x007f) << 48 },
	  { true, true, false, true, false, true },
	  NULL },
	/* Signatures are unknown. */
	{ { .elf = { EM_AARCH64, 64, REEL_BYTE_ORDER_LITTLE } },
	  { true, true, true, true, false, true },
	  "aarch64" },
	{ { .elf = { EM_X86_64, 64, REEL_BYTE_ORDER_LITTLE } },
	  { true, false, false, true, false, true },
	  "x86_64" },
};

static void stack_of(const struct kind *kind, bool is_scrubbed, uint8_t *ret)
{
	for (size_t i = 0; i < WORDS; i++)
		reel_store64(ret + 8 * i, is_scrubbed && !kind->stays[i] ? 1 : words[i]);
}

/* The only sample of a capture, opened by this path. */
static void check_capture(const char *path, const struct kind *kind)
{
	struct reel_capture *capture;
	_cleanup_buffer_ struct reel_buffer text = { 0 };
	uint8_t expected[8 * WORDS];
	char region[100];

	stack_of(kind, true, expected);
	snprintf(region, sizeof(region), "address=%#" PRIx64 " size=%zu missing=[] crc=%lu", STACK,
		 sizeof(expected), crc32(0, expected, sizeof(expected)));
	must(reel_capture_open(path, NULL, &capture));
	must(reel_capture_visit_records(capture, say_record, &text));
	reel_buffer_u8(&text, 0);
	reel_capture_close(capture);
	assert_int_equal(count_lines(&text, "SAMPLE ", region, NULL), 1);
}

static void path_of(int fd, char *ret, size_t size)
{
	snprintf(ret, size, "/proc/self/fd/%d", fd);
}

/* ---- the recorder, and `stackreel scrub` of what it would record ---------------------------- */

static struct reel_error *put(void *context, const struct reel_record *record)
{
	return reel_writer_record(context, record);
}

static struct reel_writer *begin_capture(const struct kind *kind, int fd)
{
	struct reel_record record = example_capture_record();
	struct reel_writer *writer;

	record.capture.machine = kind->target.elf.machine;
	must(reel_writer_create(fd, "recorded", NULL, example_id, &writer));
	must(reel_writer_record(writer, &record));
	record = (struct reel_record){ .id = REEL_RECORD_EVENT, .event = { .id = 1 } };
	must(reel_writer_record(writer, &record));
	return writer;
}

static void begin_process(struct reel_tracker *tracker, uint64_t start)
{
	const struct reel_process_event fork = { .kind = REEL_PROCESS_FORK,
						 .time = start,
						 .pid = PID,
						 .tid = PID,
						 .parent_pid = 1,
						 .parent_tid = 1 };
	const struct reel_process_event map = {
		.kind = REEL_PROCESS_MAP,
		.time = start + 2 * REEL_NS_PER_SECOND,
		.pid = PID,
		.tid = PID,
		.map = { .address = CODE,
			 .size = 4096,
			 .protection = 5,
			 .flags = 2,
			 .path = "/usr/bin/code" },
		.build_id = { 1, { 1 } },
	};

	tracker->proc_is_ours = false; /* this process does not exist */
	must(reel_tracker_event(tracker, &fork));
	must(reel_tracker_event(tracker, &map));
}

static void record_sample(const struct kind *kind, struct reel_tracker *tracker,
			  struct reel_writer *writer)
{
	/* Processes older than a second were looked up in /proc. */
	const uint64_t start = reel_now();
	const struct reel_bpf_sample place_of = { .pid = PID,
						  .tid = PID,
						  .time = start + 3 * REEL_NS_PER_SECOND,
						  .flags = REEL_BPF_REGISTERS };
	uint8_t stack[8 * WORDS], expected[8 * WORDS];
	const struct reel_region region = { .address = STACK,
					    .size = sizeof(stack),
					    .bytes = stack };
	struct reel_sample sample = {
		.id = 1, .time = place_of.time, .event = 1, .regions = &region, .n_regions = 1
	};
	struct reel_tracker_place place;
	struct reel_scrubber *scrubber;

	stack_of(kind, false, stack);
	stack_of(kind, true, expected);
	begin_process(tracker, start);
	must(reel_tracker_place(tracker, &place_of, &place));
	sample.thread = place.thread;
	must(reel_writer_sample(writer, &sample));
	must(reel_scrubber_create(&kind->target.elf, &scrubber));
	must(reel_scrub_sample(scrubber, &place.space, &sample));
	assert_memory_equal(sample.regions[0].bytes, expected, sizeof(expected));
	reel_scrubber_destroy(scrubber);
}

TEST(recorder_and_scrub)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct reel_tracker_options options = { .target = &kinds[i].target,
							.everything = true,
							.sink = { .put = put } };
		int raw = memfd_create("raw", 0), scrubbed = memfd_create("scrubbed", 0);
		struct reel_record end = example_end_record(1);
		struct reel_module_table *modules;
		struct reel_tracker *tracker;
		struct reel_writer *writer = begin_capture(&kinds[i], raw);
		struct reel_capture *capture;
		char from[64], to[64];

		must(reel_module_table_create(NULL, &modules));
		options.modules = modules;
		options.sink.context = writer;
		must(reel_tracker_create(&options, &tracker));
		record_sample(&kinds[i], tracker, writer);
		must(reel_writer_record(writer, &end));
		must(reel_writer_finish(writer));
		reel_writer_destroy(writer);
		reel_tracker_destroy(tracker);
		reel_module_table_destroy(modules);

		path_of(raw, from, sizeof(from));
		path_of(scrubbed, to, sizeof(to));
		must(reel_capture_open(from, NULL, &capture));
		must(reel_capture_scrub(capture, to, NULL, NULL));
		reel_capture_close(capture);
		check_capture(to, &kinds[i]);
		close(raw);
		close(scrubbed);
	}
}

/* ---- import --------------------------------------------------------------------------------- */

static void import_one(const struct kind *kind)
{
	static const char *const names[] = { "cpu-clock" };
	const uint64_t arm_pc = 32, x86_pc = 8;
	const bool is_arm = kind->target.elf.machine == EM_AARCH64;
	const struct builder_id id = { 100, 100, 5, 7, 0 };
	uint8_t stack[8 * WORDS];
	/* Registers are consecutive numbers, and so are sp and pc on both CPUs. */
	struct builder_sample sample = {
		.id = id,
		.ip = CODE_PC,
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.first_register = STACK,
		.stack = stack,
		.stack_room = sizeof(stack),
		.stack_size = sizeof(stack),
	};
	_cleanup_builder_ struct perf_builder b = { 0 };
	struct perf_builder_event *event = add_event(
		&b,
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			PERF_SAMPLE_CPU | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		BUILD_FLAG(FREQ) | BUILD_FLAG(SAMPLE_ID_ALL), 7);
	const REEL_SIZED(reel_import_options, options);
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	int in, out = memfd_create("out", 0);
	char from[64], to[64];

	stack_of(kind, false, stack);
	/* Only the stack pointer and the pc: the first one is the stack's lowest address. */
	event->user_registers = is_arm ? 1ULL << 31 | 1ULL << arm_pc : 1ULL << 7 | 1ULL << x86_pc;
	event->stack = sizeof(stack);
	feature_text(&b, BUILD_FEATURE_ARCH, kind->perf_machine);
	feature_names(&b, names);
	put_comm(&b, 0, "worker", id);
	put_mmap2(&b, PERF_RECORD_MISC_USER, CODE, 0, NULL, 0, "/usr/bin/code", id);
	put_sample(&b, 0, &sample);
	build(&b, &bytes);
	in = memory_file(bytes.bytes, bytes.size);
	path_of(in, from, sizeof(from));
	path_of(out, to, sizeof(to));
	must(reel_import_perf(from, to, &options, NULL));
	check_capture(to, kind);
	close(in);
	close(out);
}

TEST(import)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (kinds[i].perf_machine)
			import_one(&kinds[i]);
	}
}

RUN_TESTS()
