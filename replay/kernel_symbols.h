/* SPDX-License-Identifier: Apache-2.0 */
/* KERNEL_SYMBOL records: names of kernel addresses, each from a time on. */
#ifndef REPLAY_KERNEL_SYMBOLS_H
#define REPLAY_KERNEL_SYMBOLS_H

#include "format/error.h"
#include "format/record.h"

struct reel_kernel_symbols;

struct reel_kernel_symbol {
	uint64_t address, size; /* size 0: unknown */
	uint64_t since;		/* capture clock; 0: the whole time */
	const char *name;	/* "": nothing is known of the range any more */
	const char *module;	/* path of its module, "" if unknown */
	uint64_t module_id;
};

struct reel_error *reel_kernel_symbols_create(struct reel_kernel_symbols **ret) REEL_MUST_CHECK;
void reel_kernel_symbols_destroy(struct reel_kernel_symbols *symbols);
/* Strings are borrowed, and must outlive it. */
struct reel_error *reel_kernel_symbols_add(struct reel_kernel_symbols *symbols,
					   const struct reel_kernel_symbol *symbol) REEL_MUST_CHECK;
/* All are there: look-ups are possible from here on. */
struct reel_error *reel_kernel_symbols_seal(struct reel_kernel_symbols *symbols) REEL_MUST_CHECK;
/* In the order in which they were added. */
const struct reel_kernel_symbol *reel_kernel_symbols_all(const struct reel_kernel_symbols *symbols,
							 size_t *count_ret);
/* The symbol that held `address` at `time`, NULL if none did. */
const struct reel_kernel_symbol *reel_kernel_symbols_find(const struct reel_kernel_symbols *symbols,
							  uint64_t address, uint64_t time);

#endif
