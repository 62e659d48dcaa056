/* SPDX-License-Identifier: Apache-2.0 */
/* Matching functions of two builds, Student's t, and the limits of a comparison. */
#include <math.h>

#include "cli/diff/gate.h"
#include "cli/profile/stem.h"
#include "cli/diff/statistics.h"
#include "tests/support/test.h"

static void assert_stem(const char *name, const char *expected)
{
	char *stem = stem_of(name);

	assert_string_equal(stem, expected);
	free(stem);
}

TEST(clones_are_their_function)
{
	/* As GCC 12 and clang 14 name them. */
	assert_stem("parse.constprop.0", "parse");
	assert_stem("parse.isra.0.part.12", "parse");
	assert_stem("parse.part.0.cold", "parse");
	assert_stem("parse.lto_priv.0", "parse");
	assert_stem("parse.llvm.1234567890123456", "parse");
	assert_stem("parse.__part.3", "parse");
	assert_stem("parse.__uniq.123456789012345678901234567890.cold", "parse");
	assert_stem("parse.warm", "parse");
	assert_stem("parse.cold.0", "parse");
	assert_stem("parse.warmer", "parse.warmer");
	/* Demangled, as c++filt prints it. */
	assert_stem("ns::parse(int) [clone .constprop.0] [clone .cold]", "ns::parse(int)");
}

TEST(numbers_of_compilers_are_left_out)
{
	assert_stem("core::fmt::write::h0123456789abcdef", "core::fmt::write");
	assert_stem("main::{lambda(int)#2}::operator()(int) const",
		    "main::{lambda(int)#}::operator()(int) const");
	assert_stem("app::run::{closure#1}", "app::run::{closure#}");
	assert_stem("main.run.func1.2", "main.run.func");
	assert_stem("main.run.func12", "main.run.func");
}

