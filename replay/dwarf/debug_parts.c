/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/dwarf_cursor.h"
#include "elf/embedded_code.h"
#include "replay/dwarf/debug_parts.h"
#include "replay/dwarf/full_die.h"

/* Padding: an entry of an unused kind with a block of bytes. */
#define PAD_TAG	      0x4ffe /* between DW_TAG_lo_user and DW_TAG_hi_user */
#define PAD_ATTRIBUTE 0x3ffe /* the same of DW_AT_* */
/* A padded unit: length, version, offset of abbreviations, address size, code, size of block. */
#define PAD_UNIT_MIN (4u + 2 + 4 + 1 + 1 + 4)
/* Longer than compilers' lists. */
#define ENTRIES_MAX 65536

struct pad {
	uint64_t begin, end; /* in .debug_info */
	uint64_t code;
};

struct table {
	uint64_t old, new; /* offsets in .debug_abbrev */
	uint64_t pad_code;
};

struct parts {
	struct reel_dwarf *dwarf; /* borrowed; NULL: it has none of the addresses */
	struct reel_die_reader reader;
	bool *needed, *walked; /* by unit */
	/* Offsets in .debug_info of functions at the addresses, as ranges of one byte. */
	struct reel_address_ranges functions;
	/* The bytes to keep of these sections. */
	struct reel_address_ranges str, old_locations, location_lists, ranges, range_lists;
	struct reel_buffer pads;    /* struct pad */
	struct reel_buffer targets; /* uint64_t: offsets in .debug_info that entries refer to */
	struct reel_buffer tables;  /* struct table */
	struct reel_buffer abbreviations;
	bool needs_more; /* a unit became needed */
	bool failed;	 /* malformed, or too much of it */
};

static void parts_free(struct parts *parts)
{
	reel_die_reader_free(&parts->reader);
	free(parts->needed);
	free(parts->walked);
	reel_address_ranges_free(&parts->functions);
	reel_address_ranges_free(&parts->str);
	reel_address_ranges_free(&parts->old_locations);
	reel_address_ranges_free(&parts->location_lists);
	reel_address_ranges_free(&parts->ranges);
	reel_address_ranges_free(&parts->range_lists);
	reel_buffer_free(&parts->pads);
	reel_buffer_free(&parts->targets);
	reel_buffer_free(&parts->tables);
	reel_buffer_free(&parts->abbreviations);
}
#define _cleanup_parts_ __attribute__((cleanup(parts_free)))

/* ---- lists -------------------------------------------------------------------------- */

/* Of DW_LLE_* and DW_RLE_*, which have the same operands where they have the same number but 5 to
 * 7; false: unknown. */
static bool skip_operands(struct reel_cursor *cursor, uint8_t kind, bool is_location,
			  unsigned address_size, bool *has_expression_ret)
{
	unsigned addresses = 0, numbers = 0;

	*has_expression_ret = is_location;
	if (is_location && kind == DW_LLE_default_location)
		return true;
	if (is_location && kind == DW_LLE_GNU_view_pair) {
		numbers = 2;
		*has_expression_ret = false;
	} else if (kind == DW_LLE_base_addressx) {
		numbers = 1;
		*has_expression_ret = false;
	} else if (kind >= DW_LLE_startx_endx && kind <= DW_LLE_offset_pair) {
		numbers = 2;
	} else if (kind == (is_location ? DW_LLE_base_address : DW_RLE_base_address)) {
		addresses = 1;
		*has_expression_ret = false;
	} else if (kind == (is_location ? DW_LLE_start_end : DW_RLE_start_end)) {
		addresses = 2;
	} else if (kind == (is_location ? DW_LLE_start_length : DW_RLE_start_length)) {
		addresses = numbers = 1;
	} else {
		return false;
	}
	reel_cursor_take(cursor, addresses * address_size);
	while (numbers--)
		reel_cursor_uleb(cursor);
	return true;
}

/* Skips an entry; false after the last one. */
static bool skip_new(struct reel_cursor *cursor, const struct reel_unit *unit, bool is_location)
{
	uint8_t kind = reel_cursor_u8(cursor);
	bool has_expression;

	if (!kind || cursor->failed)
		return false;
	if (!skip_operands(cursor, kind, is_location, unit->format.address_size, &has_expression))
		reel_cursor_fail(cursor);
	else if (has_expression)
		reel_cursor_take(cursor, reel_cursor_uleb(cursor));
	return !cursor->failed;
}

