/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line table of one unit (DWARF 5, 6.2; versions 2 to 5).  libdw's takes five times the memory
 * and three times as long, and its paths are relative.
 */
#ifndef REPLAY_DWARF_LINE_TABLE_H
#define REPLAY_DWARF_LINE_TABLE_H

#include "base/bytes.h"
#include "elf/section.h"

struct reel_line_table;

struct reel_line_input {
	struct reel_section line;     /* the table's part of .debug_line, completely loaded */
	struct reel_section line_str; /* .debug_line_str */
	struct reel_section str;      /* .debug_str */
	const char *directory;	      /* DW_AT_comp_dir; NULL: none */
	bool big_endian;
	/* Sequences that begin elsewhere are leftovers of removed sections. */
	uint64_t text_begin, text_end;
};

/* Sections and directory are borrowed.  Reads up to the first invalid part: a broken table is
 * short. */
struct reel_error *reel_line_table_create(const struct reel_line_input *input,
					  struct reel_line_table **ret) REEL_MUST_CHECK;
void reel_line_table_destroy(struct reel_line_table *table);

struct reel_line {
	uint64_t file; /* for reel_line_table_path */
	uint32_t line, column, discriminator;
	size_t work; /* bytes of the program run for it */
};

/* False: the address is not in the table. */
bool reel_line_table_find(const struct reel_line_table *table, uint64_t address,
			  struct reel_line *ret);
/*
 * A file's path; if relative, in its directory, and that, if relative, in the unit's directory.  ""
 * for a number not in the table.  Lives with the table; NULL: out of memory.
 */
const char *reel_line_table_path(struct reel_line_table *table, uint64_t file);

#endif
