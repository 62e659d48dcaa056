/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "replay/cu_ranges.h"
#include "replay/die_ranges.h"
#include "replay/dwarf_cursor.h"

/* Sets that name units of which `complete` says nothing are read. */
struct reading {
	struct reel_dwarf *dwarf;
	struct reel_die_ranges to;
	bool *complete; /* by unit: its DIE says where its code is */
};

static struct reel_error *read_units(struct reading *reading, bool *incomplete_ret)
{
	struct reel_dwarf *dwarf = reading->dwarf;
	struct reel_error *error = NULL;
	size_t n;

	*incomplete_ret = false;
	for (size_t i = 0; !error && i < dwarf->n_units; i++) {
		struct reel_unit *unit = &dwarf->units[i];
		uint8_t head[REEL_UNIT_HEAD_SIZE];
		struct reel_die_values values;

		if ((unit->tag != DW_TAG_compile_unit && unit->tag != DW_TAG_skeleton_unit) ||
		    !reel_dwarf_unit_die(dwarf, unit, head, &values))
			continue;
		error = reel_die_ranges_add(&reading->to, dwarf, unit, &values, (uint32_t)i, &n);
		/* Without any address it is a declaration of types, or left to .debug_aranges. */
		reading->complete[i] = n;
		if (!n)
			*incomplete_ret = true;
	}
	return error;
}

/* Whether it is a unit that .debug_aranges is asked about. */
static bool unit_index(const struct reading *reading, uint64_t offset, uint32_t *ret)
{
	const struct reel_unit *unit = reel_dwarf_unit(reading->dwarf, offset);

	if (!unit || unit->offset != offset ||
	    (unit->tag != DW_TAG_compile_unit && unit->tag != DW_TAG_skeleton_unit))
		return false;
	*ret = (uint32_t)(unit - reading->dwarf->units);
	return !reading->complete[*ret];
}

/* One unit's set of .debug_aranges (DWARF 5, 6.1.2), behind its length. */
static struct reel_error *read_address_set(const struct reading *reading, struct reel_cursor set,
					   size_t header_size, unsigned offset_size)
{
	bool big_endian = reading->dwarf->big_endian;
	uint64_t version = reel_cursor_target(&set, 2, big_endian);
	uint64_t unit_offset = reel_cursor_target(&set, offset_size, big_endian);
	unsigned address_size = reel_cursor_u8(&set), segment_size = reel_cursor_u8(&set);
	size_t taken = header_size + reel_cursor_offset(&set), pair = 2 * (size_t)address_size;
	struct reel_error *error = NULL;
	uint32_t index;

	if (set.failed || version != 2 || segment_size ||
	    (address_size != 2 && address_size != 4 && address_size != 8) ||
	    !unit_index(reading, unit_offset, &index))
		return NULL;
	/* Pairs are aligned to their size, counted from the set's start. */
	reel_cursor_take(&set, (pair - taken % pair) % pair);
	while (!error && reel_cursor_left(&set) >= pair) {
		uint64_t begin = reel_cursor_target(&set, address_size, big_endian);
		uint64_t size = reel_cursor_target(&set, address_size, big_endian), end;

		if (!__builtin_add_overflow(begin, size, &end))
			error = reel_die_range_add(&reading->to, begin, end, index);
	}
	return error;
}

static struct reel_error *read_address_sets(const struct reading *reading)
{
	const struct reel_section *section = &reading->dwarf->address_sets;
	const uint8_t *bytes = reel_section_need(section, 0, section->size);
	bool big_endian = reading->dwarf->big_endian;
	struct reel_error *error = NULL;
	struct reel_cursor cursor;

	if (!bytes)
		return NULL;
	cursor = reel_cursor(bytes, (size_t)section->size);
	while (!error && reel_cursor_left(&cursor)) {
		unsigned offset_size = 4;
		uint64_t size = reel_cursor_target(&cursor, 4, big_endian);
		const uint8_t *set;

		if (size == UINT32_MAX) {
			offset_size = 8;
			size = reel_cursor_target(&cursor, 8, big_endian);
		}
		set = reel_cursor_take(&cursor, size);
		if (!set)
			break;
		error = read_address_set(reading, reel_cursor(set, (size_t)size),
					 offset_size == 8 ? 12 : 4, offset_size);
	}
	return error;
}

struct reel_error *reel_cu_ranges_read(struct reel_dwarf *dwarf, uint64_t text_begin,
				       uint64_t text_end, struct reel_range_map *ret)
{
	struct reading reading = { .dwarf = dwarf, .to = { ret, text_begin, text_end } };
	struct reel_error *error;
	bool incomplete;

	*ret = (struct reel_range_map){ 0 };
	reading.complete = calloc(dwarf->n_units + 1, sizeof(*reading.complete));
	if (!reading.complete)
		return reel_error_no_memory();
	error = read_units(&reading, &incomplete);
	if (!error && incomplete)
		error = read_address_sets(&reading);
	if (!error)
		error = reel_range_map_build(ret);
	if (error)
		reel_range_map_free(ret);
	free(reading.complete);
	return error;
}
