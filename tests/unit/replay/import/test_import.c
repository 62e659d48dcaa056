/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports of perf.data: containers (file, pipe, compressed, either byte order), events, samples,
 * chains, registers, stacks.  The expected results follow include/uapi/linux/perf_event.h.
 */
#include "tests/support/import.h"
#include "tests/support/test.h"

#define KERNEL_TEXT 0xffffffff81000000u

/* The registers that perf records for a CPU (PERF_REGS_MASK), and which of them are pc and sp. */
static const struct cpu {
	const char *machine, *arch; /* uname -m, and ours */
	bool big_endian;
	uint64_t registers;
	int n_registers, pc, sp;       /* pc and sp: the n-th recorded register */
	int pc_dwarf, sp_dwarf, n_out; /* n_out: those that DWARF has */
	int word;		       /* bytes */
} cpus[] = {
	/* arch/x86/include/uapi/asm/perf_regs.h: without DS, ES, FS and GS; CS, SS and flags have
	 * no rules. */
	{ "x86_64", "x86_64", false, 0xff0fff, 20, 8, 7, 16, 7, 17, 8 },
	/* arch/s390: R0-15, FP0-15, MASK, PC. */
	{ "s390x", "s390x", true, 0x3ffffffff, 34, 33, 15, 65, 15, 34, 8 },
	/* arch/arm64: X0-29, LR, SP, PC. */
	{ "aarch64", "aarch64", false, 0x1ffffffff, 33, 32, 31, 32, 31, 33, 8 },
	/* arch/riscv: PC, RA, SP, …, T6; the PC has x0's number. */
	{ "riscv64", "riscv64", false, 0xffffffff, 32, 0, 2, 64, 2, 32, 8 },
	/* A 32-bit kernel: with DS, ES, FS and GS. */
	{ "i686", "i386", false, 0xffff, 16, 8, 7, 8, 4, 9, 4 },
};