TEST(other_names_stay)
{
	static const char *const names[] = {
		"",
		"main",
		"a.partial",
		"x.cold2",
		"f [clone",
		"main.function",
		"::h0123",
		"main.func1b",
		"{lambda#}",
		"foo#2",
		"(anonymous namespace)::f(int)::x",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_stem(names[i], names[i]);
	/* A name that is only a suffix keeps its beginning. */
	assert_stem(".cold", ".cold");
}

static void assert_module(const char *path, const char *expected)
{
	char *stem = stem_of_module(path);

	assert_string_equal(stem, expected);
	free(stem);
}

TEST(modules_have_no_version)
{
	assert_module("/usr/lib/x86_64-linux-gnu/libc.so.6", "libc.so");
	assert_module("/opt/libfoo.so.1.2.3 (deleted)", "libfoo.so");
	assert_module("/usr/bin/python3.11", "python3.11");
	assert_module("[kernel]", "[kernel]");
	assert_module("a.so.old", "a.so.old");
}

/* From the tables of NIST's Engineering Statistics Handbook, 1.3.6.7.2: upper critical values. */
TEST(student_is_as_in_tables)
{
	static const struct {
		double freedom, one_sided, limit;
	} values[] = {
		{ 1, 0.05, 6.314 },   { 1, 0.001, 318.313 }, { 2, 0.025, 4.303 },
		{ 4, 0.025, 2.776 },  { 10, 0.005, 3.169 },  { 30, 0.025, 2.042 },
		{ 62, 0.001, 3.227 }, { 100, 0.10, 1.290 },
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		double p = 2 * values[i].one_sided;

		assert_true(fabs(student_limit(p, values[i].freedom) / values[i].limit - 1) <
			    0.0005);
		assert_true(fabs(student_two_sided(values[i].limit, values[i].freedom) / p - 1) <
			    0.01);
	}
	assert_true(student_two_sided(0, 5) == 1);
	assert_true(student_two_sided(-2, 5) == student_two_sided(2, 5));
	assert_true(student_two_sided(1e9, 5) < 1e-30);
}

/* All added weights are kept, in one cell per entry and block. */
TEST(cells_are_merged)
{
	struct diff_cells cells = { 0 };
	size_t newest[3] = { 0 };

	for (uint64_t i = 0; i < 30000; i++)
		diff_cells_get(&cells, i % 3, i * 7 % 8, &newest[i % 3])->weight[PART_SELF]++;
	/* Merged in between: 24 are different. */
	assert_true(cells.capacity < 2000);
	diff_cells_merge(&cells);
	assert_int_equal(cells.n, 24);
	for (size_t i = 0; i < cells.n; i++) {
		assert_int_equal(cells.items[i].item, i / 8);
		assert_int_equal(cells.items[i].block, i % 8);
		assert_true(cells.items[i].weight[PART_SELF] == 1250);
	}
	diff_cells_coarsen(&cells, 2);
	assert_int_equal(cells.n, 6);
	assert_true(cells.items[5].block == 1 && cells.items[5].weight[PART_SELF] == 5000);
	diff_cells_renumber(&cells, (const size_t[]){ 0, 1, 0 });
	assert_int_equal(cells.n, 4);
	assert_true(cells.items[0].weight[PART_SELF] == 10000);
	diff_cells_free(&cells);
}

/* A change from 10 to 10 + `by`, with an interval of `around` on both sides. */
static bool exceeds(const char *gate, const char *name, enum diff_part part, double by,
		    double around, bool *doubtful_ret)
{
	struct diff_function function = { .raw = (char *)name };
	struct diff_item item = { .function = &function };
	struct diff_change change = {
		.item = &item,
		.part = part,
		.value = { 10, 10 + by },
		.difference = by,
		.low = by - around,
		.high = by + around,
		.is_tested = true,
		.is_sure = fabs(by) > around,
	};
	struct diff_gate parsed;
	bool exceeded;

	assert_true(diff_gate_parse(gate, &parsed));
	exceeded = diff_gate_is_exceeded(&parsed, &change);
	*doubtful_ret = diff_gate_is_doubtful(&parsed, &change);
	diff_gate_free(&parsed);
	return exceeded;
}

TEST(gates_judge)
{
	bool doubtful;

	assert_true(exceeds("self(parse)>+5%", "parse", PART_SELF, 1, 0.2, &doubtful));
	assert_false(exceeds("self(parse)>+10%", "parse", PART_SELF, 1, 0.2, &doubtful));
	assert_true(doubtful);
	assert_false(exceeds("self(parse)>+20%", "parse", PART_SELF, 1, 0.2, &doubtful));
	assert_false(doubtful);
	/* Not certain. */
	assert_false(exceeds("self(parse)>5%", "parse", PART_SELF, 1, 1.2, &doubtful));
	assert_true(doubtful);
	assert_false(exceeds("self(parse)>+5%", "parse", PART_TOTAL, 1, 0.2, &doubtful));
	assert_false(exceeds("self(parse)>+5%", "parser", PART_SELF, 1, 0.2, &doubtful));
	assert_true(
		exceeds("total(*::parse(*))>+5%", "ns::parse(int)", PART_TOTAL, 1, 0.2, &doubtful));
	assert_true(exceeds("any>+5%", "x", PART_TOTAL, 1, 0.2, &doubtful));
	assert_true(exceeds("any<-5.5%", "x", PART_SELF, -1, 0.2, &doubtful));
	assert_false(exceeds("any<-5.5%", "x", PART_SELF, 1, 0.2, &doubtful));
	/* Names with pattern characters also match literally. */
	assert_true(exceeds("self(operator[](int))>+5%", "operator[](int)", PART_SELF, 1, 0.2,
			    &doubtful));
}

TEST(bad_gates_are_refused)
{
	static const char *const bad[] = {
		"",	   "any",	 "any>",       "any>+",	      "any>+5",	    "any>5%x",
		"any=5%",  "any<5%",	 "any>-5%",    "self()>+5%",  "self(x>+5%", "whole(x)>+5%",
		"any)>5%", "total(x)5%", "total(x)>%", "anything>5%", ")(>+5%",
	};
	struct diff_gate gate;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(diff_gate_parse(bad[i], &gate));
}

RUN_TESTS()
