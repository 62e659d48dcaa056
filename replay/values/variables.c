/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/dwarf_cursor.h"
#include "replay/dwarf/die_ranges.h"
#include "replay/dwarf/full_die.h"
#include "replay/values/variables.h"

/* ---- location lists ------------------------------------------------------------------ */

/* Which expression of a location list holds at an address (DWARF 5, 2.6.2 and 7.29; DWARF 4,
 * 2.6.2; and GNU's variant of split files before DWARF 5). */

/* Of GNU's .debug_loc.dwo; missing in libdw's <dwarf.h>. */
enum {
	GNU_END_OF_LIST = 0,
	GNU_BASE_ADDRESS_SELECTION = 1,
	GNU_START_END = 2,
	GNU_START_LENGTH = 3,
};

/* Longer ones than compilers write. */
#define ENTRIES_MAX 65536

struct list {
	const struct reel_dwarf *dwarf;
	const struct reel_unit *unit;
	struct reel_cursor cursor;
	uint64_t base;
};

/* An entry: its addresses and expression; or neither. */
struct entry {
	bool is_last, is_default, has_range;
	uint64_t begin, end;
	struct reel_bytes expression;
};

static uint64_t take_address(struct list *list)
{
	return reel_cursor_target(&list->cursor, list->unit->format.address_size,
				  list->dwarf->big_endian);
}

static uint64_t take_indexed(struct list *list)
{
	uint64_t address = 0;

	if (!reel_dwarf_address_at(list->dwarf, list->unit, reel_cursor_uleb(&list->cursor),
				   &address))
		reel_cursor_fail(&list->cursor);
	return address;
}

static void take_expression(struct list *list, uint64_t size, struct entry *ret)
{
	ret->expression.data = reel_cursor_take(&list->cursor, size);
	ret->expression.size = (size_t)size;
}

static uint64_t take_size(struct list *list)
{
	return reel_cursor_target(&list->cursor, 2, list->dwarf->big_endian);
}

static void take_old(struct list *list, struct entry *ret)
{
	unsigned size = list->unit->format.address_size;
	uint64_t mask = size == 8 ? UINT64_MAX : ((uint64_t)1 << size * 8) - 1;
	uint64_t begin = take_address(list), end = take_address(list);

	if (!begin && !end) {
		ret->is_last = true;
	} else if (begin == mask) {
		list->base = end;
	} else {
		ret->begin = (list->base + begin) & mask;
		ret->end = (list->base + end) & mask;
		ret->has_range = true;
		take_expression(list, take_size(list), ret);
	}
}

static void take_gnu(struct list *list, struct entry *ret)
{
	switch (reel_cursor_u8(&list->cursor)) {
	case GNU_BASE_ADDRESS_SELECTION:
		list->base = take_indexed(list);
		return;
	case GNU_START_END:
		ret->begin = take_indexed(list);
		ret->end = take_indexed(list);
		break;
	case GNU_START_LENGTH:
		ret->begin = take_indexed(list);
		ret->end =
			ret->begin + reel_cursor_target(&list->cursor, 4, list->dwarf->big_endian);
		break;
	case GNU_END_OF_LIST:
		ret->is_last = true;
		return;
	default:
		reel_cursor_fail(&list->cursor);
		return;
	}
	ret->has_range = true;
	take_expression(list, take_size(list), ret);
}

static void take_new(struct list *list, struct entry *ret)
{
	struct reel_cursor *cursor = &list->cursor;

	switch (reel_cursor_u8(cursor)) {
	case DW_LLE_end_of_list:
		ret->is_last = true;
		return;
	case DW_LLE_base_addressx:
		list->base = take_indexed(list);
		return;
	case DW_LLE_base_address:
		list->base = take_address(list);
		return;
	case DW_LLE_GNU_view_pair:
		reel_cursor_uleb(cursor);
		reel_cursor_uleb(cursor);
		return;
	case DW_LLE_startx_endx:
		ret->begin = take_indexed(list);
		ret->end = take_indexed(list);
		break;
	case DW_LLE_startx_length:
		ret->begin = take_indexed(list);
		ret->end = ret->begin + reel_cursor_uleb(cursor);
		break;
	case DW_LLE_offset_pair:
		ret->begin = list->base + reel_cursor_uleb(cursor);
		ret->end = list->base + reel_cursor_uleb(cursor);
		break;
	case DW_LLE_start_end:
		ret->begin = take_address(list);
		ret->end = take_address(list);
		break;
	case DW_LLE_start_length:
		ret->begin = take_address(list);
		ret->end = ret->begin + reel_cursor_uleb(cursor);
		break;
	case DW_LLE_default_location:
		ret->is_default = true;
		take_expression(list, reel_cursor_uleb(cursor), ret);
		return;
	default:
		reel_cursor_fail(cursor);
		return;
	}
	ret->has_range = true;
	take_expression(list, reel_cursor_uleb(cursor), ret);
}

