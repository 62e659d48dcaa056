/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets the values of a DIE: dwarf_file.h. */
#include <dwarf.h>

#include "base/dwarf_cursor.h"
#include "replay/dwarf/dwarf_file.h"

bool reel_dwarf_constant(const struct reel_form_value *value, uint64_t *ret)
{
	*ret = value->number;
	switch (value->form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_sec_offset:
	case DW_FORM_rnglistx:
		return true;
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
		return (int64_t)value->number >= 0;
	default:
		return false;
	}
}

/* Item `index` of an array of numbers at `base` in a section. */
static bool item_at(const struct reel_dwarf *dwarf, const struct reel_section *section,
		    uint64_t base, uint64_t index, unsigned size, uint64_t *ret)
{
	const uint8_t *bytes;
	uint64_t offset;

	if (__builtin_mul_overflow(index, size, &offset) ||
	    __builtin_add_overflow(offset, base, &offset))
		return false;
	bytes = reel_section_need(section, offset, size);
	if (bytes)
		*ret = reel_load_target(bytes, size, dwarf->big_endian);
	return bytes;
}

bool reel_dwarf_address_at(const struct reel_dwarf *dwarf, const struct reel_unit *unit,
			   uint64_t index, uint64_t *ret)
{
	const struct reel_dwarf *of = dwarf->skeletons ? dwarf->skeletons : dwarf;

	return item_at(dwarf, &of->addresses, unit->addresses_base, index,
		       unit->format.address_size, ret);
}

bool reel_dwarf_address(const struct reel_dwarf *dwarf, const struct reel_unit *unit,
			const struct reel_form_value *value, uint64_t *ret)
{
	switch (value->form) {
	case DW_FORM_addr:
		*ret = value->number;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return reel_dwarf_address_at(dwarf, unit, value->number, ret);
	default:
		return false;
	}
}

const char *reel_dwarf_string(const struct reel_dwarf *dwarf, const struct reel_unit *unit,
			      const struct reel_form_value *value)
{
	uint64_t offset = value->number;

	switch (value->form) {
	case DW_FORM_string:
		return value->number > REEL_NAME_MAX ? reel_long_name : (const char *)value->bytes;
	case DW_FORM_line_strp:
		return reel_section_string(&dwarf->line_str, offset);
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		return dwarf->alternate ? reel_section_string(&dwarf->alternate->str, offset)
					: NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		if (!item_at(dwarf, &dwarf->str_offsets, unit->string_offsets_base, value->number,
			     unit->format.offset_size, &offset))
			return NULL;
		break;
	case DW_FORM_strp:
		break;
	default:
		return NULL;
	}
	return reel_section_string(&dwarf->str, offset);
}

bool reel_dwarf_reference(struct reel_dwarf *dwarf, struct reel_unit *unit,
			  const struct reel_form_value *value, struct reel_die_reference *ret)
{
	*ret = (struct reel_die_reference){ dwarf, unit, value->number };
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return !__builtin_add_overflow(value->number, unit->offset, &ret->offset) &&
		       ret->offset < unit->end;
	case DW_FORM_ref_addr:
		break;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		ret->dwarf = dwarf->alternate;
		break;
	default: /* DW_FORM_ref_sig8 refers to types, which are never a function's origin. */
		return false;
	}
	if (!ret->dwarf)
		return false;
	ret->unit = reel_dwarf_unit(ret->dwarf, ret->offset);
	return ret->unit;
}
