/* SPDX-License-Identifier: Apache-2.0 */
/* make_perf_data KIND: writes a small perf.data to standard output, for test-import.sh. */
#include <stdint.h>
#include <sys/utsname.h>
#include <time.h>

#include "tests/support/perf_example.h"

/*
 * The output of perf record --call-graph lbr, for testdata/x86_64/perf/usr/bin/stairs: the calls
 * are its `call` instructions.  The chain is the one that the kernel finds by frame pointers, which
 * are lost.
 */
static void calls_example(struct perf_builder *b)
{
	static const struct perf_branch_entry calls[] = {
		{ .from = 0x401068, .to = 0x401010 }, { .from = 0x401055, .to = 0x401030 },
		{ .from = 0x401055, .to = 0x401030 }, { .from = 0x40109b, .to = 0x401030 },
		{ .from = 0x401002, .to = 0x401080 },
	};
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000010,
					  PERF_CONTEXT_USER, 0x401018, 0x401041 };
	struct builder_id id = { 10, 10, 0, 7, 0 };
	struct builder_sample s = {
		.id = id, .chain = chain + 2, .n_chain = 3, .ip = 0x401018, .branches = calls
	};
	struct perf_builder_event *event =
		add_event(b,
			  EXAMPLE_SAMPLE_TYPE & ~(PERF_SAMPLE_RAW | PERF_SAMPLE_READ |
						  PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER),
			  BUILD_FLAG(FREQ) | BUILD_FLAG(SAMPLE_ID_ALL), 7);

	event->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
				    PERF_SAMPLE_BRANCH_HW_INDEX;
	feature_text(b, BUILD_FEATURE_HOSTNAME, "h");
	feature_text(b, BUILD_FEATURE_ARCH, "x86_64");
	put_comm(b, PERF_RECORD_MISC_COMM_EXEC, "stairs", id);
	put_mmap2(b, PERF_RECORD_MISC_USER, 0x401000, 0x1000, NULL, 0, "/usr/bin/stairs", id);
	/* To the root, in user code and in the kernel; and the CPU's maximum, on a deeper stack. */
	s.id.time = 5;
	s.n_branches = 5;
	put_sample(b, 0, &s);
	s.id.time = 6;
	s.misc = PERF_RECORD_MISC_KERNEL;
	s.chain = chain;
	s.n_chain = 5;
	s.ip = chain[1];
	put_sample(b, 0, &s);
	s.id.time = 7;
	s.n_branches = 3;
	put_sample(b, 0, &s);
}

/*
 * The output of perf record --call-graph fp,defer for the same program: the first of two system
 * calls is sampled twice, and the user's chain is reported at their end.
 */
static void deferred_example(struct perf_builder *b)
{
	static const uint64_t waits[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000010,
					  (uint64_t)-640 /* PERF_CONTEXT_USER_DEFERRED */, 42 };
	static const uint64_t waits_too[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000020,
					      (uint64_t)-640, 43 };
	static const uint64_t first[] = { PERF_CONTEXT_USER, 0x401018, 0x401041, 0x40109b };
	static const uint64_t second[] = { PERF_CONTEXT_USER, 0x401055, 0x401002 };
	struct builder_id id = { 10, 10, 0, 7, 0 };
	struct builder_sample s = { .id = id, .misc = PERF_RECORD_MISC_KERNEL };

	add_event(b,
		  PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			  PERF_SAMPLE_CALLCHAIN,
		  BUILD_FLAG(FREQ) | BUILD_FLAG(SAMPLE_ID_ALL) |
			  3ull << 38 /* defer_callchain, defer_output */,
		  7);
	feature_text(b, BUILD_FEATURE_HOSTNAME, "h");
	feature_text(b, BUILD_FEATURE_ARCH, "x86_64");
	put_comm(b, PERF_RECORD_MISC_COMM_EXEC, "stairs", id);
	put_mmap2(b, PERF_RECORD_MISC_USER, 0x401000, 0x1000, NULL, 0, "/usr/bin/stairs", id);
	for (uint64_t i = 0; i < 3; i++) {
		const uint64_t *chain = i < 2 ? first : second;
		size_t n = i < 2 ? 4 : 3;

		s.id.time = 5 + 2 * i;
		s.chain = i < 2 ? waits : waits_too;
		s.n_chain = 4;
		s.ip = s.chain[1];
		put_sample(b, 0, &s);
		if (!i)
			continue;
		begin(b, 22 /* PERF_RECORD_CALLCHAIN_DEFERRED */, PERF_RECORD_MISC_USER);
		b64(b, s.chain[3]);
		b64(b, n);
		for (size_t j = 0; j < n; j++)
			b64(b, chain[j]);
		id.time = s.id.time + 1;
		end_with_id(b, id);
	}
}