static bool skip_old(struct reel_cursor *cursor, const struct reel_unit *unit, bool is_location)
{
	unsigned size = unit->format.address_size;
	uint64_t mask = size == 8 ? UINT64_MAX : ((uint64_t)1 << size * 8) - 1;
	uint64_t begin = reel_cursor_target(cursor, size, unit->format.big_endian);
	uint64_t end = reel_cursor_target(cursor, size, unit->format.big_endian);

	if ((!begin && !end) || cursor->failed)
		return false;
	if (is_location && begin != mask)
		reel_cursor_take(cursor, reel_cursor_target(cursor, 2, unit->format.big_endian));
	return !cursor->failed;
}

/* Keeps the list at an offset of its section. */
static void keep_list(struct parts *parts, const struct reel_unit *unit, bool is_location,
		      uint64_t offset)
{
	bool is_new = unit->format.version >= 5;
	struct reel_dwarf *dwarf = parts->dwarf;
	const struct reel_section *section =
		is_new	      ? is_location ? &dwarf->location_lists : &dwarf->range_lists
		: is_location ? &dwarf->old_locations
			      : &dwarf->ranges;
	struct reel_address_ranges *kept =
		is_new	      ? is_location ? &parts->location_lists : &parts->range_lists
		: is_location ? &parts->old_locations
			      : &parts->ranges;
	struct reel_cursor cursor;

	/* What cannot be read is not read later, either. */
	if (offset >= section->size || !reel_section_need(section, 0, section->size))
		return;
	cursor = reel_cursor(section->bytes + offset, (size_t)(section->size - offset));
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		if (!(is_new ? skip_new : skip_old)(&cursor, unit, is_location))
			break;
	}
	if (!reel_die_reader_work(&parts->reader, reel_cursor_offset(&cursor)))
		return;
	reel_address_ranges_add(kept, offset, offset + reel_cursor_offset(&cursor));
}

/* Keeps the header and the offsets before the lists of a unit, which begin at `base`. */
static void keep_offsets(const struct reel_unit *unit, const struct reel_section *section,
			 uint64_t base, struct reel_address_ranges *kept)
{
	unsigned size = unit->format.offset_size, header = size == 8 ? 20 : 12;
	uint64_t n;

	if (base < header || base > section->size || !reel_section_need(section, base - 4, 4))
		return;
	n = reel_load_target(section->bytes + base - 4, 4, unit->format.big_endian);
	if (n <= (section->size - base) / size)
		reel_address_ranges_add(kept, base - header, base + n * size);
}

static void keep_indexed(struct parts *parts, const struct reel_unit *unit, bool is_location,
			 uint64_t base, uint64_t index)
{
	const struct reel_section *section =
		is_location ? &parts->dwarf->location_lists : &parts->dwarf->range_lists;
	unsigned size = unit->format.offset_size;
	const uint8_t *bytes;
	uint64_t at;

	keep_offsets(unit, section, base,
		     is_location ? &parts->location_lists : &parts->range_lists);
	if (__builtin_mul_overflow(index, size, &at) || __builtin_add_overflow(at, base, &at))
		return;
	bytes = reel_section_need(section, at, size);
	if (bytes)
		keep_list(parts, unit, is_location,
			  base + reel_load_target(bytes, size, unit->format.big_endian));
}

/* ---- entries ------------------------------------------------------------------------ */

static void need_unit(struct parts *parts, const struct reel_unit *unit)
{
	bool *needed = &parts->needed[unit - parts->dwarf->units];

	parts->needs_more |= !*needed;
	*needed = true;
}

static bool is_location_list(uint16_t name)
{
	return name == DW_AT_location || name == DW_AT_frame_base || name == DW_AT_string_length ||
	       name == DW_AT_return_addr || name == DW_AT_static_link ||
	       name == DW_AT_use_location || name == DW_AT_segment ||
	       name == DW_AT_data_member_location || name == DW_AT_vtable_elem_location;
}

