/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/dwarf_cursor.h"
#include "replay/dwarf/dwarf_file.h"

/* A unit's own DIE rarely has more than 100 bytes. */
#define HEAD_SIZE 512
/* Limit of all reads, as a multiple of the section's size: a few times suffice for compilers'
 * files. */
#define TIMES_READ	  16
#define TIMES_READ_RANGES 8
#define READ_FREE	  (1u << 20)
/* Zeros are empty units: padding, or a hole of gigabytes. */
#define UNREADABLE_MAX 65536

/* ---- opening ---------------------------------------------------------------- */

static const struct {
	const char *name;
	size_t offset; /* in struct reel_dwarf */
} sections[] = {
	{ ".debug_info", offsetof(struct reel_dwarf, info) },
	{ ".debug_abbrev", offsetof(struct reel_dwarf, abbreviations) },
	{ ".debug_line", offsetof(struct reel_dwarf, line) },
	{ ".debug_line_str", offsetof(struct reel_dwarf, line_str) },
	{ ".debug_str", offsetof(struct reel_dwarf, str) },
	{ ".debug_str_offsets", offsetof(struct reel_dwarf, str_offsets) },
	{ ".debug_addr", offsetof(struct reel_dwarf, addresses) },
	{ ".debug_ranges", offsetof(struct reel_dwarf, ranges) },
	{ ".debug_rnglists", offsetof(struct reel_dwarf, range_lists) },
	{ ".debug_aranges", offsetof(struct reel_dwarf, address_sets) },
	{ ".debug_loc", offsetof(struct reel_dwarf, old_locations) },
	{ ".debug_loclists", offsetof(struct reel_dwarf, location_lists) },
};
#define N_SECTIONS (sizeof(sections) / sizeof(*sections))
#define LOCATIONS  (N_SECTIONS - 2) /* from here on */

static struct reel_section *section(const struct reel_dwarf *dwarf, size_t i)
{
	return (struct reel_section *)((char *)dwarf + sections[i].offset);
}

void reel_dwarf_close(struct reel_dwarf *dwarf)
{
	for (size_t i = 0; i < dwarf->cache.index.n; i++)
		reel_abbreviations_destroy(dwarf->cache.all[i].made);
	free(dwarf->cache.all);
	reel_hash_index_free(&dwarf->cache.index);
	free(dwarf->units);
	reel_texts_destroy(dwarf->texts);
	for (size_t i = 0; !dwarf->skeletons && i < N_SECTIONS; i++)
		reel_section_close(section(dwarf, i));
	free(dwarf);
}

static struct reel_error *open_sections(struct reel_elf_file *file, struct reel_dwarf *dwarf)
{
	for (size_t i = 0; i < LOCATIONS; i++)
		TRY(reel_elf_file_open_section(file, sections[i].name, section(dwarf, i)));
	dwarf->locations_from = file;
	if (dwarf->info.size && dwarf->abbreviations.size)
		return NULL;
	TRY(reel_elf_file_section_error(file));
	return reel_error_create(REEL_ERROR_CORRUPT, "%s: cannot read .debug_info or .debug_abbrev",
				 reel_elf_file_path(file));
}

struct reel_error *reel_dwarf_open_locations(struct reel_dwarf *dwarf)
{
	struct reel_elf_file *file = dwarf->locations_from;

	dwarf->locations_from = NULL;
	for (size_t i = LOCATIONS; file && i < N_SECTIONS; i++)
		TRY(reel_elf_file_open_section(file, sections[i].name, section(dwarf, i)));
	return dwarf->alternate ? reel_dwarf_open_locations(dwarf->alternate) : NULL;
}

/* ---- values --------------------------------------------------------------------- */

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

struct reel_unit *reel_dwarf_unit(const struct reel_dwarf *dwarf, uint64_t offset)
{
	size_t low = REEL_PARTITION_POINT(dwarf->n_units, i, dwarf->units[i].offset <= offset);

	return low && offset < dwarf->units[low - 1].end ? &dwarf->units[low - 1] : NULL;
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

/* ---- abbreviations ------------------------------------------------------------ */

static bool same_format(const struct reel_unit_format *a, const struct reel_unit_format *b)
{
	return a->version == b->version && a->address_size == b->address_size &&
	       a->offset_size == b->offset_size;
}

/* The readable part of .debug_abbrev from an offset on; size 0: none. */
static struct reel_section table_at(struct reel_dwarf *dwarf, uint64_t offset)
{
	struct reel_section table = { 0 };

