/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/array.h"
#include "replay/dwarf/die_ranges.h"
#include "replay/dwarf/die_scopes.h"
#include "replay/dwarf/inline_chain.h"

#define NO_PARENT UINT32_MAX
/* Deeper than any compiler inlines: limits the frames that a hostile file can give one address. */
#define CHAIN_MAX 4096
/* inlined -> abstract instance -> declaration -> …: three or four steps in practice. */
#define ORIGINS_MAX 16

static const struct reel_inline_link nothing = {
	.name = "",
	.linkage_name = "",
	.call_file = UINT64_MAX,
};

struct inlined {
	uint64_t die_offset;
	uint32_t parent; /* index of the containing one, NO_PARENT: the function */
	bool resolved;
	struct reel_inline_link link;
};

struct function {
	uint64_t die_offset;
	uint64_t begin;
	struct reel_inline_link link; /* its names and line, once needed */
	bool has_inlines;	      /* `inlined` and `ranges` are filled in */
	bool has_nested;	      /* also set then: a function with code is below it */
	unsigned n_searches;	      /* of the ranges, before they are built */
	struct inlined *inlined;
	size_t n_inlined;
	struct reel_range_map ranges; /* values are indexes of `inlined` */
};

struct reel_functions {
	struct function *all;
	size_t n, capacity;
	struct reel_range_map ranges; /* values are indexes of `all` */
	/* Also has functions below types and other functions. */
	bool is_complete;
	/* All functions, for addresses not in the ones above; NULL until such an address is looked
	 * up.  Addresses in the ones above stay theirs: results must not depend on earlier
	 * look-ups. */
	struct reel_functions *complete;
};

void reel_functions_destroy(struct reel_functions *functions)
{
	if (!functions)
		return;
	reel_functions_destroy(functions->complete);
	for (size_t i = 0; i < functions->n; i++) {
		free(functions->all[i].inlined);
		reel_range_map_free(&functions->all[i].ranges);
	}
	free(functions->all);
	reel_range_map_free(&functions->ranges);
	free(functions);
}

void reel_inline_chain_free(struct reel_inline_chain *chain)
{
	free(chain->links);
	*chain = (struct reel_inline_chain){ 0 };
}

static struct reel_error *add_function(const struct reel_dies *dies, struct reel_unit *unit,
				       struct reel_functions *functions, uint64_t die_offset,
				       const struct reel_die_values *values)
{
	struct reel_die_ranges to = { &functions->ranges, dies->text_begin, dies->text_end };
	size_t first = functions->ranges.n, n;
	struct reel_error *error;

	error = reel_die_ranges_add(&to, dies->dwarf, unit, values, (uint32_t)functions->n, &n);
	if (error || !n)
		return error;
	if (!reel_array_reserve(&functions->all, functions->n, &functions->capacity,
				sizeof(*functions->all)))
		return reel_error_no_memory();
	functions->all[functions->n++] = (struct function){
		.die_offset = die_offset,
		.begin = functions->ranges.entries[first].begin,
	};
	return NULL;
}

/* For C and C++, gcc and clang put functions with code only into units and namespaces. */
static bool is_c(uint16_t language)
{
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return true;
	default:
		return false;
	}
}

/* Whether to look for functions with code below a DIE before one is missing. */
static bool may_hold_functions(const struct reel_unit *unit, uint16_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_enumeration_type:
	case DW_TAG_array_type:
	case DW_TAG_subroutine_type:
		return false;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		/* Rust's methods are inside their type. */
		return !is_c(unit->language);
	default:
		return true;
	}
}

static void scan_unit(const struct reel_dies *dies, const struct reel_unit *unit, uint64_t begin,
		      struct reel_die_scan *scan)
{
	reel_die_scan_begin(scan, unit->abbreviations, dies->dwarf->info.bytes, unit->offset, begin,
			    unit->end);
}

static struct reel_error *read_functions(const struct reel_dies *dies, struct reel_unit *unit,
					 struct reel_functions *functions)
{
	struct reel_error *error = NULL;
	struct reel_die_scan scan;
	struct reel_die die;

	if (!reel_dwarf_load(dies->dwarf, unit) ||
	    !reel_dwarf_work(dies->dwarf, unit->end - unit->offset))
		return NULL;
	scan_unit(dies, unit, unit->die_offset, &scan);
	while (!error && reel_die_scan_next(&scan, &die)) {
		const struct reel_abbreviation *kind = die.abbreviation;

		if (kind->tag == DW_TAG_subprogram && kind->has_code)
			error = add_function(dies, unit, functions, die.offset, &scan.values);
		if (!functions->is_complete && kind->has_children &&
		    !may_hold_functions(unit, kind->tag))
			reel_die_scan_skip_children(&scan, &die);
	}
	return error ? error : reel_range_map_build(&functions->ranges);
}

/* The innermost inlined subroutine around each depth of the scan of a function. */
struct nesting {
	struct {
		uint32_t depth, inlined;
	} open[CHAIN_MAX];
	size_t n;
};