#define SAMPLE_TYPE                                                                                \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
#define SAMPLE_TYPE_DWARF                                                                          \
	(SAMPLE_TYPE | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define FLAGS (BUILD_FLAG(FREQ) | BUILD_FLAG(SAMPLE_ID_ALL))

/*
 * The output of perf record --call-graph dwarf for one thread, with one sample in user and one in
 * kernel code.
 */
static void dwarf_recording(const struct cpu *cpu, bool is_pipe, struct perf_builder *b)
{
	static const uint64_t kernel[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT + 16, KERNEL_TEXT };
	struct perf_builder_event *event;
	struct builder_sample sample = {
		.id = { 100, 101, 5000, 7, 1 },
		.ip = 0x401234,
		.period = 1001001,
		.abi = cpu->word == 4 ? PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64,
		.first_register = 0x1000,
		.stack_room = 64,
		.stack_size = 40,
	};
	static const char *const names[] = { "cpu-clock" };

	*b = (struct perf_builder){ .big_endian = cpu->big_endian, .is_pipe = is_pipe };
	event = add_event(b, SAMPLE_TYPE_DWARF,
			  FLAGS | BUILD_FLAG(EXCLUDE_CALLCHAIN_USER) | BUILD_FLAG(USE_CLOCKID), 7);
	event->user_registers = cpu->registers;
	event->stack = 64;
	event->clock = 1;
	feature_text(b, BUILD_FEATURE_HOSTNAME, "here");
	feature_text(b, BUILD_FEATURE_OSRELEASE, "6.12.1-test");
	feature_text(b, BUILD_FEATURE_VERSION, "6.12");
	feature_text(b, BUILD_FEATURE_ARCH, cpu->machine);
	put_number(b, feature(b, BUILD_FEATURE_NRCPUS), 8, 4);
	put_number(b, feature(b, BUILD_FEATURE_NRCPUS), 6, 4);
	put_number(b, feature(b, BUILD_FEATURE_CMDLINE), 2, 4);
	put_string(b, feature(b, BUILD_FEATURE_CMDLINE), "/usr/bin/perf");
	put_string(b, feature(b, BUILD_FEATURE_CMDLINE), "record");
	put_number(b, feature(b, BUILD_FEATURE_CLOCK_DATA), 1, 4);
	put_number(b, feature(b, BUILD_FEATURE_CLOCK_DATA), 1, 4);
	put_number(b, feature(b, BUILD_FEATURE_CLOCK_DATA), 1700000000000000000, 8);
	put_number(b, feature(b, BUILD_FEATURE_CLOCK_DATA), 4000, 8);
	feature_names(b, names);
	put_comm(b, 0, "worker", (struct builder_id){ 100, 101, 0, 0, 0 });
	put_mmap2(b, PERF_RECORD_MISC_USER, 0x401000, 0x1000, NULL, 0, "/bin/worker",
		  (struct builder_id){ 100, 100, 0, 0, 0 });
	put_sample(b, 0, &sample);
	sample.id.time = 6000;
	sample.misc = PERF_RECORD_MISC_KERNEL;
	sample.ip = KERNEL_TEXT + 16;
	sample.chain = kernel;
	sample.n_chain = 3;
	sample.stack_size = 64;
	put_sample(b, 0, &sample);
	begin(b, BUILD_FINISHED_ROUND, 0);
	end(b);
}

static void check_dwarf_recording(const struct cpu *cpu, const struct imported *imported)
{
	const struct cpu *c = cpu;
	char machine[64], pc[64], sp[64];

	snprintf(machine, sizeof(machine), "byte_order=%d ", c->big_endian ? 2 : 1);
	assert_int_equal(imported->code, 0);
	assert_lines(1, imported, "CAPTURE start_time=5000 ",
		     "start_wall_time=1700000000000001000 ", " clock=1 ", machine,
		     "cpus_possible=8 ", "cpus_online=6 ", "max_stack=64 ", "hostname=\"here\"",
		     "kernel_release=\"6.12.1-test\"", "\"perf 6.12, imported",
		     /* "/usr/bin/perf", "record" */
		     "command_line=2f7573722f62696e2f70657266007265636f726400 ");
	assert_lines(1, imported, "EVENT id=1 perf_type=1 perf_config=0 frequency=99 period=0 ",
		     "weight_unit=1 name=\"cpu-clock\"");
	assert_lines(1, imported, "THREAD ", "id=1 ", "tid=101 ");
	assert_lines(1, imported, "THREAD_COMM ", "thread=1 comm=\"worker\"");
	assert_lines(1, imported, "MODULE ", "path=\"/bin/worker\"", "inode=4711 ",
		     "device_major=8 ");
	assert_lines(1, imported, "MAP time=0 ", "address=0x401000 ", "size=0x1000 ",
		     "offset=0x1000 ", "protection=5 ");
	snprintf(pc, sizeof(pc), "[%d %d %#x]", c->pc_dwarf, c->word, 0x1000 + c->pc);
	snprintf(sp, sizeof(sp), "[%d %d %#x]", c->sp_dwarf, c->word, 0x1000 + c->sp);
	assert_lines(2, imported, "SAMPLE ", "cpu=1 event=1 weight=1001001 ", pc, sp);
	snprintf(sp, sizeof(sp), "address=%#x ", 0x1000 + c->sp);
	/* Not cut: the kernel had room for more bytes than it found. */
	assert_lines(1, imported, "SAMPLE id=1 time=5000 ", "where=1 flags=4 ", "size=40 ", sp,
		     "kernel_chain=- frame_chain=-");
	assert_lines(1, imported, "SAMPLE id=2 time=6000 ", "where=0 flags=5 ", "size=64 ", sp,
		     "kernel_chain=[0xffffffff81000010 0xffffffff81000000] frame_chain=-");
	assert_lines(1, imported, "END time=6000 reason=6 samples=2 ");
	assert_int_equal(imported->counts.samples, 2);
	assert_int_equal(imported->counts.modules, 1);
	assert_int_equal(imported->counts.lost, 0);
	assert_int_equal(imported->problem_codes & ~(1u << REEL_ERROR_NOT_FOUND), 0);
}

TEST(test_cpus)
{
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		for (int is_pipe = 0; is_pipe < 2; is_pipe++) {
			_cleanup_imported_ struct imported imported;
			_cleanup_builder_ struct perf_builder b;
			char *line, *end, word[4];
			int n = 0;

			dwarf_recording(&cpus[i], is_pipe, &b);
			import_built(&b, NULL, &imported);
			check_dwarf_recording(&cpus[i], &imported);
			line = strstr((char *)imported.text.bytes, "registers=");
			line = strstr(line + 1, "registers=");
			assert_non_null(line);
			end = strstr(line, "]] ");
			snprintf(word, sizeof(word), " %d ", cpus[i].word);
			for (; line < end; line++)
				n += !strncmp(line, word, 3);
			assert_int_equal(n, cpus[i].n_out);
		}
	}
}

/* For whole streams, wherever their pieces begin. */
TEST(test_compressed)
{
	static const size_t pieces[] = { 1, 7, 64, 1 << 20 };
	static const uint32_t types[] = { BUILD_COMPRESSED, BUILD_COMPRESSED2 };

	for (size_t i = 0; i < 4 * 4 * 2 * 2; i++) {
		const struct cpu *cpu = &cpus[i % 4];
		_cleanup_imported_ struct imported imported;
		_cleanup_builder_ struct perf_builder b;
		size_t from;

		dwarf_recording(cpu, i & 32, &b);
		/*
		 * Records that perf makes up itself are not compressed, and the end of a round is
		 * not either.
		 */
		b.data.size -= 8;
		from = i % 3 ? 0 : 56;
		compress_from(&b, from, pieces[i / 4 % 4], types[i / 16 % 2]);
		import_built(&b, NULL, &imported);
		check_dwarf_recording(cpu, &imported);
	}
}

