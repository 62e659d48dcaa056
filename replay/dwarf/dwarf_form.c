/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "base/dwarf_cursor.h"
#include "replay/dwarf/dwarf_form.h"

int reel_form_size(const struct reel_unit_format *format, uint64_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return format->address_size;
	case DW_FORM_ref_addr:
		/* An address in DWARF 2, an offset since. */
		return format->version <= 2 ? format->address_size : format->offset_size;
	case DW_FORM_sec_offset:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return format->offset_size;
	default:
		return -1;
	}
}

static void take_string(struct reel_cursor *cursor, struct reel_form_value *ret)
{
	const uint8_t *end = memchr(cursor->at, 0, reel_cursor_left(cursor));

	if (!end) {
		reel_cursor_fail(cursor);
		return;
	}
	ret->bytes = cursor->at;
	ret->number = (uint64_t)(end - cursor->at);
	cursor->at = end + 1;
}

static void take_block(struct reel_cursor *cursor, uint64_t size, struct reel_form_value *ret)
{
	ret->number = size;
	ret->bytes = reel_cursor_take(cursor, size);
}

/* Takes values without a fixed size. */
static void take_variable(const struct reel_unit_format *format, struct reel_cursor *cursor,
			  uint64_t form, struct reel_form_value *ret)
{
	switch (form) {
	case DW_FORM_sdata:
		ret->number = (uint64_t)reel_cursor_sleb(cursor);
		return;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		ret->number = reel_cursor_uleb(cursor);
		return;
	case DW_FORM_string:
		take_string(cursor, ret);
		return;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		take_block(cursor, reel_cursor_uleb(cursor), ret);
		return;
	case DW_FORM_block1:
		take_block(cursor, reel_cursor_u8(cursor), ret);
		return;
	case DW_FORM_block2:
		take_block(cursor, reel_cursor_target(cursor, 2, format->big_endian), ret);
		return;
	case DW_FORM_block4:
		take_block(cursor, reel_cursor_target(cursor, 4, format->big_endian), ret);
		return;
	default:
		reel_cursor_fail(cursor);
	}
}

void reel_form_take(const struct reel_unit_format *format, struct reel_cursor *cursor,
		    uint64_t form, int64_t constant, struct reel_form_value *ret)
{
	int size;

	if (form == DW_FORM_indirect) {
		form = reel_cursor_uleb(cursor);
		/* DW_FORM_implicit_const has its value in the abbreviation, and DW_FORM_indirect
		 * must not refer to itself. */
		if (form == DW_FORM_implicit_const || form == DW_FORM_indirect)
			reel_cursor_fail(cursor);
	}
	*ret = (struct reel_form_value){ .form = form <= UINT16_MAX ? (uint16_t)form : 0 };
	size = reel_form_size(format, form);
	if (size < 0)
		take_variable(format, cursor, form, ret);
	else if (form == DW_FORM_implicit_const)
		ret->number = (uint64_t)constant;
	else if (form == DW_FORM_flag_present)
		ret->number = 1;
	else if (size > 8)
		take_block(cursor, (uint64_t)size, ret);
	else if (size)
		ret->number = reel_cursor_target(cursor, (unsigned)size, format->big_endian);
}

void reel_form_skip(const struct reel_unit_format *format, struct reel_cursor *cursor,
		    uint64_t form)
{
	struct reel_form_value value;

	switch (form) {
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
		/* Skip it, whatever its value. */
		while (reel_cursor_u8(cursor) & 0x80)
			;
		return;
	default:
		reel_form_take(format, cursor, form, 0, &value);
	}
}