static void keep_string(struct parts *parts, const struct reel_unit *unit,
			const struct reel_form_value *value)
{
	const struct reel_section *str = &parts->dwarf->str;
	const char *string = reel_dwarf_string(parts->dwarf, unit, value);
	uint64_t at;

	if (!string || string == reel_long_name || value->form == DW_FORM_string ||
	    value->form == DW_FORM_line_strp)
		return;
	at = (uint64_t)((const uint8_t *)string - str->bytes);
	reel_address_ranges_add(&parts->str, at, at + strlen(string) + 1);
}

static bool is_of_call(const struct reel_full_die *die, uint16_t name)
{
	return name == DW_AT_call_origin ||
	       ((die->tag == DW_TAG_GNU_call_site || die->tag == DW_TAG_call_site) &&
		name == DW_AT_abstract_origin);
}

static bool has_code(struct parts *parts, struct reel_die_reference at)
{
	struct reel_full_die die;

	return reel_full_die_read(&parts->reader, at, &die) &&
	       (reel_full_die_get(&die, DW_AT_low_pc) || reel_full_die_get(&die, DW_AT_ranges));
}

/* A call's function is compared with functions at the addresses: either it is one itself, or it is
 * a declaration of one. */
static void keep_target(struct parts *parts, const struct reel_full_die *die, uint16_t name,
			const struct reel_form_value *value)
{
	struct reel_die_reference at;

	if (name == DW_AT_sibling || name == DW_AT_import ||
	    !reel_dwarf_reference(parts->dwarf, die->at.unit, value, &at) ||
	    at.dwarf != parts->dwarf || (is_of_call(die, name) && has_code(parts, at)))
		return;
	need_unit(parts, at.unit);
	reel_buffer_append(&parts->targets, &at.offset, sizeof(at.offset));
}

static void keep_attribute(struct parts *parts, const struct reel_full_die *die,
			   uint64_t lists_base, uint16_t name, const struct reel_form_value *value)
{
	struct reel_unit *unit = die->at.unit;

	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
	case DW_FORM_ref_addr:
		keep_target(parts, die, name, value);
		break;
	case DW_FORM_loclistx:
		keep_indexed(parts, unit, true, lists_base, value->number);
		break;
	case DW_FORM_rnglistx:
		keep_indexed(parts, unit, false, unit->range_lists_base, value->number);
		break;
	case DW_FORM_sec_offset:
	case DW_FORM_data4:
	case DW_FORM_data8:
		/* Numbers of these forms are offsets only before DWARF 4. */
		if (value->form != DW_FORM_sec_offset && unit->format.version >= 4)
			break;
		if (is_location_list(name))
			keep_list(parts, unit, true, value->number);
		else if (name == DW_AT_ranges)
			keep_list(parts, unit, false, value->number);
		break;
	default:
		keep_string(parts, unit, value);
	}
}

/* The offset after an entry and those below it; false: unreadable. */
static bool end_of(struct parts *parts, const struct reel_full_die *from, uint64_t *ret)
{
	struct reel_die_walk walk;
	struct reel_full_die die;
	unsigned depth;

	reel_die_walk_begin(&walk, &parts->reader, from->at);
	while (reel_die_walk_next(&walk, &die, &depth))
		;
	*ret = walk.at.offset;
	return walk.ended;
}

static size_t uleb_size(uint64_t value)
{
	size_t n = 1;

	while (value >>= 7)
		n++;
	return n;
}

/* Whether the entry is a function that is not needed, and large enough to become padding. */
static bool is_unneeded(struct parts *parts, const struct reel_full_die *die, uint64_t pad_code,
			uint64_t *end_ret)
{
	const struct reel_address_ranges *functions = &parts->functions;
	size_t i;

	if (die->tag != DW_TAG_subprogram)
		return false;
	if (!end_of(parts, die, end_ret)) {
		parts->failed = true;
		return false;
	}
	if (*end_ret - die->at.offset < uleb_size(pad_code) + 4)
		return false;
	i = reel_address_ranges_search(functions, die->at.offset);
	return i == functions->n || functions->all[i].begin >= *end_ret;
}

