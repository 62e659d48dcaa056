/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's symbols as /proc/kallsyms lists them (perf keeps copies in its
 * build-id cache), of which a capture gets those that its call chains need.
 */
#ifndef SPACE_KALLSYMS_H
#define SPACE_KALLSYMS_H

#include "format/error.h"

struct reel_kallsyms;

/* How the symbols of the kernel proper name their module, as perf does. */
#define REEL_KALLSYMS_KERNEL "[kernel.kallsyms]"

struct reel_kallsym {
	uint64_t address;
	uint64_t size; /* up to the next symbol of its module; 0 if unknown */
	const char *name;
	const char *module;    /* "[nf_tables]"; REEL_KALLSYMS_KERNEL */
	uint32_t module_index; /* 0 is the kernel; no holes */
};

/* Reads all symbols of functions.  NOT_FOUND if the file has none with an address. */
struct reel_error *reel_kallsyms_load(const char *path, struct reel_kallsyms **ret) REEL_MUST_CHECK;
void reel_kallsyms_destroy(struct reel_kallsyms *symbols);
/* The address of the kernel's own function of that name, 0 if there is none. */
uint64_t reel_kallsyms_address(const struct reel_kallsyms *symbols, const char *name);
size_t reel_kallsyms_module_count(const struct reel_kallsyms *symbols);

/* Visits the symbols of a chain's addresses, leaf first, that were not visited before. */
struct reel_error *reel_kallsyms_visit_new(
	struct reel_kallsyms *symbols, const uint64_t *chain, size_t count,
	struct reel_error *(*visit)(void *context, const struct reel_kallsym *symbol),
	void *context) REEL_MUST_CHECK;
/* Forgets what was visited. */
void reel_kallsyms_restart(struct reel_kallsyms *symbols);

#endif
