/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "replay/dwarf/die_scan.h"
#include "base/dwarf_cursor.h"

void reel_die_scan_begin(struct reel_die_scan *scan, const struct reel_abbreviations *abbreviations,
			 const uint8_t *section, uint64_t unit, uint64_t begin, uint64_t end)
{
	scan->abbreviations = abbreviations;
	scan->cursor = reel_cursor(section, (size_t)end);
	scan->cursor.at += begin;
	scan->unit_offset = unit;
	scan->depth = 0;
	scan->sibling = NULL;
}

/* DW_AT_sibling's value, if it points past itself in the unit: else it is useless. */
static const uint8_t *sibling_at(const struct reel_die_scan *scan,
				 const struct reel_form_value *value)
{
	const struct reel_cursor *cursor = &scan->cursor;
	uint64_t offset;

	if (value->form != DW_FORM_ref1 && value->form != DW_FORM_ref2 &&
	    value->form != DW_FORM_ref4 && value->form != DW_FORM_ref8 &&
	    value->form != DW_FORM_ref_udata)
		return NULL;
	if (__builtin_add_overflow(value->number, scan->unit_offset, &offset) ||
	    offset < reel_cursor_offset(cursor) || offset > (uint64_t)(cursor->end - cursor->start))
		return NULL;
	return cursor->start + offset;
}

static void go_over_values(struct reel_die_scan *scan, const struct reel_abbreviation *abbreviation)
{
	const struct reel_abbreviations *abbreviations = scan->abbreviations;
	uint32_t end = abbreviation->first_step + abbreviation->n_steps;
	struct reel_cursor *cursor = &scan->cursor;

	scan->sibling = NULL;
	for (uint32_t i = abbreviation->first_step; i < end; i++) {
		uint16_t step = abbreviations->steps[i];

		if (step & REEL_STEP_SKIP)
			reel_cursor_take(cursor, step & (REEL_STEP_SKIP - 1));
		else if (step & REEL_STEP_SIBLING) {
			struct reel_form_value value;

			reel_form_take(&abbreviations->format, cursor, step - REEL_STEP_SIBLING, 0,
				       &value);
			scan->sibling = sibling_at(scan, &value);
		} else {
			reel_form_skip(&abbreviations->format, cursor, step);
		}
	}
}

/* Reads the most frequent forms; reel_form_take reads the others. */
static inline void take_value(const struct reel_abbreviations *abbreviations,
			      struct reel_cursor *cursor, const struct reel_attribute *attribute,
			      struct reel_form_value *ret)
{
	const struct reel_unit_format *format = &abbreviations->format;
	unsigned size;

	switch (attribute->form) {
	case DW_FORM_implicit_const:
		ret->number = (uint64_t)abbreviations->constants[attribute->argument];
		ret->form = DW_FORM_implicit_const;
		return;
	case DW_FORM_data1:
		size = 1;
		break;
	case DW_FORM_data2:
		size = 2;
		break;
	case DW_FORM_data4:
	case DW_FORM_ref4:
		size = 4;
		break;
	case DW_FORM_data8:
		size = 8;
		break;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
		size = format->offset_size;
		break;
	case DW_FORM_addr:
		size = format->address_size;
		break;
	default:
		reel_form_take(format, cursor, attribute->form, 0, ret);
		return;
	}
	ret->form = attribute->form;
	ret->number = reel_cursor_target(cursor, size, format->big_endian);
}

static void read_values(const struct reel_abbreviations *abbreviations, struct reel_cursor *cursor,
			const struct reel_abbreviation *abbreviation, struct reel_die_values *ret)
{
	for (int i = 0; i < REEL_N_ATTRIBUTES; i++)
		ret->at[i].form = 0;
	for (uint32_t i = 0; i < abbreviation->n_attributes && !cursor->failed; i++) {
		const struct reel_attribute *attribute =
			&abbreviations->attributes[abbreviation->first_attribute + i];

		if (attribute->form == REEL_FORM_RUN)
			reel_cursor_take(cursor, attribute->argument);
		else if (attribute->name == REEL_AT_OTHER)
			reel_form_skip(&abbreviations->format, cursor, attribute->form);
		else
			take_value(abbreviations, cursor, attribute, &ret->at[attribute->name]);
	}
}

bool reel_die_scan_next(struct reel_die_scan *scan, struct reel_die *ret)
{
	struct reel_cursor *cursor = &scan->cursor;
	const struct reel_abbreviation *abbreviation;
	uint64_t code;

	for (;;) {
		if (!reel_cursor_left(cursor))
			return false;
		ret->offset = reel_cursor_offset(cursor);
		code = reel_cursor_uleb(cursor);
		if (code)
			break;
		/* The end of a list of siblings, possibly of the first DIE's children. */
		if (cursor->failed || scan->depth <= 1)
			return false;
		scan->depth--;
	}
	abbreviation = reel_abbreviations_find(scan->abbreviations, code);
	if (!abbreviation) {
		reel_cursor_fail(cursor);
		return false;
	}
	ret->abbreviation = abbreviation;
	ret->depth = scan->depth;
	if (abbreviation->is_wanted) {
		read_values(scan->abbreviations, cursor, abbreviation, &scan->values);
		scan->sibling = sibling_at(scan, &scan->values.at[REEL_AT_SIBLING]);
	} else {
		go_over_values(scan, abbreviation);
	}
	if (abbreviation->has_children)
		scan->depth++;
	else if (!scan->depth)
		cursor->at = cursor->end; /* the first DIE alone */
	return !cursor->failed;
}

void reel_die_scan_skip_children(struct reel_die_scan *scan, const struct reel_die *die)
{
	struct reel_cursor *cursor = &scan->cursor;

	if (!die->abbreviation->has_children || !die->depth)
		return;
	if (scan->sibling && scan->sibling >= cursor->at) {
		cursor->at = scan->sibling;
		scan->depth = die->depth;
		return;
	}
	while (scan->depth > die->depth && reel_cursor_left(cursor)) {
		const struct reel_abbreviation *abbreviation;
		uint64_t code = reel_cursor_uleb(cursor);

		if (!code) {
			scan->depth--;
			continue;
		}
		abbreviation = reel_abbreviations_find(scan->abbreviations, code);
		if (!abbreviation) {
			reel_cursor_fail(cursor);
			return;
		}
		go_over_values(scan, abbreviation);
		if (!abbreviation->has_children)
			continue;
		if (scan->sibling)
			cursor->at = scan->sibling;
		else
			scan->depth++;
	}
}

bool reel_die_read(const struct reel_abbreviations *abbreviations, const uint8_t *bytes,
		   const uint8_t *end, struct reel_die_values *ret, uint16_t *tag_ret)
{
	struct reel_cursor cursor = reel_cursor(bytes, (size_t)(end - bytes));
	uint64_t code = reel_cursor_uleb(&cursor);
	const struct reel_abbreviation *abbreviation =
		code ? reel_abbreviations_find(abbreviations, code) : NULL;

	if (!abbreviation)
		return false;
	*tag_ret = abbreviation->tag;
	read_values(abbreviations, &cursor, abbreviation, ret);
	ret->size = reel_cursor_offset(&cursor);
	return !cursor.failed;
}
