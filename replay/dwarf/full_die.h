/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DIEs with all their attributes: for the few that variables and types need.  (die_scan.h reads
 * most DIEs, with the attributes that names need.)
 */
#ifndef REPLAY_DWARF_FULL_DIE_H
#define REPLAY_DWARF_FULL_DIE_H

#include "replay/dwarf/dwarf_file.h"

#define REEL_DIE_ATTRIBUTES_MAX 40

struct reel_full_die {
	struct reel_die_reference at;
	uint16_t tag;
	bool has_children;
	uint64_t next; /* offset after its values */
	size_t n;
	struct {
		uint16_t name; /* DW_AT_* */
		struct reel_form_value value;
	} attributes[REEL_DIE_ATTRIBUTES_MAX]; /* further ones are skipped */
};

/* Finds abbreviations.  Initially all zero but for `work_left`: the bytes that may be read. */
struct reel_die_reader {
	struct reel_abbreviation_places *tables;
	size_t tables_capacity;
	struct reel_hash_index index;
	uint64_t work_left;
	bool failed; /* not everything was read: work or memory ran out */
};

/* Takes bytes from those that may be read; false, and `failed`, if they are used up. */
bool reel_die_reader_work(struct reel_die_reader *reader, uint64_t size);
void reel_die_reader_free(struct reel_die_reader *reader);
/* False: no DIE there, or unreadable. */
bool reel_full_die_read(struct reel_die_reader *reader, struct reel_die_reference at,
			struct reel_full_die *ret);
/* NULL: missing. */
const struct reel_form_value *reel_full_die_get(const struct reel_full_die *die, uint16_t name);
/* Constants of any form; signed ones are extended to 64 bits. */
bool reel_full_die_number(const struct reel_full_die *die, uint16_t name, uint64_t *ret);
bool reel_full_die_flag(const struct reel_full_die *die, uint16_t name);
/* NULL: missing. */
const char *reel_full_die_name(const struct reel_full_die *die);
/* The DIE to which the attribute refers. */
bool reel_full_die_follow(struct reel_die_reader *reader, const struct reel_full_die *die,
			  uint16_t name, struct reel_full_die *ret);

/* Visits a DIE and those below it, parents first. */
struct reel_die_walk {
	struct reel_die_reader *reader;
	struct reel_die_reference at;
	unsigned depth, below; /* of the next DIE; skipped if deeper than `below` */
	bool ended;
};

void reel_die_walk_begin(struct reel_die_walk *walk, struct reel_die_reader *reader,
			 struct reel_die_reference at);
/* `*depth_ret` is 0 for the first DIE. */
bool reel_die_walk_next(struct reel_die_walk *walk, struct reel_full_die *ret, unsigned *depth_ret);
/* Skips what is below the last DIE. */
void reel_die_walk_skip(struct reel_die_walk *walk, const struct reel_full_die *die,
			unsigned depth);

#endif