/* ---- the CPU --------------------------------------------------------------------------- */

TEST(test_unknown_cpu)
{
	struct reel_import_options options = { .arch = "aarch64" };

	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		_cleanup_imported_ struct imported imported, asked, none;
		_cleanup_builder_ struct perf_builder b;

		dwarf_recording(&cpus[i], false, &b);
		b.feature_bits &= ~(1ull << BUILD_FEATURE_ARCH);
		import_built(&b, NULL, &imported);
		check_dwarf_recording(&cpus[i], &imported);
		assert_says(imported.problems, "by its registers");
		assert_says(imported.problems, cpus[i].arch);
		import_built(&b, &options, &asked);
		assert_lines(1, &asked, "CAPTURE ", "machine=183 ");
		b.events[0].user_registers = 0xff;
		import_built(&b, NULL, &none);
		assert_int_equal(none.code, REEL_ERROR_INVALID);
		assert_says(none.text, "--arch");
	}
}

TEST(test_foreign_cpu)
{
	static const struct cpu mips = { "mips64", "", true, 0xffffffff, 32, 0, 1, 0, 0, 0 };
	_cleanup_imported_ struct imported imported;
	_cleanup_builder_ struct perf_builder b;

	dwarf_recording(&mips, false, &b);
	import_built(&b, NULL, &imported);
	assert_int_equal(imported.code, REEL_ERROR_UNSUPPORTED);
	assert_says(imported.text, "mips64");
}

/*
 * 32-bit programs on a 64-bit kernel: their own registers, in words of the kernel's size.  The
 * upper halves are undefined.
 */
TEST(test_compat)
{
	struct builder_sample sample = {
		.id = { 200, 200, 7000, 7, 0 },
		.abi = PERF_SAMPLE_REGS_ABI_32,
		.first_register = 0xabc00008000,
		.stack_room = 64,
		.stack_size = 40,
		.ip = 0x8048000,
	};

	for (int is_arm = 0; is_arm < 2; is_arm++) {
		_cleanup_imported_ struct imported imported;
		_cleanup_builder_ struct perf_builder b;

		dwarf_recording(&cpus[is_arm ? 2 : 0], false, &b);
		put_sample(&b, 0, &sample);
		sample.id.time = 8000;
		sample.abi = PERF_SAMPLE_REGS_ABI_64;
		put_sample(&b, 0, &sample);
		sample.id.time = 7000;
		sample.abi = PERF_SAMPLE_REGS_ABI_32;
		import_built(&b, NULL, &imported);
		assert_lines(1, &imported, "SPACE time=7000 ", "pid=200 ",
			     is_arm ? "machine=40 word_bits=32 " : "machine=3 word_bits=32 ");
		/* Arm's are not known. */
		if (is_arm) {
			assert_lines(1, &imported, "SAMPLE id=3 ", "registers=[] ",
				     "frame_chain=[0x8048000]");
			assert_says(
				imported.problems,
				"1 samples of programs whose word size differs from the kernel's");
			continue;
		}
		/* eax … eip: perf's numbers 0, 2, 3, 1, 7, 6, 4, 5, 8. */
		assert_lines(1, &imported, "SAMPLE id=3 ", "pc=0x8008 ",
			     "registers=[[0 4 0x8000] [3 4 0x8001] [1 4 0x8002] [2 4 0x8003] "
			     "[6 4 0x8004] [7 4 0x8005] [5 4 0x8006] [4 4 0x8007] [8 4 0x8008]] ",
			     "address=0x8007 size=40 ", "frame_chain=-");
		/* The next task's are 64-bit again. */
		assert_lines(1, &imported, "SAMPLE id=4 ", "[16 8 0xabc00008008]");
		assert_null(strstr((const char *)imported.problems.bytes, "word size"));
	}
}

/*
 * Without registers, the vDSO's address decides; an exec makes the process native until the next
 * one.
 */
TEST(test_compat_by_vdso)
{
	_cleanup_imported_ struct imported imported;
	_cleanup_builder_ struct perf_builder b;

	dwarf_recording(&cpus[0], false, &b);
	put_mmap2(&b, PERF_RECORD_MISC_USER, 0xf7fd0000, 0x2000, NULL, 0, "[vdso]",
		  (struct builder_id){ 300, 300, 7000, 0, 0 });
	put_mmap2(&b, PERF_RECORD_MISC_USER, 0x7ffff7fd0000, 0x2000, NULL, 0, "[vdso]",
		  (struct builder_id){ 301, 301, 7000, 0, 0 });
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported, "SPACE ", "pid=300 ", "machine=3 word_bits=32 ",
		     "vdso=0xf7fd0000 ");
	assert_lines(1, &imported, "SPACE ", "pid=301 ", "machine=62 word_bits=64 ",
		     "vdso=0x7ffff7fd0000 ");
}

