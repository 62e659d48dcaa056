/* SPDX-License-Identifier: Apache-2.0 */
#include "record/runtime/python.h"

struct lines {
	struct reel_buffer *ret;
	uint64_t first; /* of the function */
	uint64_t code, scale;
	uint64_t position, line; /* of the last pair */
	bool began;
};

static void append_line(struct lines *lines, uint64_t position, uint64_t line)
{
	if (lines->began && line == lines->line)
		return;
	reel_buffer_uleb(lines->ret, position - lines->position);
	reel_buffer_zigzag(lines->ret, (int64_t)(line - lines->line));
	lines->position = position;
	lines->line = line;
	lines->began = true;
}

/* From this instruction on; `address` in bytes.  Lines that are not positive are unknown. */
static void add_address(struct lines *lines, uint64_t address, int64_t line)
{
	append_line(lines, lines->code + address / lines->scale, line > 0 ? (uint64_t)line : 0);
}

/* co_lnotab, up to 3.9 (Objects/lnotab_notes.txt): pairs of bytes, added to address and line. */
static void write_lnotab(struct lines *lines, struct reel_cursor *table)
{
	int64_t line = (int64_t)lines->first;
	uint64_t address = 0;

	while (reel_cursor_left(table) >= 2) {
		uint8_t distance = reel_cursor_u8(table);

		/* Several pairs are one, if a distance or a difference does not fit. */
		if (distance)
			add_address(lines, address, line);
		address += distance;
		line += (int8_t)reel_cursor_u8(table);
	}
	add_address(lines, address, line);
}

/* co_linetable of 3.10 (PEP 626): the size of a range, and how much its line differs. */
static void write_ranges(struct lines *lines, struct reel_cursor *table)
{
	int64_t line = (int64_t)lines->first;
	uint64_t address = 0;

	while (reel_cursor_left(table) >= 2) {
		uint8_t size = reel_cursor_u8(table);
		int8_t difference = (int8_t)reel_cursor_u8(table);

		if (difference != INT8_MIN)
			line += difference;
		if (size)
			add_address(lines, address, difference == INT8_MIN ? 0 : line);
		address += size;
	}
	add_address(lines, address, 0);
}

/* Six bits in each byte, the lowest first; 64 says that there are more. */
static int64_t read_difference(struct reel_cursor *table)
{
	uint64_t value = 0;
	uint8_t byte;
	unsigned int shift = 0;

	do {
		byte = reel_cursor_u8(table);
		if (shift < 64)
			value |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum {
	LOCATION_ONE_LINE = 10, /* 10 to 12: of this difference less 10 */
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

/* co_linetable since 3.11 (Objects/locations.md): entries begin with a byte that has the highest
 * bit, and then have columns, which we skip. */
static void write_locations(struct lines *lines, struct reel_cursor *table)
{
	uint64_t line = lines->first, address = 0;

	while (reel_cursor_left(table)) {
		uint8_t byte = reel_cursor_u8(table), kind = byte >> 3 & 15;

		if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG)
			line += (uint64_t)read_difference(table);
		else if (kind >= LOCATION_ONE_LINE && kind < LOCATION_NO_COLUMNS)
			line += kind - LOCATION_ONE_LINE;
		add_address(lines, address, kind == LOCATION_NONE ? 0 : (int64_t)line);
		/* Instructions have two bytes. */
		address += 2 * (uint64_t)((byte & 7) + 1);
		while (reel_cursor_left(table) && !(*table->at & 0x80))
			table->at++;
	}
	add_address(lines, address, 0);
}

void python_lines_write(uint32_t version, struct reel_bytes table, uint64_t first_line,
			uint64_t code, struct reel_buffer *ret)
{
	struct reel_cursor cursor = reel_cursor(table.data, table.size);
	struct lines lines = { .ret = ret, .first = first_line, .line = first_line, .scale = 1 };

	if (version >= 0x030b00) {
		/* prev_instr of a frame that has not begun. */
		append_line(&lines, code - 2, first_line);
		lines.code = code;
		write_locations(&lines, &cursor);
		return;
	}
	if (version >= 0x030a00) {
		lines.scale = 2; /* f_lasti is an index */
		write_ranges(&lines, &cursor);
	} else {
		write_lnotab(&lines, &cursor);
	}
}
