/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/dwarf_cursor.h"
#include "replay/dwarf/full_die.h"

/* Deeper than real nesting. */
#define DEPTH_MAX 1024

struct abbreviation_place {
	uint64_t code;
	uint32_t offset; /* of its tag, from the table's start */
};

/* Where the abbreviations of a table are. */
struct reel_abbreviation_places {
	const struct reel_dwarf *dwarf;
	uint64_t offset;
	const uint8_t *bytes;
	uint32_t size;
	bool sorted;
	struct abbreviation_place *all;
	size_t n, capacity;
};

void reel_die_reader_free(struct reel_die_reader *reader)
{
	for (size_t i = 0; i < reader->index.n; i++)
		free(reader->tables[i].all);
	free(reader->tables);
	reel_hash_index_free(&reader->index);
	*reader = (struct reel_die_reader){ 0 };
}

/* ---- abbreviations ------------------------------------------------------------------ */

static int compare_places(const void *a, const void *b)
{
	const struct abbreviation_place *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

bool reel_die_reader_work(struct reel_die_reader *reader, uint64_t size)
{
	if (size > reader->work_left) {
		reader->failed = true;
		return false;
	}
	reader->work_left -= size;
	return true;
}

static bool read_places(struct reel_die_reader *reader, struct reel_abbreviation_places *table)
{
	struct reel_cursor cursor = reel_cursor(table->bytes, table->size);
	uint64_t last = 0;

	table->sorted = true;
	for (;;) {
		struct abbreviation_place place = { .code = reel_cursor_uleb(&cursor) };

		if (cursor.failed || !place.code)
			break;
		place.offset = (uint32_t)reel_cursor_offset(&cursor);
		reel_cursor_uleb(&cursor);
		reel_cursor_u8(&cursor);
		reel_abbreviation_skip_attributes(&cursor);
		if (cursor.failed)
			break;
		if (!reel_array_reserve(&table->all, table->n, &table->capacity, sizeof(place)))
			return false;
		table->all[table->n++] = place;
		table->sorted &= place.code > last;
		last = place.code;
	}
	if (!table->sorted)
		qsort(table->all, table->n, sizeof(*table->all), compare_places);
	return reel_die_reader_work(reader, reel_cursor_offset(&cursor));
}

/* NULL: none, or short of memory. */
static const struct reel_abbreviation_places *find_table(struct reel_die_reader *reader,
							 const struct reel_dwarf *dwarf,
							 uint64_t offset)
{
	uint64_t key = offset ^ (uintptr_t)dwarf * 0x9e3779b97f4a7c15;
	uint32_t number = REEL_HASH_FIND(&reader->index, key, i,
					 reader->tables[i].dwarf == dwarf &&
						 reader->tables[i].offset == offset);
	uint64_t size = dwarf->abbreviations.size;
	struct reel_abbreviation_places table = { .dwarf = dwarf, .offset = offset };

	if (number != REEL_HASH_NONE)
		return &reader->tables[number];
	size = offset < size ? size - offset : 0;
	table.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
	table.bytes =
		table.size ? reel_section_need(&dwarf->abbreviations, offset, table.size) : NULL;
	number = (uint32_t)reader->index.n;
	if (!table.bytes || !read_places(reader, &table) ||
	    !reel_array_reserve(&reader->tables, number, &reader->tables_capacity, sizeof(table)) ||
	    !reel_hash_index_add(&reader->index, key, number)) {
		free(table.all);
		reader->failed = true;
		return NULL;
	}
	reader->tables[number] = table;
	return &reader->tables[number];
}

static bool find_place(const struct reel_abbreviation_places *table, uint64_t code,
		       struct reel_cursor *ret)
{
	const struct abbreviation_place key = { .code = code }, *found = NULL;

	if (code <= table->n && table->all[code - 1].code == code)
		found = &table->all[code - 1];
	else if (table->n)
		found = bsearch(&key, table->all, table->n, sizeof(key), compare_places);
	if (!found)
		return false;
	*ret = reel_cursor(table->bytes + found->offset, table->size - found->offset);
	return true;
}

/* ---- DIEs --------------------------------------------------------------------------- */

static void read_values(const struct reel_unit_format *format, struct reel_cursor *kinds,
			struct reel_cursor *values, struct reel_full_die *die)
{
	for (;;) {
		uint64_t name = reel_cursor_uleb(kinds), form = reel_cursor_uleb(kinds);
		int64_t constant = form == DW_FORM_implicit_const ? reel_cursor_sleb(kinds) : 0;
		struct reel_form_value value;

		if (kinds->failed || values->failed || (!name && !form))
			return;
		reel_form_take(format, values, form, constant, &value);
		if (die->n == REEL_DIE_ATTRIBUTES_MAX || name > UINT16_MAX || values->failed)
			continue;
		die->attributes[die->n].name = (uint16_t)name;
		die->attributes[die->n++].value = value;
	}
}

/* Also reads the end of a list of children: tag 0. */
static bool read_any(struct reel_die_reader *reader, struct reel_die_reference at,
		     struct reel_full_die *ret)
{
	const struct reel_abbreviation_places *table;
	struct reel_cursor values, kinds;
	uint64_t code, tag;

	if (!at.unit || at.offset < at.unit->die_offset || at.offset >= at.unit->end ||
	    !reel_section_need(&at.dwarf->info, at.unit->offset, at.unit->end - at.unit->offset))
		return false;
	values = reel_cursor(at.dwarf->info.bytes, (size_t)at.unit->end);
	values.at += at.offset;
	code = reel_cursor_uleb(&values);
	ret->at = at;
	ret->tag = 0;
	ret->n = 0;
	ret->has_children = false;
	ret->next = reel_cursor_offset(&values);
	if (!code)
		return !values.failed && reel_die_reader_work(reader, 1);
	table = find_table(reader, at.dwarf, at.unit->abbreviations_offset);
	if (!table || !find_place(table, code, &kinds))
		return false;
	tag = reel_cursor_uleb(&kinds);
	ret->tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
	ret->has_children = reel_cursor_u8(&kinds) == DW_CHILDREN_yes;
	read_values(&at.unit->format, &kinds, &values, ret);
	ret->next = reel_cursor_offset(&values);
	return !values.failed && ret->tag &&
	       reel_die_reader_work(reader, ret->next - at.offset + reel_cursor_offset(&kinds));
}

bool reel_full_die_read(struct reel_die_reader *reader, struct reel_die_reference at,
			struct reel_full_die *ret)
{
	return read_any(reader, at, ret) && ret->tag;
}

const struct reel_form_value *reel_full_die_get(const struct reel_full_die *die, uint16_t name)
{
	for (size_t i = 0; i < die->n; i++) {
		if (die->attributes[i].name == name)
			return &die->attributes[i].value;
	}
	return NULL;
}

bool reel_full_die_number(const struct reel_full_die *die, uint16_t name, uint64_t *ret)
{
	const struct reel_form_value *value = reel_full_die_get(die, name);

	if (!value)
		return false;
	*ret = value->number;
	switch (value->form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
	case DW_FORM_sec_offset:
		return true;
	default:
		return false;
	}
}

bool reel_full_die_flag(const struct reel_full_die *die, uint16_t name)
{
	const struct reel_form_value *value = reel_full_die_get(die, name);

	return value && value->number;
}

const char *reel_full_die_name(const struct reel_full_die *die)
{
	const struct reel_form_value *value = reel_full_die_get(die, DW_AT_name);

	return value ? reel_dwarf_string(die->at.dwarf, die->at.unit, value) : NULL;
}

bool reel_full_die_follow(struct reel_die_reader *reader, const struct reel_full_die *die,
			  uint16_t name, struct reel_full_die *ret)
{
	const struct reel_form_value *value = reel_full_die_get(die, name);
	struct reel_die_reference at;

	return value && reel_dwarf_reference(die->at.dwarf, die->at.unit, value, &at) &&
	       reel_full_die_read(reader, at, ret);
}

/* ---- walks -------------------------------------------------------------------------- */

void reel_die_walk_begin(struct reel_die_walk *walk, struct reel_die_reader *reader,
			 struct reel_die_reference at)
{
	*walk = (struct reel_die_walk){ .reader = reader, .at = at, .below = UINT32_MAX };
}

bool reel_die_walk_next(struct reel_die_walk *walk, struct reel_full_die *ret, unsigned *depth_ret)
{
	while (!walk->ended && read_any(walk->reader, walk->at, ret)) {
		walk->at.offset = ret->next;
		if (!ret->tag) {
			walk->ended = walk->depth <= 1;
			walk->depth -= !walk->ended;
			continue;
		}
		*depth_ret = walk->depth;
		walk->ended = (!walk->depth && !ret->has_children) || walk->depth == DEPTH_MAX;
		walk->depth += ret->has_children;
		if (*depth_ret > walk->below)
			continue;
		walk->below = UINT32_MAX;
		return true;
	}
	return false;
}

void reel_die_walk_skip(struct reel_die_walk *walk, const struct reel_full_die *die, unsigned depth)
{
	const struct reel_form_value *value = reel_full_die_get(die, DW_AT_sibling);
	struct reel_die_reference sibling;

	if (!die->has_children)
		return;
	if (depth && value && reel_dwarf_reference(die->at.dwarf, die->at.unit, value, &sibling) &&
	    sibling.unit == die->at.unit && sibling.offset > die->next) {
		walk->at = sibling;
		walk->depth = depth;
		return;
	}
	walk->below = depth;
}