/* ---- events ---------------------------------------------------------------------------- */

static void two_events(struct perf_builder *b, uint64_t first, uint64_t second, uint64_t flags)
{
	static const char *const names[] = { "cycles", "faults" };
	struct builder_sample sample = { .id = { 1, 1, 10, 21, 0 }, .ip = 0x1111, .period = 5 };

	*b = (struct perf_builder){ 0 };
	add_event(b, first, flags, 21)->ids[1] = 22;
	b->events[0].n_ids = 2;
	b->events[0].type = PERF_TYPE_HARDWARE;
	add_event(b, second, flags & ~BUILD_FLAG(FREQ), 23)->config = PERF_COUNT_SW_PAGE_FAULTS;
	feature_text(b, BUILD_FEATURE_ARCH, "x86_64");
	feature_names(b, names);
	put_comm(b, 0, "w", (struct builder_id){ 1, 1, 5, 23, 0 });
	put_sample(b, 0, &sample);
	sample.id = (struct builder_id){ 1, 1, 20, 23, 0 };
	sample.ip = 0x2222;
	put_sample(b, 1, &sample);
	sample.id = (struct builder_id){ 1, 1, 30, 22, 0 };
	put_sample(b, 0, &sample);
}

static void check_two_events(struct perf_builder *b)
{
	_cleanup_imported_ struct imported imported;

	import_built(b, NULL, &imported);
	assert_lines(1, &imported, "EVENT id=1 perf_type=0 perf_config=0 frequency=99 period=0 ",
		     "weight_unit=0 name=\"cycles\"");
	assert_lines(1, &imported, "EVENT id=2 perf_type=1 perf_config=2 frequency=0 period=99 ",
		     "name=\"faults\"");
	assert_lines(1, &imported, "SAMPLE id=1 time=10 ", "event=1 ", "frame_chain=[0x1111]");
	assert_lines(1, &imported, "SAMPLE id=2 time=20 ", "event=2 ", "frame_chain=[0x2222]");
	assert_lines(1, &imported, "SAMPLE id=3 time=30 ", "event=1 ");
	assert_lines(1, &imported, "THREAD time=5 ", "tid=1 ");
	assert_int_equal(imported.problem_codes, 0);
	builder_free(b);
}

TEST(test_events)
{
	uint64_t plain = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	uint64_t by_id = plain | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID;
	_cleanup_imported_ struct imported none, mixed;
	struct perf_builder b;

	/* Whatever else differs, the identifier comes first, and last in other records. */
	two_events(&b, plain | PERF_SAMPLE_IDENTIFIER,
		   plain | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU, FLAGS);
	check_two_events(&b);
	two_events(&b, by_id, by_id | PERF_SAMPLE_PERIOD, FLAGS);
	check_two_events(&b);
	/* One event has both words, the other only one. */
	two_events(&b, by_id | PERF_SAMPLE_IDENTIFIER, by_id, FLAGS);
	import_built(&b, NULL, &mixed);
	assert_int_equal(mixed.code, REEL_ERROR_UNSUPPORTED);
	builder_free(&b);
	two_events(&b, plain, plain, FLAGS);
	import_built(&b, NULL, &none);
	assert_int_equal(none.code, REEL_ERROR_UNSUPPORTED);
	assert_says(none.text, "no identifiers to tell their samples apart");
	builder_free(&b);
}

/* A sample of an unknown event is skipped, and reported. */
TEST(test_unknown_event)
{
	uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
	struct builder_sample sample = { .id = { 1, 1, 10, 99, 0 } };
	_cleanup_imported_ struct imported imported;
	_cleanup_builder_ struct perf_builder b;

	two_events(&b, type, type, FLAGS);
	put_sample(&b, 0, &sample);
	put_sample(&b, 0, &sample);
	import_built(&b, NULL, &imported);
	assert_int_equal(imported.counts.samples, 3);
	assert_int_equal(imported.problem_codes, 1u << REEL_ERROR_CORRUPT);
	assert_says(imported.problems, "unknown event identifier; skipped 2 such records");
	/* Damage is also written into the capture. */
	assert_lines(1, &imported, "END ", "reason=5 ");
}

