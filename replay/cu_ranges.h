/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compilation units of a module by address: by what each unit's DIE says
 * (DW_AT_ranges, DW_AT_low_pc), and by .debug_aranges for units that say
 * nothing.  (The other way around misses what clang and rustc made, which write no
 * .debug_aranges.)  A unit with neither has no code.
 */
#ifndef REPLAY_CU_RANGES_H
#define REPLAY_CU_RANGES_H

#include <elfutils/libdw.h>

#include "replay/die_scan.h"
#include "replay/elf_file.h"
#include "replay/range_map.h"

struct reel_functions;
struct reel_line_table;

struct reel_unit {
	/* In .debug_info: header, DIE, and what follows the unit. */
	uint64_t offset, die_offset, end;
	uint64_t abbreviations_offset;
	struct reel_unit_format format;
	/* NULL until they are asked for; whoever fills them in frees them. */
	struct reel_functions *functions; /* inline_chain.c */
	struct reel_line_table *lines;	  /* debug_info.c */
};

struct reel_cu_ranges {
	struct reel_unit *units; /* with code, ascending by offset */
	size_t n;
	struct reel_range_map ranges; /* values are indexes of units */
};

/* Code outside of [text_begin, text_end) is a leftover of removed sections. */
struct reel_error *reel_cu_ranges_read(Dwarf *dwarf, struct reel_elf_file *file,
				       uint64_t text_begin, uint64_t text_end,
				       struct reel_cu_ranges *ret) REEL_MUST_CHECK;
/* Frees all but what hangs on the units. */
void reel_cu_ranges_free(struct reel_cu_ranges *cu_ranges);
/* NULL: no unit has code there. */
struct reel_unit *reel_cu_ranges_find(const struct reel_cu_ranges *cu_ranges, uint64_t address);

/* Adds the ranges of a DIE that begin in the text; their number goes to *n_ret. */
struct reel_error *reel_add_die_ranges(struct reel_range_map *map, Dwarf_Die *die,
				       uint64_t text_begin, uint64_t text_end, uint32_t value,
				       uint32_t priority, size_t *n_ret) REEL_MUST_CHECK;

#endif
