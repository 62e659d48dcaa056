/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "replay/die_scan.h"
#include "replay/dwarf_cursor.h"

/*
 * The values of a DIE as steps to take over them: runs of values of a known
 * size are one step, STEP_SKIP + bytes; others are their form.
 */
#define STEP_SKIP     0x8000u
#define STEP_SKIP_MAX 0x7fffu

struct abbreviation {
	uint64_t code;
	uint32_t first_step, n_steps;
	uint16_t tag;
	bool has_children, has_code;
};

struct reel_abbreviations {
	struct reel_unit_format format;
	struct abbreviation *all; /* ascending by code */
	size_t n, capacity;
	uint16_t *steps;
	size_t n_steps, steps_capacity;
	bool dense; /* all[i].code == i + 1 */
};

void reel_abbreviations_destroy(struct reel_abbreviations *abbreviations)
{
	if (!abbreviations)
		return;
	free(abbreviations->all);
	free(abbreviations->steps);
	free(abbreviations);
}

/* The size of a form's values, -1 if each says its own (DWARF 5, 7.5.6). */
static int form_size(const struct reel_unit_format *format, uint64_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return format->address_size;
	case DW_FORM_ref_addr:
		/* An address in DWARF 2, an offset since. */
		return format->version <= 2 ? format->address_size : format->offset_size;
	case DW_FORM_sec_offset:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return format->offset_size;
	default:
		return -1;
	}
}

static bool add_step(struct reel_abbreviations *abbreviations, uint16_t step)
{
	if (abbreviations->n_steps == abbreviations->steps_capacity) {
		size_t capacity =
			abbreviations->steps_capacity ? abbreviations->steps_capacity * 2 : 512;
		uint16_t *steps = reallocarray(abbreviations->steps, capacity, sizeof(*steps));

		if (!steps || capacity > UINT32_MAX) {
			if (steps)
				abbreviations->steps = steps;
			return false;
		}
		abbreviations->steps = steps;
		abbreviations->steps_capacity = capacity;
	}
	abbreviations->steps[abbreviations->n_steps++] = step;
	return true;
}

/* Reads the attributes of one abbreviation; false: out of memory. */
static bool read_attributes(struct reel_abbreviations *abbreviations, struct reel_cursor *cursor,
			    struct abbreviation *ret)
{
	unsigned skip = 0;

	ret->first_step = (uint32_t)abbreviations->n_steps;
	for (;;) {
		uint64_t attribute = reel_cursor_uleb(cursor);
		uint64_t form = reel_cursor_uleb(cursor);
		int size;

		if (cursor->failed || (!attribute && !form))
			break;
		if (attribute == DW_AT_low_pc || attribute == DW_AT_ranges)
			ret->has_code = true;
		if (form == DW_FORM_implicit_const)
			while (reel_cursor_u8(cursor) & 0x80)
				;
		size = form_size(&abbreviations->format, form);
		if (size >= 0 && skip + (unsigned)size <= STEP_SKIP_MAX) {
			skip += (unsigned)size;
			continue;
		}
		if (skip && !add_step(abbreviations, (uint16_t)(STEP_SKIP + skip)))
			return false;
		skip = size >= 0 ? (unsigned)size : 0;
		/* A form over 16 bits is unknown; 0 is unknown as well. */
		if (size < 0 && !add_step(abbreviations, form < STEP_SKIP ? (uint16_t)form : 0))
			return false;
	}
	if (skip && !add_step(abbreviations, (uint16_t)(STEP_SKIP + skip)))
		return false;
	ret->n_steps = (uint32_t)(abbreviations->n_steps - ret->first_step);
	return true;
}

static bool add_abbreviation(struct reel_abbreviations *abbreviations,
			     const struct abbreviation *abbreviation)
{
	if (abbreviations->n == abbreviations->capacity) {
		size_t capacity = abbreviations->capacity ? abbreviations->capacity * 2 : 64;
		struct abbreviation *all = reallocarray(abbreviations->all, capacity, sizeof(*all));

		if (!all)
			return false;
		abbreviations->all = all;
		abbreviations->capacity = capacity;
	}
	abbreviations->all[abbreviations->n++] = *abbreviation;
	return true;
}

static int compare_codes(const void *left, const void *right)
{
	const struct abbreviation *a = left, *b = right;

	return (a->code > b->code) - (a->code < b->code);
}

struct reel_error *reel_abbreviations_create(const uint8_t *bytes, size_t size,
					     const struct reel_unit_format *format,
					     struct reel_abbreviations **ret)
{
	struct reel_abbreviations *abbreviations = calloc(1, sizeof(*abbreviations));
	struct reel_cursor cursor = reel_cursor(bytes, size);

