/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of hand-made traces, and what `stackreel report` prints for them. */
#include "cli/print/text.h"
#include "cli/profile/profile.h"
#include "cli/report/report_callers.h"
#include "cli/report/report_histogram.h"
#include "cli/report/report_table.h"
#include "cli/report/report_tree.h"
#include "tests/support/test.h"

#define FRAME(id, name, path, at)                                                                  \
	{                                                                                          \
		.function_id = id, .function = name, .module_path = path, .module_address = at,    \
		.file = "", .jit_program = ""                                                      \
	}

static const struct reel_frame start = FRAME(0, "_start", "/bin/prog", 0x10);
static const struct reel_frame main_a = FRAME(1, "main", "/bin/prog", 0x20);
static const struct reel_frame main_b = FRAME(1, "main", "/bin/prog", 0x24);
static const struct reel_frame foo = FRAME(2, "foo", "/bin/prog", 0x30);
static const struct reel_frame bar = FRAME(3, "ns::bar(int; char)", "/lib/libbar.so", 0x40);
static const struct reel_frame stripped = FRAME(4, "", "/lib/libbar.so", 0x99);
static const struct reel_frame hostile = FRAME(5, "e\x1b[2Jvil", "/bin/prog", 0x50);
static const struct reel_frame tiny = {
	.function_id = 6,
	.function = "tiny",
	.module_path = "/bin/prog",
	.module_address = 0x30,
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

static const struct reel_event_info cpu_clock = {
	.id = 1, .name = "cpu-clock", .weight_unit = "ns", .frequency = 100
};
static const struct reel_event_info faults = {
	.id = 2, .name = "page-faults", .weight_unit = "", .period = 1
};

static struct profiles profiles;
static char *printed;

static int set_up(void **state)
{
	printed = NULL;
	return 0;
}

static int tear_down(void **state)
{
	profiles_free(&profiles);
	free(printed);
	return 0;
}

/* A trace of the frames, leaf first, ended by NULL. */
static void add_trace(struct reel_trace trace, const struct reel_event_info *event, ...)
{
	const struct reel_frame *frames[16];
	va_list args;

	va_start(args, event);
	while ((frames[trace.n_frames] = va_arg(args, const struct reel_frame *)))
		trace.n_frames++;
	va_end(args);
	trace.frames = frames;
	if (!trace.comm)
		trace.comm = "prog";
	assert_true(profiles_add(&profiles, &trace, event));
}

#define ADD(milliseconds, ...)                                                                     \
	add_trace((struct reel_trace){ .weight = (milliseconds)*1000000ull }, &cpu_clock,          \
		  __VA_ARGS__, NULL)

/* 100 ms in four stacks; foo calls itself once. */
static void add_example(void)
{
	ADD(50, &foo, &main_a, &start);
	ADD(20, &bar, &foo, &foo, &main_a, &start);
	ADD(20, &tiny, &foo, &main_b, &start);
	ADD(10, &sys_read, &main_b, &start);
}

static void print_into(void (*print)(struct output *output), bool utf8)
{
	size_t size;
	struct output output = { .utf8 = utf8 };

	output.file = open_memstream(&printed, &size);
	print(&output);
	fclose(output.file);
}

static void print_table(struct output *output)
{
	report_table_print(&profiles, &profiles.items[0], SORT_SELF, 0, output);
}

static void print_tree(struct output *output)
{
	report_tree_print(&profiles, &profiles.items[0], PERCENT / 2, output);
}

static void print_residency(struct output *output)
{
	report_residency_print(&profiles.items[0], PERCENT / 2, output);
}

TEST_WITH(recursion_counts_once, set_up, tear_down)
{
	profiles_init(&profiles, &(struct by){ 0 }, false);
	add_example();
	profiles_finish(&profiles);
	print_into(print_table, true);
	assert_string_equal(
		printed,
		"    SELF      time     TOTAL      time    SAMPLES  FUNCTION            MODULE\n"
		" 50.00 %   50.0 ms   90.00 %   90.0 ms          3  foo                 prog\n"
		" 20.00 %   20.0 ms   20.00 %   20.0 ms          1  ns::bar(int; char)  libbar.so\n"
		" 20.00 %   20.0 ms   20.00 %   20.0 ms          1  tiny (inlined)      prog\n"
		" 10.00 %   10.0 ms   10.00 %   10.0 ms          1  ksys_read [k]       [kernel]\n"
		"  0.00 %      0 ns  100.00 %  100.0 ms          4  _start              prog\n"
		"  0.00 %      0 ns  100.00 %  100.0 ms          4  main                prog\n");
}

static void print_sorted(struct output *output)
{
	for (int sort = SORT_SELF; sort <= SORT_MODULE; sort++)
		report_table_print(&profiles, &profiles.items[0], (enum table_sort)sort,
				   60 * PERCENT, output);
}

TEST_WITH(any_column_sorts, set_up, tear_down)
{
	static const char *const order[] = { "foo",    "_start", "main",   /* self */
					     "_start", "main",	 "foo",	   /* total */
					     "_start", "main",	 "foo",	   /* samples */
					     "_start", "foo",	 "main",   /* symbol */
					     "foo",    "_start", "main" }; /* module */
	char *line, *rest;
	size_t i = 0;

	profiles_init(&profiles, &(struct by){ 0 }, false);
	add_example();
	profiles_finish(&profiles);
	print_into(print_sorted, true);
	for (line = strtok_r(printed, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char word[64] = "";

		if (*line == '#') {
			assert_string_equal(line, "# 3 more below --percent-limit 60, together "
						  "50.00 % by themselves");
			continue;
		}
		if (strstr(line, "SELF"))
			continue;
		assert_int_equal(sscanf(line + 51, "%63s", word), 1);
		assert_string_equal(word, order[i++]);
	}
	assert_int_equal(i, sizeof(order) / sizeof(*order));
}

TEST_WITH(a_tree_shows_branches, set_up, tear_down)
{
	profiles_init(&profiles, &(struct by){ 0 }, true);
	add_example();
	profiles_finish(&profiles);
	print_into(print_tree, true);
	assert_string_equal(printed, "    SELF     TOTAL    SAMPLES  FUNCTION\n"
				     "          100.00 %          4  _start\n"
				     "                               main\n"
				     " 50.00 %   90.00 %          3  ├─ foo\n"
				     "           20.00 %          1  │  ├─ foo\n"
				     " 20.00 %                       │  │  ns::bar(int; char)\n"
				     " 20.00 %   20.00 %          1  │  └─ tiny (inlined)\n"
				     " 10.00 %   10.00 %          1  └─ ksys_read [k]\n");
	free(printed);
	print_into(print_tree, false);
	assert_non_null(
		strstr(printed, "1  |  `- tiny (inlined)\n 10.00 %   10.00 %          1  `- ksys"));
}

static void add_threads(void)
{
	struct reel_trace trace = { .weight = 10000000, .pid = 100, .tid = 100, .thread = 1 };

	trace.comm = "other";
	trace.tid = 101;
	trace.thread = 2;
	add_trace(trace, &cpu_clock, &foo, &start, NULL);
	trace.comm = "main";
	trace.tid = 100;
	trace.thread = 1;
	add_trace(trace, &cpu_clock, &foo, &start, NULL);
	/* The same tid, reused by another process. */
	trace.comm = "other";
	trace.pid = trace.tid = 101;
	trace.thread = 3;
	trace.weight = 80000000;
	add_trace(trace, &cpu_clock, &foo, &start, NULL);
}

static struct callees callees;

static void print_callers(struct output *output)
{
	report_callers_print(&profiles, &profiles.items[0], &callees, PERCENT / 2, output);
}

static void expect_callers(const char *of, const char *expected)
{
	assert_true(callees_find(&profiles, of, &callees));
	print_into(print_callers, false);
	callees_free(&callees);
	assert_string_equal(strchr(printed, '\n') + 1, expected);
	free(printed);
	printed = NULL;
}

TEST_WITH(callers_stand_below, set_up, tear_down)
{
	profiles_init(&profiles, &(struct by){ 0 }, true);
	add_example();
	ADD(20, &bar, &start);
	profiles_finish(&profiles);
	expect_callers("ns::bar", "   TOTAL    SAMPLES  FUNCTION\n"
				  " 33.33 %          2  ns::bar(int; char)\n"
				  " 16.67 %          1  |- _start\n"
				  " 16.67 %          1  `- foo\n"
				  "                        foo\n"
				  "                        main\n"
				  "                        _start\n");
	/* A function that calls itself counts once. */
	expect_callers("foo", "   TOTAL    SAMPLES  FUNCTION\n"
			      " 75.00 %          3  foo\n"
			      "                     main\n"
			      "                     _start\n");
	/* No function has this name: match parts of names. */
	expect_callers("i", "   TOTAL    SAMPLES  FUNCTION\n"
			    " 83.33 %          4  main\n"
			    "                     _start\n"
			    " 33.33 %          2  ns::bar(int; char)\n"
			    " 16.67 %          1  |- _start\n"
			    " 16.67 %          1  `- foo\n"
			    "                        foo\n"
			    "                        main\n"
			    "                        _start\n"
			    " 16.67 %          1  tiny (inlined)\n"
			    "                     foo\n"
			    "                     main\n"
			    "                     _start\n");
	assert_false(callees_find(&profiles, "none", &callees));
	assert_false(callees_find(&profiles, "[incomplete", &callees));
	callees_free(&callees);
}

static void must_parse(const char *text, struct by *ret)
{
	assert_null(by_parse(text, ret));
}

TEST_WITH(callers_are_split_up, set_up, tear_down)
{
	struct by by;

	must_parse("comm", &by);
	profiles_init(&profiles, &by, true);
	add_threads();
	profiles_finish(&profiles);
	expect_callers("foo", "   TOTAL    SAMPLES  FUNCTION\n"
			      " 90.00 %          2  other\n"
			      "                     foo\n"
			      "                     _start\n"
			      " 10.00 %          1  main\n"
			      "                     foo\n"
			      "                     _start\n");
}

TEST_WITH(residency_shows_each_stack, set_up, tear_down)
{
	profiles_init(&profiles, &(struct by){ 0 }, true);
	add_example();
	profiles_finish(&profiles);
	print_into(print_residency, true);
	assert_string_equal(printed, "50% _start();main();foo()\n"
				     "20% _start();main();foo();foo();ns::bar(int: char)\n"
				     "20% _start();main();foo();tiny() (inlined)\n"
				     "10% _start();main();ksys_read() [k]\n");
}

TEST_WITH(a_cut_trace_has_a_root_of_its_own, set_up, tear_down)
{
	struct reel_trace cut = { .weight = 30000000, .stop = REEL_STOP_STACK_CUT };
	char expected[200];

	profiles_init(&profiles, &(struct by){ 0 }, true);
	ADD(70, &foo, &main_a, &start);
	add_trace(cut, &cpu_clock, &foo, &main_a, NULL);
	profiles_finish(&profiles);
	print_into(print_residency, true);
	snprintf(expected, sizeof(expected),
		 "70%% _start();main();foo()\n30%% [incomplete: %s];main();foo()\n",
		 reel_stop_name(REEL_STOP_STACK_CUT));
	assert_string_equal(printed, expected);
}

/* They have no user stack that could have been cut. */
TEST_WITH(kernel_threads_are_whole, set_up, tear_down)
{
	struct reel_trace trace = {
		.weight = 1,
		.stop = REEL_STOP_NO_USER_STATE,
		.where = REEL_WHERE_KERNEL_THREAD,
	};

	profiles_init(&profiles, &(struct by){ 0 }, true);
	trace.n_kernel_frames = 1;
	add_trace(trace, &cpu_clock, &sys_read, NULL);
	trace.n_kernel_frames = 0;
	add_trace(trace, &cpu_clock, NULL);
	profiles_finish(&profiles);
	print_into(print_residency, true);
	assert_string_equal(printed, "50% [no frames]\n50% ksys_read() [k]\n");
}

/* A thread in exit only has registers left. */
TEST_WITH(a_thread_past_its_end_is_not_whole, set_up, tear_down)
{
	struct reel_trace trace = {
		.weight = 1,
		.stop = REEL_STOP_NO_USER_STATE,
		.where = REEL_WHERE_SYSCALL,
	};

	profiles_init(&profiles, &(struct by){ 0 }, true);
	add_trace(trace, &cpu_clock, &foo, NULL);
	profiles_finish(&profiles);
	print_into(print_residency, true);
	assert_string_equal(printed, "100% [incomplete: no user stack];foo()\n");
}

TEST_WITH(names_are_defused, set_up, tear_down)
{
	profiles_init(&profiles, &(struct by){ 0 }, false);
	ADD(1, &hostile, &start);
	ADD(1, &stripped, &start);
	profiles_finish(&profiles);
	print_into(print_residency, true);
	assert_string_equal(printed, "50% _start();e\\x1b[2Jvil()\n50% _start();libbar.so+0x99\n");
}

static void print_short(struct output *output)
{
	output->short_names = true;
	print_tree(output);
	print_table(output);
}

TEST_WITH(short_names_stay_distinct, set_up, tear_down)
{
	static const struct reel_frame of_int = FRAME(8, "f(int)", "/bin/prog", 0x60);
	static const struct reel_frame of_char = FRAME(9, "f(char)", "/bin/prog", 0x70);
	static const struct reel_frame elsewhere = FRAME(10, "f(long)", "/lib/libbar.so", 0x80);

	profiles_init(&profiles, &(struct by){ 0 }, false);
	ADD(3, &of_int, &elsewhere);
	ADD(1, &of_char, &elsewhere);
	profiles_finish(&profiles);
	print_into(print_short, true);
	assert_string_equal(
		printed,
		"    SELF     TOTAL    SAMPLES  FUNCTION\n"
		"          100.00 %          2  f(…)\n"
		" 75.00 %   75.00 %          1  ├─ f(int)\n"
		" 25.00 %   25.00 %          1  └─ f(char)\n"
		"    SELF      time     TOTAL      time    SAMPLES  FUNCTION  MODULE\n"
		" 75.00 %   3.00 ms   75.00 %   3.00 ms          1  f(int)    prog\n"
		" 25.00 %   1.00 ms   25.00 %   1.00 ms          1  f(char)   prog\n"
		"  0.00 %      0 ns  100.00 %   4.00 ms          2  f(…)      libbar.so\n");
}

TEST_WITH(modules_sum_up, set_up, tear_down)
{
	profiles_init(&profiles, &(struct by){ .symbols = SYMBOLS_BY_MODULE }, false);
	add_example();
	profiles_finish(&profiles);
	print_into(print_table, true);
	assert_string_equal(printed,
			    "    SELF      time     TOTAL      time    SAMPLES  MODULE\n"
			    " 70.00 %   70.0 ms  100.00 %  100.0 ms          4  /bin/prog\n"
			    " 20.00 %   20.0 ms   20.00 %   20.0 ms          1  /lib/libbar.so\n"
			    " 10.00 %   10.0 ms   10.00 %   10.0 ms          1  [kernel] [k]\n");
	free(printed);
	print_into(print_residency, true);
	assert_string_equal(printed, "70% /bin/prog\n20% /bin/prog;/lib/libbar.so\n"
				     "10% /bin/prog;[kernel] [k]\n");
}

TEST_WITH(groups_have_names, set_up, tear_down)
{
	static const struct {
		const char *by;
		const char *residency;
	} cases[] = {
		{ "thread", "80% other (101);_start();foo()\n10% main (100);_start();foo()\n"
			    "10% other (101);_start();foo()\n" },
		{ "process", "80% other (101);_start();foo()\n20% main (100);_start();foo()\n" },
		{ "comm", "90% other;_start();foo()\n10% main;_start();foo()\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct by by;

		must_parse(cases[i].by, &by);
		profiles_init(&profiles, &by, true);
		add_threads();
		profiles_finish(&profiles);
		print_into(print_residency, true);
		assert_string_equal(printed, cases[i].residency);
		free(printed);
		print_into(print_table, true);
		assert_non_null(strstr(printed, "80.0 ms") ?: strstr(printed, "90.0 ms"));
		if (i + 1 < sizeof(cases) / sizeof(*cases)) {
			free(printed);
			printed = NULL;
			profiles_free(&profiles);
		}
	}
}

static void add_labelled(uint64_t ms, uint32_t cpu, const char *container, const char *lock,
			 const struct reel_frame *leaf)
{
	struct reel_label labels[2];
	struct reel_trace trace = { .weight = ms * 1000000, .cpu = cpu, .labels = labels };
	char text[8];

	/* Texts do not outlive the trace. */
	snprintf(text, sizeof(text), "%s", container ?: "");
	if (container)
		labels[trace.n_labels++] = (struct reel_label){ .key = "container", .text = text };
	if (lock)
		labels[trace.n_labels++] = (struct reel_label){ .key = "lock",
								.kind = REEL_LABEL_ADDRESS,
								.text = lock };
	add_trace(trace, &cpu_clock, leaf, &start, NULL);
}

static void add_containers(void)
{
	add_labelled(40, 0, "web", "0x10", &foo);
	add_labelled(30, 1, "db", NULL, &foo);
	add_labelled(10, 1, "web", NULL, &bar);
	add_labelled(5, 1, "web", "0x10", &foo);
	add_labelled(15, 0, NULL, NULL, &foo);
}

static void expect_by(const char *by_keys, void (*print)(struct output *output),
		      const char *expected)
{
	struct by by;

	must_parse(by_keys, &by);
	profiles_init(&profiles, &by, print != print_table);
	add_containers();
	profiles_finish(&profiles);
	print_into(print, true);
	assert_string_equal(printed, expected);
	free(printed);
	printed = NULL;
	profiles_free(&profiles);
}

/* Each key has a column, and none loses a sample. */
TEST_WITH(several_keys_group, set_up, tear_down)
{
	expect_by("container", print_table,
		  "    SELF      time     TOTAL      time    SAMPLES  CONTAINER\n"
		  " 55.00 %   55.0 ms   55.00 %   55.0 ms          3  web\n"
		  " 30.00 %   30.0 ms   30.00 %   30.0 ms          1  db\n"
		  " 15.00 %   15.0 ms   15.00 %   15.0 ms          1  [no container]\n");
	expect_by("cpu,container", print_table,
		  "    SELF      time     TOTAL      time    SAMPLES  CPU  CONTAINER\n"
		  " 40.00 %   40.0 ms   40.00 %   40.0 ms          1  0    web\n"
		  " 30.00 %   30.0 ms   30.00 %   30.0 ms          1  1    db\n"
		  " 15.00 %   15.0 ms   15.00 %   15.0 ms          1  0    [no container]\n"
		  " 15.00 %   15.0 ms   15.00 %   15.0 ms          2  1    web\n");
	expect_by("container,function", print_table,
		  "    SELF      time     TOTAL      time    SAMPLES  CONTAINER       FUNCTION"
		  "            MODULE\n"
		  " 45.00 %   45.0 ms   45.00 %   45.0 ms          2  web             foo   "
		  "              prog\n"
		  " 30.00 %   30.0 ms   30.00 %   30.0 ms          1  db              foo   "
		  "              prog\n"
		  " 15.00 %   15.0 ms   15.00 %   15.0 ms          1  [no container]  foo   "
		  "              prog\n"
		  " 10.00 %   10.0 ms   10.00 %   10.0 ms          1  web             "
		  "ns::bar(int; char)  libbar.so\n"
		  "  0.00 %      0 ns   55.00 %   55.0 ms          3  web             _start"
		  "              prog\n"
		  "  0.00 %      0 ns   30.00 %   30.0 ms          1  db              _start"
		  "              prog\n"
		  "  0.00 %      0 ns   15.00 %   15.0 ms          1  [no container]  _start"
		  "              prog\n");
	expect_by("container,lock", print_residency,
		  "45% container=web;lock=0x10;_start();foo()\n"
		  "30% container=db;[no lock];_start();foo()\n"
		  "15% [no container];[no lock];_start();foo()\n"
		  "10% container=web;[no lock];_start();ns::bar(int: char)\n");
	profiles_init(&profiles, &(struct by){ 0 }, false);
}

static void add_number(uint64_t ms, enum reel_label_kind kind, uint64_t number)
{
	char text[24];
	const struct reel_label label = {
		.key = "arg1", .kind = kind, .number = number, .text = text
	};
	struct reel_trace trace = { .weight = ms * 1000000, .labels = &label, .n_labels = 1 };

	snprintf(text, sizeof(text), kind == REEL_LABEL_SIGNED ? "%lld" : "%llu",
		 (long long)number);
	add_trace(trace, &cpu_clock, &foo, &start, NULL);
}

static void print_histogram(struct output *output)
{
	report_histogram_print(&profiles, &profiles.items[0], output);
}

static void init_by(const char *keys)
{
	struct by by;

	must_parse(keys, &by);
	profiles_init(&profiles, &by, false);
}

TEST_WITH(numbers_have_a_histogram, set_up, tear_down)
{
	init_by("arg1");
	add_number(40, REEL_LABEL_SIGNED, 8);
	add_number(20, REEL_LABEL_SIGNED, 15);
	add_number(15, REEL_LABEL_SIGNED, 2);
	add_number(3, REEL_LABEL_SIGNED, (uint64_t)-4);
	add_number(2, REEL_LABEL_SIGNED, 0);
	ADD(20, &foo, &start);
	profiles_finish(&profiles);
	assert_true(report_histogram_is_possible(&profiles));
	print_into(print_histogram, false);
	assert_string_equal(printed, "   TOTAL      time    SAMPLES       ARG1\n"
				     "  3.00 %   3.00 ms          1   -7 .. -4  ##\n"
				     "  0.00 %      0 ns          0   -3 .. -2\n"
				     "  0.00 %      0 ns          0         -1\n"
				     "  2.00 %   2.00 ms          1          0  #\n"
				     "  0.00 %      0 ns          0          1\n"
				     " 15.00 %   15.0 ms          1     2 .. 3  ##########\n"
				     "  0.00 %      0 ns          0     4 .. 7\n"
				     " 60.00 %   60.0 ms          2    8 .. 15  "
				     "########################################\n"
				     " 20.00 %   20.0 ms          1  [no arg1]\n");
}

TEST_WITH(the_largest_numbers_have_a_range, set_up, tear_down)
{
	init_by("arg1");
	add_number(10, REEL_LABEL_UNSIGNED, UINT64_MAX);
	add_number(10, REEL_LABEL_SIGNED, UINT64_C(1) << 63);
	profiles_finish(&profiles);
	print_into(print_histogram, false);
	assert_non_null(strstr(printed, " 9223372036854775808 .. 18446744073709551615  ###"));
	assert_non_null(strstr(printed, " -9223372036854775808  ###"));
}

/* Of a latency with -c 2, a sample stands for two calls. */
TEST_WITH(latencies_have_a_histogram, set_up, tear_down)
{
	static const struct reel_event_info latency = {
		.id = 9, .name = "latency:a:f", .weight_unit = "ns", .period = 2
	};
	struct by by = { .groups = { { { GROUP_DURATION, "duration" } }, 1 } };
	struct reel_trace trace = { .weight = 2 << 20 };

	profiles_init(&profiles, &by, false);
	add_trace(trace, &latency, &foo, &start, NULL);
	trace.weight = 6 << 20;
	add_trace(trace, &latency, &foo, &start, NULL);
	profiles_finish(&profiles);
	assert_true(report_histogram_is_possible(&profiles));
	print_into(print_histogram, false);
	assert_string_equal(printed,
			    "   TOTAL      time    SAMPLES            DURATION\n"
			    " 25.00 %   2.10 ms          1  1.05 ms .. 2.10 ms  #############\n"
			    " 75.00 %   6.29 ms          1  2.10 ms .. 4.19 ms  "
			    "########################################\n");
	add_trace(trace, &faults, &foo, &start, NULL);
	assert_false(report_histogram_is_possible(&profiles));
}

TEST_WITH(addresses_have_no_histogram, set_up, tear_down)
{
	init_by("lock");
	add_containers();
	profiles_finish(&profiles);
	assert_false(report_histogram_is_possible(&profiles));
}

TEST_WITH(callers_are_split_up_by_several_keys, set_up, tear_down)
{
	struct by by;

	must_parse("cpu,container", &by);
	profiles_init(&profiles, &by, true);
	add_containers();
	profiles_finish(&profiles);
	expect_callers("ns::bar", "   TOTAL    SAMPLES  FUNCTION\n"
				  " 10.00 %          1  cpu=1\n"
				  "                     container=web\n"
				  "                     ns::bar(int; char)\n"
				  "                     _start\n");
}

static void expect_problem(const char *keys, const char *expected)
{
	struct by by;
	char *problem = by_parse(keys, &by);

	assert_non_null(problem);
	assert_true(!strncmp(problem, expected, strlen(expected)));
	free(problem);
}

TEST_WITH(wrong_keys_are_refused, set_up, tear_down)
{
	expect_problem("thread,wr%ng", "invalid key 'wr%ng' (expected function, ");
	expect_problem("", "invalid key ''");
	expect_problem("thread,", "invalid key ''");
	expect_problem("cpu,comm,cpu", "'cpu' is given twice");
	expect_problem("line,module", "'line' and 'module' exclude each other");
	profiles_init(&profiles, &(struct by){ 0 }, false);
}

/* A thread's symbol is not the one of a label that is spelled like the thread. */
TEST_WITH(tasks_are_not_values, set_up, tear_down)
{
	struct by by;

	must_parse("comm,thread", &by);
	profiles_init(&profiles, &by, true);
	add_trace((struct reel_trace){ .weight = 1, .comm = "1", .pid = 1, .tid = 1, .thread = 1 },
		  &cpu_clock, &foo, NULL);
	add_trace((struct reel_trace){ .weight = 1, .comm = "2", .pid = 2, .tid = 2, .thread = 1 },
		  &cpu_clock, &foo, NULL);
	profiles_finish(&profiles);
	print_into(print_residency, true);
	assert_string_equal(printed, "50% 1;2 (2);foo()\n50% 2;2 (2);foo()\n");
}

/* Weights in different units are not added up. */
TEST_WITH(events_are_kept_apart, set_up, tear_down)
{
	profiles_init(&profiles, &(struct by){ 0 }, true);
	ADD(10, &foo, &start);
	add_trace((struct reel_trace){ .weight = 3 }, &faults, &bar, &start, NULL);
	profiles_finish(&profiles);
	assert_int_equal(profiles.count, 2);
	assert_true(profiles.items[0].is_time);
	assert_false(profiles.items[1].is_time);
	assert_int_equal(profiles.items[1].tree.nodes[CALL_TREE_ROOT].total.weight, 3);
}

TEST_WITH(samples_count_where_no_weight_is_known, set_up, tear_down)
{
	profiles_init(&profiles, &(struct by){ 0 }, true);
	for (int i = 0; i < 4; i++)
		ADD(0, i ? &foo : &bar, &start);
	profiles_finish(&profiles);
	assert_false(profiles.items[0].is_time);
	print_into(print_residency, true);
	assert_string_equal(printed, "75% _start();foo()\n25% _start();ns::bar(int: char)\n");
}

RUN_TESTS()
