/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "replay/dwarf/abbreviations.h"
#include "base/array.h"
#include "base/dwarf_cursor.h"
#include "replay/dwarf/dwarf_form.h"

/* Of LLVM and GCC; missing in libdw's <dwarf.h>. */
#define DW_AT_GNU_discriminator 0x2136

#define SKIP_MAX (REEL_STEP_SKIP - 1)

void reel_abbreviations_destroy(struct reel_abbreviations *abbreviations)
{
	if (!abbreviations)
		return;
	free(abbreviations->all);
	free(abbreviations->steps);
	free(abbreviations->attributes);
	free(abbreviations->constants);
	free(abbreviations);
}

#define GROW(items, n, capacity)                                                                   \
	((n) < UINT32_MAX && reel_array_reserve(&(items), n, &(capacity), sizeof(*(items))))

static uint8_t name_of(uint64_t attribute)
{
	switch (attribute) {
	case DW_AT_low_pc:
		return REEL_AT_LOW_PC;
	case DW_AT_high_pc:
		return REEL_AT_HIGH_PC;
	case DW_AT_ranges:
		return REEL_AT_RANGES;
	case DW_AT_entry_pc:
		return REEL_AT_ENTRY_PC;
	case DW_AT_name:
		return REEL_AT_NAME;
	case DW_AT_linkage_name:
		return REEL_AT_LINKAGE_NAME;
	case DW_AT_MIPS_linkage_name:
		return REEL_AT_MIPS_LINKAGE_NAME;
	case DW_AT_abstract_origin:
		return REEL_AT_ABSTRACT_ORIGIN;
	case DW_AT_specification:
		return REEL_AT_SPECIFICATION;
	case DW_AT_call_file:
		return REEL_AT_CALL_FILE;
	case DW_AT_call_line:
		return REEL_AT_CALL_LINE;
	case DW_AT_call_column:
		return REEL_AT_CALL_COLUMN;
	case DW_AT_GNU_discriminator:
		return REEL_AT_DISCRIMINATOR;
	case DW_AT_decl_line:
		return REEL_AT_DECL_LINE;
	case DW_AT_stmt_list:
		return REEL_AT_STMT_LIST;
	case DW_AT_comp_dir:
		return REEL_AT_COMP_DIR;
	case DW_AT_language:
		return REEL_AT_LANGUAGE;
	case DW_AT_str_offsets_base:
		return REEL_AT_STR_OFFSETS_BASE;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return REEL_AT_ADDR_BASE;
	case DW_AT_rnglists_base:
		return REEL_AT_RNGLISTS_BASE;
	case DW_AT_sibling:
		return REEL_AT_SIBLING;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return REEL_AT_DWO_NAME;
	case DW_AT_GNU_dwo_id:
		return REEL_AT_GNU_DWO_ID;
	case DW_AT_GNU_ranges_base:
		return REEL_AT_GNU_RANGES_BASE;
	default:
		return REEL_AT_OTHER;
	}
}

static bool add_step(struct reel_abbreviations *abbreviations, unsigned step)
{
	if (!GROW(abbreviations->steps, abbreviations->n_steps, abbreviations->steps_capacity))
		return false;
	abbreviations->steps[abbreviations->n_steps++] = (uint16_t)step;
	return true;
}

/* `skip` is the number of preceding bytes of known size that are not in a step yet. */
static bool add_steps(struct reel_abbreviations *abbreviations, uint64_t attribute, uint64_t form,
		      unsigned *skip)
{
	int size = reel_form_size(&abbreviations->format, form);
	bool is_sibling = attribute == DW_AT_sibling && form < REEL_STEP_SIBLING;

	if (size >= 0 && !is_sibling && *skip + (unsigned)size <= SKIP_MAX) {
		*skip += (unsigned)size;
		return true;
	}
	if (*skip && !add_step(abbreviations, REEL_STEP_SKIP + *skip))
		return false;
	*skip = 0;
	if (is_sibling)
		return add_step(abbreviations, REEL_STEP_SIBLING + (unsigned)form);
	if (size >= 0)
		*skip = (unsigned)size;
	else /* 0 is also unknown */
		return add_step(abbreviations, form < REEL_STEP_SIBLING ? (unsigned)form : 0);
	return true;
}

static bool append_attribute(struct reel_abbreviations *abbreviations, uint8_t name, uint16_t form,
			     uint32_t argument)
{
	if (!GROW(abbreviations->attributes, abbreviations->n_attributes,
		  abbreviations->attributes_capacity))
		return false;
	abbreviations->attributes[abbreviations->n_attributes++] = (struct reel_attribute){
		.name = name,
		.form = form,
		.argument = argument,
	};
	return true;
}

/* Lengthens the preceding run of this abbreviation, if any. */
static bool append_run(struct reel_abbreviations *abbreviations,
		       const struct reel_abbreviation *abbreviation, uint32_t size)
{
	struct reel_attribute *last;

	if (!size)
		return true;
	if (abbreviations->n_attributes > abbreviation->first_attribute) {
		last = &abbreviations->attributes[abbreviations->n_attributes - 1];
		if (last->form == REEL_FORM_RUN && last->argument <= UINT32_MAX - size) {
			last->argument += size;
			return true;
		}
	}
	return append_attribute(abbreviations, REEL_AT_OTHER, REEL_FORM_RUN, size);
}

/*
 * Skipped attributes that take no bytes in the DIE are omitted, so that a DIE of a few bytes never
 * has many attributes.
 */
