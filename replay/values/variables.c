/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/array.h"
#include "replay/dwarf/die_ranges.h"
#include "replay/values/location_list.h"
#include "replay/values/variables.h"

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
	struct reel_variables *variables = calloc(1, sizeof(*variables));

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
		place->unreadable |= !reel_location_find(reader, &die->at, location, address,
							 &place->expression);
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
		reel_location_find(reader, &function.at, base, places->address,
				   &places->frame_base);
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