/* For this host: a process whose code is not in a file, with a page of a jitdump; its pid is
 * unused. */
static void jit_example(struct perf_builder *b)
{
	static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x7f0000000010, 0x7f0000000114 };
	struct builder_id id = { 99999999, 99999999, 1000, 7, 0 };
	struct builder_sample s = { .id = id, .ip = chain[1], .chain = chain, .n_chain = 3 };
	struct utsname here;
	struct perf_builder_event *event = add_event(
		b,
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			PERF_SAMPLE_CALLCHAIN,
		BUILD_FLAG(FREQ) | BUILD_FLAG(SAMPLE_ID_ALL) | BUILD_FLAG(USE_CLOCKID), 7);

	event->clock = CLOCK_MONOTONIC;
	uname(&here);
	feature_text(b, BUILD_FEATURE_HOSTNAME, here.nodename);
	feature_text(b, BUILD_FEATURE_OSRELEASE, here.release);
	feature_text(b, BUILD_FEATURE_ARCH, here.machine);
	put_comm(b, PERF_RECORD_MISC_COMM_EXEC, "jit", id);
	put_mmap2(b, PERF_RECORD_MISC_USER, 0x7f0000000000, 0x1000, NULL, 0, "//anon", id);
	put_mmap2(b, PERF_RECORD_MISC_USER, 0x7f0000001000, 0x1000, NULL, 0,
		  "/nowhere/jit-99999999.dump", id);
	for (s.id.time = 2000; s.id.time <= 4000; s.id.time += 1000)
		put_sample(b, 0, &s);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	bool compressed = !strcmp(kind, "compressed");
	struct perf_builder b = {
		.big_endian = !strcmp(kind, "big-endian"),
		.is_pipe = !strcmp(kind, "pipe"),
		.unfinished = !strcmp(kind, "killed"),
	};
	struct reel_buffer bytes = { 0 };

	if (!strcmp(kind, "lbr"))
		calls_example(&b);
	else if (!strcmp(kind, "deferred"))
		deferred_example(&b);
	else if (!strcmp(kind, "jit"))
		jit_example(&b);
	else
		perf_example(&b);
	if (!strcmp(kind, "no-arch"))
		b.feature_bits &= ~(1ull << BUILD_FEATURE_ARCH);
	if (!strcmp(kind, "directory"))
		put_number(&b, feature(&b, BUILD_FEATURE_DIR_FORMAT), 1, 8);
	if (!strcmp(kind, "none"))
		b.data.size = 56; /* the first COMM */
	if (compressed) {
		/* Version, type (1 is zstd), level, ratio, size of the ring buffer. */
		static const uint32_t header[] = { 1, 1, 1, 2, 528384 };

		for (size_t i = 0; i < 5; i++)
			put_number(&b, feature(&b, BUILD_FEATURE_COMPRESSED), header[i], 4);
		compress_from(&b, 0, 100, BUILD_COMPRESSED);
	}
	build(&b, &bytes);
	if (!strcmp(kind, "bad"))
		memset(bytes.bytes + 16, 0xff, 8); /* the size of an attribute */
	must_be(fwrite(bytes.bytes, bytes.size, 1, stdout) == 1, "written");
	reel_buffer_free(&bytes);
	builder_free(&b);
	return 0;
}