/* Decides about every entry of a unit. */
static void walk_unit(struct parts *parts, struct reel_unit *unit, uint64_t pad_code)
{
	uint64_t lists_base = unit->format.offset_size == 8 ? 20 : 12, end;
	struct reel_die_walk walk;
	struct reel_full_die die;
	unsigned depth;

	reel_die_walk_begin(&walk, &parts->reader,
			    (struct reel_die_reference){ parts->dwarf, unit, unit->die_offset });
	while (reel_die_walk_next(&walk, &die, &depth)) {
		if (!depth)
			reel_full_die_number(&die, DW_AT_loclists_base, &lists_base);
		if (is_unneeded(parts, &die, pad_code, &end)) {
			const struct pad pad = { die.at.offset, end, pad_code };

			reel_buffer_append(&parts->pads, &pad, sizeof(pad));
			walk.at.offset = end;
			walk.depth = depth;
			continue;
		}
		/* Further attributes would be lost. */
		parts->failed |= die.n == REEL_DIE_ATTRIBUTES_MAX;
		for (size_t i = 0; i < die.n; i++)
			keep_attribute(parts, &die, lists_base, die.attributes[i].name,
				       &die.attributes[i].value);
	}
	parts->failed |= !walk.ended || parts->reader.failed;
}

/* ---- abbreviations ------------------------------------------------------------------ */

static void append_pad_table_entry(struct reel_buffer *out, uint64_t code, uint64_t tag)
{
	reel_buffer_uleb(out, code);
	reel_buffer_uleb(out, tag);
	reel_buffer_u8(out, DW_CHILDREN_no);
	reel_buffer_uleb(out, PAD_ATTRIBUTE);
	reel_buffer_uleb(out, DW_FORM_block4);
	reel_buffer_u8(out, 0);
	reel_buffer_u8(out, 0);
}

/* Copies the unit's table, with an entry for padding; once for all units that share it. */
static bool copy_table(struct parts *parts, const struct reel_unit *unit, struct table *ret)
{
	const struct reel_section *section = &parts->dwarf->abbreviations;
	const struct table *tables = (const struct table *)parts->tables.bytes;
	uint64_t code, last = 0, offset = unit->abbreviations_offset;
	struct reel_cursor cursor;
	size_t size = 0;

	for (size_t i = 0; i < parts->tables.size / sizeof(*tables); i++) {
		*ret = tables[i];
		if (ret->old == offset)
			return true;
	}
	if (offset >= section->size || !reel_section_need(section, 0, section->size))
		return false;
	cursor = reel_cursor(section->bytes + offset, (size_t)(section->size - offset));
	while ((code = reel_cursor_uleb(&cursor))) {
		last = code > last ? code : last;
		reel_cursor_uleb(&cursor);
		reel_cursor_u8(&cursor);
		reel_abbreviation_skip_attributes(&cursor);
		size = reel_cursor_offset(&cursor);
	}
	if (cursor.failed || last >= UINT32_MAX)
		return false;
	*ret = (struct table){ offset, parts->abbreviations.size, last + 1 };
	reel_buffer_append(&parts->abbreviations, section->bytes + offset, size);
	append_pad_table_entry(&parts->abbreviations, ret->pad_code, PAD_TAG);
	reel_buffer_u8(&parts->abbreviations, 0);
	reel_buffer_append(&parts->tables, ret, sizeof(*ret));
	return true;
}

/* ---- units -------------------------------------------------------------------------- */

static struct reel_error *unsupported(const char *what)
{
	return reel_error_create(REEL_ERROR_UNSUPPORTED, "values of its variables are not kept: %s",
				 what);
}

static struct reel_error *find_function(struct parts *parts, struct reel_debug_info *info,
					uint64_t address)
{
	struct reel_debug_place place;
	uint64_t at;

	TRY(reel_debug_info_place(info, address, &place));
	if (!place.unit || !place.chain->n)
		return NULL;
	if (place.dwarf->skeletons)
		return unsupported("its debug information is split (-gsplit-dwarf)");
	if (!parts->dwarf) {
		parts->dwarf = place.dwarf;
		parts->needed = calloc(parts->dwarf->n_units + 1, sizeof(bool));
		parts->walked = calloc(parts->dwarf->n_units + 1, sizeof(bool));
		if (!parts->needed || !parts->walked)
			return reel_error_no_memory();
	}
	need_unit(parts, place.unit);
	at = place.chain->links[place.chain->n - 1].die_offset;
	reel_address_ranges_add(&parts->functions, at, at + 1);
	return NULL;
}

