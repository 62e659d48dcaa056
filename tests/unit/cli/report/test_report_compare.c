/* SPDX-License-Identifier: Apache-2.0 */
/* `stackreel report --compare-fp` of hand-made traces. */
#include "cli/print/text.h"
#include "cli/report/frame_compare.h"
#include "tests/support/test.h"

#define FRAME(id, name, path)                                                                      \
	{                                                                                          \
		.function_id = id, .function = name, .module_path = path, .file = "",              \
		.jit_program = ""                                                                  \
	}

static const struct reel_frame start = FRAME(0, "_start", "/bin/prog");
static const struct reel_frame main_a = FRAME(1, "main", "/bin/prog");
static const struct reel_frame sort = FRAME(2, "qsort", "/lib/libc.so");
static const struct reel_frame hostile = FRAME(3, "e\x1b[2Jvil", "/bin/prog");
static const struct reel_frame tiny = {
	.function_id = 6,
	.function = "tiny",
	.module_path = "/bin/prog",
	.file = "",
	.jit_program = "",
	.inlined = true,
};
static const struct reel_frame sys_read = {
	.function_id = 7,
	.function = "ksys_read",
	.module_path = "[kernel]",
	.file = "",
	.jit_program = "",
	.kernel = true,
};

static struct compare_report report;

/* All traces here share: hostile;tiny (inlined) <- qsort <- main <- _start, in the kernel. */
static const struct reel_frame *const frames[] = { &sys_read, &tiny,   &hostile,
						   &sort,     &main_a, &start };
static const uint64_t addresses[] = { UINT64_MAX - 9, 10, 10, 20, 30, 40 };
static const uint8_t steps[] = { REEL_STEP_KERNEL, REEL_STEP_SAMPLE, REEL_STEP_SAMPLE,
				 REEL_STEP_CFI,	   REEL_STEP_CFI,    REEL_STEP_CFI };
static const uint8_t recorded_steps[] = {
	REEL_STEP_KERNEL,   REEL_STEP_SAMPLE,	REEL_STEP_SAMPLE,
	REEL_STEP_RECORDED, REEL_STEP_RECORDED, REEL_STEP_RECORDED
};

static void add(enum reel_stop stop, const uint8_t *how, bool cut, const uint64_t *chain, size_t n)
{
	const struct reel_trace trace = {
		.frames = frames,
		.addresses = addresses,
		.steps = how,
		.n_frames = 6,
		.n_kernel_frames = 1,
		.stop = stop,
		.frame_chain = chain,
		.n_frame_chain = n,
		.frame_chain_cut = cut,
	};

	assert_true(compare_report_add(&report, &trace, NULL));
}

#define ADD(...)                                                                                   \
	add(REEL_STOP_ROOT, steps, false, (const uint64_t[]){ __VA_ARGS__ },                       \
	    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static char *printed_report(uint64_t limit)
{
	struct output output = { 0 };
	char *text = NULL;
	size_t size;

	output.file = open_memstream(&text, &size);
	compare_report_print_head(&report, output.file);
	compare_report_print(&report, limit, &output);
	fclose(output.file);
	return text;
}

TEST(every_kind_counts)
{
	char *text;

	compare_report_init(&report);
	ADD(10, 20, 30, 40);
	ADD(10, 30, 40);
	ADD(10, 20, 99);
	ADD(10, 30);
	text = printed_report(0);
	assert_string_equal(
		text,
		"# compared with walks by frame pointers: 4 traces\n\n"
		"  SAMPLES       SHARE  FRAMES LOST  WALK BY FRAME POINTERS\n"
		"        1     25.00 %            0  nothing is missing\n"
		"        3     75.00 %            5  missing or wrong frames:\n"
		"        2     50.00 %            2    the caller of the leaf function\n"
		"        0      0.00 %            0    frames farther up, after which the walk "
		"continues\n"
		"        2     50.00 %            3    all frames from some point on\n"
		"        1     25.00 %            0    1 addresses that are not in this stack\n"
		"# frames lost: 5 of 16 (31.25 %), 1.25 a sample\n\n"
		"  SAMPLES       SHARE  FRAMES LOST  FUNCTION     MODULE\n"
		"        2     50.00 %            2  e\\x1b[2Jvil  prog\n"
		"        1     25.00 %            2  qsort        libc.so\n"
		"        1     25.00 %            1  main         prog\n");
	free(text);
	text = printed_report(30 * PERCENT);
	assert_non_null(strstr(text, "vil"));
	assert_null(strstr(text, "qsort"));
	assert_non_null(strstr(text, "# 2 more below --percent-limit 30\n"));
	free(text);
	compare_report_free(&report);
}

TEST(the_rest_is_told)
{
	const uint64_t chain[] = { 10, 20 };
	char *text;

	compare_report_init(&report);
	add(REEL_STOP_STACK_CUT, steps, false, chain, 2);
	add(REEL_STOP_ROOT, steps, false, NULL, 0);
	add(REEL_STOP_RECORDED_END, recorded_steps, false, NULL, 0);
	add(REEL_STOP_ROOT, recorded_steps, false, NULL, 0);
	/* Kernel threads have nothing to compare. */
	add(REEL_STOP_NO_USER_STATE, steps, false, NULL, 0);
	add(REEL_STOP_ROOT, steps, true, chain, 2);
	text = printed_report(0);
	assert_ptr_equal(
		strstr(text, "# compared with walks by frame pointers: 1 traces; 1 are incomplete "
			     "themselves; 1 have no such walk; 2 are such walks themselves; 1 "
			     "walks ended "
			     "at the recorder's limit; later frames do not count\n"),
		text);
	assert_non_null(strstr(text, "        1    100.00 %            0  nothing is missing\n"));
	assert_null(strstr(text, "FUNCTION"));
	free(text);
	compare_report_free(&report);
}

RUN_TESTS()
