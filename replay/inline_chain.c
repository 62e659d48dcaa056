/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "replay/inline_chain.h"

#define NO_PARENT UINT32_MAX
/* Deeper than any compiler inlines; it bounds what a hostile file makes of one address. */
#define CHAIN_MAX 4096
/* inlined -> abstract instance -> declaration -> …: three or four steps in practice. */
#define ORIGINS_MAX 16

struct inlined {
	uint64_t die_offset;
	uint32_t parent; /* index of the one it is inlined into, NO_PARENT: the function */
	bool resolved;
	struct reel_chain_link link;
};

struct function {
	uint64_t die_offset;
	uint64_t begin;
	const char *name; /* NULL until asked for */
	bool has_inlines; /* `inlined` and `ranges` are filled in */
	struct inlined *inlined;
	size_t n_inlined;
	struct reel_range_map ranges; /* values are indexes of `inlined` */
};

struct reel_functions {
	struct reel_abbreviations *abbreviations;
	struct function *all;
	size_t n, capacity;
	struct reel_range_map ranges; /* values are indexes of `all` */
};

void reel_functions_destroy(struct reel_functions *functions)
{
	if (!functions)
		return;
	for (size_t i = 0; i < functions->n; i++) {
		free(functions->all[i].inlined);
		reel_range_map_free(&functions->all[i].ranges);
	}
	free(functions->all);
	reel_range_map_free(&functions->ranges);
	reel_abbreviations_destroy(functions->abbreviations);
	free(functions);
}

void reel_chain_free(struct reel_chain *chain)
{
	free(chain->links);
	*chain = (struct reel_chain){ 0 };
}

static struct reel_error *add_function(const struct reel_dies *dies,
				       struct reel_functions *functions, uint64_t die_offset)
{
	size_t first = functions->ranges.n, n;
	struct reel_error *error;
	Dwarf_Die die;

	if (!dwarf_offdie(dies->dwarf, die_offset, &die))
		return NULL;
	error = reel_add_die_ranges(&functions->ranges, &die, dies->text_begin, dies->text_end,
				    (uint32_t)functions->n, (uint32_t)functions->n, &n);
	if (error || !n)
		return error;
	if (functions->n == functions->capacity) {
		size_t capacity = functions->capacity ? functions->capacity * 2 : 16;
		struct function *all = reallocarray(functions->all, capacity, sizeof(*all));

		if (!all)
			return reel_error_no_memory();
		functions->all = all;
		functions->capacity = capacity;
	}
	functions->all[functions->n++] = (struct function){
		.die_offset = die_offset,
		.begin = functions->ranges.entries[first].begin,
	};
	return NULL;
}

static struct reel_error *read_functions(const struct reel_dies *dies, const struct reel_unit *unit,
					 struct reel_functions *functions)
{
	struct reel_error *error;
	struct reel_die_scan scan;
	struct reel_die die;

	if (unit->end > dies->info.size || unit->die_offset > unit->end ||
	    unit->abbreviations_offset > dies->abbreviations.size)
		return NULL;
	error = reel_abbreviations_create(dies->abbreviations.bytes + unit->abbreviations_offset,
					  dies->abbreviations.size - unit->abbreviations_offset,
					  &unit->format, &functions->abbreviations);
	if (error)
		return error;
	scan = reel_die_scan(functions->abbreviations, dies->info.bytes, unit->die_offset,
			     unit->end);
	while (!error && reel_die_scan_next(&scan, &die)) {
		if (die.tag == DW_TAG_subprogram && die.has_code)
			error = add_function(dies, functions, die.offset);
	}
	return error ? error : reel_range_map_build(&functions->ranges);
}

/* The nearest inlined subroutine around each depth, while the DIEs of a function go by. */
struct nesting {
	struct {
		uint32_t depth, inlined;
	} open[CHAIN_MAX];
	size_t n;
};

static struct reel_error *add_inlined(const struct reel_dies *dies, struct function *function,
				      size_t *capacity, struct nesting *nesting,
				      const struct reel_die *it)
{
	struct reel_error *error;
	size_t n;
	Dwarf_Die die;

	if (nesting->n == CHAIN_MAX || !dwarf_offdie(dies->dwarf, it->offset, &die))
		return NULL;
	error = reel_add_die_ranges(&function->ranges, &die, dies->text_begin, dies->text_end,
				    (uint32_t)function->n_inlined, (uint32_t)function->n_inlined,
				    &n);
	/* One without ranges has no address, but those inlined into it may have. */
	if (error)
		return error;
	if (function->n_inlined == *capacity) {
		size_t wanted = *capacity ? *capacity * 2 : 8;
		struct inlined *inlined = reallocarray(function->inlined, wanted, sizeof(*inlined));

		if (!inlined)
			return reel_error_no_memory();
		function->inlined = inlined;
		*capacity = wanted;
	}
	function->inlined[function->n_inlined] = (struct inlined){
		.die_offset = it->offset,
		.parent = nesting->n ? nesting->open[nesting->n - 1].inlined : NO_PARENT,
	};
	nesting->open[nesting->n].depth = it->depth;
	nesting->open[nesting->n++].inlined = (uint32_t)function->n_inlined++;
	return NULL;
}

