/* SPDX-License-Identifier: Apache-2.0 */
/* A probe's name, and its places in a file: the functions that the name means. */
#ifndef RECORD_PROBES_PROBE_PLACES_H
#define RECORD_PROBES_PROBE_PLACES_H

#include "elf/elf_file.h"
#include "record/sampling/sampler.h"

/* The parts of its name. */
struct reel_probe_name {
	enum reel_sampler_probe kind;
	/* Owned; NULL: none.  USDT's name is `function`. */
	char *file, *provider, *function;
	uint64_t offset; /* from the function's start */
	bool has_offset;
};

/* REEL_SAMPLER_NO_PROBE if it is not a probe's name. */
enum reel_sampler_probe reel_probe_name_kind(const char *name);
/* Frees nothing on error: the caller does, always. */
struct reel_error *reel_probe_name_parse(const char *name,
					 struct reel_probe_name *ret) REEL_MUST_CHECK;
void reel_probe_name_free(struct reel_probe_name *name);

struct reel_probe_places {
	struct reel_probe_place {
		uint64_t offset;       /* in the file, ascending */
		const char *arguments; /* USDT: of its note, in the file; NULL: another kind */
		uint64_t counter;      /* USDT: the file offset of its semaphore; 0: none */
	} * all;
	size_t n, capacity;
	bool is_full;	/* more than REEL_PROBE_PLACES_MAX */
	bool chooses;	/* the name is a resolver's (IFUNC) */
	bool is_beyond; /* the probe's offset is not in the function */
	bool is_out_of_memory;
};

/* Finds none if the file has no such function.  `debug`: may be NULL. */
struct reel_error *reel_probe_places_find(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_probe_name *name,
					  struct reel_probe_places *ret) REEL_MUST_CHECK;

/*
 * The names of all that the name means, as one after FILE: in an event: "shop::total(int)",
 * "provider:name".  Names may be visited several times.
 */
struct reel_error *reel_probe_places_name(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_probe_name *name,
					  void (*visit)(void *context, const char *text),
					  void *context) REEL_MUST_CHECK;

/* Whether a symbol, mangled or not, has the name, or matches the pattern. */
bool reel_probe_name_matches(const char *name, const char *symbol);

#endif
