/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's symbols (/proc/kallsyms), of which a capture gets those that its call chains need.
 */
#ifndef RECORD_KERNEL_SYMBOLS_H
#define RECORD_KERNEL_SYMBOLS_H

#include "record/module_table.h"
#include "record/target.h"

struct reel_kernel_symbols;

/*
 * Reads all symbols of functions.  PERMISSION where the kernel hides their
 * addresses (kptr_restrict); chains are then recorded without names.
 */
struct reel_error *reel_kernel_symbols_load(const struct reel_target *target,
					    struct reel_module_table *modules,
					    struct reel_kernel_symbols **ret) REEL_MUST_CHECK;
void reel_kernel_symbols_destroy(struct reel_kernel_symbols *symbols);

/* Puts the symbols (and their modules) of the addresses that the current file does not have yet. */
struct reel_error *reel_kernel_symbols_write(struct reel_kernel_symbols *symbols,
					     const uint64_t *chain, size_t count,
					     const struct reel_record_sink *sink) REEL_MUST_CHECK;
/* A new file begins. */
void reel_kernel_symbols_restart(struct reel_kernel_symbols *symbols);

#endif