static struct reel_error *find_functions(struct parts *parts, struct reel_debug_info *info,
					 const struct reel_address_ranges *addresses)
{
	for (size_t i = 0; i < addresses->n; i++) {
		for (uint64_t at = addresses->all[i].begin; at < addresses->all[i].end; at++)
			TRY(find_function(parts, info, at));
	}
	reel_address_ranges_tidy(&parts->functions);
	return NULL;
}

static bool is_short_of_memory(const struct parts *parts)
{
	return parts->pads.failed || parts->targets.failed || parts->tables.failed ||
	       parts->abbreviations.failed || parts->functions.failed || parts->str.failed ||
	       parts->old_locations.failed || parts->location_lists.failed ||
	       parts->ranges.failed || parts->range_lists.failed ||
	       reel_dwarf_is_short_of_memory(parts->dwarf);
}

static void walk_needed(struct parts *parts)
{
	while (parts->needs_more) {
		parts->needs_more = false;
		for (size_t i = 0; i < parts->dwarf->n_units && !parts->failed; i++) {
			struct reel_unit *unit = &parts->dwarf->units[i];
			struct table table;

			if (!parts->needed[i] || parts->walked[i])
				continue;
			parts->walked[i] = true;
			parts->failed |= !copy_table(parts, unit, &table);
			if (!parts->failed)
				walk_unit(parts, unit, table.pad_code);
		}
	}
}

