/* SPDX-License-Identifier: Apache-2.0 */
/* .stackreel.lines: written tables can be read back, and tables that violate SPEC.md 5.1 are
 * rejected.
 */
#include "replay/dwarf/embedded_lines.h"
#include "tests/support/test.h"

/* main() calls `get`, with `mix` inlined into it twice, at 0x1000; 0x2000 has no function. */
static const struct reel_debug_frame first[] = {
	{ "mix", "/src/mix.h", 7, 3 },
	{ "get", "/src/a.c", 20, 0 },
	{ "main", "/src/a.c", 300, 9 },
};
static const struct reel_debug_frame second[] = {
	{ "mix", "/src/mix.h", 8, UINT32_MAX },
	{ "get", "/src/a.c", 21, 0 },
	{ "main", "/src/a.c", 300, 9 },
};
static const struct reel_debug_frame outer[] = { { "main", "", 0, 0 } };
static const struct reel_debug_frame nameless[] = { { "", "/src/b.S", UINT32_MAX, 0 } };

static struct reel_buffer make(void)
{
	struct reel_lines_writer *writer;
	struct reel_buffer section = { 0 };

	assert_success(reel_lines_writer_create(&writer));
	assert_success(reel_lines_writer_add(writer, 0x1000, first, 3, 0xff0));
	assert_success(reel_lines_writer_add(writer, 0x1001, second, 3, 0xff0));
	assert_success(reel_lines_writer_add(writer, 0x1002, first, 3, 0xff0));
	assert_success(reel_lines_writer_add(writer, 0x1003, outer, 1, 0xff0));
	assert_success(reel_lines_writer_add(writer, 0x2000, nameless, 1, 0x2000));
	assert_success(reel_lines_writer_add(writer, UINT64_MAX, outer, 1, 0));
	assert_success(reel_lines_writer_finish(writer, &section));
	reel_lines_writer_destroy(writer);
	return section;
}

static void is(struct reel_embedded_lines *lines, uint64_t address,
	       const struct reel_debug_frame *frames, size_t n, uint64_t begin)
{
	const struct reel_debug_frame *found;
	uint64_t found_begin;
	size_t n_found;

	reel_embedded_lines_look_up(lines, address, &found, &n_found, &found_begin);
	assert_int_equal(n_found, n);
	assert_true(found_begin == begin);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(found[i].function, frames[i].function);
		assert_string_equal(found[i].file, frames[i].file);
		assert_int_equal(found[i].line, frames[i].line);
		assert_int_equal(found[i].column, frames[i].column);
	}
}

TEST(lines_are_read_again)
{
	struct reel_buffer section = make();
	struct reel_embedded_lines *lines;

	assert_success(reel_embedded_lines_open((struct reel_bytes){ section.bytes, section.size },
						&lines));
	is(lines, 0x1000, first, 3, 0xff0);
	is(lines, 0x1001, second, 3, 0xff0);
	is(lines, 0x1002, first, 3, 0xff0);
	is(lines, 0x1003, outer, 1, 0xff0);
	is(lines, 0x2000, nameless, 1, 0);
	is(lines, UINT64_MAX, outer, 1, 0);
	is(lines, 0xfff, NULL, 0, 0);
	is(lines, 0x1004, NULL, 0, 0);
	reel_embedded_lines_close(lines);
	reel_buffer_free(&section);
}

/* The bytes that SPEC.md's rules give, encoded by hand. */
TEST(lines_are_as_the_text_says)
{
	static const uint8_t bytes[] = {
		2,  'f', 0,  'g', 0,	/* names */
		1,  'a', 0,		/* files */
		1,  1,	 32,		/* f begins at 16 */
		1,  2,	 1,  1,	  5, 0, /* g is called in f, at a:5 */
		2,			/* addresses */
		17, 2,	 1,  9,	  1,	/* in g, at a:9:1 */
		1,  1,	 0,  0,	  0,	/* in f */
	};
	static const struct reel_debug_frame g[] = { { "g", "a", 9, 1 }, { "f", "a", 5, 0 } };
	static const struct reel_debug_frame f[] = { { "f", "", 0, 0 } };
	struct reel_embedded_lines *lines;

	assert_success(
		reel_embedded_lines_open((struct reel_bytes){ bytes, sizeof(bytes) }, &lines));
	is(lines, 17, g, 2, 16);
	is(lines, 18, f, 1, 16);
	reel_embedded_lines_close(lines);
}

static void is_refused(const uint8_t *bytes, size_t size)
{
	struct reel_embedded_lines *lines;
	uint8_t *copy = malloc(size + 1); /* ending where its memory ends, or one byte earlier */

	assert_non_null(copy);
	if (size)
		memcpy(copy, bytes, size);
	assert_error(reel_embedded_lines_open((struct reel_bytes){ copy, size }, &lines),
		     REEL_ERROR_CORRUPT);
	free(copy);
}

TEST(malformed_lines_are_refused)
{
	static const uint8_t no_end[] = { 1, 'f', 0, 1, 'a' };
	static const uint8_t many[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 };
	static const uint8_t no_name[] = { 0, 0, 1, 1, 0, 0, 0 };
	static const uint8_t own_caller[] = { 0, 0, 0, 1, 0, 1, 0, 0, 0, 0 };
	static const uint8_t no_file[] = { 0, 0, 0, 0, 1, 5, 0, 1, 0, 0 };
	static const uint8_t no_place[] = { 0, 0, 0, 0, 1, 5, 1, 0, 0, 0 };
	static const uint8_t twice[] = { 0, 0, 0, 0, 2, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	static const uint8_t more[] = { 0, 0, 0, 0, 1, 5, 0, 0, 0, 0, 0 };
	static const uint8_t large_line[] = { 0, 0,    0,    0,	   1,	 5,    0,
					      0, 0x80, 0x80, 0x80, 0x80, 0x10, 0 };
	struct reel_buffer section = make();

	is_refused(no_end, sizeof(no_end));
	is_refused(many, sizeof(many));
	is_refused(no_name, sizeof(no_name));
	is_refused(own_caller, sizeof(own_caller));
	is_refused(no_file, sizeof(no_file));
	is_refused(no_place, sizeof(no_place));
	is_refused(twice, sizeof(twice));
	is_refused(more, sizeof(more));
	is_refused(large_line, sizeof(large_line));
	for (size_t size = 0; size < section.size; size++)
		is_refused(section.bytes, size);
	reel_buffer_free(&section);
}

/* Each call within the previous one: too deep for a chain to be returned. */
TEST(calls_are_not_too_deep)
{
	struct reel_embedded_lines *lines;
	struct reel_buffer bytes = { 0 };
	struct reel_error *error;

	for (unsigned n = 4096; n <= 4097; n++) {
		bytes.size = 0;
		reel_buffer_append(&bytes, "\0\0\0", 3);
		reel_buffer_uleb(&bytes, n);
		for (unsigned i = 0; i < n; i++) {
			reel_buffer_u8(&bytes, 0);
			reel_buffer_uleb(&bytes, i);
			reel_buffer_append(&bytes, "\0\0\0", 3);
		}
		reel_buffer_u8(&bytes, 0);
		error = reel_embedded_lines_open((struct reel_bytes){ bytes.bytes, bytes.size },
						 &lines);
		if (n == 4096)
			assert_success(error);
		else
			assert_int_equal(reel_error_code(error), REEL_ERROR_CORRUPT);
		if (!error)
			reel_embedded_lines_close(lines);
		reel_error_destroy(error);
	}
	reel_buffer_free(&bytes);
}

RUN_TESTS()
