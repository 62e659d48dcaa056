/* SPDX-License-Identifier: Apache-2.0 */
/* The DWARF of a module: source positions and inlined functions of an address. */
#ifndef REPLAY_DWARF_DEBUG_INFO_H
#define REPLAY_DWARF_DEBUG_INFO_H

#include "elf/debug_frame.h"
#include "replay/dwarf/inline_chain.h"
#include "replay/files/module_search.h"

struct reel_debug_info;

/*
 * `file` has the debug information; `code`, which may be the same, has the program headers.  Both
 * must outlive it, as must `search`, which finds files of -gsplit-dwarf (NULL: do not look).
 */
struct reel_error *reel_debug_info_open(struct reel_elf_file *file,
					const struct reel_elf_file *code,
					const struct reel_module_search *search,
					struct reel_debug_info **ret) REEL_MUST_CHECK;
/*
 * The problem with the first needed unit whose file is missing: -gsplit-dwarf has left only its
 * lines.  NULL: no problem so far.
 */
const char *reel_debug_info_split_problem(const struct reel_debug_info *info);
/* Call it before reading values' locations: names do not need their sections, which may be large
 * and compressed. */
struct reel_error *reel_debug_info_open_locations(struct reel_debug_info *info) REEL_MUST_CHECK;
/* Whether any of its code is Go. */
bool reel_debug_info_has_go(const struct reel_debug_info *info);
void reel_debug_info_close(struct reel_debug_info *info);

/*
 * The frames at an ELF address, innermost first; none if it is unknown.  `*begin_ret` is the start
 * of the function, 0 if unknown.  `*frames_ret` is borrowed until the next call.
 */
struct reel_error *reel_debug_info_look_up(struct reel_debug_info *info, uint64_t address,
					   const struct reel_debug_frame **frames_ret,
					   size_t *n_ret, uint64_t *begin_ret) REEL_MUST_CHECK;

/* The functions at an ELF address, as DIEs of `unit` (NULL: none); borrowed until the next call. */
struct reel_debug_place {
	struct reel_dwarf *dwarf;
	struct reel_unit *unit;
	const struct reel_inline_chain *chain;
	/* The line is still the function's first: it is perhaps being set up. */
	bool is_begin;
};

struct reel_error *reel_debug_info_place(struct reel_debug_info *info, uint64_t address,
					 struct reel_debug_place *ret) REEL_MUST_CHECK;

#endif
