/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "replay/dwarf/die_ranges.h"
#include "base/dwarf_cursor.h"

/*
 * Lists of ranges may be shared between DIEs, so a small hostile file can have any number of
 * ranges.  This limits those in one map.
 */
#define RANGES_MAX (8u << 20)
/* Bytes of a section loaded at once if the length of a list is unknown. */
#define CHUNK 4096

/* A list being read. */
struct list {
	struct reel_dwarf *dwarf;
	const struct reel_unit *unit;
	const struct reel_section *section;
	struct reel_cursor cursor; /* over the loaded part of the section */
	uint64_t base;
};

/* Whether there is another entry; loads enough bytes that it is not cut. */
static bool next_entry(struct list *list)
{
	enum { ENTRY_MAX = 1 + 2 * 10 };
	uint64_t offset = (uint64_t)(list->cursor.at - list->section->bytes), size;
	const uint8_t *bytes;

	if (list->cursor.failed)
		return false;
	if (!reel_dwarf_charged(list->dwarf)->ranges_left) {
		reel_dwarf_charged(list->dwarf)->exhausted = true;
		return false;
	}
	if (reel_cursor_left(&list->cursor) >= ENTRY_MAX)
		return true;
	size = list->section->size - offset < CHUNK ? list->section->size - offset : CHUNK;
	bytes = reel_section_need(list->section, offset, size);
	if (!bytes)
		return false;
	list->cursor.at = bytes;
	list->cursor.end = bytes + size;
	return size;
}

/* Counts the bytes of an entry read from `begin`. */
static void count_entry(const struct list *list, const uint8_t *begin)
{
	uint64_t size = (uint64_t)(list->cursor.at - begin),
		 *left = &reel_dwarf_charged(list->dwarf)->ranges_left;

	*left -= size < *left ? size : *left;
}

struct reel_error *reel_die_range_add(const struct reel_die_ranges *to, uint64_t begin,
				      uint64_t end, uint32_t value)
{
	if (begin < to->text_begin || begin >= to->text_end || begin >= end ||
	    to->map->n >= RANGES_MAX || reel_range_map_add(to->map, begin, end, value, value))
		return NULL;
	return reel_error_no_memory();
}

/* An address, or a sum of addresses, of the unit's size. */
static uint64_t wrap(const struct reel_unit *unit, uint64_t address)
{
	unsigned bits = unit->format.address_size * 8u;

	return bits == 64 ? address : address & (((uint64_t)1 << bits) - 1);
}

/* .debug_ranges (DWARF 4, 2.17.3). */
static struct reel_error *add_old_list(const struct reel_die_ranges *to, struct list *list,
				       uint32_t value)
{
	unsigned size = list->unit->format.address_size;
	struct reel_error *error = NULL;

	while (!error && next_entry(list)) {
		const uint8_t *at = list->cursor.at;
		uint64_t begin = reel_cursor_target(&list->cursor, size, list->dwarf->big_endian);
		uint64_t end = reel_cursor_target(&list->cursor, size, list->dwarf->big_endian);

		count_entry(list, at);
		if (list->cursor.failed || (!begin && !end))
			break;
		if (begin == wrap(list->unit, UINT64_MAX))
			list->base = end;
		else
			error = reel_die_range_add(to, wrap(list->unit, list->base + begin),
						   wrap(list->unit, list->base + end), value);
	}
	return error;
}

/* One entry of .debug_rnglists (DWARF 5, 2.17.3 and 7.25). False: the list ends. */
static bool take_entry(struct list *list, uint64_t *begin_ret, uint64_t *end_ret)
{
	const struct reel_unit *unit = list->unit;
	struct reel_cursor *cursor = &list->cursor;
	unsigned size = unit->format.address_size;
	bool big_endian = list->dwarf->big_endian;
	uint64_t index;

	*begin_ret = *end_ret = 0;
	switch (reel_cursor_u8(cursor)) {
	case DW_RLE_base_addressx:
		return reel_dwarf_address_at(list->dwarf, unit, reel_cursor_uleb(cursor),
					     &list->base);
	case DW_RLE_startx_endx:
		index = reel_cursor_uleb(cursor);
		return reel_dwarf_address_at(list->dwarf, unit, index, begin_ret) &&
		       reel_dwarf_address_at(list->dwarf, unit, reel_cursor_uleb(cursor), end_ret);
	case DW_RLE_startx_length:
		if (!reel_dwarf_address_at(list->dwarf, unit, reel_cursor_uleb(cursor), begin_ret))
			return false;
		*end_ret = wrap(unit, *begin_ret + reel_cursor_uleb(cursor));
		return true;
	case DW_RLE_offset_pair:
		*begin_ret = wrap(unit, list->base + reel_cursor_uleb(cursor));
		*end_ret = wrap(unit, list->base + reel_cursor_uleb(cursor));
		return true;
	case DW_RLE_base_address:
		list->base = reel_cursor_target(cursor, size, big_endian);
		return true;
	case DW_RLE_start_end:
		*begin_ret = reel_cursor_target(cursor, size, big_endian);
		*end_ret = reel_cursor_target(cursor, size, big_endian);
		return true;
	case DW_RLE_start_length:
		*begin_ret = reel_cursor_target(cursor, size, big_endian);
		*end_ret = wrap(unit, *begin_ret + reel_cursor_uleb(cursor));
		return true;
	default: /* DW_RLE_end_of_list and unknown entries */
		return false;
	}
}

