/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over the DIEs of a unit without looking at their values: offset, tag
 * and depth of each (DWARF 5, 7.5).  Finding the few that are functions with
 * code among the many that are types is most of the work of symbolizing, and
 * ten times as fast this way as with libdw; the found ones are libdw's to read.
 */
#ifndef REPLAY_DIE_SCAN_H
#define REPLAY_DIE_SCAN_H

#include "format/bytes.h"

/* How the unit's header says that values are stored. */
struct reel_unit_format {
	uint16_t version;
	uint8_t address_size, offset_size;
	bool big_endian;
};

struct reel_abbreviations;

/* Reads the table at the start of `bytes`, up to its end or what cannot be read of it. */
struct reel_error *reel_abbreviations_create(const uint8_t *bytes, size_t size,
					     const struct reel_unit_format *format,
					     struct reel_abbreviations **ret) REEL_MUST_CHECK;
void reel_abbreviations_destroy(struct reel_abbreviations *abbreviations);

struct reel_die {
	uint64_t offset; /* in .debug_info */
	uint32_t depth;	 /* 0: where the scan began */
	uint16_t tag;
	bool has_code; /* DW_AT_low_pc or DW_AT_ranges */
};

struct reel_die_scan {
	const struct reel_abbreviations *abbreviations;
	struct reel_cursor cursor;
	uint32_t depth;
};

/* Of the DIE at `begin` and those below it; `end` is the unit's. Both must lie in the section. */
struct reel_die_scan reel_die_scan(const struct reel_abbreviations *abbreviations,
				   const uint8_t *section, uint64_t begin, uint64_t end);
/* The next one, parents before children; false behind the last one and where the bytes make no
 * sense. */
bool reel_die_scan_next(struct reel_die_scan *scan, struct reel_die *ret);

#endif