static struct reel_error *add_inlined(const struct reel_dies *dies, struct reel_unit *unit,
				      struct function *function, size_t *capacity,
				      struct nesting *nesting, const struct reel_die *it,
				      const struct reel_die_values *values)
{
	struct reel_die_ranges to = { &function->ranges, dies->text_begin, dies->text_end };
	size_t n;

	if (nesting->n == CHAIN_MAX)
		return NULL;
	/* Without ranges, it has no address, but nested inlined ones may. */
	TRY(reel_die_ranges_add(&to, dies->dwarf, unit, values, (uint32_t)function->n_inlined, &n));
	if (!reel_array_reserve(&function->inlined, function->n_inlined, capacity,
				sizeof(*function->inlined)))
		return reel_error_no_memory();
	function->inlined[function->n_inlined] = (struct inlined){
		.die_offset = it->offset,
		.parent = nesting->n ? nesting->open[nesting->n - 1].inlined : NO_PARENT,
	};
	nesting->open[nesting->n].depth = it->depth;
	nesting->open[nesting->n++].inlined = (uint32_t)function->n_inlined++;
	return NULL;
}

static bool may_hold_inlined(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram: /* its children are not this function's */
		return false;
	default:
		return true;
	}
}

static struct reel_error *read_inlined(const struct reel_dies *dies, struct reel_unit *unit,
				       struct function *function, struct nesting *nesting)
{
	struct reel_error *error = NULL;
	struct reel_die_scan scan;
	struct reel_die die;
	size_t capacity = 0;
	uint64_t last = function->die_offset;

	nesting->n = 0;
	if (reel_dwarf_charged(dies->dwarf)->exhausted)
		return NULL;
	scan_unit(dies, unit, function->die_offset, &scan);
	while (!error && reel_die_scan_next(&scan, &die)) {
		const struct reel_abbreviation *kind = die.abbreviation;

		last = die.offset;
		if (!die.depth && !kind->has_children)
			return NULL;
		if (!die.depth)
			continue;
		while (nesting->n && nesting->open[nesting->n - 1].depth >= die.depth)
			nesting->n--;
		if (kind->tag == DW_TAG_inlined_subroutine)
			error = add_inlined(dies, unit, function, &capacity, nesting, &die,
					    &scan.values);
		else if (kind->tag == DW_TAG_subprogram && kind->has_code)
			function->has_nested = true;
		if (kind->has_children && !may_hold_inlined(kind->tag))
			reel_die_scan_skip_children(&scan, &die);
	}
	/* A failed cursor is at its end. */
	if (!scan.cursor.failed)
		last = reel_cursor_offset(&scan.cursor);
	reel_dwarf_work(dies->dwarf, last - function->die_offset);
	return error;
}

static uint64_t constant_or(const struct reel_form_value *value, uint64_t otherwise)
{
	uint64_t result;

	return reel_dwarf_constant(value, &result) ? result : otherwise;
}

/*
 * The linkage name of a DIE or of its abstract instance or declaration, else its name, with the
 * namespaces and classes of its declaration; and the first line among these: a definition's own
 * line is used before its declaration's.
 */
static struct reel_error *resolve_name(struct reel_die_reference at,
				       const struct reel_die_values *first,
				       struct reel_inline_link *ret)
{
	uint16_t language = at.unit->language;
	struct reel_die_reference next;
	struct reel_die_values values = *first;
	const char *plain = NULL;

	ret->name = ret->linkage_name = "";
	ret->decl_line = 0;
	for (int i = 0; i < ORIGINS_MAX; i++) {
		const struct reel_form_value *of = values.at;
		const char *linkage =
			reel_dwarf_string(at.dwarf, at.unit, &of[REEL_AT_LINKAGE_NAME]);
		const struct reel_form_value *origin = of[REEL_AT_ABSTRACT_ORIGIN].form
							       ? &of[REEL_AT_ABSTRACT_ORIGIN]
							       : &of[REEL_AT_SPECIFICATION];

		if (!ret->decl_line)
			ret->decl_line = (uint32_t)constant_or(&of[REEL_AT_DECL_LINE], 0);
		if (!linkage)
			linkage = reel_dwarf_string(at.dwarf, at.unit,
						    &of[REEL_AT_MIPS_LINKAGE_NAME]);
		if (linkage && !*ret->linkage_name)
			ret->name = ret->linkage_name = linkage;
		if (*ret->linkage_name && ret->decl_line)
			return NULL;
		if (!plain)
			plain = reel_dwarf_string(at.dwarf, at.unit, &of[REEL_AT_NAME]);
		if (!reel_dwarf_reference(at.dwarf, at.unit, origin, &next) ||
		    !reel_dwarf_die(next.dwarf, next.unit, next.offset, &values))
			break;
		at = next;
	}
	if (*ret->linkage_name || !plain)
		return NULL;
	ret->linkage_name = plain;
	return plain[0] ? reel_scopes_qualify(at, language, plain, &ret->name) : NULL;
}

