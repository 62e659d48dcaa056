/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "replay/debug_info.h"
#include "replay/inline_chain.h"
#include "replay/line_table.h"

struct reel_debug_info {
	struct reel_dies dies;
	struct reel_cu_ranges units;
	struct reel_line_input lines; /* what is the same for all units */
	struct reel_chain chain;
	struct reel_debug_frame *frames;
	size_t frames_capacity;
	Elf *no_elf; /* see below */
	Dwarf *alternate;
};

/*
 * An ELF file with a .debug_line section of one byte.  libdw looks by itself for the
 * file that .gnu_debugaltlink names, and would open whatever path a
 * hostile file has there; given this one instead it does not.
 */
static const uint8_t no_dwarf[] = {
	0x7f,
	'E',
	'L',
	'F',
	2,
	1,
	1,
	[16] = 1,
	[20] = 1, /* 64 bits, little-endian, ET_REL */
	[40] = 96,
	[52] = 64,
	[58] = 64,
	[60] = 3,
	[62] = 2, /* e_shoff, sizes, 3 sections */
	[65] = '.',
	'd',
	'e',
	'b',
	'u',
	'g',
	'_',
	'l',
	'i',
	'n',
	'e',
	[77] = '.',
	's',
	/* Section 1: .debug_line, PROGBITS, the byte at 80. */
	[160] = 1,
	[164] = 1,
	[160 + 24] = 80,
	[160 + 32] = 1,
	[160 + 48] = 1,
	/* Section 2: the names, STRTAB, 16 bytes at 64. */
	[224] = 13,
	[228] = 3,
	[224 + 24] = 64,
	[224 + 32] = 16,
	[224 + 48] = 1,
	[287] = 0,
};

void reel_debug_info_close(struct reel_debug_info *info)
{
	if (!info)
		return;
	for (size_t i = 0; i < info->units.n; i++) {
		reel_functions_destroy(info->units.units[i].functions);
		reel_line_table_destroy(info->units.units[i].lines);
	}
	reel_cu_ranges_free(&info->units);
	reel_chain_free(&info->chain);
	free(info->frames);
	if (info->dies.dwarf)
		dwarf_end(info->dies.dwarf);
	if (info->alternate)
		dwarf_end(info->alternate);
	if (info->no_elf)
		elf_end(info->no_elf);
	free(info);
}

/* Gives libdw the file that the dwz tool moved common parts to, or keeps it from looking for one.
 */
static struct reel_error *set_alternate(struct reel_debug_info *info,
					const struct reel_elf_file *file)
{
	const struct reel_elf_file *alternate = reel_elf_file_alternate(file);
	const uint8_t *build_id;
	size_t size;

	if (alternate)
		info->alternate =
			dwarf_begin_elf(reel_elf_file_handle(alternate), DWARF_C_READ, NULL);
	else if (!reel_elf_file_altlink(file, &build_id, &size))
		return NULL;
	if (!info->alternate) {
		info->no_elf = elf_memory((char *)no_dwarf, sizeof(no_dwarf));
		info->alternate = dwarf_begin_elf(info->no_elf, DWARF_C_READ, NULL);
	}
	if (!info->alternate)
		return reel_error_create(REEL_ERROR_CORRUPT, "%s: .gnu_debugaltlink: %s",
					 reel_elf_file_path(file), dwarf_errmsg(-1));
	dwarf_setalt(info->dies.dwarf, info->alternate);
	return NULL;
}

static struct reel_error *open_dwarf(struct reel_debug_info *info, struct reel_elf_file *file)
{
	struct reel_error *error;

	info->dies.dwarf = dwarf_begin_elf(reel_elf_file_handle(file), DWARF_C_READ, NULL);
	if (!info->dies.dwarf)
		return reel_error_create(REEL_ERROR_CORRUPT, "%s: debug information: %s",
					 reel_elf_file_path(file), dwarf_errmsg(-1));
	error = set_alternate(info, file);
	if (error)
		return error;
	if (!reel_elf_file_section(file, ".debug_info", &info->dies.info) ||
	    !reel_elf_file_section(file, ".debug_abbrev", &info->dies.abbreviations))
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "%s: .debug_info or .debug_abbrev cannot be read",
					 reel_elf_file_path(file));
	reel_elf_file_section(file, ".debug_line", &info->lines.line);
	reel_elf_file_section(file, ".debug_line_str", &info->lines.line_str);
	reel_elf_file_section(file, ".debug_str", &info->lines.str);
	info->lines.big_endian = reel_elf_file_big_endian(file);
	info->lines.text_begin = info->dies.text_begin;
	info->lines.text_end = info->dies.text_end;
	return reel_cu_ranges_read(info->dies.dwarf, file, info->dies.text_begin,
				   info->dies.text_end, &info->units);
}

