/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "replay/dwarf/cu_ranges.h"
#include "replay/dwarf/die_ranges.h"
#include "base/dwarf_cursor.h"

static bool is_compile_unit(const struct reel_unit *unit)
{
	return unit->tag == DW_TAG_compile_unit || unit->tag == DW_TAG_skeleton_unit;
}

static struct reel_error *visit_unit(void *context, struct reel_dwarf *dwarf,
				     struct reel_unit *unit, const struct reel_die_values *values)
{
	const struct reel_die_ranges *to = context;
	struct reel_error *error;
	size_t n;

	if (!is_compile_unit(unit))
		return NULL;
	error = reel_die_ranges_add(to, dwarf, unit, values, (uint32_t)(unit - dwarf->units), &n);
	unit->has_ranges = n;
	return error;
}

/* Whether a unit has no address: it declares types, or is only in .debug_aranges. */
static bool is_incomplete(const struct reel_dwarf *dwarf)
{
	for (size_t i = 0; i < dwarf->n_units; i++) {
		if (is_compile_unit(&dwarf->units[i]) && !dwarf->units[i].has_ranges)
			return true;
	}
	return false;
}

/* One unit's set of .debug_aranges (DWARF 5, 6.1.2), after its length. */
static struct reel_error *read_address_set(const struct reel_dwarf *dwarf,
					   const struct reel_die_ranges *to, struct reel_cursor set,
					   size_t header_size, unsigned offset_size)
{
	bool big_endian = dwarf->big_endian;
	uint64_t version = reel_cursor_target(&set, 2, big_endian);
	uint64_t unit_offset = reel_cursor_target(&set, offset_size, big_endian);
	unsigned address_size = reel_cursor_u8(&set), segment_size = reel_cursor_u8(&set);
	size_t taken = header_size + reel_cursor_offset(&set), pair = 2 * (size_t)address_size;
	const struct reel_unit *unit = reel_dwarf_unit(dwarf, unit_offset);
	struct reel_error *error = NULL;

	if (set.failed || version != 2 || segment_size ||
	    (address_size != 2 && address_size != 4 && address_size != 8) || !unit ||
	    unit->offset != unit_offset || !is_compile_unit(unit) || unit->has_ranges)
		return NULL;
	/* Pairs are aligned to their size, counted from the set's start. */
	reel_cursor_take(&set, (pair - taken % pair) % pair);
	while (!error && reel_cursor_left(&set) >= pair) {
		uint64_t begin = reel_cursor_target(&set, address_size, big_endian);
		uint64_t size = reel_cursor_target(&set, address_size, big_endian), end;

		if (!__builtin_add_overflow(begin, size, &end))
			error = reel_die_range_add(to, begin, end, (uint32_t)(unit - dwarf->units));
	}
	return error;
}

static struct reel_error *read_address_sets(const struct reel_dwarf *dwarf,
					    const struct reel_die_ranges *to)
{
	const struct reel_section *section = &dwarf->address_sets;
	const uint8_t *bytes = reel_section_need(section, 0, section->size);
	bool big_endian = dwarf->big_endian;
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
		error = read_address_set(dwarf, to, reel_cursor(set, (size_t)size),
					 offset_size == 8 ? 12 : 4, offset_size);
	}
	return error;
}

struct reel_error *reel_cu_ranges_open(struct reel_elf_file *file, uint64_t text_begin,
				       uint64_t text_end, struct reel_dwarf **dwarf_ret,
				       struct reel_range_map *ret)
{
	struct reel_die_ranges to = { ret, text_begin, text_end };
	struct reel_unit_visitor visitor = { visit_unit, &to };
	struct reel_dwarf *dwarf = NULL;
	struct reel_error *error;

	*ret = (struct reel_range_map){ 0 };
	error = reel_dwarf_open(file, &visitor, &dwarf);
	if (!error && is_incomplete(dwarf))
		error = read_address_sets(dwarf, &to);
	if (!error)
		error = reel_range_map_build(ret);
	if (error) {
		reel_range_map_free(ret);
		if (dwarf)
			reel_dwarf_close(dwarf);
		return error;
	}
	*dwarf_ret = dwarf;
	return NULL;
}
