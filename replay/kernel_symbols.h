/* SPDX-License-Identifier: Apache-2.0 */
/* KERNEL_SYMBOL records: names of kernel addresses. */
#ifndef REPLAY_KERNEL_SYMBOLS_H
#define REPLAY_KERNEL_SYMBOLS_H

#include "format/error.h"
#include "format/record.h"

struct reel_kernel_symbols;

struct reel_kernel_symbol {
	uint64_t address, size; /* size 0: unknown */
	const char *name;
	const char *module; /* path of its module, "" if unknown */
	uint64_t module_id;
};

struct reel_error *reel_kernel_symbols_create(struct reel_kernel_symbols **ret) REEL_MUST_CHECK;
void reel_kernel_symbols_destroy(struct reel_kernel_symbols *symbols);
/* Strings are borrowed, and must outlive it. */
struct reel_error *reel_kernel_symbols_add(struct reel_kernel_symbols *symbols,
					   const struct reel_kernel_symbol *symbol) REEL_MUST_CHECK;
/* The symbol that holds `address`, NULL if none does. */
const struct reel_kernel_symbol *reel_kernel_symbols_find(struct reel_kernel_symbols *symbols,
							  uint64_t address);

#endif
