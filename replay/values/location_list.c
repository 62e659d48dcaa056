/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "base/dwarf_cursor.h"
#include "replay/values/location_list.h"

/* Of GNU's .debug_loc.dwo; missing in libdw's <dwarf.h>. */
enum {
	GNU_END_OF_LIST = 0,
	GNU_BASE_ADDRESS_SELECTION = 1,
	GNU_START_END = 2,
	GNU_START_LENGTH = 3,
};

/* Longer ones than compilers write. */
#define ENTRIES_MAX 65536

struct list {
	const struct reel_dwarf *dwarf;
	const struct reel_unit *unit;
	struct reel_cursor cursor;
	uint64_t base;
};

/* An entry: its addresses and expression; or neither. */
struct entry {
	bool is_last, is_default, has_range;
	uint64_t begin, end;
	struct reel_bytes expression;
};

static uint64_t take_address(struct list *list)
{
	return reel_cursor_target(&list->cursor, list->unit->format.address_size,
				  list->dwarf->big_endian);
}

static uint64_t take_indexed(struct list *list)
{
	uint64_t address = 0;

	if (!reel_dwarf_address_at(list->dwarf, list->unit, reel_cursor_uleb(&list->cursor),
				   &address))
		reel_cursor_fail(&list->cursor);
	return address;
}

static void take_expression(struct list *list, uint64_t size, struct entry *ret)
{
	ret->expression.data = reel_cursor_take(&list->cursor, size);
	ret->expression.size = (size_t)size;
}

static uint64_t take_size(struct list *list)
{
	return reel_cursor_target(&list->cursor, 2, list->dwarf->big_endian);
}

static void take_old(struct list *list, struct entry *ret)
{
	unsigned size = list->unit->format.address_size;
	uint64_t mask = size == 8 ? UINT64_MAX : ((uint64_t)1 << size * 8) - 1;
	uint64_t begin = take_address(list), end = take_address(list);

	if (!begin && !end) {
		ret->is_last = true;
	} else if (begin == mask) {
		list->base = end;
	} else {
		ret->begin = (list->base + begin) & mask;
		ret->end = (list->base + end) & mask;
		ret->has_range = true;
		take_expression(list, take_size(list), ret);
	}
}

static void take_gnu(struct list *list, struct entry *ret)
{
	switch (reel_cursor_u8(&list->cursor)) {
	case GNU_BASE_ADDRESS_SELECTION:
		list->base = take_indexed(list);
		return;
	case GNU_START_END:
		ret->begin = take_indexed(list);
		ret->end = take_indexed(list);
		break;
	case GNU_START_LENGTH:
		ret->begin = take_indexed(list);
		ret->end =
			ret->begin + reel_cursor_target(&list->cursor, 4, list->dwarf->big_endian);
		break;
	case GNU_END_OF_LIST:
		ret->is_last = true;
		return;
	default:
		reel_cursor_fail(&list->cursor);
		return;
	}
	ret->has_range = true;
	take_expression(list, take_size(list), ret);
}

static void take_new(struct list *list, struct entry *ret)
{
	struct reel_cursor *cursor = &list->cursor;

	switch (reel_cursor_u8(cursor)) {
	case DW_LLE_end_of_list:
		ret->is_last = true;
		return;
	case DW_LLE_base_addressx:
		list->base = take_indexed(list);
		return;
	case DW_LLE_base_address:
		list->base = take_address(list);
		return;
	case DW_LLE_GNU_view_pair:
		reel_cursor_uleb(cursor);
		reel_cursor_uleb(cursor);
		return;
	case DW_LLE_startx_endx:
		ret->begin = take_indexed(list);
		ret->end = take_indexed(list);
		break;
	case DW_LLE_startx_length:
		ret->begin = take_indexed(list);
		ret->end = ret->begin + reel_cursor_uleb(cursor);
		break;
	case DW_LLE_offset_pair:
		ret->begin = list->base + reel_cursor_uleb(cursor);
		ret->end = list->base + reel_cursor_uleb(cursor);
		break;
	case DW_LLE_start_end:
		ret->begin = take_address(list);
		ret->end = take_address(list);
		break;
	case DW_LLE_start_length:
		ret->begin = take_address(list);
		ret->end = ret->begin + reel_cursor_uleb(cursor);
		break;
	case DW_LLE_default_location:
		ret->is_default = true;
		take_expression(list, reel_cursor_uleb(cursor), ret);
		return;
	default:
		reel_cursor_fail(cursor);
		return;
	}
	ret->has_range = true;
	take_expression(list, reel_cursor_uleb(cursor), ret);
}

/* The place of DW_FORM_loclistx: an index of offsets relative to the unit's base. */
static bool indexed_offset(struct reel_die_reader *reader, const struct reel_die_reference *at,
			   uint64_t index, uint64_t *ret)
{
	unsigned size = at->unit->format.offset_size;
	uint64_t base = size == 8 ? 20 : 12, offset;
	struct reel_die_reference head = { at->dwarf, at->unit, at->unit->die_offset };
	struct reel_full_die die;
	const uint8_t *bytes;

	if (!reel_full_die_read(reader, head, &die))
		return false;
	reel_full_die_number(&die, DW_AT_loclists_base, &base);
	if (__builtin_mul_overflow(index, size, &offset) ||
	    __builtin_add_overflow(offset, base, &offset))
		return false;
	bytes = reel_section_need(&at->dwarf->location_lists, offset, size);
	return bytes && !__builtin_add_overflow(
				reel_load_target(bytes, size, at->dwarf->big_endian), base, ret);
}

static bool find_in_list(struct reel_die_reader *reader, const struct reel_die_reference *at,
			 uint64_t offset, uint64_t address, struct reel_bytes *ret)
{
	struct reel_dwarf *dwarf = at->dwarf;
	bool is_new = at->unit->format.version >= 5, is_split = dwarf->skeletons;
	const struct reel_section *section =
		is_new ? &dwarf->location_lists : &dwarf->old_locations;
	struct list list = { dwarf, at->unit, { 0 }, at->unit->base_address };
	struct reel_bytes otherwise = { 0 };

	if (offset >= section->size || !reel_section_need(section, offset, section->size - offset))
		return false;
	list.cursor = reel_cursor(section->bytes + offset, (size_t)(section->size - offset));
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		const uint8_t *before = list.cursor.at;
		struct entry entry = { 0 };

		(is_new ? take_new : is_split ? take_gnu : take_old)(&list, &entry);
		if (list.cursor.failed ||
		    !reel_die_reader_work(reader, (uint64_t)(list.cursor.at - before)))
			return false;
		if (entry.is_default)
			otherwise = entry.expression;
		if (entry.has_range && address >= entry.begin && address < entry.end) {
			*ret = entry.expression;
			return true;
		}
		if (entry.is_last) {
			*ret = otherwise;
			return true;
		}
	}
	return false;
}

bool reel_location_find(struct reel_die_reader *reader, const struct reel_die_reference *at,
			const struct reel_form_value *value, uint64_t address,
			struct reel_bytes *ret)
{
	uint64_t offset = value->number;

	*ret = (struct reel_bytes){ 0 };
	switch (value->form) {
	case DW_FORM_exprloc:
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
		*ret = (struct reel_bytes){ value->bytes, (size_t)value->number };
		return true;
	case DW_FORM_loclistx:
		if (!indexed_offset(reader, at, value->number, &offset))
			return false;
		break;
	case DW_FORM_sec_offset:
	case DW_FORM_data4:
	case DW_FORM_data8:
		break;
	default:
		return false;
	}
	return find_in_list(reader, at, offset, address, ret);
}
