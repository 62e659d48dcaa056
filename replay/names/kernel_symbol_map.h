/* SPDX-License-Identifier: Apache-2.0 */
/* KERNEL_SYMBOL records: names of kernel addresses, each from a time on. */
#ifndef REPLAY_NAMES_KERNEL_SYMBOL_MAP_H
#define REPLAY_NAMES_KERNEL_SYMBOL_MAP_H

#include "base/error.h"
#include "format/record.h"

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

#endif
