/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compilation units of a module by address: from each unit's DIE (DW_AT_ranges, DW_AT_low_pc),
 * and from .debug_aranges for units whose DIE has no addresses.  (The other way around misses units
 * from clang and rustc, which do not write .debug_aranges.)  A unit with neither has no code.
 */
#ifndef REPLAY_DWARF_CU_RANGES_H
#define REPLAY_DWARF_CU_RANGES_H

#include "replay/dwarf/dwarf_file.h"
#include "base/range_map.h"

/*
 * Opens the DWARF of a file with its units' ranges: values are indexes of the units; free it with
 * reel_range_map_free.  Code outside of [text_begin, text_end) is a leftover of removed sections.
 */
struct reel_error *reel_cu_ranges_open(struct reel_elf_file *file, uint64_t text_begin,
				       uint64_t text_end, struct reel_dwarf **dwarf_ret,
				       struct reel_range_map *ret) REEL_MUST_CHECK;

#endif
