/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of perf maps, as JITs write them and invalid ones, whole and in pieces. */
#include "format/perf/perf_map.h"
#include "tests/support/test.h"

/* "name address+size; " each, numbers in hexadecimal. */
struct lines {
	char text[1024];
};

static struct reel_error *note(void *context, const struct reel_perf_map_line *line)
{
	struct lines *lines = context;
	size_t used = strlen(lines->text);

	snprintf(lines->text + used, sizeof(lines->text) - used, "%.*s %llx+%llx; ",
		 (int)line->name.size, (const char *)line->name.data,
		 (unsigned long long)line->address, (unsigned long long)line->size);
	return NULL;
}

/* As a growing file is read: `step` more bytes each time. */
static uint64_t parse(const char *text, size_t size, size_t step, struct lines *lines,
		      size_t *left_ret)
{
	struct reel_perf_map map = { 0 };
	size_t from = 0;

	memset(lines, 0, sizeof(*lines));
	for (size_t to = 0; to < size;) {
		size_t taken;

		to = size - to < step ? size : to + step;
		assert_null(reel_perf_map_parse(&map, (const uint8_t *)text + from, to - from, note,
						lines, &taken));
		assert_true(taken <= to - from);
		from += taken;
	}
	*left_ret = size - from;
	return map.n_bad;
}

static void assert_parses(const char *text, const char *expected, uint64_t n_bad)
{
	struct lines lines;
	size_t left;

	for (size_t step = 1; step <= strlen(text); step++) {
		assert_int_equal(parse(text, strlen(text), step, &lines, &left), n_bad);
		assert_string_equal(lines.text, expected);
		assert_int_equal(left, 0);
	}
}

TEST(test_lines)
{
	/* node, OpenJDK, CPython, LuaJIT, Erlang */
	assert_parses("7f1fa0004b40 1c LazyCompile:*run /srv/app.js:10:13\n"
		      "0x00007f6a6cf8f0a0 0x00000000000001a8 int Main.f(java.lang.String)\n"
		      "7f8e35eb9000 b py::<module>:/tmp/x y.py\n"
		      "7FFE0010 A0 TRACE_1::x.lua:3\n"
		      "ffffffffffffffff 1 $erlang:apply/2\n",
		      "LazyCompile:*run /srv/app.js:10:13 7f1fa0004b40+1c; "
		      "int Main.f(java.lang.String) 7f6a6cf8f0a0+1a8; "
		      "py::<module>:/tmp/x y.py 7f8e35eb9000+b; TRACE_1::x.lua:3 7ffe0010+a0; "
		      "$erlang:apply/2 ffffffffffffffff+1; ",
		      0);
	/* Additional blanks belong to the name. */
	assert_parses("1 2  x\n", " x 1+2; ", 0);
}

TEST(test_bad_lines)
{
	static const char *const bad[] = {
		"\n",
		"1\n",
		"1 \n",
		"1 2\n",
		"1 2 \n",
		" 1 2 x\n",
		"1  2 x\n",
		"x 2 x\n",
		"1 0 x\n",
		"-1 2 x\n",
		"+1 2 x\n",
		"1 g x\n",
		"0x 2 x\n",
		"10000000000000000 2 x\n",
		"ffffffffffffffff 2 x\n",
		"1\t2\tx\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char text[128];

		assert_parses(bad[i], "", 1);
		snprintf(text, sizeof(text), "10 1 before\n%s20 2 after\n", bad[i]);
		assert_parses(text, "before 10+1; after 20+2; ", 1);
	}
}

TEST(test_nul)
{
	static const char text[] = "1 2 a\0b\n3 4 c\n";
	struct lines lines;
	size_t left;

	assert_int_equal(parse(text, sizeof(text) - 1, 5, &lines, &left), 1);
	assert_string_equal(lines.text, "c 3+4; ");
}

TEST(test_unfinished)
{
	struct lines lines;
	size_t left;

	assert_int_equal(parse("1 2 a\n3 4 b", 11, 3, &lines, &left), 0);
	assert_string_equal(lines.text, "a 1+2; ");
	assert_int_equal(left, 5);
}

/* However long: it counts once, and takes no more room than one. */
TEST(test_long_line)
{
	const size_t size = 5 * REEL_PERF_MAP_LINE_MAX;
	char *text = malloc(size + 16);
	struct lines lines;
	size_t left;

	assert_non_null(text);
	memset(text, 'x', size);
	memcpy(text, "1 2 ", 4);
	strcpy(text + size, "\n3 4 b\n");
	for (size_t step = 1; step < 3 * REEL_PERF_MAP_LINE_MAX; step = step * 3 + 1) {
		assert_int_equal(parse(text, strlen(text), step, &lines, &left), 1);
		assert_string_equal(lines.text, "b 3+4; ");
		assert_int_equal(left, 0);
	}
	/* The longest accepted name. */
	text[REEL_PERF_MAP_LINE_MAX - 1] = '\n';
	parse(text, REEL_PERF_MAP_LINE_MAX, 1000, &lines, &left);
	assert_memory_equal(lines.text, "xxxx", 4);
	free(text);
}

RUN_TESTS()