	if (offset < dwarf->abbreviations.size)
		table.size = dwarf->abbreviations.size - offset;
	if (table.size > dwarf->abbreviations_left) {
		table.size = dwarf->abbreviations_left;
		reel_dwarf_charged(dwarf)->exhausted |= !table.size;
	}
	table.bytes = reel_section_need(&dwarf->abbreviations, offset, table.size);
	if (!table.bytes)
		table.size = 0;
	return table;
}

/* The table of a unit; NULL if none. */
static struct reel_error *find_abbreviations(struct reel_dwarf *dwarf, const struct reel_unit *unit,
					     const struct reel_abbreviations **ret)
{
	struct reel_abbreviation_cache *cache = &dwarf->cache;
	uint64_t offset = unit->abbreviations_offset;
	uint32_t number =
		REEL_HASH_FIND(&cache->index, offset, i,
			       cache->all[i].offset == offset &&
				       same_format(&cache->all[i].made->format, &unit->format));
	struct reel_abbreviations *made;
	struct reel_section table;
	size_t size;

	*ret = NULL;
	if (number != REEL_HASH_NONE) {
		*ret = cache->all[number].made;
		return NULL;
	}
	table = table_at(dwarf, offset);
	if (!table.size)
		return NULL;
	TRY(reel_abbreviations_create(table.bytes, (size_t)table.size, &unit->format, &made,
				      &size));
	dwarf->abbreviations_left -= size;
	number = (uint32_t)cache->index.n;
	if (!reel_array_reserve(&cache->all, number, &cache->capacity, sizeof(*cache->all)) ||
	    !reel_hash_index_add(&cache->index, offset, number)) {
		reel_abbreviations_destroy(made);
		return reel_error_no_memory();
	}
	cache->all[number] = (struct reel_cached_abbreviations){ offset, made };
	*ret = made;
	return NULL;
}

/* ---- units ---------------------------------------------------------------------- */

/*
 * A unit's header (DWARF 5, 7.5.1) at `offset`.  False: the next unit cannot be found.  An
 * unreadable unit has die_offset 0.
 */
static bool read_header(const struct reel_dwarf *dwarf, uint64_t offset, struct reel_unit *unit)
{
	bool big_endian = dwarf->big_endian;
	struct reel_unit_format *format = &unit->format;
	uint8_t bytes[40], type = DW_UT_compile;
	struct reel_cursor cursor =
		reel_cursor(bytes, reel_section_copy(&dwarf->info, offset, sizeof(bytes), bytes));
	uint64_t size = reel_cursor_target(&cursor, 4, big_endian);

	format->big_endian = big_endian;
	format->offset_size = 4;
	if (size == UINT32_MAX) {
		format->offset_size = 8;
		size = reel_cursor_target(&cursor, 8, big_endian);
	}
	unit->offset = offset;
	if (cursor.failed || size > dwarf->info.size - offset - reel_cursor_offset(&cursor))
		return false;
	unit->end = offset + reel_cursor_offset(&cursor) + size;
	format->version = (uint16_t)reel_cursor_target(&cursor, 2, big_endian);
	if (format->version >= 5) {
		type = reel_cursor_u8(&cursor);
		format->address_size = reel_cursor_u8(&cursor);
	}
	unit->abbreviations_offset = reel_cursor_target(&cursor, format->offset_size, big_endian);
	if (format->version < 5)
		format->address_size = reel_cursor_u8(&cursor);
	if (type == DW_UT_skeleton || type == DW_UT_split_compile)
		unit->dwo_id = reel_cursor_target(&cursor, 8, big_endian);
	else if (type == DW_UT_type || type == DW_UT_split_type)
		reel_cursor_take(&cursor, 8 + format->offset_size); /* signature, type's offset */
	if (!cursor.failed && format->version >= 2 && format->version <= 5 &&
	    (format->address_size == 2 || format->address_size == 4 || format->address_size == 8) &&
	    offset + reel_cursor_offset(&cursor) < unit->end)
		unit->die_offset = offset + reel_cursor_offset(&cursor);
	return true;
}

static uint64_t constant_or(const struct reel_form_value *value, uint64_t otherwise)
{
	uint64_t result;

	return reel_dwarf_constant(value, &result) ? result : otherwise;
}

/* Default bases for units without the attribute: right after the first header. */
static void read_bases(const struct reel_dwarf *dwarf, struct reel_unit *unit,
		       const struct reel_die_values *values)
{
	bool wide = unit->format.offset_size == 8, headers = unit->format.version >= 5;
	const struct reel_form_value *at = values->at;

	unit->string_offsets_base = constant_or(&at[REEL_AT_STR_OFFSETS_BASE], !headers ? 0
									       : wide	? 16
											: 8);
	unit->addresses_base = constant_or(&at[REEL_AT_ADDR_BASE], !headers ? 0 : wide ? 16 : 8);
	unit->range_lists_base = constant_or(&at[REEL_AT_RNGLISTS_BASE], !headers ? 0
									 : wide	  ? 20
										  : 12);
	unit->old_ranges_base = constant_or(&at[REEL_AT_GNU_RANGES_BASE], 0);
	if (!headers)
		unit->dwo_id = constant_or(&at[REEL_AT_GNU_DWO_ID], 0);
	unit->language = (uint16_t)constant_or(&at[REEL_AT_LANGUAGE], 0);
	if (!reel_dwarf_address(dwarf, unit, &at[REEL_AT_LOW_PC], &unit->base_address) &&
	    !reel_dwarf_address(dwarf, unit, &at[REEL_AT_ENTRY_PC], &unit->base_address))
		unit->base_address = 0;
}

/*
 * Reads a unit's own DIE without loading the whole unit or keeping its abbreviations: most units
 * are never needed.  *fine_ret is false if the unit has to be loaded for it.
 */
static struct reel_error *read_head(struct reel_dwarf *dwarf, struct reel_unit *unit,
				    struct reel_die_values *ret, bool *fine_ret)
{
	struct reel_section table = table_at(dwarf, unit->abbreviations_offset);
	uint64_t left = unit->end - unit->die_offset;
	struct reel_abbreviations *abbreviations;
	struct reel_cursor cursor;
	uint8_t head[HEAD_SIZE];
	uint64_t code;
	size_t size;