static bool add_attribute(struct reel_abbreviations *abbreviations,
			  const struct reel_abbreviation *abbreviation, uint8_t name, uint64_t form,
			  int64_t constant)
{
	int size = reel_form_size(&abbreviations->format, form);
	uint32_t argument = 0;

	if (name == REEL_AT_OTHER && size >= 0)
		return append_run(abbreviations, abbreviation, (uint32_t)size);
	if (form == DW_FORM_implicit_const) {
		argument = (uint32_t)abbreviations->n_constants;
		if (!GROW(abbreviations->constants, abbreviations->n_constants,
			  abbreviations->constants_capacity))
			return false;
		abbreviations->constants[abbreviations->n_constants++] = constant;
	}
	return append_attribute(abbreviations, name, form < REEL_FORM_RUN ? (uint16_t)form : 0,
				argument);
}

/* Reads the attributes of one abbreviation; false: out of memory. */
static bool read_attributes(struct reel_abbreviations *abbreviations, struct reel_cursor *cursor,
			    struct reel_abbreviation *ret)
{
	unsigned skip = 0;
	uint32_t seen = 0; /* names; the first of each is used */

	ret->first_step = (uint32_t)abbreviations->n_steps;
	ret->first_attribute = (uint32_t)abbreviations->n_attributes;
	for (;;) {
		uint64_t attribute = reel_cursor_uleb(cursor);
		uint64_t form = reel_cursor_uleb(cursor);
		int64_t constant = 0;
		uint8_t name = name_of(attribute);

		if (cursor->failed || (!attribute && !form))
			break;
		if (form == DW_FORM_implicit_const)
			constant = reel_cursor_sleb(cursor);
		if (attribute == DW_AT_low_pc || attribute == DW_AT_ranges)
			ret->has_code = true;
		if (seen >> name & 1)
			name = REEL_AT_OTHER;
		seen |= (uint32_t)1 << name & ~((uint32_t)1 << REEL_AT_OTHER);
		if (!add_attribute(abbreviations, ret, name, form, constant) ||
		    !add_steps(abbreviations, attribute, form, &skip))
			return false;
	}
	if (skip && !add_step(abbreviations, REEL_STEP_SKIP + skip))
		return false;
	ret->n_steps = (uint32_t)(abbreviations->n_steps - ret->first_step);
	ret->is_wanted = (ret->tag == DW_TAG_subprogram && ret->has_code) ||
			 ret->tag == DW_TAG_inlined_subroutine;
	ret->n_attributes = (uint32_t)(abbreviations->n_attributes - ret->first_attribute);
	return true;
}

static int compare_codes(const void *left, const void *right)
{
	const struct reel_abbreviation *a = left, *b = right;

	return (a->code > b->code) - (a->code < b->code);
}

void reel_abbreviation_skip_attributes(struct reel_cursor *cursor)
{
	uint64_t attribute, form;

	do {
		attribute = reel_cursor_uleb(cursor);
		form = reel_cursor_uleb(cursor);
		if (form == DW_FORM_implicit_const)
			reel_cursor_sleb(cursor);
	} while (attribute || form); /* both are 0 if the cursor has failed */
}

/* `only`: the abbreviation to read, 0: all. */
static bool read_table(struct reel_abbreviations *abbreviations, struct reel_cursor *cursor,
		       uint64_t only)
{
	for (;;) {
		struct reel_abbreviation it = { .code = reel_cursor_uleb(cursor) };
		uint64_t tag;

		if (cursor->failed || !it.code)
			return true;
		tag = reel_cursor_uleb(cursor);
		it.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
		it.has_children = reel_cursor_u8(cursor) == DW_CHILDREN_yes;
		if (only && it.code != only) {
			reel_abbreviation_skip_attributes(cursor);
			continue;
		}
		if (!read_attributes(abbreviations, cursor, &it))
			return false;
		if (cursor->failed)
			return true;
		if (!GROW(abbreviations->all, abbreviations->n, abbreviations->capacity))
			return false;
		abbreviations->all[abbreviations->n++] = it;
		if (only)
			return true;
	}
}

struct reel_error *reel_abbreviations_create_one(const uint8_t *bytes, size_t size,
						 const struct reel_unit_format *format,
						 uint64_t code, struct reel_abbreviations **ret,
						 size_t *size_ret)
{
	struct reel_abbreviations *abbreviations = calloc(1, sizeof(*abbreviations));
	struct reel_cursor cursor = reel_cursor(bytes, size);
	bool sorted = true;

	if (!abbreviations)
		return reel_error_no_memory();
	abbreviations->format = *format;
	if (!read_table(abbreviations, &cursor, code)) {
		reel_abbreviations_destroy(abbreviations);
		return reel_error_no_memory();
	}
	for (size_t i = 1; i < abbreviations->n && sorted; i++)
		sorted = abbreviations->all[i - 1].code < abbreviations->all[i].code;
	if (!sorted)
		qsort(abbreviations->all, abbreviations->n, sizeof(*abbreviations->all),
		      compare_codes);
	abbreviations->dense = true;
	for (size_t i = 0; i < abbreviations->n && abbreviations->dense; i++)
		abbreviations->dense = abbreviations->all[i].code == i + 1;
	*ret = abbreviations;
	*size_ret = reel_cursor_offset(&cursor);
	return NULL;
}

struct reel_error *reel_abbreviations_create(const uint8_t *bytes, size_t size,
					     const struct reel_unit_format *format,
					     struct reel_abbreviations **ret, size_t *size_ret)
{
	return reel_abbreviations_create_one(bytes, size, format, 0, ret, size_ret);
}

const struct reel_abbreviation *reel_abbreviations_search(
	const struct reel_abbreviations *abbreviations, uint64_t code)
{
	struct reel_abbreviation key = { .code = code };

	if (!abbreviations->n)
		return NULL;
	return bsearch(&key, abbreviations->all, abbreviations->n, sizeof(key), compare_codes);
}
