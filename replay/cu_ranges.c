/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "replay/cu_ranges.h"
#include "replay/dwarf_cursor.h"

/*
 * Lists of ranges may be shared between DIEs, so a small hostile file can stand for any
 * number of ranges.  One map takes this many at most.
 */
#define RANGES_MAX (8u << 20)

void reel_cu_ranges_free(struct reel_cu_ranges *cu_ranges)
{
	reel_range_map_free(&cu_ranges->ranges);
	free(cu_ranges->units);
	*cu_ranges = (struct reel_cu_ranges){ 0 };
}

struct reel_error *reel_add_die_ranges(struct reel_range_map *map, Dwarf_Die *die,
				       uint64_t text_begin, uint64_t text_end, uint32_t value,
				       uint32_t priority, size_t *n_ret)
{
	Dwarf_Addr base = 0, begin, end;
	ptrdiff_t at = 0;

	*n_ret = 0;
	while (map->n < RANGES_MAX && (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		if (begin < text_begin || begin >= text_end || begin >= end)
			continue;
		if (!reel_range_map_add(map, begin, end, value, priority))
			return reel_error_no_memory();
		++*n_ret;
	}
	return NULL;
}

static struct reel_error *add_unit(struct reel_cu_ranges *cu_ranges, size_t *capacity,
				   const struct reel_unit *unit)
{
	if (cu_ranges->n == UINT32_MAX)
		return reel_error_create(REEL_ERROR_UNSUPPORTED, "more than 2^32 units");
	if (cu_ranges->n == *capacity) {
		size_t wanted = *capacity ? *capacity * 2 : 64;
		struct reel_unit *units =
			reallocarray(cu_ranges->units, wanted, sizeof(*cu_ranges->units));

		if (!units)
			return reel_error_no_memory();
		cu_ranges->units = units;
		*capacity = wanted;
	}
	cu_ranges->units[cu_ranges->n++] = *unit;
	return NULL;
}

/* Lists the units with code, in the order of .debug_info, which is that of their offsets. */
static struct reel_error *read_units(Dwarf *dwarf, bool big_endian, uint64_t text_begin,
				     uint64_t text_end, struct reel_cu_ranges *ret,
				     bool *incomplete_ret)
{
	struct reel_error *error = NULL;
	size_t capacity = 0, n_ranges;
	Dwarf_Off offset = 0, next;

	*incomplete_ret = false;
	for (; !error; offset = next) {
		struct reel_unit unit = { .offset = offset, .format.big_endian = big_endian };
		Dwarf_Off abbreviations;
		size_t header_size;
		Dwarf_Die die;
		int tag;

		/* What follows a unit whose header cannot be read cannot be found. */
		if (dwarf_next_unit(dwarf, offset, &next, &header_size, &unit.format.version,
				    &abbreviations, &unit.format.address_size,
				    &unit.format.offset_size, NULL, NULL) != 0 ||
		    next <= offset)
			break;
		if (!dwarf_offdie(dwarf, offset + header_size, &die))
			continue;
		tag = dwarf_tag(&die);
		if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
			continue;
		unit.die_offset = offset + header_size;
		unit.end = next;
		unit.abbreviations_offset = abbreviations;
		error = reel_add_die_ranges(&ret->ranges, &die, text_begin, text_end,
					    (uint32_t)ret->n, (uint32_t)ret->n, &n_ranges);
		if (error)
			break;
		/* Without any address it is a declaration of types, or left to .debug_aranges. */
		if (!n_ranges)
			*incomplete_ret = true;
		error = add_unit(ret, &capacity, &unit);
	}
	return error;
}

static bool unit_index(const struct reel_cu_ranges *cu_ranges, uint64_t offset, uint32_t *ret)
{
	size_t low = 0, high = cu_ranges->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cu_ranges->units[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	*ret = (uint32_t)low;
	return low < cu_ranges->n && cu_ranges->units[low].offset == offset;
}

/* One unit's set of .debug_aranges (DWARF 5, 6.1.2), behind its length. */
static struct reel_error *read_address_set(struct reel_cursor set, size_t header_size,
					   unsigned offset_size, bool big_endian,
					   const bool *complete, uint64_t text_begin,
					   uint64_t text_end, struct reel_cu_ranges *ret)
{
	uint64_t version = reel_cursor_target(&set, 2, big_endian);
	uint64_t unit_offset = reel_cursor_target(&set, offset_size, big_endian);
	uint64_t address_size = reel_cursor_target(&set, 1, big_endian);
	uint64_t segment_size = reel_cursor_target(&set, 1, big_endian);
	size_t taken = header_size + reel_cursor_offset(&set), pair = 2 * (size_t)address_size;
	uint32_t index;

	if (set.failed || version != 2 || segment_size ||
	    (address_size != 2 && address_size != 4 && address_size != 8) ||
	    !unit_index(ret, unit_offset, &index) || complete[index])
		return NULL;
	/* Pairs are aligned to their size, counted from the set's start. */
	reel_cursor_take(&set, (pair - taken % pair) % pair);
	while (reel_cursor_left(&set) >= pair && ret->ranges.n < RANGES_MAX) {
		uint64_t begin = reel_cursor_target(&set, (unsigned)address_size, big_endian);
		uint64_t size = reel_cursor_target(&set, (unsigned)address_size, big_endian), end;

		if (begin < text_begin || begin >= text_end ||
		    __builtin_add_overflow(begin, size, &end))
			continue;
		if (!reel_range_map_add(&ret->ranges, begin, end, index, index))
			return reel_error_no_memory();
	}
	return NULL;
}

static struct reel_error *read_address_sets(struct reel_elf_file *file, const bool *complete,
					    uint64_t text_begin, uint64_t text_end,
					    struct reel_cu_ranges *ret)
{
	bool big_endian = reel_elf_file_big_endian(file);
	struct reel_error *error = NULL;
	struct reel_cfi_section section;
	struct reel_cursor cursor;

	if (!reel_elf_file_section(file, ".debug_aranges", &section))
		return NULL;
	cursor = reel_cursor(section.bytes, section.size);
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
		error = read_address_set(reel_cursor(set, size), offset_size == 8 ? 12 : 4,
					 offset_size, big_endian, complete, text_begin, text_end,
					 ret);
	}
	return error;
}

struct reel_error *reel_cu_ranges_read(Dwarf *dwarf, struct reel_elf_file *file,
				       uint64_t text_begin, uint64_t text_end,
				       struct reel_cu_ranges *ret)
{
	_cleanup_free_ bool *complete = NULL;
	struct reel_error *error;
	bool incomplete;

	*ret = (struct reel_cu_ranges){ 0 };
	error = read_units(dwarf, reel_elf_file_big_endian(file), text_begin, text_end, ret,
			   &incomplete);
	if (!error && incomplete) {
		complete = calloc(ret->n + 1, sizeof(*complete));
		if (!complete)
			error = reel_error_no_memory();
		for (size_t i = 0; !error && i < ret->ranges.n; i++)
			complete[ret->ranges.entries[i].value] = true;
		if (!error)
			error = read_address_sets(file, complete, text_begin, text_end, ret);
	}
	if (!error)
		error = reel_range_map_build(&ret->ranges);
	if (error)
		reel_cu_ranges_free(ret);
	return error;
}

struct reel_unit *reel_cu_ranges_find(const struct reel_cu_ranges *cu_ranges, uint64_t address)
{
	const struct reel_range_entry *entry = reel_range_map_find(&cu_ranges->ranges, address);

	return entry ? &cu_ranges->units[entry->value] : NULL;
}
