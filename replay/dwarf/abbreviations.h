/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abbreviation tables: how the values of each kind of DIE of a unit are stored (DWARF 5, 7.5.3), in
 * the two forms needed for reading them: as steps over skipped values, and as attributes.
 */
#ifndef REPLAY_DWARF_ABBREVIATIONS_H
#define REPLAY_DWARF_ABBREVIATIONS_H

#include "base/bytes.h"

/* How values are stored, from the unit's header. */
struct reel_unit_format {
	uint16_t version;
	uint8_t address_size, offset_size;
	bool big_endian;
};

/* The attributes used here; others are skipped. */
enum reel_attribute_name {
	REEL_AT_LOW_PC,
	REEL_AT_HIGH_PC,
	REEL_AT_RANGES,
	REEL_AT_ENTRY_PC,
	REEL_AT_NAME,
	REEL_AT_LINKAGE_NAME,
	REEL_AT_MIPS_LINKAGE_NAME,
	REEL_AT_ABSTRACT_ORIGIN,
	REEL_AT_SPECIFICATION,
	REEL_AT_CALL_FILE,
	REEL_AT_CALL_LINE,
	REEL_AT_CALL_COLUMN,
	REEL_AT_DISCRIMINATOR,
	REEL_AT_DECL_LINE,
	REEL_AT_STMT_LIST,
	REEL_AT_COMP_DIR,
	REEL_AT_LANGUAGE,
	REEL_AT_STR_OFFSETS_BASE,
	REEL_AT_ADDR_BASE,
	REEL_AT_RNGLISTS_BASE,
	REEL_AT_SIBLING,
	REEL_AT_DWO_NAME,
	REEL_AT_GNU_DWO_ID,
	REEL_AT_GNU_RANGES_BASE,
	REEL_N_ATTRIBUTES,
	REEL_AT_OTHER = REEL_N_ATTRIBUTES
};

struct reel_attribute {
	uint8_t name;	   /* enum reel_attribute_name; REEL_AT_OTHER may be several */
	uint16_t form;	   /* 0: unknown, so the rest is unreadable */
	uint32_t argument; /* of DW_FORM_implicit_const: index into constants; see REEL_FORM_RUN */
};

/* `argument` bytes to skip. */
#define REEL_FORM_RUN 0xffffu

/*
 * The values of a DIE as steps to take over them.  Runs of values of a known size are one step,
 * REEL_STEP_SKIP + bytes; the others are their form, with REEL_STEP_SIBLING for DW_AT_sibling.
 */
#define REEL_STEP_SKIP	  0x8000u
#define REEL_STEP_SIBLING 0x4000u

struct reel_abbreviation {
	uint64_t code;
	uint32_t first_step, n_steps;
	uint32_t first_attribute, n_attributes;
	uint16_t tag;
	bool has_children, has_code; /* DW_AT_low_pc or DW_AT_ranges */
	/* A function with code, or an inlined one: its values are read. */
	bool is_wanted;
};

struct reel_abbreviations {
	struct reel_unit_format format;
	struct reel_abbreviation *all; /* ascending by code */
	size_t n, capacity;
	bool dense; /* all[i].code == i + 1 */
	uint16_t *steps;
	size_t n_steps, steps_capacity;
	struct reel_attribute *attributes;
	size_t n_attributes, attributes_capacity;
	int64_t *constants;
	size_t n_constants, constants_capacity;
};

/*
 * Reads the table at the start of `bytes`, up to its end or its first unreadable entry; `*size_ret`
 * is the number of bytes read.
 */
struct reel_error *reel_abbreviations_create(const uint8_t *bytes, size_t size,
					     const struct reel_unit_format *format,
					     struct reel_abbreviations **ret,
					     size_t *size_ret) REEL_MUST_CHECK;
/* The same with only the entry of that code, which takes a tenth of the time. */
struct reel_error *reel_abbreviations_create_one(const uint8_t *bytes, size_t size,
						 const struct reel_unit_format *format,
						 uint64_t code, struct reel_abbreviations **ret,
						 size_t *size_ret) REEL_MUST_CHECK;
void reel_abbreviations_destroy(struct reel_abbreviations *abbreviations);

/* From an entry's first attribute to behind its last; a cursor that fails ends it. */
void reel_abbreviation_skip_attributes(struct reel_cursor *cursor);

const struct reel_abbreviation *reel_abbreviations_search(
	const struct reel_abbreviations *abbreviations, uint64_t code);

/* NULL: no entry with that code, which is not 0. */
static inline const struct reel_abbreviation *reel_abbreviations_find(
	const struct reel_abbreviations *abbreviations, uint64_t code)
{
	if (abbreviations->dense)
		return code <= abbreviations->n ? &abbreviations->all[code - 1] : NULL;
	return reel_abbreviations_search(abbreviations, code);
}

#endif