static int compare_pads(const void *a, const void *b)
{
	const struct pad *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Needs functions that others refer to, such as to types in them; false: there are none. */
static bool add_functions(struct parts *parts)
{
	struct pad *pads = (struct pad *)parts->pads.bytes;
	size_t n = parts->pads.size / sizeof(*pads), before = parts->functions.n;

	if (n)
		qsort(pads, n, sizeof(*pads), compare_pads);
	for (size_t i = 0; i < parts->targets.size / sizeof(uint64_t); i++) {
		uint64_t target = ((const uint64_t *)parts->targets.bytes)[i];
		size_t low = REEL_PARTITION_POINT(n, j, pads[j].begin <= target);

		if (low && target < pads[low - 1].end)
			reel_address_ranges_add(&parts->functions, target, target + 1);
	}
	reel_address_ranges_tidy(&parts->functions);
	return parts->functions.n > before;
}

static struct reel_error *walk_units(struct parts *parts)
{
	append_pad_table_entry(&parts->abbreviations, 1, DW_TAG_compile_unit);
	reel_buffer_u8(&parts->abbreviations, 0);
	do {
		parts->pads.size = parts->targets.size = 0;
		memset(parts->walked, 0, parts->dwarf->n_units);
		parts->needs_more = true;
		walk_needed(parts);
	} while (!parts->failed && !is_short_of_memory(parts) && add_functions(parts));
	if (is_short_of_memory(parts))
		return reel_error_no_memory();
	return parts->failed ? unsupported("its debug information is malformed") : NULL;
}

/* ---- writing ------------------------------------------------------------------------ */

static uint8_t *put_pad(uint8_t *at, uint64_t code, uint64_t size, bool big_endian)
{
	memset(at, 0, size);
	size -= uleb_size(code) + 4;
	for (; code >= 0x80; code >>= 7)
		*at++ = (uint8_t)(code | 0x80);
	*at++ = (uint8_t)code;
	reel_store_target(at, 4, big_endian, size);
	return at;
}

/* In place of a unit: one of DWARF 4 that has only padding. */
static void put_pad_unit(uint8_t *at, uint64_t size, bool big_endian)
{
	memset(at, 0, size);
	reel_store_target(at, 4, big_endian, size - 4);
	reel_store_target(at + 4, 2, big_endian, 4);
	at[10] = 8;
	put_pad(at + 11, 1, size - 11, big_endian);
}

static uint64_t new_table(const struct parts *parts, uint64_t old)
{
	const struct table *tables = (const struct table *)parts->tables.bytes;

	for (size_t i = 0; i < parts->tables.size / sizeof(*tables); i++) {
		if (tables[i].old == old)
			return tables[i].new;
	}
	return 0;
}

/* The offset of the abbreviations' offset in a unit's header. */
static uint64_t table_place(const struct reel_unit *unit)
{
	unsigned length = unit->format.offset_size == 8 ? 12 : 4;

	return unit->offset + length + (unit->format.version >= 5 ? 4 : 2);
}

/* The end of the unneeded units from number `i` on, as far as they are adjacent. */
static uint64_t end_of_unneeded(const struct parts *parts, size_t *i)
{
	const struct reel_unit *units = parts->dwarf->units;
	uint64_t end = units[*i].end;

	while (*i + 1 < parts->dwarf->n_units && !parts->needed[*i + 1] &&
	       units[*i + 1].offset == end)
		end = units[++*i].end;
	return end;
}

static bool put_info(const struct parts *parts, struct reel_buffer *out)
{
	const struct reel_section *info = &parts->dwarf->info;
	const struct pad *pads = (const struct pad *)parts->pads.bytes;
	bool big_endian = parts->dwarf->big_endian;
	const uint8_t *bytes = reel_section_need(info, 0, info->size);
	uint8_t *to = bytes ? reel_buffer_reserve(out, (size_t)info->size) : NULL;

	if (!to)
		return false;
	memcpy(to, bytes, info->size);
	for (size_t i = 0; i < parts->dwarf->n_units; i++) {
		const struct reel_unit *unit = &parts->dwarf->units[i];
		uint64_t end;

		if (parts->needed[i]) {
			reel_store_target(to + table_place(unit), unit->format.offset_size,
					  big_endian, new_table(parts, unit->abbreviations_offset));
			continue;
		}
		end = end_of_unneeded(parts, &i);
		if (end - unit->offset >= PAD_UNIT_MIN)
			put_pad_unit(to + unit->offset, end - unit->offset, big_endian);
	}
	for (size_t i = 0; i < parts->pads.size / sizeof(*pads); i++)
		put_pad(to + pads[i].begin, pads[i].code, pads[i].end - pads[i].begin, big_endian);
	out->size += info->size;
	return true;
}

static struct reel_buffer *append_part(struct reel_debug_parts *ret, const char *name)
{
	struct reel_debug_part *part = &ret->all[ret->n++];

	part->name = name;
	return &part->bytes;
}

/* Adds a section; of its bytes, those in `kept`, all if it is NULL. */
static bool add_section(struct reel_debug_parts *ret, const char *name,
			const struct reel_section *section, struct reel_address_ranges *kept)
{
	const uint8_t *bytes = reel_section_need(section, 0, section->size);
	struct reel_buffer *out;
	uint8_t *to;

	if (kept)
		reel_address_ranges_tidy(kept);
	if (!section->size || (kept && !kept->n))
		return true;
	out = append_part(ret, name);
	to = bytes ? reel_buffer_reserve(out, (size_t)section->size) : NULL;
	if (!to)
		return false;
	memset(to, 0, section->size);
	if (!kept)
		memcpy(to, bytes, section->size);
	for (size_t i = 0; kept && i < kept->n; i++)
		memcpy(to + kept->all[i].begin, bytes + kept->all[i].begin,
		       kept->all[i].end - kept->all[i].begin);
	out->size += section->size;
	return true;
}

/* What is read must fit into memory, and what is written into an image. */
static bool is_too_large(const struct reel_dwarf *dwarf)
{
	uint64_t limit = REEL_EMBEDDED_EXPANDED_MAX;
	const uint64_t sizes[] = { dwarf->info.size,	   dwarf->abbreviations.size,
				   dwarf->str.size,	   dwarf->str_offsets.size,
				   dwarf->addresses.size,  dwarf->old_locations.size,
				   dwarf->ranges.size,	   dwarf->location_lists.size,
				   dwarf->range_lists.size };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		if (sizes[i] > limit)
			return true;
		limit -= sizes[i];
	}
	return false;
}

/* Gaps of fewer zeros cost more than the zeros. */
#define GAP 32

/* The next piece from `*at` on; the last byte is in a piece, too. */
static bool next_piece(const struct reel_buffer *bytes, size_t *at, struct reel_address_range *ret)
{
	size_t begin = *at, end, zeros = 0;

	while (begin + 1 < bytes->size && !bytes->bytes[begin])
		begin++;
	if (begin >= bytes->size)
		return false;
	for (end = begin; end < bytes->size && zeros < GAP; end++)
		zeros = bytes->bytes[end] ? 0 : zeros + 1;
	*ret = (struct reel_address_range){ begin, end < bytes->size ? end - zeros : end };
	*at = end;
	return true;
}

static void put_number(struct reel_buffer *out, bool big_endian, uint64_t number)
{
	uint8_t bytes[8];

	reel_store_target(bytes, 8, big_endian, number);
	reel_buffer_append(out, bytes, sizeof(bytes));
}