	if (!abbreviations)
		return reel_error_no_memory();
	abbreviations->format = *format;
	for (;;) {
		struct abbreviation it = { .code = reel_cursor_uleb(&cursor) };
		uint64_t tag;

		if (cursor.failed || !it.code)
			break;
		tag = reel_cursor_uleb(&cursor);
		it.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
		it.has_children = reel_cursor_u8(&cursor) == DW_CHILDREN_yes;
		if (!read_attributes(abbreviations, &cursor, &it) ||
		    (!cursor.failed && !add_abbreviation(abbreviations, &it))) {
			reel_abbreviations_destroy(abbreviations);
			return reel_error_no_memory();
		}
	}
	if (abbreviations->n)
		qsort(abbreviations->all, abbreviations->n, sizeof(*abbreviations->all),
		      compare_codes);
	abbreviations->dense = true;
	for (size_t i = 0; i < abbreviations->n && abbreviations->dense; i++)
		abbreviations->dense = abbreviations->all[i].code == i + 1;
	*ret = abbreviations;
	return NULL;
}

static const struct abbreviation *find_abbreviation(const struct reel_abbreviations *abbreviations,
						    uint64_t code)
{
	struct abbreviation key = { .code = code };

	if (abbreviations->dense)
		return code <= abbreviations->n ? &abbreviations->all[code - 1] : NULL;
	return bsearch(&key, abbreviations->all, abbreviations->n, sizeof(key), compare_codes);
}

static void skip_leb(struct reel_cursor *cursor)
{
	while (reel_cursor_u8(cursor) & 0x80)
		;
}

/* Goes over a value that says its own size. */
static void skip_value(const struct reel_unit_format *format, struct reel_cursor *cursor,
		       uint64_t form)
{
	const uint8_t *p;
	int size;

	switch (form) {
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		skip_leb(cursor);
		return;
	case DW_FORM_string:
		p = memchr(cursor->at, 0, reel_cursor_left(cursor));
		if (p)
			cursor->at = p + 1;
		else
			reel_cursor_fail(cursor);
		return;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		reel_cursor_take(cursor, reel_cursor_uleb(cursor));
		return;
	case DW_FORM_block1:
		reel_cursor_take(cursor, reel_cursor_u8(cursor));
		return;
	case DW_FORM_block2:
		reel_cursor_take(cursor, reel_cursor_target(cursor, 2, format->big_endian));
		return;
	case DW_FORM_block4:
		reel_cursor_take(cursor, reel_cursor_target(cursor, 4, format->big_endian));
		return;
	case DW_FORM_indirect:
		form = reel_cursor_uleb(cursor);
		size = form_size(format, form);
		if (size >= 0 && form != DW_FORM_implicit_const)
			reel_cursor_take(cursor, (uint64_t)size);
		else if (form != DW_FORM_indirect) /* it would be its own size for ever */
			skip_value(format, cursor, form);
		else
			reel_cursor_fail(cursor);
		return;
	default:
		reel_cursor_fail(cursor);
	}
}

struct reel_die_scan reel_die_scan(const struct reel_abbreviations *abbreviations,
				   const uint8_t *section, uint64_t begin, uint64_t end)
{
	struct reel_die_scan scan = { .abbreviations = abbreviations };

	scan.cursor = reel_cursor(section, end);
	scan.cursor.at += begin;
	return scan;
}

bool reel_die_scan_next(struct reel_die_scan *scan, struct reel_die *ret)
{
	const struct reel_abbreviations *abbreviations = scan->abbreviations;
	struct reel_cursor *cursor = &scan->cursor;
	const struct abbreviation *abbreviation;
	const uint16_t *step;
	uint64_t code;

	for (;;) {
		if (!reel_cursor_left(cursor))
			return false;
		ret->offset = reel_cursor_offset(cursor);
		code = reel_cursor_uleb(cursor);
		if (code)
			break;
		/* The end of a list of siblings, perhaps that of the first DIE's children. */
		if (cursor->failed || scan->depth <= 1)
			return false;
		scan->depth--;
	}
	abbreviation = find_abbreviation(abbreviations, code);
	if (!abbreviation) {
		reel_cursor_fail(cursor);
		return false;
	}
	ret->tag = abbreviation->tag;
	ret->has_code = abbreviation->has_code;
	ret->depth = scan->depth;
	step = abbreviation->n_steps ? &abbreviations->steps[abbreviation->first_step] : NULL;
	for (uint32_t i = 0; i < abbreviation->n_steps; i++) {
		if (step[i] & STEP_SKIP)
			reel_cursor_take(cursor, step[i] & STEP_SKIP_MAX);
		else
			skip_value(&abbreviations->format, cursor, step[i]);
	}
	if (abbreviation->has_children)
		scan->depth++;
	else if (!scan->depth)
		cursor->at = cursor->end; /* the first DIE alone */
	return !cursor->failed;
}
