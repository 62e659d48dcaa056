/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's symbols (/proc/kallsyms): a capture gets those that its call chains need.  They
 * change as modules are loaded and BPF programs come and go: the kernel reports BPF programs
 * (PERF_RECORD_KSYMBOL), and /proc/modules shows modules.
 */
#ifndef RECORD_PROCESSES_KERNEL_SYMBOLS_H
#define RECORD_PROCESSES_KERNEL_SYMBOLS_H

#include "record/processes/module_table.h"
#include "record/processes/process_events.h"
#include "record/proc/target.h"
#include "format/record.h"

struct reel_kernel_symbols;

/*
 * Reads all function symbols.  `all`: every one is written, needed or not.  PERMISSION if the
 * kernel hides their addresses (kptr_restrict); chains are then recorded without names.
 */
struct reel_error *reel_kernel_symbols_load(const struct reel_target *target,
					    struct reel_module_table *modules,
					    struct reel_inspector *inspector, bool all,
					    const struct reel_record_sink *sink,
					    struct reel_kernel_symbols **ret) REEL_MUST_CHECK;
void reel_kernel_symbols_destroy(struct reel_kernel_symbols *symbols);

/* Puts the symbols (and their modules) of the addresses that the current file does not have yet. */
struct reel_error *reel_kernel_symbols_write(struct reel_kernel_symbols *symbols,
					     const uint64_t *chain, size_t count) REEL_MUST_CHECK;
/* A BPF program or a trampoline appeared or disappeared (REEL_PROCESS_KERNEL_SYMBOL). */
struct reel_error *reel_kernel_symbols_event(struct reel_kernel_symbols *symbols,
					     const struct reel_process_event *event)
	REEL_MUST_CHECK;
/*
 * Checks for loaded and unloaded modules, and reads everything again if there are any; then puts
 * symbols for earlier addresses that have a name now.
 */
struct reel_error *reel_kernel_symbols_refresh(struct reel_kernel_symbols *symbols) REEL_MUST_CHECK;
/* A new file begins. */
struct reel_error *reel_kernel_symbols_restart(struct reel_kernel_symbols *symbols) REEL_MUST_CHECK;

#endif
