/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function at an address and the functions inlined into it there, from the DIEs of a unit.
 * Both are indexed when first needed: a unit's functions by their ranges, a function's inlined
 * subroutines by theirs.  If ranges overlap, the later DIE (the inner one) has the address.
 */
#ifndef REPLAY_DWARF_INLINE_CHAIN_H
#define REPLAY_DWARF_INLINE_CHAIN_H

#include "replay/dwarf/dwarf_file.h"

/* Shared by all units of a module. */
struct reel_dies {
	struct reel_dwarf *dwarf;
	uint64_t text_begin, text_end;
};

struct reel_inline_link {
	uint64_t die_offset; /* in the unit's .debug_info */
	/* Linkage name, or else the plain one with its namespaces and classes; "" if none. */
	const char *name;
	/* The same, but plain names without scopes; and the line of its declaration, 0 if unknown.
	 */
	const char *linkage_name;
	uint32_t decl_line;
	/*
	 * Where it is called, in the next link; unused in the last link.  The file is a number of
	 * the unit's line table, UINT64_MAX: unknown.
	 */
	uint64_t call_file;
	uint32_t call_line, call_column, call_discriminator;
};

struct reel_inline_chain {
	struct reel_inline_link *links; /* innermost first; the last is the function itself */
	size_t n, capacity;
	uint64_t function_begin;
};

/* `chain` is reused by the next call; n is 0 if no function of the unit has the address. */
struct reel_error *reel_inline_chain_find(const struct reel_dies *dies, struct reel_unit *unit,
					  uint64_t address,
					  struct reel_inline_chain *chain) REEL_MUST_CHECK;
void reel_inline_chain_free(struct reel_inline_chain *chain);
void reel_functions_destroy(struct reel_functions *functions);

#endif
