/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder by itself (reel_unwind of stackreel.h), fed with the samples of
 * a real capture: it must give the addresses that the capture's traces have.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "include/stackreel.h"
#include "tests/support/capture.h"

#define ORDERS	   "testdata/aarch64/orders"
#define FRAMES_MAX 256

static const char *const symfs[] = { ORDERS, NULL };

struct unwound {
	struct reel_unwound frames[FRAMES_MAX];
	size_t n;
	enum reel_stop stop;
};

/* The capture's own way: traces without inlined functions have one frame an address. */
static struct reel_traces *open_traces(struct reel_capture **capture_ret)
{
	struct reel_capture_options options = {
		.size = sizeof(options),
		.symfs = symfs,
		.no_host_files = true,
		.no_inlines = true,
	};
	struct reel_traces *traces;

	must(reel_capture_open(ORDERS "/orders.reel", &options, capture_ret));
	must(reel_traces_create(*capture_ret, NULL, &traces));
	return traces;
}

static void unwind_sample(struct reel_unwinder *unwinder, const struct reel_sample *sample,
			  struct unwound *ret)
{
	struct reel_register registers[REEL_REGISTERS_MAX];
	struct reel_memory memory[REEL_REGIONS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		if (sample->known[i / 8] >> i % 8 & 1)
			registers[n++] = (struct reel_register){ sample->layout->slots[i].dwarf,
								 sample->values[i] };
	}
	for (size_t i = 0; i < sample->n_regions; i++)
		memory[i] =
			(struct reel_memory){ sample->regions[i].address, sample->regions[i].size,
					      sample->regions[i].bytes };
	must(reel_unwind(unwinder, registers, n, memory, sample->n_regions, ret->frames, FRAMES_MAX,
			 &ret->n, &ret->stop));
}

/* Its executable mappings are told to the unwinder by hand; the vDSO's samples are left out. */
static void test_same_as_traces(void **state)
{
	struct reel_unwinder *unwinder;
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	struct reel_capture *capture;
	struct reel_reader *reader;
	struct reel_traces *traces;
	size_t n_blocks, compared = 0;

	(void)state;
	traces = open_traces(&capture);
	must(reel_unwinder_create("aarch64", &unwinder));
	must(reel_unwinder_map(unwinder, 0x400000, 0xa0000, 0, ORDERS "/usr/bin/orders"));
	must(reel_reader_open(ORDERS "/orders.reel", &reader));
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n_blocks);
	for (size_t i = 0; i < n_blocks; i++) {
		struct reel_block_item item;

		must(reel_block_reader_load(block_reader, &blocks[i]));
		for (;;) {
			const struct reel_trace *trace;
			struct unwound unwound;

			must(reel_block_reader_next(block_reader, &item));
			if (item.kind == REEL_ITEM_END)
				break;
			if (item.kind != REEL_ITEM_SAMPLE)
				continue;
			must(reel_traces_next(traces, &trace));
			assert_int_equal(trace->id, item.sample.id);
			if (!item.sample.layout || item.sample.where != REEL_WHERE_USER ||
			    item.sample.pc > 0x500000)
				continue;
			unwind_sample(unwinder, &item.sample, &unwound);
			assert_int_equal(unwound.stop, trace->stop);
			assert_int_equal(unwound.n, trace->n_frames);
			for (size_t frame = 0; frame < unwound.n; frame++)
				assert_int_equal(unwound.frames[frame].pc, trace->addresses[frame]);
			compared++;
		}
	}
	assert_true(compared > 200);
	reel_block_reader_destroy(block_reader);
	reel_reader_close(reader);
	reel_unwinder_destroy(unwinder);
	reel_traces_destroy(traces);
	reel_capture_close(capture);
}

static void expect_error(struct reel_error *error, enum reel_error_code code)
{
	assert_non_null(error);
	assert_int_equal(reel_error_code(error), code);
	reel_error_destroy(error);
}

static void test_wrong_calls(void **state)
{
	struct reel_register sp = { 31, 0x1000 }, pc = { 32, 0x400000 };
	struct reel_unwound frame;
	struct reel_unwinder *unwinder;
	enum reel_stop stop;
	size_t n;

	(void)state;
	expect_error(reel_unwinder_create("vax", &unwinder), REEL_ERROR_UNSUPPORTED);
	must(reel_unwinder_create("aarch64", &unwinder));
	expect_error(reel_unwinder_map(unwinder, 0, 1, 0, "testdata/no-such-file"), REEL_ERROR_OS);
	expect_error(reel_unwinder_map(unwinder, 0, 1, 0, "testdata/README.md"),
		     REEL_ERROR_NOT_A_CAPTURE);
	expect_error(reel_unwind(unwinder, &sp, 1, NULL, 0, &frame, 1, &n, &stop),
		     REEL_ERROR_INVALID);
	expect_error(reel_unwind(unwinder, &pc, 1, NULL, 0, &frame, 0, &n, &stop),
		     REEL_ERROR_INVALID);
	/* Nothing is mapped: the pc is all that there is to say. */
	must(reel_unwind(unwinder, &pc, 1, NULL, 0, &frame, 1, &n, &stop));
	assert_int_equal(n, 1);
	assert_int_equal(frame.pc, 0x400000);
	assert_int_equal(stop, REEL_STOP_NO_MAPPING);
	reel_unwinder_destroy(unwinder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_traces),
		cmocka_unit_test(test_wrong_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
