/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/dwarf/die_scopes.h"

#define NO_SCOPE UINT32_MAX
/* Deeper than real nesting. */
#define DEPTH_MAX 64

struct scope {
	uint32_t begin, end; /* of its DIE with children, from the unit's start */
	uint32_t parent;     /* index; NO_SCOPE: the unit */
	bool is_namespace;
};

/* The scopes of a unit, in the order of DIEs. */
struct reel_scopes {
	struct scope *all;
	size_t n, capacity;
};

void reel_scopes_destroy(struct reel_scopes *scopes)
{
	if (!scopes)
		return;
	free(scopes->all);
	free(scopes);
}

static bool has_scopes(uint16_t language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Rust:
		return true;
	default:
		return false;
	}
}

static bool is_scope(uint16_t tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

static void close_scopes(struct reel_scopes *scopes, const uint32_t *depths, uint32_t *open,
			 uint32_t depth, uint64_t end)
{
	while (*open != NO_SCOPE && depths[*open] >= depth) {
		scopes->all[*open].end = (uint32_t)end;
		*open = scopes->all[*open].parent;
	}
}

static struct reel_error *read_scopes(struct reel_dwarf *dwarf, const struct reel_unit *unit,
				      struct reel_scopes *scopes)
{
	_cleanup_free_ uint32_t *depths = NULL; /* of each scope */
	size_t depths_capacity = 0;
	uint32_t open = NO_SCOPE;
	struct reel_die_scan scan;
	struct reel_die die;

	if (unit->end - unit->offset >= UINT32_MAX ||
	    !reel_dwarf_work(dwarf, unit->end - unit->offset))
		return NULL;
	reel_die_scan_begin(&scan, unit->abbreviations, dwarf->info.bytes, unit->offset,
			    unit->die_offset, unit->end);
	while (reel_die_scan_next(&scan, &die)) {
		const struct reel_abbreviation *kind = die.abbreviation;

		close_scopes(scopes, depths, &open, die.depth, die.offset - unit->offset);
		if (!kind->has_children || !is_scope(kind->tag))
			continue;
		if (!reel_array_reserve(&scopes->all, scopes->n, &scopes->capacity,
					sizeof(*scopes->all)) ||
		    !reel_array_reserve(&depths, scopes->n, &depths_capacity, sizeof(*depths)))
			return reel_error_no_memory();
		scopes->all[scopes->n] = (struct scope){
			.begin = (uint32_t)(die.offset - unit->offset),
			.parent = open,
			.is_namespace = kind->tag == DW_TAG_namespace,
		};
		depths[scopes->n] = die.depth;
		open = (uint32_t)scopes->n++;
	}
	close_scopes(scopes, depths, &open, 0, unit->end - unit->offset);
	return NULL;
}

static struct reel_error *open_scopes(struct reel_dwarf *dwarf, struct reel_unit *unit)
{
	if (unit->scopes || !reel_dwarf_load(dwarf, unit))
		return NULL;
	unit->scopes = calloc(1, sizeof(*unit->scopes));
	if (!unit->scopes)
		return reel_error_no_memory();
	return read_scopes(dwarf, unit, unit->scopes);
}

/* The innermost scope around an offset from the unit's start. */
static uint32_t scope_around(const struct reel_scopes *scopes, uint64_t offset)
{
	size_t low;
	uint32_t at;

	low = REEL_PARTITION_POINT(scopes->n, i, scopes->all[i].begin < offset);
	at = low ? (uint32_t)low - 1 : NO_SCOPE;
	while (at != NO_SCOPE && scopes->all[at].end <= offset)
		at = scopes->all[at].parent;
	return at;
}

/* Returns its name and, for a class defined outside its declaration, the declaration. */
static const char *scope_name(struct reel_die_reference *at, bool is_namespace)
{
	struct reel_die_reference declaration;
	struct reel_die_values values;
	const char *name;

	if (!reel_dwarf_die(at->dwarf, at->unit, at->offset, &values))
		return NULL;
	if (reel_dwarf_reference(at->dwarf, at->unit, &values.at[REEL_AT_SPECIFICATION],
				 &declaration)) {
		*at = declaration;
		if (!reel_dwarf_die(at->dwarf, at->unit, at->offset, &values))
			return NULL;
	}
	name = reel_dwarf_string(at->dwarf, at->unit, &values.at[REEL_AT_NAME]);
	/* As in demanglers and gdb. */
	return name || !is_namespace ? name : "(anonymous namespace)";
}

/* Names of the scopes, innermost first; unnamed ones (closures) are omitted. */
static struct reel_error *find_names(struct reel_die_reference at, const char *names[DEPTH_MAX],
				     size_t *n_ret)
{
	*n_ret = 0;
	for (size_t i = 0; i < DEPTH_MAX; i++) {
		struct reel_error *error = open_scopes(at.dwarf, at.unit);
		uint32_t around;

		if (error || !at.unit->scopes)
			return error;
		around = scope_around(at.unit->scopes, at.offset - at.unit->offset);
		if (around == NO_SCOPE)
			return NULL;
		at.offset = at.unit->offset + at.unit->scopes->all[around].begin;
		names[*n_ret] = scope_name(&at, at.unit->scopes->all[around].is_namespace);
		*n_ret += names[*n_ret] && names[*n_ret][0];
	}
	return NULL;
}

struct reel_error *reel_scopes_qualify(struct reel_die_reference at, uint16_t language,
				       const char *name, const char **ret)
{
	_cleanup_buffer_ struct reel_buffer text = { 0 };
	const char *names[DEPTH_MAX];
	struct reel_error *error;
	size_t n;

	*ret = name;
	if (!has_scopes(language))
		return NULL;
	error = find_names(at, names, &n);
	if (error || !n)
		return error;
	while (n--) {
		reel_buffer_append(&text, names[n], strlen(names[n]));
		reel_buffer_append(&text, "::", 2);
	}
	reel_buffer_append(&text, name, strlen(name));
	if (!at.dwarf->texts)
		at.dwarf->texts = reel_texts_create();
	*ret = at.dwarf->texts && !text.failed
		       ? reel_texts_add(at.dwarf->texts, text.bytes, text.size)
		       : NULL;
	return *ret ? NULL : reel_error_no_memory();
}