/* Linux before 3.12 had no identifiers, and attributes have grown since. */
TEST(test_old_attributes)
{
	static const uint32_t sizes[] = { PERF_ATTR_SIZE_VER0, PERF_ATTR_SIZE_VER1,
					  PERF_ATTR_SIZE_VER2, PERF_ATTR_SIZE_VER3,
					  PERF_ATTR_SIZE_VER7, 200 };
	struct builder_sample sample = { .id = { 1, 2, 10, 0, 3 }, .ip = 0x1234, .period = 9 };

	for (size_t i = 0; i < 4 * 6; i++) {
		_cleanup_imported_ struct imported imported;
		_cleanup_builder_ struct perf_builder b = { .big_endian = i & 1, .is_pipe = i & 2 };

		add_event(&b, SAMPLE_TYPE & ~(uint64_t)PERF_SAMPLE_IDENTIFIER, BUILD_FLAG(FREQ), 0)
			->attr_size = sizes[i / 4];
		feature_text(&b, BUILD_FEATURE_HOSTNAME, "here");
		feature_text(&b, BUILD_FEATURE_ARCH, "x86_64");
		put_sample(&b, 0, &sample);
		import_built(&b, NULL, &imported);
		assert_lines(1, &imported, "SAMPLE id=1 time=10 ", "cpu=3 ", "weight=9 ",
			     "frame_chain=[0x1234]");
		/* The event had no name. */
		assert_lines(1, &imported, "EVENT ", "name=\"perf:1:0\"");
	}
}

/* ---- samples --------------------------------------------------------------------------- */

/* Fields before the registers are skipped, by their own lengths. */
TEST(test_sample_fields)
{
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, 0xffff000000000001,
					  PERF_CONTEXT_USER,   0x5000,
					  PERF_CONTEXT_GUEST,  0x6000,
					  PERF_CONTEXT_USER,   0x7000 };
	static const uint64_t all = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				    PERF_SAMPLE_ADDR | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |
				    PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
				    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_RAW |
				    PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_IDENTIFIER;
	uint64_t random = 7;

	for (int i = 0; i < 500; i++) {
		uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
				PERF_SAMPLE_STACK_USER | (next_random(&random) & all);
		_cleanup_imported_ struct imported imported;
		_cleanup_builder_ struct perf_builder b = { .big_endian = i & 1 };
		struct perf_builder_event *event = add_event(&b, type, FLAGS, 3);
		struct builder_sample sample = {
			.id = { 4, 5, 77, 3, 2 },
			.ip = 0x5000,
			.period = 31,
			.chain = chain,
			.n_chain = i % 9,
			.raw_size = (uint32_t)(next_random(&random) % 4 * 8 + 4),
			.n_branches = next_random(&random) % 3,
			.n_read = next_random(&random) % 3,
			.abi = PERF_SAMPLE_REGS_ABI_64,
			.first_register = 0x100,
			.stack_room = 8 * (next_random(&random) % 3),
		};
		size_t n_frames = sample.n_chain < 4 ? 0 : sample.n_chain < 8 ? 1 : 2;

		sample.stack_size = sample.stack_room / 2;
		event->read_format = next_random(&random) % 32;
		event->branch_sample_type = next_random(&random) & 3 << 17 & ~(1u << 18);
		event->branch_sample_type |= next_random(&random) & 1 << 19;
		event->user_registers = cpus[0].registers;
		feature_text(&b, BUILD_FEATURE_HOSTNAME, "here");
		feature_text(&b, BUILD_FEATURE_ARCH, "x86_64");
		put_sample(&b, 0, &sample);
		import_built(&b, NULL, &imported);
		assert_lines(1, &imported, "SAMPLE id=1 time=77 ",
			     type & PERF_SAMPLE_CPU ? "cpu=2 " : "cpu=0 ",
			     type & PERF_SAMPLE_PERIOD ? "weight=31 " : "weight=1 ", "[16 8 0x108]",
			     "[15 8 0x113]",
			     !sample.stack_room	      ? "regions=[] "
			     : sample.stack_room == 8 ? "address=0x107 size=4 "
						      : "address=0x107 size=8 ",
			     !(type & PERF_SAMPLE_CALLCHAIN) || !n_frames ? "frame_chain=-"
			     : n_frames == 1				  ? "frame_chain=[0x5000]"
					     : "frame_chain=[0x5000 0x7000]",
			     type & PERF_SAMPLE_CALLCHAIN && sample.n_chain >= 2
				     ? "kernel_chain=[0xffff000000000001]"
				     : "kernel_chain=- ");
		assert_int_equal(imported.problem_codes & 1u << REEL_ERROR_CORRUPT, 0);
	}
}