/* The place of DW_FORM_loclistx: an index of offsets relative to the unit's base. */
static bool indexed_offset(struct reel_die_reader *reader, const struct reel_die_reference *at,
			   uint64_t index, uint64_t *ret)
{
	unsigned size = at->unit->format.offset_size;
	uint64_t base = size == 8 ? 20 : 12, offset;
	struct reel_die_reference head = { at->dwarf, at->unit, at->unit->die_offset };
	struct reel_full_die die;
	const uint8_t *bytes;

	if (!reel_full_die_read(reader, head, &die))
		return false;
	reel_full_die_number(&die, DW_AT_loclists_base, &base);
	if (__builtin_mul_overflow(index, size, &offset) ||
	    __builtin_add_overflow(offset, base, &offset))
		return false;
	bytes = reel_section_need(&at->dwarf->location_lists, offset, size);
	return bytes && !__builtin_add_overflow(
				reel_load_target(bytes, size, at->dwarf->big_endian), base, ret);
}

static bool find_in_list(struct reel_die_reader *reader, const struct reel_die_reference *at,
			 uint64_t offset, uint64_t address, struct reel_bytes *ret)
{
	struct reel_dwarf *dwarf = at->dwarf;
	bool is_new = at->unit->format.version >= 5, is_split = dwarf->skeletons;
	const struct reel_section *section =
		is_new ? &dwarf->location_lists : &dwarf->old_locations;
	struct list list = { dwarf, at->unit, { 0 }, at->unit->base_address };
	struct reel_bytes otherwise = { 0 };

	if (offset >= section->size || !reel_section_need(section, offset, section->size - offset))
		return false;
	list.cursor = reel_cursor(section->bytes + offset, (size_t)(section->size - offset));
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		const uint8_t *before = list.cursor.at;
		struct entry entry = { 0 };

		(is_new ? take_new : is_split ? take_gnu : take_old)(&list, &entry);
		if (list.cursor.failed ||
		    !reel_die_reader_work(reader, (uint64_t)(list.cursor.at - before)))
			return false;
		if (entry.is_default)
			otherwise = entry.expression;
		if (entry.has_range && address >= entry.begin && address < entry.end) {
			*ret = entry.expression;
			return true;
		}
		if (entry.is_last) {
			*ret = otherwise;
			return true;
		}
	}
	return false;
}

/*
 * The expression of an attribute at an ELF address: the attribute's own, or that of its list; NULL
 * data if there is none.  False: unreadable.
 */
static bool find_location(struct reel_die_reader *reader, const struct reel_die_reference *at,
			  const struct reel_form_value *value, uint64_t address,
			  struct reel_bytes *ret)
{
	uint64_t offset = value->number;

	*ret = (struct reel_bytes){ 0 };
	switch (value->form) {
	case DW_FORM_exprloc:
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
		*ret = (struct reel_bytes){ value->bytes, (size_t)value->number };
		return true;
	case DW_FORM_loclistx:
		if (!indexed_offset(reader, at, value->number, &offset))
			return false;
		break;
	case DW_FORM_sec_offset:
	case DW_FORM_data4:
	case DW_FORM_data8:
		break;
	default:
		return false;
	}
	return find_in_list(reader, at, offset, address, ret);
}

/* ---- variables ----------------------------------------------------------------------- */

/* Addresses of a function each read its DIEs, so that work grows with samples. */
#define WORK_TIMES 64
#define WORK_FREE  (64u << 20)
/* More than any real function has. */
#define VARIABLES_MAX 4096
/* Concrete DIE -> abstract instance -> declaration. */
#define ORIGINS_MAX 4

struct reel_variables {
	struct reel_debug_info *info;
	struct reel_die_reader reader;
	struct reel_places **all;
	size_t capacity;
	struct reel_hash_index index; /* by address */
	struct reel_call_value *calls;
	size_t calls_capacity;
	struct reel_hash_index calls_index;
};

struct reel_error *reel_variables_create(struct reel_debug_info *info, uint64_t size,
					 struct reel_variables **ret)
{
	struct reel_variables *variables;