static struct reel_error *resolve_inlined(const struct reel_dies *dies, struct reel_unit *unit,
					  struct inlined *inlined)
{
	struct reel_die_reference at = { dies->dwarf, unit, inlined->die_offset };
	struct reel_inline_link *link = &inlined->link;
	struct reel_die_values values;

	inlined->resolved = true;
	*link = nothing;
	link->die_offset = inlined->die_offset;
	if (!reel_dwarf_die(dies->dwarf, unit, inlined->die_offset, &values))
		return NULL;
	link->call_file = constant_or(&values.at[REEL_AT_CALL_FILE], UINT64_MAX);
	link->call_line = (uint32_t)constant_or(&values.at[REEL_AT_CALL_LINE], 0);
	link->call_column = (uint32_t)constant_or(&values.at[REEL_AT_CALL_COLUMN], 0);
	link->call_discriminator = (uint32_t)constant_or(&values.at[REEL_AT_DISCRIMINATOR], 0);
	return resolve_name(at, &values, link);
}

static struct reel_error *add_link(struct reel_inline_chain *chain,
				   const struct reel_inline_link *link)
{
	if (!reel_array_reserve(&chain->links, chain->n, &chain->capacity, sizeof(*chain->links)))
		return reel_error_no_memory();
	chain->links[chain->n++] = *link;
	return NULL;
}

static struct reel_error *open_functions(const struct reel_dies *dies, struct reel_unit *unit,
					 bool all, struct reel_functions **ret)
{
	struct reel_functions *functions = calloc(1, sizeof(*functions));
	struct reel_error *error;

	if (!functions)
		return reel_error_no_memory();
	functions->is_complete = all;
	error = read_functions(dies, unit, functions);
	if (error) {
		reel_functions_destroy(functions);
		return error;
	}
	*ret = functions;
	return NULL;
}

static struct reel_error *open_function(const struct reel_dies *dies, struct reel_unit *unit,
					struct function *function)
{
	struct reel_die_reference at = { dies->dwarf, unit, function->die_offset };
	_cleanup_free_ struct nesting *nesting = malloc(sizeof(*nesting));
	struct reel_die_values values;

	if (!nesting)
		return reel_error_no_memory();
	function->has_inlines = true;
	function->link = nothing;
	function->link.die_offset = function->die_offset;
	if (reel_dwarf_die(dies->dwarf, unit, function->die_offset, &values))
		TRY(resolve_name(at, &values, &function->link));
	return read_inlined(dies, unit, function, nesting);
}

/* The function at an address, with its inlined ones read; NULL: none. */
static struct reel_error *find_function_among(const struct reel_dies *dies, struct reel_unit *unit,
					      struct reel_functions *functions, uint64_t address,
					      struct function **ret)
{
	const struct reel_range_entry *entry = reel_range_map_find(&functions->ranges, address);

	*ret = entry ? &functions->all[entry->value] : NULL;
	return *ret && !(*ret)->has_inlines ? open_function(dies, unit, *ret) : NULL;
}

static struct reel_error *find_function(const struct reel_dies *dies, struct reel_unit *unit,
					uint64_t address, struct function **ret)
{
	if (!unit->functions)
		TRY(open_functions(dies, unit, false, &unit->functions));
	TRY(find_function_among(dies, unit, unit->functions, address, ret));
	if (*ret && !(*ret)->has_nested)
		return NULL;
	/* Functions left out may have the address, or be inside the one found. */
	if (!unit->functions->complete)
		TRY(open_functions(dies, unit, true, &unit->functions->complete));
	return find_function_among(dies, unit, unit->functions->complete, address, ret);
}

/* Building the map is worthwhile only after this many searches. */
#define SEARCHES_UNBUILT 16

/* The inlined function at an address; NO_PARENT: none. */
static struct reel_error *find_inlined(struct function *function, uint64_t address, uint32_t *ret)
{
	const struct reel_range_entry *entry;
	struct reel_error *error = NULL;

	if (function->n_searches < SEARCHES_UNBUILT) {
		entry = reel_range_map_find_unbuilt(&function->ranges, address);
		*ret = entry ? entry->value : NO_PARENT;
		if (++function->n_searches == SEARCHES_UNBUILT)
			error = reel_range_map_build(&function->ranges);
		return error;
	}
	entry = reel_range_map_find(&function->ranges, address);
	*ret = entry ? entry->value : NO_PARENT;
	return NULL;
}

struct reel_error *reel_inline_chain_find(const struct reel_dies *dies, struct reel_unit *unit,
					  uint64_t address, struct reel_inline_chain *chain)
{
	struct function *function;
	uint32_t at;

	chain->n = 0;
	TRY(find_function(dies, unit, address, &function));
	if (!function)
		return NULL;
	chain->function_begin = function->begin;
	TRY(find_inlined(function, address, &at));
	for (; at != NO_PARENT; at = function->inlined[at].parent) {
		struct inlined *inlined = &function->inlined[at];

		if (!inlined->resolved)
			TRY(resolve_inlined(dies, unit, inlined));
		TRY(add_link(chain, &inlined->link));
	}
	return add_link(chain, &function->link);
}
