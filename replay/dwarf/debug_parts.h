/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a file's DWARF that values of variables at some addresses need (SPEC.md 5.1).
 * Sections keep their sizes and offsets, so that all references stay valid: unneeded entries and
 * units become padding, and of unneeded bytes nothing is stored.
 */
#ifndef REPLAY_DWARF_DEBUG_PARTS_H
#define REPLAY_DWARF_DEBUG_PARTS_H

#include "elf/address_ranges.h"
#include "replay/dwarf/debug_info.h"

struct reel_debug_part {
	const char *name; /* of the section */
	struct reel_buffer bytes;
};

#define REEL_DEBUG_PARTS_MAX 9
/* The file's sections. */
#define REEL_DEBUG_PARTS_NAMES                                                                     \
	{                                                                                          \
		".debug_info", ".debug_abbrev", ".debug_str", ".debug_str_offsets", ".debug_addr", \
			".debug_loc", ".debug_ranges", ".debug_loclists", ".debug_rnglists"        \
	}

struct reel_debug_parts {
	struct reel_debug_part all[REEL_DEBUG_PARTS_MAX];
	size_t n;
};

/*
 * No parts if `info`, whose user must be the only one, has no function at any of the addresses.
 * UNSUPPORTED: the parts would be incomplete, or the debug information is too large.
 */
struct reel_error *reel_debug_parts_make(struct reel_debug_info *info,
					 const struct reel_address_ranges *addresses,
					 struct reel_debug_parts *ret) REEL_MUST_CHECK;
void reel_debug_parts_free(struct reel_debug_parts *parts);

#endif