	TRY(reel_debug_info_open_locations(info));
	variables = calloc(1, sizeof(*variables));
	if (!variables)
		return reel_error_no_memory();
	variables->info = info;
	variables->reader.work_left = WORK_TIMES * size + WORK_FREE;
	*ret = variables;
	return NULL;
}

static void places_free(struct reel_places *places)
{
	free(places->scopes);
	free(places->all);
	free(places);
}

void reel_variables_destroy(struct reel_variables *variables)
{
	if (!variables)
		return;
	for (size_t i = 0; i < variables->index.n; i++)
		places_free(variables->all[i]);
	free(variables->all);
	reel_hash_index_free(&variables->index);
	free(variables->calls);
	reel_hash_index_free(&variables->calls_index);
	reel_die_reader_free(&variables->reader);
	free(variables);
}

struct reel_die_reader *reel_variables_reader(struct reel_variables *variables)
{
	return &variables->reader;
}

/* ---- calls ------------------------------------------------------------------------- */

static uint64_t call_key(const struct reel_call_value *of)
{
	return (of->here ^ of->there << 32 ^ of->there >> 32 ^ (uintptr_t)of->caller) *
		       0x9e3779b97f4a7c15 ^
	       (uintptr_t)of->location;
}

const struct reel_call_value *reel_variables_call_value(const struct reel_variables *variables,
							const struct reel_call_value *key)
{
	const struct reel_call_value *all = variables->calls;
	uint32_t number = REEL_HASH_FIND(&variables->calls_index, call_key(key), i,
					 all[i].here == key->here && all[i].there == key->there &&
						 all[i].caller == key->caller &&
						 all[i].location == key->location);

	return number == REEL_HASH_NONE ? NULL : &all[number];
}

struct reel_error *reel_variables_add_call_value(struct reel_variables *variables,
						 const struct reel_call_value *value)
{
	size_t n = variables->calls_index.n;

	if (!reel_array_reserve(&variables->calls, n, &variables->calls_capacity, sizeof(*value)) ||
	    !reel_hash_index_add(&variables->calls_index, call_key(value), (uint32_t)n))
		return reel_error_no_memory();
	variables->calls[n] = *value;
	return NULL;
}

/* ---- blocks ------------------------------------------------------------------------ */

/*
 * Whether a block has the address; one without ranges belongs to the block around it.  The limit of
 * ranges is for names, whose failure would end a report, so this work is counted elsewhere.
 */
static struct reel_error *block_holds(struct reel_die_reader *reader,
				      const struct reel_full_die *die, uint64_t address, bool *ret)
{
	struct reel_dwarf *charged = reel_dwarf_charged(die->at.dwarf);
	uint64_t left = charged->ranges_left, work_left = charged->work_left;
	bool exhausted = charged->exhausted;
	struct reel_range_map map = { 0 };
	struct reel_die_ranges to = { &map, 0, UINT64_MAX };
	struct reel_die_values values;
	struct reel_error *error = NULL;
	size_t n = 0;

	*ret = !reel_full_die_get(die, DW_AT_low_pc) && !reel_full_die_get(die, DW_AT_ranges);
	if (*ret || !reel_dwarf_die(die->at.dwarf, die->at.unit, die->at.offset, &values))
		return NULL;
	error = reel_die_ranges_add(&to, die->at.dwarf, die->at.unit, &values, 0, &n);
	reel_die_reader_work(reader, 16 * n + 1);
	charged->ranges_left = left;
	charged->work_left = work_left;
	charged->exhausted = exhausted;
	*ret = !error && reel_range_map_find_unbuilt(&map, address);
	reel_range_map_free(&map);
	return error;
}

/* ---- variables ---------------------------------------------------------------------- */

static void set_place(struct reel_die_reader *reader, const struct reel_full_die *die,
		      uint64_t address, struct reel_place *place)
{
	const struct reel_form_value *location = reel_full_die_get(die, DW_AT_location);
	const struct reel_form_value *constant = reel_full_die_get(die, DW_AT_const_value);

	if (location && !place->expression.data && !place->constant.form) {
		place->unreadable |=
			!find_location(reader, &die->at, location, address, &place->expression);
		place->is_of_all = location->bytes;
	}
	if (constant && !place->expression.data && !place->constant.form && !location)
		place->constant = *constant;
}