/* perf record --call-graph lbr: the CPU's call record is the chain. */
TEST(test_recorded_calls)
{
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT, PERF_CONTEXT_USER,
					  0x1000, 0x6000 };
	static const struct perf_branch_entry calls[] = { { .from = 0x2000, .to = 0x1000 },
							  { .from = 0x3000, .to = 0x2000 } };
	uint64_t type = SAMPLE_TYPE | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;

	for (uint64_t extra = 0; extra < 8; extra++) {
		_cleanup_imported_ struct imported imported;
		_cleanup_builder_ struct perf_builder b = { .big_endian = extra & 4 };
		struct builder_sample s = { .id = { 1, 1, 1, 3, 0 },
					    .ip = 0x1000,
					    .chain = chain + 2,
					    .n_chain = 3,
					    .branches = calls,
					    .n_branches = 2 };

		add_event(&b, type, FLAGS, 3);
		b.events[0].branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK |
						 (extra & 1 ? PERF_SAMPLE_BRANCH_HW_INDEX : 0) |
						 (extra & 2) << 18; /* counters */
		b.events[0].max_chain = 2;
		feature_text(&b, BUILD_FEATURE_HOSTNAME, "here");
		feature_text(&b, BUILD_FEATURE_ARCH, "x86_64");
		put_sample(&b, 0, &s);
		s.misc = PERF_RECORD_MISC_KERNEL;
		s.chain = chain;
		s.n_chain = 5;
		s.id.time = 2;
		put_sample(&b, 0, &s);
		s.n_chain = 2; /* a kernel thread has no calls, whatever remains in the CPU */
		s.id.time = 3;
		put_sample(&b, 0, &s);
		s.n_branches = 0;
		s.n_chain = 5;
		s.id.time = 4;
		put_sample(&b, 0, &s);
		/* More entries than exist, with every overflow that multiplying them can cause. */
		s.id.time = 5;
		put_sample(&b, 0, &s);
		/* Their number is the last word except hw_idx. */
		assert_int_equal(reel_load64(b.data.bytes + b.data.size - (extra & 1 ? 16 : 8)), 0);
		memset(b.data.bytes + b.data.size - (extra & 1 ? 16 : 8), extra & 4 ? 0xff : 0x55,
		       8);
		import_built(&b, NULL, &imported);
		assert_lines(1, &imported, "SAMPLE id=1 time=1 ", "flags=16 ",
			     "kernel_chain=- frame_chain=[0x1000 0x2000 0x3000]");
		assert_lines(
			1, &imported, "SAMPLE id=2 time=2 ", "flags=16 ",
			"kernel_chain=[0xffffffff81000000] frame_chain=[0x1000 0x2000 0x3000]");
		assert_lines(1, &imported, "SAMPLE id=3 time=3 ", "flags=0 ", "frame_chain=-");
		assert_lines(1, &imported, "SAMPLE id=4 time=4 ", "flags=0 ",
			     "frame_chain=[0x1000 0x6000]");
		assert_lines(0, &imported, "SAMPLE id=5 ");
		assert_says(imported.problems, "sample is shorter than its event requires");
	}
}

/* perf record -g: chains that the kernel walked. */
TEST(test_frame_chains)
{
	static const uint64_t user[] = { PERF_CONTEXT_USER, 0x1000, 0x2000 };
	static const uint64_t both[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT, PERF_CONTEXT_USER,
					 0x1000 };
	static const uint64_t deferred[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT,
					     (uint64_t)-640 /* PERF_CONTEXT_USER_DEFERRED */, 42 };
	uint64_t type = SAMPLE_TYPE | PERF_SAMPLE_CALLCHAIN;
	_cleanup_imported_ struct imported imported, without_user;
	_cleanup_builder_ struct perf_builder b = { 0 };
	struct builder_sample s = { .id = { 1, 1, 1, 3, 0 }, .ip = 0x1000, .chain = user };

	add_event(&b, type, FLAGS, 3);
	b.events[0].max_chain = 2;
	feature_text(&b, BUILD_FEATURE_HOSTNAME, "here");
	feature_text(&b, BUILD_FEATURE_ARCH, "x86_64");
	s.n_chain = 3;
	put_sample(&b, 0, &s);
	s.misc = PERF_RECORD_MISC_KERNEL;
	s.ip = KERNEL_TEXT;
	s.chain = both;
	s.n_chain = 4;
	s.id.time = 2;
	put_sample(&b, 0, &s);
	s.n_chain = 2; /* a kernel thread, or a user stack that no longer exists */
	s.id.time = 3;
	put_sample(&b, 0, &s);
	s.n_chain = 0; /* --user-callchains */
	s.id.time = 4;
	put_sample(&b, 0, &s);
	s.chain = deferred;
	s.n_chain = 4;
	s.id.time = 5;
	put_sample(&b, 0, &s);
	s.misc = PERF_RECORD_MISC_GUEST_USER;
	s.id.time = 6;
	put_sample(&b, 0, &s);
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported, "SAMPLE id=1 time=1 ", "where=1 flags=8 ",
		     "registers=[] regions=[] ", "kernel_chain=- frame_chain=[0x1000 0x2000]");
	assert_lines(1, &imported, "SAMPLE id=2 time=2 ", "where=0 flags=8 ",
		     "kernel_chain=[0xffffffff81000000] frame_chain=[0x1000]");
	assert_lines(1, &imported, "SAMPLE id=3 time=3 ", "where=4 flags=0 ", "frame_chain=-");
	assert_lines(1, &imported, "SAMPLE id=4 time=4 ", "where=4 ",
		     "kernel_chain=[0xffffffff81000000] frame_chain=-");
	assert_lines(1, &imported, "SAMPLE id=5 time=5 ", "where=0 ",
		     "kernel_chain=[0xffffffff81000000] frame_chain=-");
	assert_int_equal(imported.counts.samples, 5);
	assert_says(imported.problems, "1 samples have no user chain: it was deferred");
	assert_says(imported.problems, "1 samples of virtual machines");
	assert_says(imported.problems, "4 samples have kernel frames without names");
	/* --kernel-callchains: a missing user chain means nothing. */
	b.events[0].flags |= BUILD_FLAG(EXCLUDE_CALLCHAIN_USER);
	import_built(&b, NULL, &without_user);
	assert_lines(0, &without_user, "SAMPLE ", "where=4 ");
}