static struct reel_error *read_inlined(const struct reel_dies *dies, const struct reel_unit *unit,
				       const struct reel_functions *functions,
				       struct function *function, struct nesting *nesting)
{
	struct reel_die_scan scan = reel_die_scan(functions->abbreviations, dies->info.bytes,
						  function->die_offset, unit->end);
	/* The depth of a function in this function: what is below it is not ours. */
	uint32_t other = UINT32_MAX;
	struct reel_error *error = NULL;
	struct reel_die die;
	size_t capacity = 0;

	nesting->n = 0;
	while (!error && reel_die_scan_next(&scan, &die)) {
		if (die.depth <= other)
			other = UINT32_MAX;
		if (other != UINT32_MAX || !die.depth)
			continue;
		while (nesting->n && nesting->open[nesting->n - 1].depth >= die.depth)
			nesting->n--;
		if (die.tag == DW_TAG_subprogram)
			other = die.depth;
		else if (die.tag == DW_TAG_inlined_subroutine)
			error = add_inlined(dies, function, &capacity, nesting, &die);
	}
	return error ? error : reel_range_map_build(&function->ranges);
}

static const char *string_attribute(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* The linkage name of a DIE or of what it is an instance or a definition of, else its name. */
static const char *resolve_name(Dwarf_Die die)
{
	const char *plain = NULL;

	for (int i = 0; i < ORIGINS_MAX; i++) {
		Dwarf_Attribute attribute;
		const char *linkage = string_attribute(&die, DW_AT_linkage_name);
		Dwarf_Die origin;

		if (!linkage)
			linkage = string_attribute(&die, DW_AT_MIPS_linkage_name);
		if (linkage)
			return linkage;
		if (!plain)
			plain = string_attribute(&die, DW_AT_name);
		if ((!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
		     !dwarf_attr(&die, DW_AT_specification, &attribute)) ||
		    !dwarf_formref_die(&attribute, &origin))
			break;
		die = origin;
	}
	return plain ? plain : "";
}

static uint64_t unsigned_attribute(Dwarf_Die *die, unsigned name, uint64_t otherwise)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
		return otherwise;
	return value;
}

static void resolve_inlined(const struct reel_dies *dies, struct inlined *inlined)
{
	struct reel_chain_link *link = &inlined->link;
	Dwarf_Die die;

	inlined->resolved = true;
	*link = (struct reel_chain_link){ .name = "", .call_file = UINT64_MAX };
	if (!dwarf_offdie(dies->dwarf, inlined->die_offset, &die))
		return;
	link->name = resolve_name(die);
	link->call_file = unsigned_attribute(&die, DW_AT_call_file, UINT64_MAX);
	link->call_line = (uint32_t)unsigned_attribute(&die, DW_AT_call_line, 0);
	link->call_column = (uint32_t)unsigned_attribute(&die, DW_AT_call_column, 0);
}

static struct reel_error *add_link(struct reel_chain *chain, const struct reel_chain_link *link)
{
	if (chain->n == chain->capacity) {
		size_t capacity = chain->capacity ? chain->capacity * 2 : 16;
		struct reel_chain_link *links =
			reallocarray(chain->links, capacity, sizeof(*links));

		if (!links)
			return reel_error_no_memory();
		chain->links = links;
		chain->capacity = capacity;
	}
	chain->links[chain->n++] = *link;
	return NULL;
}

static struct reel_error *open_functions(const struct reel_dies *dies, struct reel_unit *unit)
{
	struct reel_functions *functions = calloc(1, sizeof(*functions));
	struct reel_error *error;

	if (!functions)
		return reel_error_no_memory();
	error = read_functions(dies, unit, functions);
	if (error) {
		reel_functions_destroy(functions);
		return error;
	}
	unit->functions = functions;
	return NULL;
}

static struct reel_error *open_function(const struct reel_dies *dies, const struct reel_unit *unit,
					struct function *function)
{
	struct nesting *nesting = malloc(sizeof(*nesting));
	struct reel_error *error;
	Dwarf_Die die;

	if (!nesting)
		return reel_error_no_memory();
	function->has_inlines = true;
	function->name =
		dwarf_offdie(dies->dwarf, function->die_offset, &die) ? resolve_name(die) : "";
	error = read_inlined(dies, unit, unit->functions, function, nesting);
	free(nesting);
	return error;
}

struct reel_error *reel_inline_chain(const struct reel_dies *dies, struct reel_unit *unit,
				     uint64_t address, struct reel_chain *chain)
{
	const struct reel_range_entry *entry;
	struct reel_error *error = NULL;
	struct function *function;

	chain->n = 0;
	if (!unit->functions)
		error = open_functions(dies, unit);
	if (error)
		return error;
	entry = reel_range_map_find(&unit->functions->ranges, address);
	if (!entry)
		return NULL;
	function = &unit->functions->all[entry->value];
	if (!function->has_inlines)
		error = open_function(dies, unit, function);
	if (error)
		return error;
	chain->function_begin = function->begin;
	entry = reel_range_map_find(&function->ranges, address);
	for (uint32_t at = entry ? entry->value : NO_PARENT; !error && at != NO_PARENT;
	     at = function->inlined[at].parent) {
		struct inlined *inlined = &function->inlined[at];

		if (!inlined->resolved)
			resolve_inlined(dies, inlined);
		error = add_link(chain, &inlined->link);
	}
	if (error)
		return error;
	return add_link(chain, &(struct reel_chain_link){ .name = function->name,
							  .call_file = UINT64_MAX });
}