/* Replaces the bytes by pieces without the zeros between. */
static bool make_pieces(struct reel_buffer *bytes, bool big_endian)
{
	struct reel_address_ranges pieces = { 0 };
	struct reel_buffer packed = { 0 };
	struct reel_address_range piece;
	size_t at = 0;
	bool failed;

	while (next_piece(bytes, &at, &piece))
		reel_address_ranges_add(&pieces, piece.begin, piece.end);
	reel_address_ranges_tidy(&pieces);
	put_number(&packed, big_endian, pieces.n);
	for (size_t i = 0; i < pieces.n; i++) {
		put_number(&packed, big_endian, pieces.all[i].begin);
		put_number(&packed, big_endian, pieces.all[i].end - pieces.all[i].begin);
	}
	for (size_t i = 0; i < pieces.n; i++)
		reel_buffer_append(&packed, bytes->bytes + pieces.all[i].begin,
				   pieces.all[i].end - pieces.all[i].begin);
	failed = pieces.failed || packed.failed;
	reel_address_ranges_free(&pieces);
	reel_buffer_free(bytes);
	*bytes = packed;
	return !failed;
}

static struct reel_error *write_parts(struct parts *parts, struct reel_debug_parts *ret)
{
	const struct reel_dwarf *dwarf = parts->dwarf;
	bool ok = put_info(parts, append_part(ret, REEL_EMBEDDED_PREFIX ".debug_info"));

	*append_part(ret, REEL_EMBEDDED_PREFIX ".debug_abbrev") = parts->abbreviations;
	parts->abbreviations = (struct reel_buffer){ 0 };
	ok = ok && add_section(ret, REEL_EMBEDDED_PREFIX ".debug_str", &dwarf->str, &parts->str) &&
	     add_section(ret, REEL_EMBEDDED_PREFIX ".debug_str_offsets", &dwarf->str_offsets,
			 NULL) &&
	     add_section(ret, REEL_EMBEDDED_PREFIX ".debug_addr", &dwarf->addresses, NULL) &&
	     add_section(ret, REEL_EMBEDDED_PREFIX ".debug_loc", &dwarf->old_locations,
			 &parts->old_locations) &&
	     add_section(ret, REEL_EMBEDDED_PREFIX ".debug_ranges", &dwarf->ranges,
			 &parts->ranges) &&
	     add_section(ret, REEL_EMBEDDED_PREFIX ".debug_loclists", &dwarf->location_lists,
			 &parts->location_lists) &&
	     add_section(ret, REEL_EMBEDDED_PREFIX ".debug_rnglists", &dwarf->range_lists,
			 &parts->range_lists);
	for (size_t i = 0; ok && i < ret->n; i++)
		ok = make_pieces(&ret->all[i].bytes, dwarf->big_endian);
	return ok ? NULL : reel_error_no_memory();
}

static struct reel_error *make(struct parts *parts, struct reel_debug_info *info,
			       const struct reel_address_ranges *addresses,
			       struct reel_debug_parts *ret)
{
	TRY(find_functions(parts, info, addresses));
	if (!parts->dwarf)
		return NULL;
	if (parts->dwarf->alternate)
		return unsupported("parts of its debug information are in another file (dwz)");
	if (is_too_large(parts->dwarf))
		return unsupported("its debug information is too large");
	/* Each round reads what is needed once, the rest twice, with their kinds and lists. */
	parts->reader.work_left = 64 * (uint64_t)REEL_EMBEDDED_EXPANDED_MAX;
	TRY(walk_units(parts));
	return write_parts(parts, ret);
}

struct reel_error *reel_debug_parts_make(struct reel_debug_info *info,
					 const struct reel_address_ranges *addresses,
					 struct reel_debug_parts *ret)
{
	_cleanup_parts_ struct parts parts = { 0 };
	struct reel_error *error;

	*ret = (struct reel_debug_parts){ 0 };
	TRY(reel_debug_info_open_locations(info));
	error = make(&parts, info, addresses, ret);
	if (error)
		reel_debug_parts_free(ret);
	return error;
}

void reel_debug_parts_free(struct reel_debug_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		reel_buffer_free(&parts->all[i].bytes);
	parts->n = 0;
}
