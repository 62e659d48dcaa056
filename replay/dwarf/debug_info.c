/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/dwarf_cursor.h"
#include "replay/dwarf/debug_info.h"
#include "replay/dwarf/die_ranges.h"
#include "replay/dwarf/die_scopes.h"
#include "replay/dwarf/inline_chain.h"
#include "replay/dwarf/line_table.h"
#include "replay/dwarf/split_units.h"

/* ---- units by address ---------------------------------------------------------------- */

/*
 * The compilation units of a module by address: from each unit's DIE (DW_AT_ranges, DW_AT_low_pc),
 * and from .debug_aranges for units whose DIE has no addresses.  (The other way around misses units
 * from clang and rustc, which do not write .debug_aranges.)  A unit with neither has no code.
 */

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

/*
 * Opens the DWARF of a file with its units' ranges: values are indexes of the units; free it with
 * reel_range_map_free.  Code outside of [text_begin, text_end) is a leftover of removed sections.
 */
static struct reel_error *open_units(struct reel_elf_file *file, uint64_t text_begin,
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

/* ---- look-ups ------------------------------------------------------------------------ */

/* Bytes of a line program from a checkpoint to a row: usually a few hundred. */
#define LINE_WORK 4096

struct reel_debug_info {
	struct reel_dies dies;
	struct reel_range_map units; /* values are indexes of the DWARF's units */
	struct reel_inline_chain chain;
	struct reel_debug_frame *frames;
	size_t frames_capacity;
	struct reel_split_units split;
};

static void close_dwarf(struct reel_dwarf *dwarf)
{
	if (!dwarf)
		return;
	close_dwarf(dwarf->alternate);
	for (size_t i = 0; i < dwarf->n_units; i++) {
		reel_functions_destroy(dwarf->units[i].functions);
		reel_line_table_destroy(dwarf->units[i].lines);
		reel_scopes_destroy(dwarf->units[i].scopes);
	}
	reel_dwarf_close(dwarf);
}

bool reel_debug_info_has_go(const struct reel_debug_info *info)
{
	for (size_t i = 0; i < info->dies.dwarf->n_units; i++) {
		if (info->dies.dwarf->units[i].language == DW_LANG_Go)
			return true;
	}
	return false;
}

static bool is_ada(uint16_t language)
{
	return language == DW_LANG_Ada83 || language == DW_LANG_Ada95 ||
	       language == 0x2e /* Ada 2005 */ || language == 0x2f /* Ada 2012 */;
}

void reel_debug_info_close(struct reel_debug_info *info)
{
	if (!info)
		return;
	reel_split_units_free(&info->split);
	close_dwarf(info->dies.dwarf);
	reel_range_map_free(&info->units);
	reel_inline_chain_free(&info->chain);
	free(info->frames);
	free(info);
}

const char *reel_debug_info_split_problem(const struct reel_debug_info *info)
{
	return info->split.problem;
}

/* Opens the file with the common parts moved by dwz.  If it is damaged, its names are missing, as
 * they are without it. */
static struct reel_error *open_alternate(struct reel_dwarf *dwarf, struct reel_elf_file *file)
{
	struct reel_error *error = reel_dwarf_open(file, NULL, &dwarf->alternate);

	if (!error || reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	reel_error_destroy(error);
	return NULL;
}

static struct reel_error *open_dwarf(struct reel_debug_info *info, struct reel_elf_file *file)
{
	struct reel_elf_file *alternate = reel_elf_file_alternate(file);
	struct reel_error *error = open_units(file, info->dies.text_begin, info->dies.text_end,
					      &info->dies.dwarf, &info->units);

	return error || !alternate ? error : open_alternate(info->dies.dwarf, alternate);
}

static bool is_exhausted(const struct reel_dwarf *dwarf)
{
	return dwarf->exhausted || (dwarf->alternate && dwarf->alternate->exhausted);
}

static struct reel_error *too_much_work(const char *what_to_do)
{
	return reel_error_create(REEL_ERROR_CORRUPT,
				 "debug information takes far too much work for its size: not "
				 "written by a compiler%s",
				 what_to_do);
}

struct reel_error *reel_debug_info_open(struct reel_elf_file *file,
					const struct reel_elf_file *code,
					const struct reel_module_search *search,
					struct reel_debug_info **ret)
{
	struct reel_debug_info *info = calloc(1, sizeof(*info));
	struct reel_error *error;

	if (!info)
		return reel_error_no_memory();
	reel_elf_file_text_range(code, &info->dies.text_begin, &info->dies.text_end);
	error = open_dwarf(info, file);
	if (!error && is_exhausted(info->dies.dwarf))
		error = too_much_work("");
	if (error) {
		reel_debug_info_close(info);
		return error;
	}
	info->split.skeletons = info->dies.dwarf;
	info->split.file = file;
	info->split.code = code;
	info->split.search = search;
	*ret = info;
	return NULL;
}

struct reel_error *reel_debug_info_open_locations(struct reel_debug_info *info)
{
	return reel_dwarf_open_locations(info->dies.dwarf);
}

/* The complete line table at an offset of .debug_line; empty if unreadable. */
static struct reel_section line_bytes(const struct reel_dwarf *dwarf, uint64_t offset)
{
	const struct reel_section *line = &dwarf->line;
	uint64_t header = 4, size;
	const uint8_t *bytes = reel_section_need(line, offset, header);

	if (!bytes)
		return (struct reel_section){ 0 };
	size = reel_load_target(bytes, 4, dwarf->big_endian);
	if (size == UINT32_MAX) {
		header = 12;
		bytes = reel_section_need(line, offset, header);
		size = bytes ? reel_load_target(bytes + 4, 8, dwarf->big_endian) : UINT64_MAX;
	}
	if (size > UINT64_MAX - header)
		return (struct reel_section){ 0 };
	bytes = reel_section_need(line, offset, header + size);
	return (struct reel_section){ bytes, bytes ? header + size : 0, NULL };
}

/* A unit without a line table gets an empty one. */
static struct reel_error *open_lines(struct reel_debug_info *info, struct reel_unit *unit)
{
	struct reel_dwarf *dwarf = info->dies.dwarf;
	struct reel_line_input input = {
		.line_str = dwarf->line_str,
		.str = dwarf->str,
		.big_endian = dwarf->big_endian,
		.text_begin = info->dies.text_begin,
		.text_end = info->dies.text_end,
	};
	struct reel_die_values values;
	uint64_t offset;

	if (reel_dwarf_die(dwarf, unit, unit->die_offset, &values)) {
		if (reel_dwarf_constant(&values.at[REEL_AT_STMT_LIST], &offset))
			input.line = line_bytes(dwarf, offset);
		if (!reel_dwarf_work(dwarf, input.line.size))
			input.line.size = 0;
		input.directory = reel_dwarf_string(dwarf, unit, &values.at[REEL_AT_COMP_DIR]);
	}
	return reel_line_table_create(&input, &unit->lines);
}

/* The line table's entry for an address; zeros if none. */
static struct reel_error *find_line(struct reel_debug_info *info, struct reel_unit *unit,
				    uint64_t address, struct reel_debug_frame *ret)
{
	struct reel_error *error = NULL;
	struct reel_line line;

	*ret = (struct reel_debug_frame){ .function = "", .file = "" };
	if (!unit->lines)
		error = open_lines(info, unit);
	if (error || !reel_line_table_find(unit->lines, address, &line))
		return error;
	if (!reel_dwarf_work_beyond(info->dies.dwarf, line.work, LINE_WORK))
		return NULL;
	ret->file = reel_line_table_path(unit->lines, line.file);
	ret->line = line.line;
	ret->column = line.column;
	ret->discriminator = line.discriminator;
	return ret->file ? NULL : reel_error_no_memory();
}

/* Functions that load units cannot return errors, so they record a lack of memory. */
static bool is_out_of_memory(const struct reel_dwarf *dwarf)
{
	return reel_dwarf_is_short_of_memory(dwarf) ||
	       (dwarf->alternate && reel_dwarf_is_short_of_memory(dwarf->alternate));
}

struct reel_error *reel_debug_info_place(struct reel_debug_info *info, uint64_t address,
					 struct reel_debug_place *ret)
{
	const struct reel_range_entry *entry = reel_range_map_find(&info->units, address);
	struct reel_dies dies = info->dies;
	struct reel_debug_frame here, first;
	struct reel_split_unit *split;
	struct reel_unit *unit;

	*ret = (struct reel_debug_place){ .chain = &info->chain };
	info->chain.n = 0;
	if (!entry)
		return NULL;
	unit = &info->dies.dwarf->units[entry->value];
	TRY(reel_split_units_find(&info->split, unit, &split));
	if (split)
		dies.dwarf = split->dwarf;
	ret->dwarf = dies.dwarf;
	ret->unit = split ? split->unit : unit;
	TRY(reel_inline_chain_find(&dies, ret->unit, address, &info->chain));
	if (!info->chain.n)
		return NULL;
	TRY(find_line(info, unit, address, &here));
	TRY(find_line(info, unit, info->chain.function_begin, &first));
	ret->is_begin = here.file[0] && here.line == first.line && here.column == first.column &&
			!strcmp(here.file, first.file);
	return NULL;
}

struct reel_error *reel_debug_info_look_up(struct reel_debug_info *info, uint64_t address,
					   const struct reel_debug_frame **frames_ret,
					   size_t *n_ret, uint64_t *begin_ret)
{
	const struct reel_range_entry *entry = reel_range_map_find(&info->units, address);
	const struct reel_inline_chain *chain = &info->chain;
	struct reel_dies dies = info->dies;
	struct reel_split_unit *split;
	struct reel_debug_frame position;
	struct reel_unit *unit;

	*n_ret = 0;
	*begin_ret = 0;
	if (!entry)
		return NULL;
	unit = &info->dies.dwarf->units[entry->value];
	TRY(reel_split_units_find(&info->split, unit, &split));
	if (split)
		dies.dwarf = split->dwarf;
	TRY(reel_inline_chain_find(&dies, split ? split->unit : unit, address, &info->chain));
	TRY(find_line(info, unit, address, &position));
	if (is_out_of_memory(info->dies.dwarf) || is_out_of_memory(dies.dwarf))
		return reel_error_no_memory();
	/* Partial results would depend on the order of look-ups, and so on threads: fail
	 * instead. */
	if (is_exhausted(info->dies.dwarf))
		return too_much_work("; select samples that do not need it (--pid, --comm)");
	if (!chain->n && !position.file[0])
		return NULL;
	if (info->frames_capacity <= chain->n) {
		free(info->frames);
		info->frames_capacity = 2 * chain->n + 16;
		info->frames = calloc(info->frames_capacity, sizeof(*info->frames));
		if (!info->frames) {
			info->frames_capacity = 0;
			return reel_error_no_memory();
		}
	}
	/* A line table may have an address without a function. */
	if (!chain->n)
		info->frames[(*n_ret)++] = position;
	else
		*begin_ret = chain->function_begin;
	position.is_ada = is_ada(unit->language);
	/* Each function's position is where it calls the next inner one; the innermost
	 * function's is from the line table. */
	for (size_t i = 0; i < chain->n; i++) {
		const struct reel_inline_link *link = &chain->links[i];

		position.function = link->name;
		position.linkage_name = link->linkage_name;
		position.function_line = link->decl_line;
		info->frames[(*n_ret)++] = position;
		position.file = reel_line_table_path(unit->lines, link->call_file);
		if (!position.file)
			return reel_error_no_memory();
		position.line = link->call_line;
		position.column = link->call_column;
		position.discriminator = link->call_discriminator;
	}
	*frames_ret = info->frames;
	return NULL;
}
