/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's symbols as /proc/kallsyms lists them (perf keeps copies in its build-id cache).  A
 * capture stores those that its call chains need.
 */
#ifndef FORMAT_PERF_KALLSYMS_H
#define FORMAT_PERF_KALLSYMS_H

#include "base/error.h"

struct reel_kallsyms;

/* The module name of symbols of the kernel proper, as in perf. */
#define REEL_KALLSYMS_KERNEL "[kernel.kallsyms]"

struct reel_kallsym {
	uint64_t address;
	uint64_t size;	/* up to the next symbol, or the end of its module; 0 if unknown */
	uint64_t since; /* when it appeared; 0: it was there from the start */
	const char *name;
	const char *module;    /* "[nf_tables]"; REEL_KALLSYMS_KERNEL */
	uint32_t module_index; /* 0 is the kernel; without gaps */
};

/* Reads all symbols of functions.  NOT_FOUND if the file has none with an address. */
struct reel_error *reel_kallsyms_load(const char *path, struct reel_kallsyms **ret) REEL_MUST_CHECK;
void reel_kallsyms_destroy(struct reel_kallsyms *symbols);
/* The address of the kernel's own function of that name, 0 if missing. */
uint64_t reel_kallsyms_address(const struct reel_kallsyms *symbols, const char *name);
size_t reel_kallsyms_module_count(const struct reel_kallsyms *symbols);
/* "[name]" */
const char *reel_kallsyms_module_name(const struct reel_kallsyms *symbols, uint32_t index);
/* Whether some symbol holds the address. */
bool reel_kallsyms_knows(const struct reel_kallsyms *symbols, uint64_t address);
/* The last symbol of the module ("[name]") ends there at the latest. */
void reel_kallsyms_limit(struct reel_kallsyms *symbols, const char *module, uint64_t end);

typedef struct reel_error *reel_kallsyms_visitor(void *context, const struct reel_kallsym *symbol);

/* These visit symbols not visited before: the symbols of an address or of a chain's addresses
 * (leaf first), a function of the kernel proper, or all. */
struct reel_error *reel_kallsyms_visit_address(struct reel_kallsyms *symbols, uint64_t address,
					       reel_kallsyms_visitor *visit,
					       void *context) REEL_MUST_CHECK;
struct reel_error *reel_kallsyms_visit_new(struct reel_kallsyms *symbols, const uint64_t *chain,
					   size_t count, reel_kallsyms_visitor *visit,
					   void *context) REEL_MUST_CHECK;
struct reel_error *reel_kallsyms_visit_name(struct reel_kallsyms *symbols, const char *name,
					    reel_kallsyms_visitor *visit,
					    void *context) REEL_MUST_CHECK;
struct reel_error *reel_kallsyms_visit_all(struct reel_kallsyms *symbols,
					   reel_kallsyms_visitor *visit,
					   void *context) REEL_MUST_CHECK;
/* Marks all symbols as not visited. */
void reel_kallsyms_restart(struct reel_kallsyms *symbols);

/* Bytes from `address` to the next symbol, `size` at most. */
uint64_t reel_kallsyms_room(const struct reel_kallsyms *symbols, uint64_t address, uint64_t size);
/*
 * Whether this names a BPF trampoline or dispatcher: PERF_RECORD_KSYMBOL reports a page as their
 * size (bpf_image_ksym_add of kernel/bpf/trampoline.c), though others may be in that page.
 */
bool reel_kallsyms_is_image(const char *name);
/* A later symbol, which replaces those in its range.  Its module_index may be a new one. */
struct reel_error *reel_kallsyms_insert(struct reel_kallsyms *symbols,
					const struct reel_kallsym *symbol) REEL_MUST_CHECK;
/* Removes a symbol; true if it was visited: then *ret is the symbol (name and module live on). */
bool reel_kallsyms_remove(struct reel_kallsyms *symbols, uint64_t address, const char *name,
			  struct reel_kallsym *ret);

struct reel_kallsyms_heir {
	/* Whether modules of one name (indexes in the old list, in the new one) are the same. */
	bool (*is_same)(void *context, uint32_t old_module, uint32_t module);
	/* Called for a visited symbol that is gone: its name is "", `since` the time it went. */
	reel_kallsyms_visitor *gone;
	void *context;
};

/*
 * For a list that was read again at `now`; at `before` the old list was still valid.  Takes over
 * which symbols were visited, the times since when they exist, and those that reel_kallsyms_insert
 * added.  New symbols are valid since `before` and removed ones are gone since `now`, but where
 * both were in one place, it is the other way round.
 */
struct reel_error *reel_kallsyms_inherit(struct reel_kallsyms *symbols, struct reel_kallsyms *old,
					 uint64_t before, uint64_t now,
					 const struct reel_kallsyms_heir *heir) REEL_MUST_CHECK;

#endif
