/* SPDX-License-Identifier: Apache-2.0 */
/* A recording with a bit of everything: two events, two processes, mappings, samples in user and
 * kernel code, a loss. */
#ifndef TESTS_SUPPORT_PERF_EXAMPLE_H
#define TESTS_SUPPORT_PERF_EXAMPLE_H

#include "tests/support/perf_builder.h"

#define EXAMPLE_SAMPLE_TYPE                                                                        \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_READ | PERF_SAMPLE_RAW |            \
	 PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

static inline void perf_example_events(struct perf_builder *b)
{
	static const char *const names[] = { "one", "two" };

	for (uint64_t i = 0; i < 2; i++) {
		struct perf_builder_event *event =
			add_event(b, EXAMPLE_SAMPLE_TYPE,
				  BUILD_FLAG(FREQ) | BUILD_FLAG(SAMPLE_ID_ALL), 7 + i);

		event->user_registers = 0xff0fff;
		event->stack = 64;
		event->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	}
	feature_text(b, BUILD_FEATURE_HOSTNAME, "h");
	feature_text(b, BUILD_FEATURE_ARCH, "x86_64");
	put_number(b, feature(b, BUILD_FEATURE_CMDLINE), 1, 4);
	put_string(b, feature(b, BUILD_FEATURE_CMDLINE), "perf");
	feature_names(b, names);
}

static inline void perf_example(struct perf_builder *b)
{
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000010,
					  PERF_CONTEXT_USER, 0x1000 };
	static const uint8_t build_id[20] = { 1, 2, 3 };
	struct builder_id id = { 10, 10, 0, 7, 1 };
	struct builder_sample s = {
		.id = { 10, 10, 5, 7, 0 },
		.ip = 0x1000,
		.chain = chain + 2,
		.n_chain = 2,
		.raw_size = 12,
		.n_branches = 1,
		.n_read = 1,
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.stack_room = 64,
		.stack_size = 48,
	};

	perf_example_events(b);
	put_build_id(b, feature(b, BUILD_FEATURE_BUILD_ID), PERF_RECORD_MISC_USER | 1 << 15,
		     build_id, 20, "/a");
	put_comm(b, 0, "one", id);
	put_mmap(b, PERF_RECORD_MISC_USER, 0x1000, 0x1000, 0, "/a", id);
	put_mmap2(b, PERF_RECORD_MISC_USER, 0x2000, 0, build_id, 20, "[vdso]", id);
	put_mmap(b, PERF_RECORD_MISC_KERNEL, 0xffffffff81000000, 0x1000, 0xffffffff81000000,
		 "[kernel.kallsyms]do_work", id);
	id.time = 3;
	put_task(b, PERF_RECORD_FORK, 0, 10, 10, (struct builder_id){ 11, 11, 3, 7, 0 });
	put_comm(b, PERF_RECORD_MISC_COMM_EXEC, "two", (struct builder_id){ 11, 11, 4, 7, 0 });
	put_sample(b, 0, &s);
	s.id.time = 6;
	s.id.id = 8;
	s.misc = PERF_RECORD_MISC_KERNEL;
	s.ip = 0xffffffff81000010;
	s.chain = chain;
	s.n_chain = 4;
	put_sample(b, 1, &s);
	begin(b, PERF_RECORD_LOST, 0);
	b64(b, 7);
	b64(b, 3);
	end_with_id(b, (struct builder_id){ 10, 10, 7, 7, 1 });
	put_task(b, PERF_RECORD_EXIT, 0, 10, 10, (struct builder_id){ 11, 11, 9, 7, 0 });
}

#endif
