/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DWARF of a file, versions 2 to 5: its units, and the meaning of their DIEs' values.  Not read
 * with libdw, which reads complete sections and takes locks and searches trees for each DIE;
 * tests/names/libdw_symbols.c compares both.
 */
#ifndef REPLAY_DWARF_DWARF_FILE_H
#define REPLAY_DWARF_DWARF_FILE_H

#include "base/hash_index.h"
#include "base/text.h"
#include "replay/dwarf/die_scan.h"
#include "elf/elf_file.h"
#include "elf/section.h"

struct reel_functions;
struct reel_line_table;
struct reel_scopes;
struct reel_split_unit;

struct reel_unit {
	/* In .debug_info: header, DIE, and the end of the unit. */
	uint64_t offset, die_offset, end;
	uint64_t abbreviations_offset;
	struct reel_unit_format format;
	uint16_t tag, language; /* of its DIE; tag 0: unreadable */
	bool has_ranges;	/* its DIE has the ranges of its code: debug_info.c */
	/* NULL until the unit is loaded. */
	const struct reel_abbreviations *abbreviations;
	/* From its DIE: bases for values of other forms. */
	uint64_t string_offsets_base, addresses_base, range_lists_base;
	uint64_t base_address; /* of lists of ranges */
	/* For -gsplit-dwarf: common id of a skeleton and its unit in another file; 0: none. */
	uint64_t dwo_id;
	uint64_t old_ranges_base; /* for the lists of such a unit, before DWARF 5 */
	/* NULL until needed; the file that fills them in frees them. */
	struct reel_functions *functions; /* inline_chain.c */
	struct reel_line_table *lines;	  /* debug_info.c */
	struct reel_scopes *scopes;	  /* die_scopes.c */
	/* split_units.c; also NULL if it is not found or does not exist. */
	struct reel_split_unit *split;
	bool split_tried;
};

struct reel_abbreviation_cache {
	struct reel_cached_abbreviations {
		uint64_t offset;
		struct reel_abbreviations *made;
	} * all;
	size_t capacity;
	struct reel_hash_index index; /* by offset */
};

struct reel_dwarf {
	bool big_endian;
	struct reel_section info, abbreviations, line, line_str, str, str_offsets, addresses;
	struct reel_section ranges, range_lists, address_sets;
	/* .debug_loc, of a split file with GNU's encoding, and .debug_loclists: only values need
	 * them. */
	struct reel_section old_locations, location_lists;
	struct reel_elf_file *locations_from; /* NULL: they are open, or the file is split */
	struct reel_unit *units;	      /* all of .debug_info, ascending by offset */
	size_t n_units;
	struct reel_abbreviation_cache cache;
	/*
	 * Tables and lists can be shared by any number of units and DIEs, and functions can be
	 * nested, so few bytes could cause much work.  These are the bytes that may still be read
	 * of abbreviations, of lists of ranges, and of DIEs and line tables.
	 */
	uint64_t abbreviations_left, ranges_left, work_left;
	bool exhausted;		  /* Set when one of these is used up: not everything was read. */
	bool out_of_memory;	  /* while a unit was loaded */
	struct reel_texts *texts; /* names made here; NULL: none */
	/* With the common parts moved by dwz, owned by another reel_dwarf; NULL: none. */
	struct reel_dwarf *alternate;
	/*
	 * For split units: has their skeletons, and with them .debug_addr and .debug_ranges; it
	 * counts their work with its own.  NULL: not for split units.
	 */
	struct reel_dwarf *skeletons;
};

/* Counts the work of reading `dwarf`. */
static inline struct reel_dwarf *reel_dwarf_charged(struct reel_dwarf *dwarf)
{
	return dwarf->skeletons ? dwarf->skeletons : dwarf;
}

/* Gets each readable unit, with the values of its own DIE except inline strings. */
struct reel_unit_visitor {
	struct reel_error *(*visit)(void *context, struct reel_dwarf *dwarf, struct reel_unit *unit,
				    const struct reel_die_values *values);
	void *context;
};

/* The file must outlive it.  `visitor` may be NULL. */
struct reel_error *reel_dwarf_open(struct reel_elf_file *file,
				   const struct reel_unit_visitor *visitor,
				   struct reel_dwarf **ret) REEL_MUST_CHECK;
/*
 * The units split off to another file: `sections`, which are borrowed, has the sections read from
 * it: info, abbreviations, str, str_offsets, and the lists of ranges and locations.
 */
struct reel_error *reel_dwarf_open_split(struct reel_dwarf *skeletons,
					 const struct reel_dwarf *sections,
					 struct reel_dwarf **ret) REEL_MUST_CHECK;
void reel_dwarf_close(struct reel_dwarf *dwarf);
/* Opens .debug_loc and .debug_loclists, and the alternate's. */
struct reel_error *reel_dwarf_open_locations(struct reel_dwarf *dwarf) REEL_MUST_CHECK;

/* The unit at an offset of .debug_info; NULL: none. */
struct reel_unit *reel_dwarf_unit(const struct reel_dwarf *dwarf, uint64_t offset);
/* Results may be incomplete because memory was short. */
bool reel_dwarf_is_short_of_memory(const struct reel_dwarf *dwarf);
/* Takes `size` bytes from those that may still be read; if they are used up, returns false and sets
 * `exhausted`. */
bool reel_dwarf_work(struct reel_dwarf *dwarf, uint64_t size);
/* The same for bytes read again with each look-up; in real files they are at most `usual`. */
bool reel_dwarf_work_beyond(struct reel_dwarf *dwarf, uint64_t size, uint64_t usual);
/* Loads all bytes of a unit and its abbreviations; false: unreadable. */
bool reel_dwarf_load(struct reel_dwarf *dwarf, struct reel_unit *unit);
/* The values of the DIE at an offset of the unit; false: none. */
bool reel_dwarf_die(struct reel_dwarf *dwarf, struct reel_unit *unit, uint64_t offset,
		    struct reel_die_values *ret);

/* Each is false, or NULL, if the value is missing, of another class, or invalid. */
bool reel_dwarf_constant(const struct reel_form_value *value, uint64_t *ret);
bool reel_dwarf_address(const struct reel_dwarf *dwarf, const struct reel_unit *unit,
			const struct reel_form_value *value, uint64_t *ret);
bool reel_dwarf_address_at(const struct reel_dwarf *dwarf, const struct reel_unit *unit,
			   uint64_t index, uint64_t *ret);
const char *reel_dwarf_string(const struct reel_dwarf *dwarf, const struct reel_unit *unit,
			      const struct reel_form_value *value);

/* A DIE, wherever it is. */
struct reel_die_reference {
	struct reel_dwarf *dwarf;
	struct reel_unit *unit;
	uint64_t offset;
};

bool reel_dwarf_reference(struct reel_dwarf *dwarf, struct reel_unit *unit,
			  const struct reel_form_value *value, struct reel_die_reference *ret);

#endif
