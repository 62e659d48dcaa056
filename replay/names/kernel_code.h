/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel addresses: their symbols (KERNEL_SYMBOL records), each from a time on, and their code.
 *
 * Maps kernel addresses to the files with the kernel's debug information.  The kernel and its
 * modules move at each boot; the capture's symbols, looked up by name in the file, give the
 * distance.
 */
#ifndef REPLAY_NAMES_KERNEL_CODE_H
#define REPLAY_NAMES_KERNEL_CODE_H

#include "replay/names/module.h"
#include "format/timeline/origins.h"

struct reel_kernel_symbol_map;

struct reel_kernel_symbol {
	uint64_t address, size; /* size 0: unknown */
	uint64_t since;		/* capture clock; 0: the whole time */
	const char *name;	/* "": the range is unknown from then on */
	const char *module;	/* path of its module, "" if unknown */
	uint64_t module_id;
	uint64_t origin; /* ORIGIN.id, or 0 */
};

struct reel_error *reel_kernel_symbol_map_create(struct reel_kernel_symbol_map **ret)
	REEL_MUST_CHECK;
void reel_kernel_symbol_map_destroy(struct reel_kernel_symbol_map *symbols);
/* Strings are borrowed and must outlive the map. */
struct reel_error *reel_kernel_symbol_map_add(struct reel_kernel_symbol_map *symbols,
					      const struct reel_kernel_symbol *symbol)
	REEL_MUST_CHECK;
/* Call after adding all symbols, before look-ups. */
struct reel_error *reel_kernel_symbol_map_seal(struct reel_kernel_symbol_map *symbols)
	REEL_MUST_CHECK;
/* All symbols in the order of their addition. */
const struct reel_kernel_symbol *reel_kernel_symbol_map_all(
	const struct reel_kernel_symbol_map *symbols, size_t *count_ret);
/* The symbol with `address` at `time` in the kernel of that origin, NULL if none. */
const struct reel_kernel_symbol *reel_kernel_symbol_map_find(
	const struct reel_kernel_symbol_map *symbols, uint64_t origin, uint64_t address,
	uint64_t time);

/* ---- code ------------------------------------------------------------------------- */

struct reel_kernel_code;

/* All are borrowed and must outlive it.  `arch` is the kernel's, NULL if unknown. */
struct reel_error *reel_kernel_code_create(const struct reel_timeline *timeline,
					   struct reel_modules *modules,
					   const struct reel_kernel_symbol_map *symbols,
					   const struct reel_arch *arch,
					   struct reel_kernel_code **ret) REEL_MUST_CHECK;
void reel_kernel_code_destroy(struct reel_kernel_code *code);

/*
 * The module with `address` (NULL if unknown), and if *found_ret the address in the module's
 * files.debug.  `symbol` is the symbol with the address.  If it is NULL, only the kernel proper is
 * considered: `origin`'s, unless `origin` is NULL.
 */
struct reel_error *reel_kernel_code_find(struct reel_kernel_code *code,
					 const struct reel_origin_capture *origin,
					 const struct reel_kernel_symbol *symbol, uint64_t address,
					 struct reel_module **module_ret, bool *found_ret,
					 uint64_t *elf_address_ret) REEL_MUST_CHECK;
/* Whether interrupts or faults enter the kernel by the function of that name. */
bool reel_kernel_code_is_entry(const struct reel_kernel_code *code, const char *name);

#endif