static struct reel_error *add_list(const struct reel_die_ranges *to, struct list *list,
				   uint32_t value)
{
	struct reel_error *error = NULL;

	while (!error && next_entry(list)) {
		const uint8_t *at = list->cursor.at;
		uint64_t begin, end;
		bool more = take_entry(list, &begin, &end);

		count_entry(list, at);
		if (!more || list->cursor.failed)
			break;
		error = reel_die_range_add(to, begin, end, value);
	}
	return error;
}

/* The place of the list: DW_FORM_rnglistx is an index of offsets relative to the base. */
static bool list_offset(const struct reel_dwarf *dwarf, const struct reel_unit *unit,
			const struct reel_form_value *value, uint64_t *ret)
{
	unsigned size = unit->format.offset_size;
	const uint8_t *bytes;
	uint64_t at;

	if (!reel_dwarf_constant(value, ret))
		return false;
	if (value->form != DW_FORM_rnglistx)
		return true;
	if (__builtin_mul_overflow(*ret, size, &at) ||
	    __builtin_add_overflow(at, unit->range_lists_base, &at))
		return false;
	bytes = reel_section_need(&dwarf->range_lists, at, size);
	if (!bytes)
		return false;
	return !__builtin_add_overflow(reel_load_target(bytes, size, dwarf->big_endian),
				       unit->range_lists_base, ret);
}

static struct reel_error *add_all(const struct reel_die_ranges *to, struct list *list,
				  const struct reel_form_value *at, uint32_t value)
{
	const struct reel_unit *unit = list->unit;
	bool is_new = unit->format.version >= 5;
	uint64_t begin, end, offset;

	if (at[REEL_AT_HIGH_PC].form &&
	    reel_dwarf_address(list->dwarf, unit, &at[REEL_AT_LOW_PC], &begin)) {
		/* An address, or since DWARF 4 the size. */
		if (reel_dwarf_address(list->dwarf, unit, &at[REEL_AT_HIGH_PC], &end))
			return reel_die_range_add(to, begin, end, value);
		if (reel_dwarf_constant(&at[REEL_AT_HIGH_PC], &end))
			return reel_die_range_add(to, begin, wrap(unit, begin + end), value);
	}
	list->section =
		is_new ? &list->dwarf->range_lists : &reel_dwarf_charged(list->dwarf)->ranges;
	if (!at[REEL_AT_RANGES].form ||
	    !list_offset(list->dwarf, unit, &at[REEL_AT_RANGES], &offset))
		return NULL;
	/* A skeleton's own lists are not relative to its base. */
	if (list->dwarf->skeletons && !is_new &&
	    __builtin_add_overflow(offset, unit->old_ranges_base, &offset))
		return NULL;
	if (offset >= list->section->size)
		return NULL;
	list->cursor = reel_cursor(list->section->bytes + offset, 0);
	return is_new ? add_list(to, list, value) : add_old_list(to, list, value);
}

struct reel_error *reel_die_ranges_add(const struct reel_die_ranges *to, struct reel_dwarf *dwarf,
				       const struct reel_unit *unit,
				       const struct reel_die_values *values, uint32_t value,
				       size_t *n_ret)
{
	struct list list = { .dwarf = dwarf, .unit = unit, .base = unit->base_address };
	size_t before = to->map->n;
	struct reel_error *error = add_all(to, &list, values->at, value);

	*n_ret = to->map->n - before;
	return error;
}