static struct reel_error *add_variable(struct reel_die_reader *reader, struct reel_places *places,
				       const struct reel_full_die *from)
{
	struct reel_place place = { .is_parameter = from->tag == DW_TAG_formal_parameter };
	struct reel_full_die die = *from, next;

	for (int i = 0; i < ORIGINS_MAX; i++) {
		const struct reel_form_value *type = reel_full_die_get(&die, DW_AT_type);

		/* Variables of the whole program, declared in a block. */
		if (reel_full_die_flag(&die, DW_AT_external) ||
		    reel_full_die_flag(&die, DW_AT_declaration))
			return NULL;
		set_place(reader, &die, places->address, &place);
		if (!place.name)
			place.name = reel_full_die_name(&die);
		if (type && !place.type.unit &&
		    !reel_dwarf_reference(die.at.dwarf, die.at.unit, type, &place.type))
			place.type.unit = NULL;
		if (!reel_full_die_follow(reader, &die, DW_AT_abstract_origin, &next) &&
		    !reel_full_die_follow(reader, &die, DW_AT_specification, &next))
			break;
		die = next;
	}
	if (!place.name || !*place.name || places->n == VARIABLES_MAX)
		return NULL;
	if (!reel_array_reserve(&places->all, places->n, &places->capacity, sizeof(place)))
		return reel_error_no_memory();
	places->all[places->n++] = place;
	return NULL;
}

static struct reel_error *read_scope(struct reel_die_reader *reader, struct reel_places *places,
				     struct reel_die_reference at)
{
	struct reel_error *error = NULL;
	struct reel_die_walk walk;
	struct reel_full_die die;
	unsigned depth;
	bool inside;

	reel_die_walk_begin(&walk, reader, at);
	while (!error && reel_die_walk_next(&walk, &die, &depth)) {
		if (!depth)
			continue;
		switch (die.tag) {
		case DW_TAG_formal_parameter:
		case DW_TAG_variable:
			error = add_variable(reader, places, &die);
			reel_die_walk_skip(&walk, &die, depth);
			break;
		case DW_TAG_lexical_block:
			error = block_holds(reader, &die, places->address, &inside);
			if (!inside)
				reel_die_walk_skip(&walk, &die, depth);
			break;
		default:
			reel_die_walk_skip(&walk, &die, depth);
		}
	}
	return error;
}

static struct reel_error *add_scope(struct reel_die_reader *reader, struct reel_places *places,
				    struct reel_die_reference at)
{
	size_t first = places->n;

	if (!reel_array_reserve(&places->scopes, places->n_scopes, &places->scopes_capacity,
				sizeof(*places->scopes)))
		return reel_error_no_memory();
	TRY(read_scope(reader, places, at));
	places->scopes[places->n_scopes++] = (struct reel_scope){ first, places->n };
	return NULL;
}

static struct reel_error *read_places(struct reel_variables *variables, struct reel_places *places)
{
	struct reel_die_reader *reader = &variables->reader;
	const struct reel_form_value *base;
	struct reel_debug_place place;
	struct reel_full_die function;

	TRY(reel_debug_info_place(variables->info, places->address, &place));
	for (size_t i = 0; place.unit && i < place.chain->n; i++) {
		places->function = (struct reel_die_reference){ place.dwarf, place.unit,
								place.chain->links[i].die_offset };
		TRY(add_scope(reader, places, places->function));
	}
	if (!places->function.unit || !reel_full_die_read(reader, places->function, &function))
		return NULL;
	base = reel_full_die_get(&function, DW_AT_frame_base);
	if (base) {
		find_location(reader, &function.at, base, places->address, &places->frame_base);
		places->frame_base_is_of_all = base->bytes;
	}
	for (size_t i = places->scopes[places->n_scopes - 1].first; place.is_begin && i < places->n;
	     i++)
		places->all[i].may_be_unset =
			places->all[i].is_parameter && places->all[i].is_of_all;
	return NULL;
}

struct reel_error *reel_variables_at(struct reel_variables *variables, uint64_t address,
				     const struct reel_places **ret)
{
	uint32_t number = REEL_HASH_FIND(&variables->index, address, i,
					 variables->all[i]->address == address);
	struct reel_places *places;
	struct reel_error *error;

	if (number != REEL_HASH_NONE) {
		*ret = variables->all[number];
		return NULL;
	}
	places = calloc(1, sizeof(*places));
	if (!places)
		return reel_error_no_memory();
	places->address = address;
	number = (uint32_t)variables->index.n;
	error = read_places(variables, places);
	if (!error && (!reel_array_reserve(&variables->all, number, &variables->capacity,
					   sizeof(struct reel_places *)) ||
		       !reel_hash_index_add(&variables->index, address, number)))
		error = reel_error_no_memory();
	if (error) {
		places_free(places);
		return error;
	}
	*ret = variables->all[number] = places;
	return NULL;
}