static void put_deferred(struct perf_builder *b, struct builder_id id, uint64_t cookie,
			 uint64_t count, const uint64_t *words, size_t n)
{
	begin(b, 22 /* PERF_RECORD_CALLCHAIN_DEFERRED */, PERF_RECORD_MISC_USER);
	b64(b, cookie);
	b64(b, count);
	for (size_t i = 0; i < n; i++)
		b64(b, words[i]);
	end_with_id(b, id);
}

/*
 * The kernel's part is in the sample, the user's part follows when the task returns to user space.
 */
TEST(test_deferred_chains)
{
	static const uint64_t waits[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT,
					  (uint64_t)-640 /* PERF_CONTEXT_USER_DEFERRED */, 42 };
	static const uint64_t first[] = { PERF_CONTEXT_USER, 0x1000, 0x2000 };
	static const uint64_t second[] = { PERF_CONTEXT_USER, 0x3000 };
	/* pid, tid, time, id, cpu. */
	static const struct builder_id ids[] = {
		{ 1, 1, 10, 3, 0 }, { 1, 1, 11, 3, 0 }, { 1, 2, 12, 3, 0 },
		{ 1, 1, 21, 3, 0 }, { 1, 2, 22, 3, 0 }, { 1, 1, 31, 3, 0 },
	};
	static const char *const chains[] = {
		"frame_chain=[0x1000 0x2000]",
		"frame_chain=[0x1000 0x2000]",
		"frame_chain=[0x3000]",
		"frame_chain=[0x3000]",
		"frame_chain=-",
		"frame_chain=-",
	};
	_cleanup_imported_ struct imported imported;
	_cleanup_builder_ struct perf_builder b = { 0 };
	struct builder_sample s = {
		.misc = PERF_RECORD_MISC_KERNEL, .ip = KERNEL_TEXT, .chain = waits, .n_chain = 4
	};

	add_event(&b, SAMPLE_TYPE | PERF_SAMPLE_CALLCHAIN, FLAGS, 3);
	b.events[0].max_chain = 2;
	feature_text(&b, BUILD_FEATURE_HOSTNAME, "here");
	feature_text(&b, BUILD_FEATURE_ARCH, "x86_64");
	for (size_t i = 0; i < 6; i++) {
		s.id = ids[i];
		put_sample(&b, 0, &s);
	}
	/* Each CPU has its own buffer: parts arrive in any order.  The cookie is reused. */
	put_deferred(&b, (struct builder_id){ 1, 1, 30, 3, 0 }, 42, 2, second, 2);
	put_deferred(&b, (struct builder_id){ 1, 1, 20, 3, 0 }, 42, 3, first, 3);
	put_deferred(&b, (struct builder_id){ 1, 2, 20, 3, 0 }, 42, 2, second, 2);
	put_deferred(&b, (struct builder_id){ 1, 2, 40, 3, 0 }, 43, 2, second, 2);
	/* More than exist, with every overflow that multiplying them can cause. */
	put_deferred(&b, (struct builder_id){ 1, 1, 40, 3, 0 }, 42, 1ull << 61, second, 2);
	put_deferred(&b, (struct builder_id){ 1, 1, 40, 3, 0 }, 42, 100, second, 2);
	import_built(&b, NULL, &imported);
	for (size_t i = 0; i < 6; i++) {
		char start[32];

		snprintf(start, sizeof(start), "SAMPLE id=%zu time=%u ", i + 1,
			 (unsigned)ids[i].time);
		assert_lines(1, &imported, start, "kernel_chain=[0xffffffff81000000] ", chains[i]);
	}
	assert_lines(2, &imported, "SAMPLE ", "flags=8 ");
	assert_says(imported.problems, "2 samples have no user chain: it was deferred");
	assert_says(imported.problems, "the call chain exceeds the record; skipped 2 such records");
}

