/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters and local variables of the functions at an address, inlined ones first, and where
 * their values are there.  Each address is looked up once.
 */
#ifndef REPLAY_VALUES_VARIABLES_H
#define REPLAY_VALUES_VARIABLES_H

#include "replay/dwarf/debug_info.h"
#include "replay/dwarf/full_die.h"

struct reel_place {
	const char *name;
	bool is_parameter;
	struct reel_die_reference type; /* unit NULL: unknown */
	/* NULL data: the value does not exist here, unless it is a constant. */
	struct reel_bytes expression;
	struct reel_form_value constant; /* form 0: none */
	bool unreadable;
	/* The expression is not of a list, so that it is also given for instructions before the
	 * frame exists, and after it. */
	bool is_of_all;
	/* Its function has perhaps not stored it yet. */
	bool may_be_unset;
};

/* A function; its variables are those from `first` to `end`, of inner blocks last. */
struct reel_scope {
	size_t first, end;
};

struct reel_places {
	uint64_t address;
	struct reel_die_reference function; /* not inlined; unit NULL: unknown */
	struct reel_bytes frame_base;
	bool frame_base_is_of_all;
	struct reel_scope *scopes; /* innermost first */
	size_t n_scopes, scopes_capacity;
	struct reel_place *all;
	size_t n, capacity;
};

struct reel_variables;

/* `info` is borrowed; its user must be the only one.  `size`, of its file, limits the work. */
struct reel_error *reel_variables_create(struct reel_debug_info *info, uint64_t size,
					 struct reel_variables **ret) REEL_MUST_CHECK;
void reel_variables_destroy(struct reel_variables *variables);
/* Lives with `variables`. */
struct reel_error *reel_variables_at(struct reel_variables *variables, uint64_t address,
				     const struct reel_places **ret) REEL_MUST_CHECK;

/* What a parameter's value at its function's entry is, for a call: an expression for the caller;
 * NULL data: the call does not tell. */
struct reel_call_value {
	uint64_t here, there; /* ELF addresses in the function and in its caller */
	const struct reel_variables *caller;
	const uint8_t *location;
	struct reel_bytes expression;
	const char *name; /* that the function was called by, from another file; else NULL */
	struct reel_bytes target; /* the called address, of an indirect call; NULL data: none */
	uint64_t entry;		  /* the function's ELF address, then */
};

/* The one of the same addresses, caller and location that was found before; NULL: not yet. */
const struct reel_call_value *reel_variables_call_value(const struct reel_variables *variables,
							const struct reel_call_value *key);
struct reel_error *reel_variables_add_call_value(
	struct reel_variables *variables, const struct reel_call_value *value) REEL_MUST_CHECK;
struct reel_die_reader *reel_variables_reader(struct reel_variables *variables);

#endif
