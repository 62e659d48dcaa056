/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namespaces and classes around DIEs of C++ and Rust, for functions without a linkage name:
 * static ones, and all from compilers that omit it (-g1).
 */
#ifndef REPLAY_DWARF_DIE_SCOPES_H
#define REPLAY_DWARF_DIE_SCOPES_H

#include "replay/dwarf/dwarf_file.h"

struct reel_scopes;

void reel_scopes_destroy(struct reel_scopes *scopes);
/*
 * "ns::Class::name" for a function `name` declared by the DIE; `name` itself if it has no scope, or
 * the language (DW_LANG_*) has no scopes.  The result lives with the reel_dwarf.
 */
struct reel_error *reel_scopes_qualify(struct reel_die_reference at, uint16_t language,
				       const char *name, const char **ret) REEL_MUST_CHECK;

#endif