/* A chain shared by very many samples. */
TEST(test_deferred_chain_of_many)
{
	static const uint64_t waits[] = { (uint64_t)-640, 42 };
	static uint64_t words[8000];
	_cleanup_builder_ struct perf_builder b = { 0 };
	struct builder_sample s = { .id = { 1, 1, 1, 3, 0 },
				    .misc = PERF_RECORD_MISC_KERNEL,
				    .chain = waits,
				    .n_chain = 2 };
	_cleanup_imported_ struct imported imported;

	add_event(&b, SAMPLE_TYPE | PERF_SAMPLE_CALLCHAIN, FLAGS, 3);
	feature_text(&b, BUILD_FEATURE_ARCH, "x86_64");
	for (size_t i = 0; i < 1000; i++)
		put_sample(&b, 0, &s);
	for (size_t i = 0; i < 8000; i++)
		words[i] = 0x1000 + i;
	put_deferred(&b, (struct builder_id){ 1, 1, 2, 3, 0 }, 42, 8000, words, 8000);
	import_built(&b, NULL, &imported);
	assert_int_equal(imported.code, REEL_ERROR_CORRUPT);
	assert_says(imported.text, "samples share deferred user chains");
}

/* Registers were requested, but there were none: a kernel thread. */
TEST(test_no_registers)
{
	static const uint64_t kernel[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT };
	struct builder_sample sample = {
		.id = { 2, 2, 9000, 7, 0 },
		.misc = PERF_RECORD_MISC_KERNEL,
		.chain = kernel,
		.n_chain = 2,
		.abi = PERF_SAMPLE_REGS_ABI_NONE,
	};
	_cleanup_imported_ struct imported imported;
	_cleanup_builder_ struct perf_builder b;

	dwarf_recording(&cpus[0], false, &b);
	put_sample(&b, 0, &sample);
	/*
	 * Of a task without memory: registers, but no stack bytes; or none of the requested bytes.
	 */
	sample.abi = PERF_SAMPLE_REGS_ABI_64;
	sample.id.time++;
	put_sample(&b, 0, &sample);
	sample.stack_room = 64;
	sample.id.time++;
	put_sample(&b, 0, &sample);
	/* Its stack would reach past the end of the address space. */
	sample.stack_size = 64;
	sample.first_register = (uint64_t)-20;
	sample.id.time++;
	put_sample(&b, 0, &sample);
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported, "SAMPLE id=3 ", "thread=2 ", "where=4 ",
		     "registers=[] regions=[] ", "kernel_chain=[0xffffffff81000000] ");
	assert_lines(1, &imported, "SAMPLE id=4 ", "where=0 ", "registers=[[", "regions=[] ");
	assert_lines(1, &imported, "SAMPLE id=5 ", "where=0 ", "registers=[[", "size=0 missing=[]");
	assert_lines(1, &imported, "SAMPLE id=6 ", "registers=[[", "regions=[] ");
}

/* ---- order ----------------------------------------------------------------------------- */

/* perf writes the contents of each CPU's buffer, one after the other. */
TEST(test_order)
{
	_cleanup_imported_ struct imported imported;
	_cleanup_builder_ struct perf_builder b = { 0 };
	struct builder_sample s = { .id = { 1, 1, 30, 3, 0 }, .ip = 0x1000 };
	char *first, *map, *second;

	add_event(&b, SAMPLE_TYPE, FLAGS, 3);
	feature_text(&b, BUILD_FEATURE_HOSTNAME, "here");
	feature_text(&b, BUILD_FEATURE_ARCH, "x86_64");
	put_sample(&b, 0, &s);
	s.id.time = 10;
	put_sample(&b, 0, &s);
	put_mmap(&b, PERF_RECORD_MISC_USER, 0x1000, 0x1000, 0, "/bin/a",
		 (struct builder_id){ 1, 1, 20, 3, 1 });
	put_comm(&b, 0, "first", (struct builder_id){ 1, 1, 0, 0, 0 });
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported, "THREAD time=0 ");
	assert_lines(1, &imported, "SAMPLE id=1 time=10 ");
	assert_lines(1, &imported, "SAMPLE id=2 time=30 ");
	assert_lines(1, &imported, "MAP time=20 ");
	assert_lines(1, &imported, "CAPTURE start_time=10 ");
	first = strstr((char *)imported.text.bytes, "THREAD_COMM time=0");
	map = strstr((char *)imported.text.bytes, "MAP time=20");
	second = strstr((char *)imported.text.bytes, "SAMPLE id=1");
	assert_true(first && first < map && map < second);
}

int main(void)
{
	/* This host's kernel and perf's cache must not be used. */
	setenv("HOME", "/nonexistent", 1);
	return unit_tests_run(NULL, NULL);
}