struct reel_error *reel_debug_info_open(struct reel_elf_file *file,
					const struct reel_elf_file *code,
					struct reel_debug_info **ret)
{
	struct reel_debug_info *info = calloc(1, sizeof(*info));
	struct reel_error *error;

	if (!info)
		return reel_error_no_memory();
	reel_elf_file_text_range(code, &info->dies.text_begin, &info->dies.text_end);
	error = open_dwarf(info, file);
	if (error) {
		reel_debug_info_close(info);
		return error;
	}
	*ret = info;
	return NULL;
}

/* A unit without a line table gets an empty one. */
static struct reel_error *open_lines(const struct reel_debug_info *info, struct reel_unit *unit)
{
	struct reel_line_input input = info->lines;
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	Dwarf_Die die;

	input.offset = UINT64_MAX;
	if (dwarf_offdie(info->dies.dwarf, unit->die_offset, &die)) {
		if (dwarf_attr(&die, DW_AT_stmt_list, &attribute) &&
		    dwarf_formudata(&attribute, &offset) == 0)
			input.offset = offset;
		if (dwarf_attr(&die, DW_AT_comp_dir, &attribute))
			input.directory = dwarf_formstring(&attribute);
	}
	return reel_line_table_create(&input, &unit->lines);
}

/* The line table's entry for an address; zeros if it has none. */
static struct reel_error *find_line(const struct reel_debug_info *info, struct reel_unit *unit,
				    uint64_t address, struct reel_debug_frame *ret)
{
	struct reel_error *error = NULL;
	struct reel_line line;

	*ret = (struct reel_debug_frame){ .function = "", .file = "" };
	if (!unit->lines)
		error = open_lines(info, unit);
	if (error || !reel_line_table_find(unit->lines, address, &line))
		return error;
	ret->file = reel_line_table_path(unit->lines, line.file);
	ret->line = line.line;
	ret->column = line.column;
	return ret->file ? NULL : reel_error_no_memory();
}

struct reel_error *reel_debug_info_look_up(struct reel_debug_info *info, uint64_t address,
					   const struct reel_debug_frame **frames_ret,
					   size_t *n_ret, uint64_t *begin_ret)
{
	struct reel_unit *unit = reel_cu_ranges_find(&info->units, address);
	const struct reel_chain *chain = &info->chain;
	struct reel_debug_frame position;
	struct reel_error *error;

	*n_ret = 0;
	*begin_ret = 0;
	if (!unit)
		return NULL;
	error = reel_inline_chain(&info->dies, unit, address, &info->chain);
	if (error)
		return error;
	error = find_line(info, unit, address, &position);
	if (error || (!chain->n && !position.file[0]))
		return error;
	if (info->frames_capacity <= chain->n) {
		free(info->frames);
		info->frames_capacity = 2 * chain->n + 16;
		info->frames = calloc(info->frames_capacity, sizeof(*info->frames));
		if (!info->frames) {
			info->frames_capacity = 0;
			return reel_error_no_memory();
		}
	}
	/* A line table may know an address that no function claims. */
	if (!chain->n)
		info->frames[(*n_ret)++] = position;
	else
		*begin_ret = chain->function_begin;
	/* Each function is where its innermost call is made; the innermost one is where the line
	 * table says. */
	for (size_t i = 0; i < chain->n; i++) {
		const struct reel_chain_link *link = &chain->links[i];

		position.function = link->name;
		info->frames[(*n_ret)++] = position;
		position.file = reel_line_table_path(unit->lines, link->call_file);
		if (!position.file)
			return reel_error_no_memory();
		position.line = link->call_line;
		position.column = link->call_column;
	}
	*frames_ret = info->frames;
	return NULL;
}