	*fine_ret = false;
	size = reel_section_copy(&dwarf->info, unit->die_offset,
				 left < sizeof(head) ? (size_t)left : sizeof(head), head);
	cursor = reel_cursor(head, size);
	code = reel_cursor_uleb(&cursor);
	if (!table.size || !code)
		return NULL;
	TRY(reel_abbreviations_create_one(table.bytes, (size_t)table.size, &unit->format, code,
					  &abbreviations, &size));
	dwarf->abbreviations_left -= size;
	*fine_ret = reel_die_read(abbreviations, head, cursor.end, ret, &unit->tag);
	reel_abbreviations_destroy(abbreviations);
	return NULL;
}

/* `shared`: the previous unit uses the same abbreviations, so keep them. */
static struct reel_error *read_unit(struct reel_dwarf *dwarf, struct reel_unit *unit, bool shared,
				    struct reel_die_values *values)
{
	bool fine = false;

	if (!shared)
		TRY(read_head(dwarf, unit, values, &fine));
	if (!fine && reel_dwarf_load(dwarf, unit))
		fine = reel_die_read(unit->abbreviations, dwarf->info.bytes + unit->die_offset,
				     dwarf->info.bytes + unit->end, values, &unit->tag);
	if (dwarf->out_of_memory)
		return reel_error_no_memory();
	if (fine)
		read_bases(dwarf, unit, values);
	else
		unit->tag = 0;
	return NULL;
}

static struct reel_error *add_unit(struct reel_dwarf *dwarf, size_t *capacity,
				   const struct reel_unit *unit)
{
	if (dwarf->n_units == UINT32_MAX)
		return reel_error_create(REEL_ERROR_UNSUPPORTED, "more than 2^32 units");
	if (!reel_array_reserve(&dwarf->units, dwarf->n_units, capacity, sizeof(*dwarf->units)))
		return reel_error_no_memory();
	dwarf->units[dwarf->n_units++] = *unit;
	return NULL;
}

static struct reel_error *read_units(struct reel_dwarf *dwarf,
				     const struct reel_unit_visitor *visitor)
{
	uint64_t offset = 0, last_abbreviations = UINT64_MAX;
	size_t capacity = 0, n_unreadable = 0;

	while (offset < dwarf->info.size) {
		struct reel_die_values values;
		struct reel_unit unit = { 0 };

		if (!read_header(dwarf, offset, &unit))
			break;
		offset = unit.end;
		if (!unit.die_offset && ++n_unreadable > UNREADABLE_MAX)
			break;
		if (!unit.die_offset)
			continue;
		TRY(read_unit(dwarf, &unit, unit.abbreviations_offset == last_abbreviations,
			      &values));
		last_abbreviations = unit.abbreviations_offset;
		TRY(add_unit(dwarf, &capacity, &unit));
		if (visitor && unit.tag)
			TRY(visitor->visit(visitor->context, dwarf,
					   &dwarf->units[dwarf->n_units - 1], &values));
	}
	return reel_dwarf_is_short_of_memory(dwarf) ? reel_error_no_memory() : NULL;
}

static struct reel_error *open_dwarf(struct reel_elf_file *file,
				     const struct reel_unit_visitor *visitor,
				     struct reel_dwarf *dwarf)
{
	dwarf->big_endian = reel_elf_file_big_endian(file);
	TRY(open_sections(file, dwarf));
	dwarf->abbreviations_left = TIMES_READ * dwarf->abbreviations.size;
	dwarf->ranges_left = TIMES_READ_RANGES * (dwarf->ranges.size + dwarf->range_lists.size);
	dwarf->work_left = TIMES_READ * (dwarf->info.size + dwarf->line.size) + READ_FREE;
	return read_units(dwarf, visitor);
}

struct reel_error *reel_dwarf_open(struct reel_elf_file *file,
				   const struct reel_unit_visitor *visitor, struct reel_dwarf **ret)
{
	struct reel_dwarf *dwarf = calloc(1, sizeof(*dwarf));
	struct reel_error *error;

	if (!dwarf)
		return reel_error_no_memory();
	error = open_dwarf(file, visitor, dwarf);
	if (error) {
		reel_dwarf_close(dwarf);
		return error;
	}
	*ret = dwarf;
	return NULL;
}

struct reel_error *reel_dwarf_open_split(struct reel_dwarf *skeletons,
					 const struct reel_dwarf *sections, struct reel_dwarf **ret)
{
	struct reel_dwarf *dwarf = calloc(1, sizeof(*dwarf));
	struct reel_error *error;

	if (!dwarf)
		return reel_error_no_memory();
	*dwarf = (struct reel_dwarf){
		.big_endian = skeletons->big_endian,
		.info = sections->info,
		.abbreviations = sections->abbreviations,
		.str = sections->str,
		.str_offsets = sections->str_offsets,
		.range_lists = sections->range_lists,
		.old_locations = sections->old_locations,
		.location_lists = sections->location_lists,
		.abbreviations_left = TIMES_READ * sections->abbreviations.size,
		.skeletons = skeletons,
	};
	skeletons->work_left += TIMES_READ * dwarf->info.size;
	skeletons->ranges_left += TIMES_READ_RANGES * dwarf->range_lists.size;
	error = read_units(dwarf, NULL);
	if (error) {
		reel_dwarf_close(dwarf);
		return error;
	}
	*ret = dwarf;
	return NULL;
}

bool reel_dwarf_work_beyond(struct reel_dwarf *dwarf, uint64_t size, uint64_t usual)
{
	return size <= usual || reel_dwarf_work(dwarf, size - usual);
}

bool reel_dwarf_is_short_of_memory(const struct reel_dwarf *dwarf)
{
	for (size_t i = 0; i < N_SECTIONS; i++) {
		if (reel_section_is_short_of_memory(section(dwarf, i)))
			return true;
	}
	return dwarf->out_of_memory;
}

bool reel_dwarf_work(struct reel_dwarf *dwarf, uint64_t size)
{
	struct reel_dwarf *charged = reel_dwarf_charged(dwarf);

	if (size <= charged->work_left) {
		charged->work_left -= size;
		return true;
	}
	charged->exhausted = true;
	return false;
}

bool reel_dwarf_load(struct reel_dwarf *dwarf, struct reel_unit *unit)
{
	struct reel_error *error;

	if (unit->abbreviations)
		return true;
	if (!reel_section_need(&dwarf->info, unit->offset, unit->end - unit->offset))
		return false;
	error = find_abbreviations(dwarf, unit, &unit->abbreviations);
	if (error) {
		dwarf->out_of_memory = true;
		reel_error_destroy(error);
	}
	return unit->abbreviations;
}

bool reel_dwarf_die(struct reel_dwarf *dwarf, struct reel_unit *unit, uint64_t offset,
		    struct reel_die_values *ret)
{
	uint16_t tag;

	if (offset < unit->die_offset || offset >= unit->end || !reel_dwarf_load(dwarf, unit) ||
	    !reel_die_read(unit->abbreviations, dwarf->info.bytes + offset,
			   dwarf->info.bytes + unit->end, ret, &tag))
		return false;
	return reel_dwarf_work_beyond(dwarf, ret->size, HEAD_SIZE);
}
