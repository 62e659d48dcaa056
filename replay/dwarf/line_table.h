/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line table of one unit (DWARF 5, 6.2; versions 2 to 5).  Of libdw's the
 * same takes five times the memory and thrice the time, and its paths are relative.
 */
#ifndef REPLAY_DWARF_LINE_TABLE_H
#define REPLAY_DWARF_LINE_TABLE_H

#include "base/bytes.h"
#include "elf/section.h"

struct reel_line_table;

struct reel_line_input {
	struct reel_section line;     /* the table's part of .debug_line, all bytes of it there */
	struct reel_section line_str; /* .debug_line_str */
	struct reel_section str;      /* .debug_str */
	const char *directory;	      /* DW_AT_comp_dir; NULL: none */
	bool big_endian;
	/* Sequences that begin elsewhere are leftovers of removed sections. */
	uint64_t text_begin, text_end;
};

/* Sections and directory are borrowed.  Reads as much as makes sense: a broken table is a short
 * one. */
struct reel_error *reel_line_table_create(const struct reel_line_input *input,
					  struct reel_line_table **ret) REEL_MUST_CHECK;
void reel_line_table_destroy(struct reel_line_table *table);

struct reel_line {
	uint64_t file; /* for reel_line_table_path */
	uint32_t line, column, discriminator;
	size_t work; /* bytes of the program that were run for it */
};

/* False: the table does not know the address. */
bool reel_line_table_find(const struct reel_line_table *table, uint64_t address,
			  struct reel_line *ret);
/*
 * A file's path: under its directory, and that under the unit's directory,
 * where they are not absolute.  "" for a number that is none of the table's.
 * Lives with the table; NULL: out of memory.
 */
const char *reel_line_table_path(struct reel_line_table *table, uint64_t file);

#endif
