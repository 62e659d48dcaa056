/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over the DIEs of a unit: offset, tag and depth of each (DWARF 5, 7.5), and the values of
 * DIEs for code.  Finding these few among the many types is most of the work of symbolizing.
 */
#ifndef REPLAY_DWARF_DIE_SCAN_H
#define REPLAY_DWARF_DIE_SCAN_H

#include "replay/dwarf/abbreviations.h"
#include "replay/dwarf/dwarf_form.h"

struct reel_die {
	uint64_t offset; /* in .debug_info */
	uint32_t depth;	 /* 0: where the scan began */
	const struct reel_abbreviation *abbreviation;
};

/* The values of one DIE; form 0: not present. */
struct reel_die_values {
	struct reel_form_value at[REEL_N_ATTRIBUTES];
	size_t size; /* of a DIE read separately, in bytes */
};

struct reel_die_scan {
	const struct reel_abbreviations *abbreviations;
	struct reel_cursor cursor;
	uint64_t unit_offset;
	uint32_t depth;
	const uint8_t *sibling;	       /* of the last DIE, if it has the attribute; else NULL */
	struct reel_die_values values; /* of the last DIE, if its abbreviation is wanted */
};

/*
 * Scans the DIE at `begin` and those below it.  Its unit is from `unit` to `end` and must be loaded
 * completely.
 */
void reel_die_scan_begin(struct reel_die_scan *scan, const struct reel_abbreviations *abbreviations,
			 const uint8_t *section, uint64_t unit, uint64_t begin, uint64_t end);
/* The next DIE, parents before children; false after the last one and at invalid bytes. */
bool reel_die_scan_next(struct reel_die_scan *scan, struct reel_die *ret);
/* Skips the children of the last DIE, by DW_AT_sibling if it has one. */
void reel_die_scan_skip_children(struct reel_die_scan *scan, const struct reel_die *die);

/* False: the bytes up to `end` are invalid or too few. */
bool reel_die_read(const struct reel_abbreviations *abbreviations, const uint8_t *bytes,
		   const uint8_t *end, struct reel_die_values *ret, uint16_t *tag_ret);

#endif
