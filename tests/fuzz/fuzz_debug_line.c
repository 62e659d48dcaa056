/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables (replay/dwarf/line_table.c), each alone. */
#include "replay/dwarf/line_table.h"
#include "tests/fuzz/fuzz.h"

#define TEXT_END 0x10000000u

static void find(struct reel_line_table *table, uint64_t address)
{
	struct reel_line line, again;
	const char *path;

	if (!reel_line_table_find(table, address, &line))
		return;
	path = reel_line_table_path(table, line.file);
	must_be(path != NULL, "a path");
	must_be(strlen(path) < (size_t)1 << 20, "a plausible path");
	must_be(reel_line_table_find(table, address, &again) && again.line == line.line &&
			again.file == line.file && again.column == line.column,
		"the same when asked again");
	must_be(reel_line_table_path(table, line.file) == path, "a path made once");
}

static struct reel_section section_of(struct reel_bytes part)
{
	return (struct reel_section){ .bytes = part.data, .size = part.size };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	struct reel_line_input options = {
		.directory = "/usr/src",
		.big_endian = reel_cursor_u8(&input) & 1,
		.text_begin = 0x1000,
		.text_end = TEXT_END,
	};
	uint64_t first = reel_cursor_u32(&input) % TEXT_END, step = reel_cursor_u8(&input);
	struct reel_line_table *table;

	options.line = section_of(fuzz_part(&input));
	options.line_str = section_of(fuzz_part(&input));
	options.str = section_of(fuzz_part(&input));
	must(reel_line_table_create(&options, &table));
	for (uint64_t i = 0; i < 32; i++)
		find(table, first + i * step);
	for (uint64_t i = 0; i < 16; i++)
		must_be(reel_line_table_path(table, i) != NULL, "a path of any number");
	must_be(!reel_line_table_path(table, UINT64_MAX)[0], "no path without a number");
	reel_line_table_destroy(table);
	return 0;
}
