/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a small perf.data to standard output, for tests/test-import.sh: make_perf_data KIND. */
#define _GNU_SOURCE
#include <stdint.h>

#include "tests/support/perf_example.h"

/*
 * What perf record --call-graph lbr writes, of testdata/x86_64/perf/usr/bin/stairs: the calls are
 * its `call` instructions.  The chain is what the kernel finds by frame pointers, which are lost.
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
	/* To the root, of user code and of the kernel; and what the CPU has room for, on a deeper
	 * stack. */
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
